//! Text that was made inert where its bytes were still at hand. Made inert once more, it would show another name than
//! the one that somebody chose.

use std::fmt;

use cofferdam_core::inert::Inert;
use cofferdam_core::paths::Arg;

/// One line, inert.
#[derive(Debug, Clone)]
pub(crate) struct Rendered(String);

/// How much of a command line is shown.
const SHOWN: usize = 60;

impl Rendered {
    pub(crate) fn line(text: &str) -> Self {
        Self(Inert::line(text).to_string())
    }

    /// Of something that displays itself inert.
    pub(crate) fn inert(text: impl fmt::Display) -> Self {
        Self(text.to_string())
    }

    /// A command as one line that can be read, not executed.
    pub(crate) fn command(words: &[Arg]) -> Self {
        let words: Vec<String> = words.iter().map(|word| Inert::os(&word.0).to_string()).collect();
        let line = words.join(" ");
        Self(match line.char_indices().nth(SHOWN) {
            Some((at, _)) => format!("{}…", &line[..at]),
            None => line,
        })
    }
}

impl fmt::Display for Rendered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
