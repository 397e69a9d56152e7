//! The command line, word by word. Small enough that a parser crate would cost more than it gives: xtask
//! is compiled before everything else.

use std::collections::VecDeque;
use std::fmt;

/// The words not looked at yet.
#[derive(Debug)]
pub(crate) struct Args(VecDeque<String>);

impl Args {
    pub(crate) fn of_this_process() -> Self {
        Self(std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect())
    }

    /// The next word; of `--flag=value` the flag, with the value left to be asked for.
    pub(crate) fn next(&mut self) -> Option<String> {
        let word = self.0.pop_front()?;
        match word.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => {
                self.0.push_front(value.to_owned());
                Some(flag.to_owned())
            }
            _ => Some(word),
        }
    }

    /// The value that belongs to `flag`, which was just taken.
    pub(crate) fn value(&mut self, flag: &str) -> Result<String, Usage> {
        self.0.pop_front().ok_or_else(|| Usage::new(format!("{flag} needs a value")))
    }

    pub(crate) fn number(&mut self, flag: &str) -> Result<usize, Usage> {
        let text = self.value(flag)?;
        let number = text.parse().ok().filter(|&number| number > 0);
        number.ok_or_else(|| Usage::new(format!("{flag} needs a number above 0, not {text:?}")))
    }
}

/// The command line does not say anything that can be done.
#[derive(Debug)]
pub(crate) struct Usage(String);

impl Usage {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(crate) fn unknown(word: &str, command: &str) -> Self {
        Self(format!("{word:?} means nothing here; see cargo xtask {command} --help"))
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

#[cfg(test)]
impl Args {
    pub(crate) fn from_words(words: &[&str]) -> Self {
        Self(words.iter().map(|&word| word.to_owned()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_may_stand_apart_or_behind_an_equals_sign() {
        for words in [&["--rounds", "3"][..], &["--rounds=3"]] {
            let mut args = Args::from_words(words);
            assert_eq!(args.next().as_deref(), Some("--rounds"));
            assert_eq!(args.number("--rounds").unwrap(), 3);
            assert_eq!(args.next(), None);
        }
        assert!(Args::from_words(&[]).value("--filter").is_err());
        assert!(Args::from_words(&["0"]).number("--rounds").is_err());
    }
}
