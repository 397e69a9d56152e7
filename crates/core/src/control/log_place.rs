//! Where a reader of a task's output stands: `ATTEMPT.SEQ`, the id of a piece in a stream.
//!
//! The pieces of each attempt are counted anew, so a number alone does not say what was seen.

use std::fmt;
use std::str::FromStr;

use super::report::LogPiece;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPlace {
    pub attempt: u32,
    pub seq: u64,
}

impl LogPiece {
    pub fn place(&self) -> LogPlace {
        LogPlace { attempt: self.attempt, seq: self.seq }
    }
}

impl fmt::Display for LogPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.attempt, self.seq)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not ATTEMPT.SEQ")]
pub struct NoPlace;

impl FromStr for LogPlace {
    type Err = NoPlace;

    fn from_str(text: &str) -> Result<Self, NoPlace> {
        let (attempt, seq) = text.split_once('.').ok_or(NoPlace)?;
        let number = |text: &str| {
            let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            // Numbers in the store have a sign.
            plain.then(|| text.parse::<i64>().ok()).flatten().map(i64::unsigned_abs)
        };
        let attempt = number(attempt).and_then(|attempt| u32::try_from(attempt).ok());
        let attempt = attempt.filter(|attempt| *attempt > 0).ok_or(NoPlace)?;
        Ok(Self { attempt, seq: number(seq).ok_or(NoPlace)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_written() {
        let place = LogPlace { attempt: 2, seq: 40 };
        assert_eq!(place.to_string(), "2.40");
        assert_eq!("2.40".parse(), Ok(place));
        for bad in ["", "2", "2.", ".4", "0.1", "2.-1", "+2.1", "2.4.1", "2.9223372036854775808"] {
            assert_eq!(bad.parse::<LogPlace>(), Err(NoPlace), "{bad}");
        }
    }
}
