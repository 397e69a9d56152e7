//! Moments as they are written down: RFC 3339, UTC, always six digits of a second.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Stamp(Timestamp);

impl Stamp {
    /// From the clock that the caller read; what is finer than a microsecond is dropped.
    pub fn new(at: Timestamp) -> Self {
        Self(Timestamp::from_microsecond(at.as_microsecond()).unwrap_or(at))
    }

    pub fn unix_millis(self) -> u64 {
        u64::try_from(self.0.as_millisecond()).unwrap_or(0)
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}", self.0)
    }
}

impl FromStr for Stamp {
    type Err = jiff::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self::new)
    }
}

impl TryFrom<String> for Stamp {
    type Error = jiff::Error;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Stamp> for String {
    fn from(stamp: Stamp) -> Self {
        stamp.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn six_digits_whatever_the_clock_says() {
        let stamp = |nanos| Stamp::new(Timestamp::from_nanosecond(nanos).unwrap()).to_string();
        assert_eq!(stamp(1_234_567_890_123), "1970-01-01T00:20:34.567890Z");
        assert_eq!(stamp(0), "1970-01-01T00:00:00.000000Z");
        let text = stamp(1_000);
        assert_eq!(text.parse::<Stamp>().unwrap().to_string(), text);
    }
}
