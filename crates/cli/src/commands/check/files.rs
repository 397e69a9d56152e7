//! Which files are looked at: those that were named, and those below directories that were.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use cofferdam_core::inert::Inert;
use cofferdam_sandbox::check::Lang;

use crate::failure::Failure;

/// Directories that hold what others wrote, or nothing that is run from there.
const SKIPPED: &[&str] = &[".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "target"];

#[derive(Debug)]
pub(super) struct File {
    pub(super) path: PathBuf,
    /// Found below a directory, not named.
    pub(super) is_found: bool,
}

impl File {
    pub(super) fn is_stdin(&self) -> bool {
        self.path == Path::new("-")
    }

    pub(super) fn name(&self) -> String {
        if self.is_stdin() { "stdin".to_owned() } else { self.path.to_string_lossy().into_owned() }
    }
}

/// All files, in a settled order. Links below directories are not followed.
pub(super) fn find(
    named: &[PathBuf],
    language: Option<Lang>,
    cwd: &Path,
) -> Result<Vec<File>, Failure> {
    let mut files = Vec::new();
    for path in named {
        if path == Path::new("-") {
            if language.is_none() {
                return Err(Failure::usage("standard input has no name to tell its language by")
                    .hint("say it with --language"));
            }
            files.push(File { path: path.clone(), is_found: false });
            continue;
        }
        let whole = cwd.join(path);
        let found =
            std::fs::metadata(&whole).with_context(|| format!("cannot find {}", Inert::path(path)));
        let found = found.map_err(|error| {
            Failure::from(error).hint(format!(
                "name files or directories as they are seen from {}, or `-` for standard input",
                Inert::path(cwd)
            ))
        })?;
        match found.is_dir() {
            true => below(path, &mut files)?,
            false => files.push(File { path: path.clone(), is_found: false }),
        }
    }
    Ok(files)
}

fn below(directory: &Path, files: &mut Vec<File>) -> anyhow::Result<()> {
    let cannot = || format!("cannot read {}", Inert::path(directory));
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(directory).with_context(cannot)? {
        entries.push(entry.with_context(cannot)?);
    }
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let kind = entry.file_type().with_context(cannot)?;
        let path = entry.path();
        if kind.is_dir() && !entry.file_name().to_str().is_some_and(|name| SKIPPED.contains(&name))
        {
            below(&path, files)?;
        } else if kind.is_file() {
            files.push(File { path, is_found: true });
        }
    }
    Ok(())
}
