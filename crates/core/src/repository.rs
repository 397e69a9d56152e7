//! The git repository of a workspace that does not hold its own.

use serde::{Deserialize, Serialize};

use crate::mount::HostPath;
use crate::paths::ExactPath;

/// A linked worktree and a submodule have a file `.git` that names a directory elsewhere. Git works inside
/// only if that directory is there, under the very name by which git will look for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repository {
    /// The directory that holds objects and references.
    pub source: HostPath,
    /// Where git, started in the workspace inside, looks for it.
    pub target: ExactPath,
    pub of: RepositoryOf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepositoryOf {
    Worktree,
    /// Its settings name the workspace, by a path that means something else inside.
    Submodule,
}

/// `core.worktree` in a repository's settings, as git writes it for a submodule.
pub fn worktree(config: &[u8]) -> Option<&[u8]> {
    lines(config).find_map(|line| line.worktree)
}

/// The settings with another `core.worktree`, where there is one. Everything else stays as it is.
pub fn with_worktree(config: &[u8], worktree: &str) -> Vec<u8> {
    let mut changed = Vec::with_capacity(config.len() + worktree.len());
    for line in lines(config) {
        match line.worktree {
            Some(_) => changed.extend_from_slice(format!("\tworktree = {worktree}\n").as_bytes()),
            None => changed.extend_from_slice(line.whole),
        }
    }
    changed
}

struct Line<'a> {
    /// With its end.
    whole: &'a [u8],
    /// The value, where the line sets `core.worktree`.
    worktree: Option<&'a [u8]>,
}

fn lines(config: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let mut in_core = false;
    config.split_inclusive(|byte| *byte == b'\n').map(move |whole| {
        let text = whole.trim_ascii();
        if text.first() == Some(&b'[') {
            in_core = text.eq_ignore_ascii_case(b"[core]");
        }
        let worktree = if in_core { value_of(text, b"worktree") } else { None };
        Line { whole, worktree }
    })
}

fn value_of<'a>(line: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    let equals = line.iter().position(|byte| *byte == b'=')?;
    if !line[..equals].trim_ascii().eq_ignore_ascii_case(wanted) {
        return None;
    }
    let value = line[equals + 1..].trim_ascii();
    Some(value.strip_prefix(b"\"").and_then(|v| v.strip_suffix(b"\"")).unwrap_or(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_place_of_the_workspace_is_another() {
        let config = b"[core]\n\tbare = false\n\tworktree = ../../../lib\n[x]\n\tworktree = y\n";
        let inside = b"[core]\n\tbare = false\n\tworktree = /workspace\n[x]\n\tworktree = y\n";
        assert_eq!(with_worktree(config, "/workspace"), inside);
        assert_eq!(with_worktree(b"[core]\n\tbare = true", "/w"), b"[core]\n\tbare = true");
    }

    #[test]
    fn what_is_replaced_is_what_was_read() {
        assert_eq!(worktree(b"[x]\nworktree=a\n[CORE]\n WorkTree = \"b c\"\n"), Some(&b"b c"[..]));
        assert_eq!(worktree(b"[core]\nbare = true\n"), None);
        assert_eq!(worktree(b"worktree = a\n"), None);
    }
}
