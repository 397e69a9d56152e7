//! Which paths belong to which class.
//!
//! A pattern holds at any depth and is written in lower case, since it is compared with a folded path. One
//! that ends in a slash means whatever has that name, and all below it; any other means a file or a link,
//! and no directory. Of the rows of one class the first that matches gives the reason, so the particular
//! stand before the general. Each row has paths that it must match and paths that its class must not.

mod agent;
mod build;
mod ci;
mod editor;
mod git;
mod interpreter;
mod own;
mod package;
mod shell;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::LazyLock;

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

use super::fold::folded;
use super::{Class, Membership};
use crate::changes::Entry;

/// Paths of one kind.
#[derive(Debug)]
pub struct Row {
    pub class: Class,
    pub pattern: &'static str,
    /// Where it differs from the class's own.
    reason: Option<&'static str>,
    /// Paths that it matches.
    pub examples: &'static [&'static str],
    /// Paths that look alike and are not of its class.
    pub others: &'static [&'static str],
}

impl Row {
    const fn new(class: Class, pattern: &'static str, examples: &'static [&'static str]) -> Self {
        Self { class, pattern, reason: None, examples, others: &[] }
    }

    const fn because(mut self, reason: &'static str) -> Self {
        self.reason = Some(reason);
        self
    }

    const fn but_not(mut self, others: &'static [&'static str]) -> Self {
        self.others = others;
        self
    }

    pub fn reason(&self) -> &'static str {
        self.reason.unwrap_or(self.class.reason())
    }

    /// Whether it means a whole directory.
    fn is_deep(&self) -> bool {
        self.pattern.ends_with('/')
    }
}

const PARTS: &[&[Row]] = &[
    git::ROWS,
    ci::ROWS,
    editor::ROWS,
    agent::ROWS,
    shell::ROWS,
    package::ROWS,
    build::ROWS,
    interpreter::ROWS,
    own::ROWS,
];

/// All rows, in order.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    PARTS.iter().copied().flatten()
}

/// The classes that the path of an entry puts it in, each once.
pub(super) fn memberships(entry: &Entry) -> Vec<Membership> {
    let mut found: Vec<Membership> = Vec::new();
    for row in TABLE.matching(entry.path.as_bytes()) {
        let counts = row.is_deep() || !entry.is_directory();
        if counts && found.iter().all(|earlier| earlier.class != row.class) {
            found.push(Membership { class: row.class, reason: row.reason() });
        }
    }
    found
}

static TABLE: LazyLock<Compiled> = LazyLock::new(Compiled::new);

struct Compiled {
    set: GlobSet,
    /// The row of each glob.
    rows: Vec<&'static Row>,
}

impl Compiled {
    fn new() -> Self {
        let (mut set, mut owners) = (GlobSetBuilder::new(), Vec::new());
        let mut add = |row: &'static Row, glob: String| {
            let glob =
                GlobBuilder::new(&glob).literal_separator(true).empty_alternates(true).build();
            set.add(glob.expect("a test compiles every pattern"));
            owners.push(row);
        };
        for row in rows() {
            let itself = format!("**/{}", row.pattern.trim_end_matches('/'));
            if row.is_deep() {
                add(row, format!("{itself}/**"));
            }
            add(row, itself);
        }
        Self { set: set.build().expect("a test compiles every pattern"), rows: owners }
    }

    /// In the order of the table.
    fn matching(&self, path: &[u8]) -> impl Iterator<Item = &'static Row> {
        let path = folded(path);
        let mut found = self.set.matches_candidate(&Candidate::new(OsStr::from_bytes(&path)));
        found.sort_unstable();
        found.into_iter().map(|glob| self.rows[glob])
    }
}
