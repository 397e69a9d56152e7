//! What is wrong with a file, a variable or a flag, where, and what was probably meant.

use serde::Serialize;

use super::suggest::nearest;
use crate::inert::Inert;

/// One thing wrong. Its text is safe to show: whatever came from the input is quoted and escaped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{}", self.in_words())]
pub struct ConfigError {
    /// The file, variable or flag.
    pub origin: String,
    pub line: Option<usize>,
    /// The key as it was written, if the error is about one.
    pub key: Option<String>,
    pub message: String,
    /// The nearest thing that would have been right.
    pub suggestion: Option<String>,
}

impl ConfigError {
    fn in_words(&self) -> String {
        let mut text = Inert::line(&self.origin).to_string();
        if let Some(line) = self.line {
            text.push_str(&format!(":{line}"));
        }
        text.push_str(": ");
        if let Some(key) = &self.key {
            text.push_str(&format!("{}: ", Inert::line(key)));
        }
        text.push_str(&self.message);
        if let Some(suggestion) = &self.suggestion {
            text.push_str(&format!(" (did you mean `{suggestion}`?)"));
        }
        text
    }
}

/// Enough to work with; a file of nothing but errors is not worth reading to its end.
const MAX_ERRORS: usize = 100;

/// Collects what is wrong with one file, so that all of it is said at once.
#[derive(Debug)]
pub(crate) struct Problems {
    file: String,
    errors: Vec<ConfigError>,
}

impl Problems {
    pub(crate) fn of(file: &str) -> Self {
        Self { file: file.to_owned(), errors: Vec::new() }
    }

    pub(crate) fn general(&mut self, line: Option<usize>, message: impl Into<String>) {
        self.push(line, None, message.into(), None);
    }

    pub(crate) fn about(&mut self, key: &str, line: usize, message: impl Into<String>) {
        self.push(Some(line), Some(key), message.into(), None);
    }

    /// An unknown key, with the nearest of `names`.
    pub(crate) fn unknown(&mut self, key: &str, line: usize, names: &[&str]) {
        let meant = nearest(key, names.iter().copied());
        self.push(Some(line), Some(key), "unknown key".to_owned(), meant);
    }

    /// A key that is known elsewhere.
    pub(crate) fn misplaced(&mut self, key: &str, line: usize, meant: &str) {
        self.push(Some(line), Some(key), "unknown key".to_owned(), Some(meant));
    }

    pub(crate) fn are_enough(&self) -> bool {
        self.errors.len() >= MAX_ERRORS
    }

    fn push(
        &mut self,
        line: Option<usize>,
        key: Option<&str>,
        message: String,
        meant: Option<&str>,
    ) {
        if !self.are_enough() {
            self.errors.push(ConfigError {
                origin: self.file.clone(),
                line,
                key: key.map(str::to_owned),
                message,
                suggestion: meant.map(str::to_owned),
            });
        }
    }

    pub(crate) fn into_errors(self) -> Vec<ConfigError> {
        self.errors
    }
}
