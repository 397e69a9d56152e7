//! Patterns of changed paths, as people write them in settings.
//!
//! `*` and `?` stay within a name, `**` crosses names, `[a-z]` is one byte of a set and `{a,b}` either of
//! two. Without a slash a pattern means a name at any depth, with one a path from the workspace's root. A
//! pattern that matches a directory matches all that is in it; one that ends in `/` or `/**` matches
//! directories only, and all that is in them.
//!
//! Bytes are compared with bytes, so a name escapes no pattern by not being text. Deliberately absent:
//! `!`, which would make the order of patterns matter.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::inert::Inert;

/// Many patterns that are tried at once.
#[derive(Debug, Clone)]
pub struct Globs {
    set: GlobSet,
    /// For each glob of the set: whose it is, and what it asks of the path.
    rows: Vec<Row>,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    pattern: usize,
    only_directories: bool,
}

/// What stands at a path that is compared with patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Directory,
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{}\" is not a pattern of paths: {why}", Inert::line(.pattern))]
pub struct BadGlob {
    pattern: String,
    why: String,
}

/// Longer than any pattern that people write, and short enough to be compiled at once.
const LONGEST: usize = 1024;

impl Globs {
    pub fn new<T: AsRef<str>>(patterns: &[T]) -> Result<Self, BadGlob> {
        let (mut set, mut rows) = (GlobSetBuilder::new(), Vec::new());
        for (pattern, written) in patterns.iter().enumerate() {
            let parts = Parts::of(written.as_ref())?;
            set.add(parts.compile(&parts.itself)?);
            rows.push(Row { pattern, only_directories: parts.only_directories });
            set.add(parts.compile(&parts.below())?);
            rows.push(Row { pattern, only_directories: false });
        }
        let set = set.build().map_err(|error| BadGlob {
            pattern: error.glob().unwrap_or("all of them together").to_owned(),
            why: error.kind().to_string(),
        })?;
        Ok(Self { set, rows })
    }

    /// Whether a pattern is well-formed.
    pub fn check(pattern: &str) -> Result<(), BadGlob> {
        let parts = Parts::of(pattern)?;
        parts.compile(&parts.itself).map(|_| ())
    }

    /// The patterns that match, as indexes into the list that the set was made of, in order.
    pub fn matching(&self, path: &[u8], shape: Shape) -> Vec<usize> {
        let candidate = Candidate::new(OsStr::from_bytes(path));
        let mut found: Vec<usize> = self
            .set
            .matches_candidate(&candidate)
            .into_iter()
            .map(|glob| self.rows[glob])
            .filter(|row| shape == Shape::Directory || !row.only_directories)
            .map(|row| row.pattern)
            .collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// A pattern, taken apart.
struct Parts<'a> {
    written: &'a str,
    /// From the root, without what stands at its end to say that it is a directory.
    itself: String,
    only_directories: bool,
}

impl<'a> Parts<'a> {
    fn of(written: &'a str) -> Result<Self, BadGlob> {
        let bad = |why: &str| BadGlob { pattern: written.to_owned(), why: why.to_owned() };
        if written.len() > LONGEST {
            return Err(bad("it is longer than 1024 bytes"));
        }
        if written.chars().any(char::is_control) {
            return Err(bad("it has a control character"));
        }
        if written.starts_with('!') {
            return Err(bad("a pattern cannot take back another; for the character write \\!"));
        }
        let mut text = written.strip_prefix("./").unwrap_or(written);
        let mut anchored = text != written;
        if let Some(rest) = text.strip_prefix('/') {
            (text, anchored) = (rest, true);
        }
        let mut only_directories = false;
        while let Some(rest) = text.strip_suffix("/**").or_else(|| text.strip_suffix('/')) {
            (text, only_directories) = (rest, true);
            anchored |= written.ends_with("**");
        }
        if text.is_empty() {
            return Err(bad("it names nothing below the workspace"));
        }
        if text.split('/').any(|name| ["", ".", ".."].contains(&name)) {
            return Err(bad("it has an empty name or one of dots only"));
        }
        // Everything; what comes after adds nothing to it.
        if text == "**" {
            return Ok(Self { written, itself: "**".to_owned(), only_directories: false });
        }
        anchored |= text.contains('/');
        let root = if anchored { "" } else { "**/" };
        Ok(Self { written, itself: format!("{root}{text}"), only_directories })
    }

    fn below(&self) -> String {
        format!("{}/**", self.itself)
    }

    fn compile(&self, glob: &str) -> Result<globset::Glob, BadGlob> {
        let bad = |why: String| BadGlob { pattern: self.written.to_owned(), why };
        let glob = spelled(glob).map_err(|why| bad(why.to_owned()))?;
        GlobBuilder::new(&glob)
            .literal_separator(true)
            .backslash_escape(true)
            .empty_alternates(true)
            .build()
            .map_err(|error| bad(error.kind().to_string()))
    }
}

/// The same pattern in words that the crate takes as we do. To it a set may hold the slash, and a path
/// that ends with a dot has no last name that plain text could be compared with; a set can.
fn spelled(glob: &str) -> Result<String, &'static str> {
    let mut out = String::with_capacity(glob.len() + 2);
    let mut rest = glob.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => {
                out.push(c);
                out.extend(rest.next());
            }
            '.' if rest.peek().is_none() => out.push_str("[.]"),
            '[' => {
                out.push(c);
                let negated = rest.next_if(|c| ['!', '^'].contains(c)).is_some();
                let set: Vec<char> = {
                    let first = rest.next();
                    let more = std::iter::from_fn(|| rest.next_if(|c| *c != ']'));
                    first.into_iter().chain(more).collect()
                };
                let spans = |ends: &[char]| ends[1] == '-' && ends[0] < '/' && '/' <= ends[2];
                if set.contains(&'/') || set.windows(3).any(spans) {
                    return Err("a set of characters cannot hold the slash");
                }
                // A bracket is an ordinary character only where it comes first.
                let bracket = usize::from(negated && set.first() == Some(&']'));
                if bracket == 1 && set.get(1) == Some(&'-') {
                    return Err("a range cannot begin with a bracket");
                }
                out.push_str(if negated { "!" } else { "" });
                out.extend(&set[..bracket]);
                out.push_str(if negated { "/" } else { "" });
                out.extend(&set[bracket..]);
            }
            c => out.push(c),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
