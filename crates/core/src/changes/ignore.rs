//! The rules of one `.gitignore`, as gitignore(5) describes them.
//!
//! Deliberately absent: what a rule of a directory above says, which depends on files that this cannot read. Whoever asks goes
//! down from the top, and what is below an ignored directory is ignored.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

use super::glob::Shape;
use super::wild;

/// What one file says.
#[derive(Debug, Clone)]
pub struct IgnoreRules {
    set: GlobSet,
    rows: Vec<Row>,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    said: Said,
    only_directories: bool,
}

/// What the last rule that fits a path says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    Ignored,
    /// Taken back by a rule that begins with `!`.
    Kept,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("its rules are too many to be compared with paths: {0}")]
pub struct TooManyRules(String);

impl IgnoreRules {
    /// A line that is no pattern fits nothing, as in git.
    pub fn parse(text: &[u8]) -> Result<Self, TooManyRules> {
        let (mut set, mut rows) = (GlobSetBuilder::new(), Vec::new());
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        for line in text.split(|byte| *byte == b'\n') {
            let Some((row, pattern)) = std::str::from_utf8(line).ok().and_then(rule) else {
                continue;
            };
            let glob =
                GlobBuilder::new(&pattern).literal_separator(true).backslash_escape(true).build();
            if let Ok(glob) = glob {
                set.add(glob);
                rows.push(row);
            }
        }
        let set = set.build().map_err(|error| TooManyRules(error.kind().to_string()))?;
        Ok(Self { set, rows })
    }

    /// About a path that is seen from the directory that the file lies in.
    pub fn says(&self, path: &[u8], shape: Shape) -> Option<Said> {
        let found = self.set.matches_candidate(&Candidate::new(OsStr::from_bytes(path)));
        let rows = found.into_iter().map(|at| (at, self.rows[at]));
        rows.filter(|(_, row)| shape == Shape::Directory || !row.only_directories)
            .max_by_key(|(at, _)| *at)
            .map(|(_, row)| row.said)
    }
}

/// A line as a row and the pattern of a whole path, if there is a rule in it.
fn rule(line: &str) -> Option<(Row, String)> {
    let line = without_blanks(line.strip_suffix('\r').unwrap_or(line));
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let (said, line) = match line.strip_prefix('!') {
        Some(rest) => (Said::Kept, rest),
        None => (Said::Ignored, line),
    };
    let (only_directories, line) = match line.strip_suffix('/') {
        Some(rest) => (true, rest),
        None => (false, line),
    };
    // A slash ties it to the directory of the file; without one it is a name at any depth.
    let (is_tied, line) = match line.strip_prefix('/') {
        Some(rest) => (true, rest),
        None => (line.contains('/'), line),
    };
    if line.is_empty() {
        return None;
    }
    let pattern = match is_tied {
        true => wild::tied(line)?,
        false => wild::name(line)?,
    };
    Some((Row { said, only_directories }, pattern))
}

/// Without the blanks at its end, unless a backslash keeps one.
fn without_blanks(line: &str) -> &str {
    let rest = line.trim_end_matches(' ');
    let escapes = rest.bytes().rev().take_while(|byte| *byte == b'\\').count();
    match (rest.len() < line.len(), escapes % 2) {
        (true, 1) => &line[..=rest.len()],
        _ => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(text: &str, path: &str) -> Option<Said> {
        let (path, shape) = match path.strip_suffix('/') {
            Some(dir) => (dir, Shape::Directory),
            None => (path, Shape::Other),
        };
        IgnoreRules::parse(text.as_bytes()).unwrap().says(path.as_bytes(), shape)
    }

    #[test]
    fn rules_fit_as_in_git() {
        let fits = |rule, path| says(rule, path) == Some(Said::Ignored);
        for (rule, path) in [
            ("*.o", "a.o"),
            ("*.o", "deep/below/a.o"),
            ("/top", "top"),
            ("a/b", "a/b"),
            ("build/", "build/"),
            ("build/", "deep/build/"),
            ("a/**", "a/b/c"),
            ("**/c", "a/b/c"),
            ("a/**/c", "a/c"),
            ("a/*", "a/b"),
            ("x{1,2}", "x{1,2}"),
            ("[{]x", "{x"),
            ("[!a]", "b"),
            ("\\#odd", "#odd"),
            ("\\!odd", "!odd"),
            ("end\\ ", "end "),
            ("end  ", "end"),
            ("windows\r", "windows"),
            ("\u{feff}marked", "marked"),
            ("*", ".hidden"),
            ("[[:digit:]]x", "1x"),
            ("b[\\]]b", "b]b"),
            ("y/***/y", "y/a/b/y"),
            // As git has it up to 2.52; its manual promises less.
            ("c**/c", "cx/y/c"),
            ("y/x**/y", "y/xa/b/y"),
        ] {
            assert!(fits(rule, path), "{rule:?} {path:?}");
        }
        for (rule, path) in [
            ("/top", "a/top"),
            ("a/b", "x/a/b"),
            ("build/", "build"),
            ("a/*", "a/b/c"),
            ("*.o", "a.out"),
            ("x{1,2}", "x1"),
            ("# a", "# a"),
            ("", "a"),
            ("/", "a"),
            ("[", "["),
            ("A", "a"),
            ("a[!x]b", "a/b"),
            ("m[a/b]n", "m/n"),
            ("y/?x**/y", "y/xxa/b/y"),
            ("[[:nonsense:]]", "n"),
        ] {
            assert_eq!(says(rule, path), None, "{rule:?} {path:?}");
        }
    }

    #[test]
    fn the_last_rule_that_fits_counts() {
        assert_eq!(says("*.log\n!keep.log\n", "keep.log"), Some(Said::Kept));
        assert_eq!(says("*.log\n!keep.log\n", "other.log"), Some(Said::Ignored));
        assert_eq!(says("!keep.log\n*.log\n", "keep.log"), Some(Said::Ignored));
    }

    #[test]
    fn what_is_not_text_is_no_rule() {
        let rules = IgnoreRules::parse(b"\xff\n*.o\n").unwrap();
        assert_eq!(rules.says(b"\xff", Shape::Other), None);
        assert_eq!(rules.says(b"\xff.o", Shape::Other), Some(Said::Ignored));
    }
}
