//! Names of runs. A [`RunId`] sorts by time; its short form is what people type.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use ulid::Ulid;

/// Identity of one run: 26 characters of Crockford base 32, in lower case, the first ten of them a
/// millisecond clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(Ulid);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a run id: {0:?}")]
pub struct NotARunId(String);

impl RunId {
    /// Length of the short form. Taken from the random end: ids of one minute share their beginning.
    pub const SHORT: usize = 8;

    pub fn from_parts(unix_millis: u64, random: u128) -> Self {
        Self(Ulid::from_parts(unix_millis, random))
    }

    pub fn unix_millis(self) -> u64 {
        self.0.timestamp_ms()
    }

    pub fn short(self) -> String {
        let full = self.to_string();
        full[full.len() - Self::SHORT..].to_owned()
    }

    /// Whether a person who typed `text` may have meant this run: the whole id or an end of it of at
    /// least four characters.
    pub fn answers_to(self, text: &str) -> bool {
        text.len() >= 4 && self.to_string().ends_with(&text.to_ascii_lowercase())
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_string().to_ascii_lowercase())
    }
}

impl FromStr for RunId {
    type Err = NotARunId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let id = Ulid::from_string(text).map(Self).map_err(|_| NotARunId(text.to_owned()))?;
        // The base-32 alphabet has several spellings of one value; a directory name has one.
        if id.to_string() == text { Ok(id) } else { Err(NotARunId(text.to_owned())) }
    }
}

impl TryFrom<String> for RunId {
    type Error = NotARunId;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_by_time_and_has_one_spelling() {
        let early = RunId::from_parts(1_000, u128::MAX >> 48);
        let late = RunId::from_parts(2_000, 0);
        assert!(early < late && early.to_string() < late.to_string());
        assert_eq!(early.to_string().parse::<RunId>().unwrap(), early);
        assert!(early.to_string().to_uppercase().parse::<RunId>().is_err());
        assert!("../../../../../etc/passwd".parse::<RunId>().is_err());
    }

    #[test]
    fn answers_to_its_end_but_not_to_a_fragment_too_short_to_mean_it() {
        let id = RunId::from_parts(5, 0x1234_5678_9abc_def0);
        assert!(id.answers_to(&id.short()));
        assert!(id.answers_to(&id.to_string()));
        assert!(!id.answers_to("f0"));
        assert!(!id.answers_to(""));
    }
}
