//! Patterns of commands, as the host's owner writes them: `git push *`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{SimpleCommand, Word};

/// Words, each of which may have `*` for any text; a last `*` alone stands for any further words, or none.
///
/// The first is the program, by its name, or by its path where it has a slash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct CommandPattern {
    text: String,
}

/// How a command fits a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    No,
    /// It does if what is not known yet turns out so.
    Perhaps,
    Yes,
}

impl CommandPattern {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub(super) fn fit(&self, command: &SimpleCommand) -> Fit {
        let mut words = command.words.iter();
        let mut patterns = self.text.split_ascii_whitespace().enumerate().peekable();
        let mut fit = Fit::Yes;
        while let Some((at, pattern)) = patterns.next() {
            if pattern == "*" && at > 0 && patterns.peek().is_none() {
                return fit;
            }
            let Some(word) = words.next() else { return Fit::No };
            fit = fit.min(word_fit(pattern, word, at == 0));
        }
        // A word that is not known may turn out to be none at all.
        match words.as_slice() {
            [] => fit,
            rest if rest.iter().all(|word| !word.is_known) => fit.min(Fit::Perhaps),
            _ => Fit::No,
        }
    }
}

fn word_fit(pattern: &str, word: &Word, is_program: bool) -> Fit {
    if pattern == "*" {
        return Fit::Yes;
    }
    if !word.is_known {
        return Fit::Perhaps;
    }
    let text = match is_program && !pattern.contains('/') {
        true => word.text.rsplit('/').next().unwrap_or(&word.text),
        false => &word.text,
    };
    if fits(pattern, text) { Fit::Yes } else { Fit::No }
}

/// Whether `text` is one that `pattern` means, in time that is at most the product of their lengths.
fn fits(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match (pattern.get(p), star) {
            (Some(b'*'), _) => {
                star = Some((p, t));
                p += 1;
            }
            (Some(byte), _) if *byte == text[t] => {
                p += 1;
                t += 1;
            }
            (_, Some((back, from))) => {
                star = Some((back, from + 1));
                p = back + 1;
                t = from + 1;
            }
            _ => return false,
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// What a pattern must not be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a pattern of commands: write words, as in `git push *`")]
pub struct PatternError(String);

impl FromStr for CommandPattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let clean = text.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        if clean.is_empty() || clean.len() > 1000 || clean.contains(|c: char| c.is_control()) {
            return Err(PatternError(text.to_owned()));
        }
        Ok(Self { text: clean })
    }
}

impl TryFrom<String> for CommandPattern {
    type Error = PatternError;

    fn try_from(text: String) -> Result<Self, PatternError> {
        text.parse()
    }
}

impl From<CommandPattern> for String {
    fn from(pattern: CommandPattern) -> Self {
        pattern.text
    }
}

impl fmt::Display for CommandPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(pattern: &str, words: &[&str]) -> Fit {
        let word = |text: &&str| match text.strip_prefix('$') {
            Some(_) => Word::unknown(*text),
            None => Word::known(*text),
        };
        let words = words.iter().map(word).collect();
        let command = SimpleCommand { words, ..SimpleCommand::default() };
        pattern.parse::<CommandPattern>().unwrap().fit(&command)
    }

    #[test]
    fn words_are_matched_one_by_one() {
        assert_eq!(fit("git push *", &["git", "push", "origin", "main"]), Fit::Yes);
        assert_eq!(fit("git push *", &["/usr/bin/git", "push"]), Fit::Yes);
        assert_eq!(fit("git push *", &["git", "status"]), Fit::No);
        assert_eq!(fit("git push", &["git", "push", "x"]), Fit::No);
        assert_eq!(fit("npm *", &["npm"]), Fit::Yes);
        assert_eq!(fit("pip* install *", &["pip3", "install", "x"]), Fit::Yes);
        assert_eq!(fit("/usr/bin/git *", &["/opt/git"]), Fit::No);
        assert_eq!(fit("*", &["anything"]), Fit::Yes);
        assert_eq!(fit("*", &["anything", "else"]), Fit::No);
    }

    #[test]
    fn what_is_not_known_may_be_anything() {
        assert_eq!(fit("git push *", &["git", "$x"]), Fit::Perhaps);
        assert_eq!(fit("git push *", &["$x"]), Fit::No);
        assert_eq!(fit("git push", &["git", "push", "$x"]), Fit::Perhaps);
        assert_eq!(fit("git *", &["git", "$x"]), Fit::Yes);
        assert_eq!(fit("git push *", &["$git", "status"]), Fit::No);
    }

    #[test]
    fn many_stars_take_no_time() {
        assert_eq!(fit(&"*a".repeat(300), &[&"a".repeat(100_000)]), Fit::Yes);
        assert_eq!(fit(&format!("{}b", "*a".repeat(300)), &[&"a".repeat(20_000)]), Fit::No);
    }

    #[test]
    fn a_pattern_has_words() {
        assert!("".parse::<CommandPattern>().is_err() && " ".parse::<CommandPattern>().is_err());
        assert_eq!(" git  push ".parse::<CommandPattern>().unwrap().as_str(), "git push");
    }
}
