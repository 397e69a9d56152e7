//! An error with all that caused it, as one line: for records and answers, where a chain has no place.

use std::error::Error;

pub(crate) fn in_words(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words.push_str(": ");
        words.push_str(&error.to_string());
        cause = error.source();
    }
    words
}
