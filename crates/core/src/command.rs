//! Commands as values, and what policy says of them.
//!
//! A [`Line`] is what a command line would run, taken apart: each [`SimpleCommand`] with its words unquoted, wrappers
//! such as `env` and `sh -c` unfolded. A [`CommandPolicy`] judges them one by one, and the strictest verdict is that
//! of the line. A [`Decision`] names what was judged and by which rule.
//!
//! Deliberately absent: parsing, which the sandbox crate does, and any promise. Whoever writes a line can hide what
//! it does; what confines a program is the sandbox.

mod builtin;
mod pattern;
mod policy;

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

pub use builtin::{BUILT_IN, BuiltIn};
pub use pattern::CommandPattern;
pub use policy::{Approval, CommandPolicy, CommandRules, Decision, Hit, Part};

/// What policy says of a command. The greater is the stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Allow,
    /// Somebody must say yes first.
    Review,
    Deny,
}

impl Verdict {
    pub const NAMES: &'static [&'static str] = &["allow", "review", "deny"];

    pub fn parse(text: &str) -> Option<Self> {
        [Self::Allow, Self::Review, Self::Deny].into_iter().find(|verdict| verdict.name() == text)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Review => "review",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word of a command, unquoted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Word {
    /// What is not known before it runs stands here as it was written: `$HOME/x`, `$(date)`.
    pub text: String,
    /// Whether this is all that it will be.
    pub is_known: bool,
}

impl Word {
    pub fn known(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_known: true }
    }

    pub fn unknown(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_known: false }
    }
}

/// What a redirection does with its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    Read,
    Write,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Redirect {
    pub direction: Direction,
    pub target: Word,
}

/// One program with its arguments, as a shell would start it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SimpleCommand {
    /// The program first.
    pub words: Vec<Word>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub redirects: Vec<Redirect>,
    /// Programs whose output it gets: before it in a pipe, or in a substitution among its words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fed_by: Vec<String>,
    /// What it was found in: `sh -c`, `xargs`, outermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<String>,
    /// A function that starts itself again and again.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub multiplies: bool,
    /// Where it stands in what was parsed.
    #[serde(skip)]
    pub range: Range<usize>,
}

impl SimpleCommand {
    /// The program's name without its directory; nothing where it is not known.
    pub fn program(&self) -> Option<&str> {
        let word = self.words.first().filter(|word| word.is_known)?;
        Some(word.text.rsplit('/').next().unwrap_or(&word.text))
    }

    pub fn arguments(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    /// As one would write it.
    pub fn text(&self) -> String {
        let words = self.words.iter().map(|word| match word.is_known && needs_quotes(&word.text) {
            true => quoted(&word.text),
            false => word.text.clone(),
        });
        let redirects = self.redirects.iter().map(|redirect| match redirect.direction {
            Direction::Read => format!("< {}", redirect.target.text),
            Direction::Write => format!("> {}", redirect.target.text),
        });
        words.chain(redirects).collect::<Vec<_>>().join(" ")
    }
}

/// Words that are known, as one would write them.
pub fn spelled(words: &[String]) -> String {
    let words = words.iter().map(|word| match needs_quotes(word) {
        true => quoted(word),
        false => word.clone(),
    });
    words.collect::<Vec<_>>().join(" ")
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn needs_quotes(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%^*?~[]{}!".contains(c);
    text.is_empty() || !text.chars().all(plain)
}

/// What a command line would run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Line {
    pub commands: Vec<SimpleCommand>,
    /// Why not all of it is known: parts that could not be parsed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
}

/// A part of a line that nothing is known of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub message: String,
    #[serde(skip)]
    pub range: Range<usize>,
}
