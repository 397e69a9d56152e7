//! What a look at source code found, as values.
//!
//! A [`Finding`] is a place in a file and the rule that points at it; [`Levels`] say how much a rule counts, by
//! [`Profile`] and by name. [`sarif`] writes reports in the form that code hosts read.
//!
//! Deliberately absent: the looking. That needs parsers, which live in the sandbox crate. And any promise: a finding
//! is advice, and no finding is none either. What confines a program is the sandbox.

pub mod imports;
pub mod sarif;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::policy::matches_glob;

/// How much a rule counts. The greater is the stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Off,
    Warn,
    Deny,
}

impl Level {
    pub const NAMES: &'static [&'static str] = &["off", "warn", "deny"];

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Off, Self::Warn, Self::Deny].into_iter().find(|level| level.name() == text)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Warn => "warn",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A named choice of levels. The greater is the stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// Nothing is looked at.
    Off,
    /// For code that an agent writes: each rule at its own level.
    Agent,
    /// For a program that only computes: every rule denies, and imports must stand on a list.
    Strategy,
}

impl Profile {
    pub const NAMES: &'static [&'static str] = &["off", "agent", "strategy"];

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Off, Self::Agent, Self::Strategy].into_iter().find(|p| p.name() == text)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Agent => "agent",
            Self::Strategy => "strategy",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How much each rule counts: by the profile, and by what was said of single rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Levels {
    pub profile: Profile,
    /// Names of rules, `*` standing for any text. A rule that stands in several lists has the strictest.
    pub deny: Vec<String>,
    pub warn: Vec<String>,
    pub off: Vec<String>,
}

impl Levels {
    pub const fn of_profile(profile: Profile) -> Self {
        Self { profile, deny: Vec::new(), warn: Vec::new(), off: Vec::new() }
    }

    /// The level of a rule whose own is `own`.
    pub fn level(&self, rule: &str, own: Level) -> Level {
        if self.profile == Profile::Off {
            return Level::Off;
        }
        let lists = [(Level::Deny, &self.deny), (Level::Warn, &self.warn), (Level::Off, &self.off)];
        let named =
            lists.iter().find(|(_, names)| names.iter().any(|name| matches_glob(name, rule)));
        match (named, self.profile) {
            (Some((level, _)), _) => *level,
            (None, Profile::Strategy) if own == Level::Warn => Level::Deny,
            (None, _) => own,
        }
    }
}

/// One place that a rule points at. Lines and columns count from 1; columns count characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    pub rule: String,
    pub level: Level,
    pub line: usize,
    pub column: usize,
    pub end_line: usize,
    pub end_column: usize,
    /// What is found, in a sentence.
    pub message: String,
    /// Why it matters.
    pub reason: String,
    /// The line, cut where it is long. Whoever wrote the file chose these bytes.
    pub excerpt: String,
}

/// All that was found in one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileReport {
    pub file: String,
    pub language: String,
    /// In the order of the file. At most [`FileReport::MOST`].
    pub findings: Vec<Finding>,
    /// How many there were beyond those.
    pub left_out: usize,
    /// Findings that a comment in the file silenced, where the host allows that.
    pub suppressed: usize,
}

impl FileReport {
    /// More than anybody reads; a file of nothing but findings must not fill the memory.
    pub const MOST: usize = 1000;

    /// The strictest level of all findings.
    pub fn worst(&self) -> Level {
        self.findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Off)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strictest_list_decides_and_the_profile_where_none_does() {
        let mut levels = Levels::of_profile(Profile::Agent);
        assert_eq!(levels.level("python/eval", Level::Warn), Level::Warn);
        levels.off = vec!["python/*".into()];
        assert_eq!(levels.level("python/eval", Level::Deny), Level::Off);
        assert_eq!(levels.level("shell/eval", Level::Deny), Level::Deny);
        levels.deny = vec!["python/eval".into()];
        assert_eq!(levels.level("python/eval", Level::Warn), Level::Deny);
        levels.profile = Profile::Off;
        assert_eq!(levels.level("python/eval", Level::Deny), Level::Off);
    }

    #[test]
    fn a_strategy_has_no_warnings() {
        let levels = Levels::of_profile(Profile::Strategy);
        assert_eq!(levels.level("python/environment", Level::Warn), Level::Deny);
        assert_eq!(levels.level("python/environment", Level::Off), Level::Off);
    }

    #[test]
    fn names_are_read_back() {
        assert!(
            Level::NAMES.iter().all(|name| Level::parse(name).is_some_and(|l| l.name() == *name))
        );
        assert!(
            Profile::NAMES
                .iter()
                .all(|name| Profile::parse(name).is_some_and(|p| p.name() == *name))
        );
    }
}
