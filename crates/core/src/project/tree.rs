//! What was read of a project: small files of known names, under paths that can be written down anywhere.
//!
//! [`Tree::add`] is the only way in. A directory with a sign in its name that an instruction could take for
//! something else is left out, and so is a file that is no text or too long; both are said.

use std::collections::BTreeMap;

use super::Note;

/// Files by their path from the project's root, with `/` between names.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    files: BTreeMap<String, String>,
    /// What is not in it, and why.
    pub notes: Vec<Note>,
    /// Whether some Go source was seen that imports C.
    pub imports_c: bool,
}

/// A manifest that is longer is not read by anybody.
pub const MOST_BYTES: usize = 1 << 20;
const MOST_NAME: usize = 64;
const MOST_DEPTH: usize = 4;

impl Tree {
    /// Takes a file in; what stands in the way is noted.
    pub fn add(&mut self, path: &str, bytes: &[u8]) {
        let refused = |why: &str| Note::new(path, why);
        if !is_plain_path(path) {
            self.notes
                .push(refused("left out: its path has signs that a Dockerfile could misread"));
            return;
        }
        if bytes.len() > MOST_BYTES {
            self.notes.push(refused("left out: it is larger than 1 MiB"));
            return;
        }
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        match std::str::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => {
                self.files.insert(path.to_owned(), text.to_owned());
            }
            _ => self.notes.push(refused("left out: it is not UTF-8 text")),
        }
    }

    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(String::as_str)
    }

    pub fn has(&self, path: &str) -> bool {
        self.files.contains_key(path)
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// Directories that have a file of one of these names, the root (an empty name) first, then by depth.
    pub fn dirs_with(&self, names: &[&str]) -> Vec<String> {
        let mut dirs: Vec<String> = Vec::new();
        for path in self.files.keys() {
            let (dir, name) = split(path);
            if names.contains(&name) && !dirs.iter().any(|known| known == dir) {
                dirs.push(dir.to_owned());
            }
        }
        dirs.sort_by_key(|dir| (depth(dir), dir.clone()));
        dirs
    }

    /// The file of that name in a directory.
    pub fn at(&self, dir: &str, name: &str) -> Option<&str> {
        self.text(&join(dir, name))
    }
}

/// A name in a directory, where the root has none.
pub fn join(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") }
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

fn depth(dir: &str) -> usize {
    if dir.is_empty() { 0 } else { 1 + dir.matches('/').count() }
}

/// Letters, digits and `.`, `_`, `-`, `@` in each name, with nothing that goes up or looks like a flag.
pub fn is_plain_path(path: &str) -> bool {
    let is_plain = |name: &str| {
        (1..=MOST_NAME).contains(&name.len())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-@".contains(&b))
            && !name.starts_with('-')
            && !matches!(name, "." | "..")
    };
    path.split('/').count() <= MOST_DEPTH && path.split('/').all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_text_under_plain_names() {
        let mut tree = Tree::default();
        tree.add("go.mod", "\u{feff}module a\n".as_bytes());
        tree.add("a\"b/go.mod", b"module b\n");
        tree.add("a b/go.mod", b"module b\n");
        tree.add("$(x)/go.mod", b"module b\n");
        tree.add("../go.mod", b"module b\n");
        tree.add("-x/go.mod", b"module b\n");
        tree.add("x/go.mod", b"\xff");
        tree.add("y/go.mod", &vec![b'a'; MOST_BYTES + 1]);
        tree.add("web/package.json", b"{}");
        assert_eq!(tree.paths().collect::<Vec<_>>(), ["go.mod", "web/package.json"]);
        assert_eq!(tree.text("go.mod"), Some("module a\n"));
        assert_eq!(tree.notes.len(), 7);
        assert_eq!(tree.dirs_with(&["package.json", "go.mod"]), ["", "web"]);
    }
}
