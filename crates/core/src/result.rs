//! What a program hands over besides its output: one small file, read when the program is dead.
//!
//! A [`ResultRule`] gives a run a place of its own for it, named by [`VARIABLE`]. Whatever the program prints is
//! only output: nothing in it is taken for a result. [`Metrics`] are numbers that rules find in the result, in
//! a test report beside it, or in the output, where somebody asked for that.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::quantity::ByteSize;

/// Tells the program the path of its result.
pub const VARIABLE: &str = "COFFERDAM_RESULT";
/// The directory of the result, as the program of a confined run sees it. Reports lie beside it.
pub const PLACE: &str = "/run/cofferdam/result";
/// The result's name in its directory.
pub const FILE: &str = "result.json";

/// What is asked of a run's result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultRule {
    /// Most bytes of the result, and of each report.
    pub limit: ByteSize,
    /// A JSON Schema that it must meet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, MetricRule>,
}

impl ResultRule {
    pub const DEFAULT_LIMIT: ByteSize = ByteSize::mib(1);
    pub const LARGEST_LIMIT: ByteSize = ByteSize::mib(64);
}

impl Default for ResultRule {
    fn default() -> Self {
        Self { limit: Self::DEFAULT_LIMIT, schema: None, metrics: BTreeMap::new() }
    }
}

/// Where a number is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetricRule {
    /// `pointer:/a/0/b`: a number in the result, by JSON pointer.
    Pointer(String),
    /// `junit:FILE:COUNT`: of the test cases in a JUnit report that lies beside the result.
    Junit { file: String, count: JunitCount },
    /// `stdout:REGEX` or `stderr:REGEX`: the first group of the last match in what was printed. Whatever the
    /// program prints can be meant for it.
    Printed { stream: Stream, pattern: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// What of a test report is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JunitCount {
    Tests,
    Passed,
    Failures,
    Errors,
    Skipped,
    /// In seconds.
    Time,
}

impl JunitCount {
    const NAMES: [(&'static str, Self); 6] = [
        ("tests", Self::Tests),
        ("passed", Self::Passed),
        ("failures", Self::Failures),
        ("errors", Self::Errors),
        ("skipped", Self::Skipped),
        ("time", Self::Time),
    ];

    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, count)| *count == self).map_or("", |(name, _)| name)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no rule for a number: {problem}")]
pub struct MetricRuleError {
    text: String,
    problem: String,
}

impl FromStr for MetricRule {
    type Err = MetricRuleError;

    fn from_str(text: &str) -> Result<Self, MetricRuleError> {
        let wrong =
            |problem: &str| MetricRuleError { text: text.to_owned(), problem: problem.to_owned() };
        let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
        match kind {
            "pointer" if rest.is_empty() || rest.starts_with('/') => {
                Ok(Self::Pointer(rest.to_owned()))
            }
            "pointer" => Err(wrong("a JSON pointer begins with /")),
            "junit" => {
                let (file, count) =
                    rest.rsplit_once(':').ok_or_else(|| wrong("write junit:FILE:COUNT"))?;
                if !is_plain_name(file) {
                    return Err(wrong("the report is a file beside the result, by its name alone"));
                }
                let known = JunitCount::NAMES.iter().find(|(name, _)| *name == count);
                let known = known.ok_or_else(|| {
                    wrong("count tests, passed, failures, errors, skipped or time")
                })?;
                Ok(Self::Junit { file: file.to_owned(), count: known.1 })
            }
            "stdout" | "stderr" => {
                let regex = regex::Regex::new(rest).map_err(|error| wrong(&error.to_string()))?;
                if regex.captures_len() < 2 {
                    return Err(wrong("the expression has no group ( ) around the number"));
                }
                let stream = if kind == "stdout" { Stream::Stdout } else { Stream::Stderr };
                Ok(Self::Printed { stream, pattern: rest.to_owned() })
            }
            _ => Err(wrong("begin with pointer:, junit:, stdout: or stderr:")),
        }
    }
}

fn is_plain_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    !name.is_empty() && name.len() <= 255 && !name.starts_with('.') && name.bytes().all(plain)
}

impl fmt::Display for MetricRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pointer(pointer) => write!(f, "pointer:{pointer}"),
            Self::Junit { file, count } => write!(f, "junit:{file}:{}", count.name()),
            Self::Printed { stream: Stream::Stdout, pattern } => write!(f, "stdout:{pattern}"),
            Self::Printed { stream: Stream::Stderr, pattern } => write!(f, "stderr:{pattern}"),
        }
    }
}

impl Serialize for MetricRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for MetricRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// What became of a run's result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResultReport {
    pub state: ResultState,
    /// Why it is not good.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    pub bytes: u64,
    /// BLAKE3 of the file as it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: Metrics,
    /// Numbers that were asked for and not found, with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub missing: BTreeMap<String, String>,
}

/// Numbers by name. None is infinite, and none is not a number.
pub type Metrics = BTreeMap<String, f64>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultState {
    /// JSON, and as the schema wants it, where there is one.
    Good,
    /// The program wrote none.
    Missing,
    TooLarge,
    /// A link, a directory, a pipe.
    NotAFile,
    NotJson,
    /// It does not meet the schema.
    Unfit,
    /// The host could not read it.
    Unread,
}

impl fmt::Display for ResultState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Good => "good",
            Self::Missing => "missing",
            Self::TooLarge => "too large",
            Self::NotAFile => "not a file",
            Self::NotJson => "not JSON",
            Self::Unfit => "not what the schema asks for",
            Self::Unread => "unreadable",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_and_written_alike() {
        for text in [
            "pointer:",
            "pointer:/score",
            "pointer:/a/0/b~1c",
            "junit:report.xml:failures",
            "junit:r.xml:time",
            "stdout:score=([0-9.]+)",
            "stderr:(a):b",
        ] {
            assert_eq!(text.parse::<MetricRule>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_finds_no_number_is_refused() {
        for (text, part) in [
            ("score", "begin with"),
            ("pointer:score", "begins with /"),
            ("junit:report.xml", "junit:FILE:COUNT"),
            ("junit:report.xml:lines", "count tests"),
            ("junit:../report.xml:tests", "by its name alone"),
            ("junit:/etc/passwd:tests", "by its name alone"),
            ("junit:.hidden:tests", "by its name alone"),
            ("stdout:score=[0-9]+", "no group"),
            ("stdout:(", "unclosed group"),
        ] {
            let error = text.parse::<MetricRule>().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
