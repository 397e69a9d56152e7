//! References that lead to commits which the host does not have, in the order in which they are brought home.

use serde::Serialize;

/// Where a line of commits ends, and what it is called there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tip {
    /// In full, as in `refs/heads/main`. The program chose it.
    pub name: String,
    pub commit: String,
}

/// A tip that another one does not bring along.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Left {
    #[serde(flatten)]
    pub tip: Tip,
    /// How many commits it has beyond that one and those before it.
    pub commits: u64,
}

/// Work first, and last what was put aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Branch,
    Head,
    Tag,
    Stash,
}

impl Kind {
    /// Of a reference by its full name; `None` where its commits are nobody's work.
    pub(super) fn of(name: &str) -> Option<Self> {
        let names: Vec<&str> = name.split('/').collect();
        match names.as_slice() {
            ["refs", "heads", _, ..] => Some(Self::Branch),
            ["HEAD"] | ["worktrees", _, "HEAD"] => Some(Self::Head),
            ["refs", "tags", _, ..] => Some(Self::Tag),
            ["refs", "stash"] => Some(Self::Stash),
            _ => None,
        }
    }
}

/// What people call a reference. Whoever shows it makes it inert.
pub fn short_name(name: &str) -> String {
    let rest = |prefix| name.strip_prefix(prefix).unwrap_or(name);
    match Kind::of(name) {
        Some(Kind::Branch) => rest("refs/heads/").to_owned(),
        Some(Kind::Tag) => format!("tag {}", rest("refs/tags/")),
        Some(Kind::Stash) => "stash".to_owned(),
        Some(Kind::Head) => "HEAD".to_owned(),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_taken_in_the_order_of_their_kinds() {
        let names = ["refs/stash", "refs/tags/v/1", "worktrees/w/HEAD", "HEAD", "refs/heads/a/b"];
        let mut kinds: Vec<_> = names.iter().filter_map(|name| Kind::of(name)).collect();
        kinds.sort();
        assert_eq!(kinds, [Kind::Branch, Kind::Head, Kind::Head, Kind::Tag, Kind::Stash]);
        for name in ["refs/remotes/origin/HEAD", "refs/replace/x", "refs/heads", "refs/notes/x"] {
            assert_eq!(Kind::of(name), None, "{name}");
        }
        let short: Vec<_> = names.iter().map(|name| short_name(name)).collect();
        assert_eq!(short, ["stash", "tag v/1", "HEAD", "HEAD", "a/b"]);
    }
}
