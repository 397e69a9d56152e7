//! Reads the files that say what a project is. No link is followed, nothing is run, and there is an end to it.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use cofferdam_core::project::tree::MOST_BYTES;
use cofferdam_core::project::{FILES, Tree, devcontainer};

#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {source}", path.display())]
pub struct ReadError {
    pub path: PathBuf,
    pub source: io::Error,
}

/// Manifests lie near the root, or somebody else's do.
const MOST_DEPTH: usize = 3;
const MOST_DIRS: usize = 2000;
const MOST_SOURCES: usize = 400;
const HEAD: u64 = 64 << 10;

/// What is built, fetched, or not the project's own.
const PASSED_OVER: &[&str] = &[
    "node_modules",
    "vendor",
    "target",
    "dist",
    "build",
    "out",
    "venv",
    "testdata",
    "third_party",
    "coverage",
];

/// A project as it lies on disk.
#[derive(Debug)]
pub struct Project {
    pub tree: Tree,
    /// Dockerfiles that it has, by their path from its root.
    pub dockerfiles: Vec<String>,
    /// Its devcontainer.json: the path from the root, and the text.
    pub devcontainer: Option<(String, String)>,
}

pub fn read(root: &Path) -> Result<Project, ReadError> {
    let mut walk = Walk { root, tree: Tree::default(), dirs: 0, sources: 0 };
    walk.enter(String::new(), 0)?;
    let mut tree = walk.tree;
    for name in ["gradle/wrapper/gradle-wrapper.properties"] {
        if let Some(bytes) = bytes(&root.join(name))? {
            tree.add(name, &bytes);
        }
    }
    let mut devcontainer = None;
    for place in devcontainer::PLACES {
        let found = bytes(&root.join(place))?.and_then(|bytes| String::from_utf8(bytes).ok());
        if let (None, Some(text)) = (&devcontainer, found) {
            devcontainer = Some(((*place).to_owned(), text));
        }
    }
    let dockerfiles = ["Dockerfile.dev", "Dockerfile", "Containerfile"].into_iter();
    let dockerfiles = dockerfiles.filter(|name| is_file(&root.join(name)));
    Ok(Project { tree, dockerfiles: dockerfiles.map(str::to_owned).collect(), devcontainer })
}

struct Walk<'a> {
    root: &'a Path,
    tree: Tree,
    dirs: usize,
    sources: usize,
}

impl Walk<'_> {
    fn enter(&mut self, dir: String, depth: usize) -> Result<(), ReadError> {
        self.dirs += 1;
        let path = self.root.join(&dir);
        let fail = |source| ReadError { path: path.clone(), source };
        let mut names = Vec::new();
        for entry in fs::read_dir(&path).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let kind = entry.file_type().map_err(fail)?;
            // A name that is not text is nobody's manifest.
            if let Some(name) = entry.file_name().to_str() {
                names.push((name.to_owned(), kind));
            }
        }
        names.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (name, kind) in names {
            let below = if dir.is_empty() { name.clone() } else { format!("{dir}/{name}") };
            if kind.is_dir() {
                let is_left_out = name.starts_with('.') || PASSED_OVER.contains(&name.as_str());
                if !is_left_out && depth < MOST_DEPTH && self.dirs < MOST_DIRS {
                    self.enter(below, depth + 1)?;
                }
            } else if kind.is_file() && FILES.contains(&name.as_str()) {
                if let Some(bytes) = bytes(&self.root.join(&below))? {
                    self.tree.add(&below, &bytes);
                }
            } else if kind.is_file() && name.ends_with(".go") && self.sources < MOST_SOURCES {
                self.sources += 1;
                self.tree.imports_c |= imports_c(&self.root.join(&below))?;
            }
        }
        Ok(())
    }
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file())
}

/// As much of a file as anybody takes in; none where there is no plain file.
fn bytes(path: &Path) -> Result<Option<Vec<u8>>, ReadError> {
    if !is_file(path) {
        return Ok(None);
    }
    head(path, u64::try_from(MOST_BYTES + 1).unwrap_or(u64::MAX)).map(Some)
}

fn imports_c(path: &Path) -> Result<bool, ReadError> {
    let head = head(path, HEAD)?;
    let text = String::from_utf8_lossy(&head);
    Ok(text.lines().map(str::trim).any(|line| matches!(line, "import \"C\"" | "\"C\"")))
}

fn head(path: &Path, most: u64) -> Result<Vec<u8>, ReadError> {
    let fail = |source| ReadError { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    File::open(path).map_err(fail)?.take(most).read_to_end(&mut bytes).map_err(fail)?;
    Ok(bytes)
}
