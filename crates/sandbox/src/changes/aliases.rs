//! Other names that the host has for a path: links of its own that lead there, or to a directory above.
//!
//! Where `.vscode` is a link to `tools`, an editor reads `tools/tasks.json`. Links are looked for in the
//! directories that lead to the path, the workspace itself included, and taken by what they say.
//!
//! Deliberately absent: links that lie elsewhere in the tree. To know them all, it would have to be walked.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use cofferdam_core::changes::ChangePath;
use rustix::fd::AsFd as _;
use rustix::fs::{Mode, openat2, readlinkat};

use super::beneath::{READ_DIRECTORY, RESOLVE, Workspace};
use crate::tree::Names;

/// Directories whose links are remembered.
const REMEMBERED: usize = 10_000;
/// Of one directory, so many names are looked at.
const NAMES: usize = 50_000;
/// A link to a link to a link.
const ROUNDS: usize = 3;

#[derive(Debug)]
pub(super) struct Aliases {
    workspace: Workspace,
    links: RefCell<HashMap<PathBuf, Rc<[Link]>>>,
}

#[derive(Debug)]
struct Link {
    at: PathBuf,
    to: PathBuf,
}

impl Aliases {
    pub(super) fn new(workspace: Workspace) -> Self {
        Self { workspace, links: RefCell::default() }
    }

    /// The other names of `path`.
    pub(super) fn of(&self, path: &ChangePath) -> Vec<ChangePath> {
        let mut found: Vec<PathBuf> = Vec::new();
        let mut next = vec![path.as_path().to_owned()];
        for _ in 0..ROUNDS {
            let known: Vec<PathBuf> = std::mem::take(&mut next);
            for name in known.iter().flat_map(|name| self.leading_to(name)) {
                if name != path.as_path() && !found.contains(&name) {
                    found.push(name.clone());
                    next.push(name);
                }
            }
        }
        found.into_iter().filter_map(|name| ChangePath::new(name).ok()).collect()
    }

    fn leading_to(&self, path: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for dir in path.ancestors().skip(1) {
            for Link { at, to } in &*self.links_in(dir) {
                if let Ok(rest) = path.strip_prefix(to) {
                    found.push(if rest.as_os_str().is_empty() {
                        at.clone()
                    } else {
                        at.join(rest)
                    });
                }
            }
        }
        found
    }

    fn links_in(&self, dir: &Path) -> Rc<[Link]> {
        let mut links = self.links.borrow_mut();
        if let Some(known) = links.get(dir) {
            return Rc::clone(known);
        }
        if links.len() >= REMEMBERED {
            links.clear();
        }
        let read: Rc<[Link]> = self.read(dir).into();
        links.insert(dir.to_owned(), Rc::clone(&read));
        read
    }

    /// A directory that cannot be read has no link that anybody could follow for us.
    fn read(&self, dir: &Path) -> Vec<Link> {
        let here = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
        let opened = openat2(self.workspace.root(), here, READ_DIRECTORY, Mode::empty(), RESOLVE);
        let Ok(fd) = opened else { return Vec::new() };
        let Ok(names) = Names::of(fd.as_fd()) else { return Vec::new() };
        let link = |name: &OsStr| {
            let target = readlinkat(&fd, name, Vec::new()).ok()?;
            let target = Path::new(OsStr::from_bytes(target.to_bytes()));
            let to = self.inside(dir, target)?;
            Some(Link { at: dir.join(name), to })
        };
        names.iter().take(NAMES).filter_map(link).collect()
    }

    /// Where a link in `dir` leads, if that is below the workspace.
    fn inside(&self, dir: &Path, target: &Path) -> Option<PathBuf> {
        let from = match target.strip_prefix(self.workspace.path()) {
            Ok(inside) => inside.to_owned(),
            Err(_) if target.is_absolute() => return None,
            Err(_) => dir.join(target),
        };
        let mut clean = PathBuf::new();
        for component in from.components() {
            match component {
                Component::Normal(name) => clean.push(name),
                Component::CurDir => {}
                Component::ParentDir => {
                    if !clean.pop() {
                        return None;
                    }
                }
                Component::RootDir | Component::Prefix(_) => return None,
            }
        }
        Some(clean)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_on_the_way_and_links_to_links() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("a/tools")).unwrap();
        symlink("a/tools", top.join(".vscode")).unwrap();
        symlink(top.join("a"), top.join("absolute")).unwrap();
        symlink("tools/main.mk", top.join("a/Makefile")).unwrap();
        symlink("../.vscode", top.join("a/.again")).unwrap();
        symlink("../../elsewhere", top.join("a/out")).unwrap();
        let aliases = Aliases::new(Workspace::open(&top).unwrap());
        let of = |path: &str| {
            let mut names: Vec<String> = aliases
                .of(&ChangePath::new(path).unwrap())
                .iter()
                .map(ToString::to_string)
                .collect();
            names.sort();
            names
        };
        assert_eq!(of("a/other"), ["absolute/other"]);
        let named = of("a/tools/main.mk");
        for name in [".vscode/main.mk", "a/Makefile", "absolute/tools/main.mk", "absolute/Makefile"]
        {
            assert!(named.contains(&name.to_owned()), "{name} in {named:?}");
        }
        assert_eq!(of("b"), [""; 0]);
    }
}
