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

/// All rows, and those again that hold for what is below.
struct Compiled {
    all: Lookup,
    deep: Lookup,
}

impl Compiled {
    fn new() -> Self {
        Self { all: Lookup::of(|_| true), deep: Lookup::of(Row::is_deep) }
    }

    /// In the order of the table.
    fn matching(&self, path: &[u8]) -> impl Iterator<Item = &'static Row> {
        let path = folded(path);
        let mut found = self.all.at(&path);
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        for (end, _) in slashes {
            found.extend(self.deep.at(&path[..end]));
        }
        found.sort_unstable_by_key(|(place, _)| *place);
        found.into_iter().map(|(_, row)| row)
    }
}

struct Lookup {
    set: GlobSet,
    /// The row of each glob, and its place in the table.
    rows: Vec<(usize, &'static Row)>,
}

impl Lookup {
    fn of(wanted: fn(&Row) -> bool) -> Self {
        let (mut set, mut owners) = (GlobSetBuilder::new(), Vec::new());
        for (place, row) in rows().enumerate().filter(|(_, row)| wanted(row)) {
            // Plain names are looked up where a choice would become an automaton: that is most of the time
            // it takes to make the set.
            for plain in spelled_out(row.pattern.trim_end_matches('/')) {
                let glob = GlobBuilder::new(&format!("**/{plain}")).literal_separator(true).build();
                set.add(glob.expect("a test compiles every pattern"));
                owners.push((place, row));
            }
        }
        Self { set: set.build().expect("a test compiles every pattern"), rows: owners }
    }

    /// What matches this very path.
    fn at(&self, path: &[u8]) -> Vec<(usize, &'static Row)> {
        let found = self.set.matches_candidate(&Candidate::new(OsStr::from_bytes(path)));
        found.into_iter().map(|glob| self.rows[glob]).collect()
    }
}

/// Every pattern without choices that one with `{a,b}` stands for. Choices are not nested in the table.
fn spelled_out(pattern: &str) -> Vec<String> {
    let choice = pattern.split_once('{').and_then(|(before, rest)| {
        rest.split_once('}').map(|(choices, after)| (before, choices, after))
    });
    let Some((before, choices, after)) = choice else { return vec![pattern.to_owned()] };
    let ends = spelled_out(after);
    let all = choices
        .split(',')
        .flat_map(|choice| ends.iter().map(move |end| format!("{before}{choice}{end}")));
    all.collect()
}
