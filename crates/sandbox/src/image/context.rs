//! What an engine is sent to build from: the files that a Dockerfile takes, without those that are ignored, in
//! order, without times and owners. The same files are the same bytes and the same hash.
//!
//! Every path is reached from the workspace's open directory with no link followed, when it is listed and again
//! when it is sent. A file that changed in between ends the build.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::fd::AsFd as _;

use cofferdam_core::changes::ChangePath;
use cofferdam_core::dockerfile::ignore::Ignored;
use rustix::fs::{FileType, Mode, OFlags, openat, readlinkat};

use crate::changes::Workspace;
use crate::engine::http::Streamed;
use crate::tar::{self, Kind};
use crate::tree::Names;

#[derive(Debug)]
pub(super) struct Context<'a> {
    workspace: &'a Workspace,
    /// Its path and its text, as it was read; what stands there by now is not sent.
    dockerfile: (&'a ChangePath, &'a str),
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    path: ChangePath,
    kind: Kind,
    target: Vec<u8>,
    mode: u32,
    size: u64,
    hash: Option<blake3::Hash>,
}

#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    #[error("the build needs {path}, which is not there")]
    Missing { path: String },
    #[error("the build needs {path}, which is left out by .dockerignore or blocked")]
    LeftOut { path: String },
    #[error("cannot read {path}: {source}")]
    Read { path: String, source: io::Error },
    #[error("{path} is too large to be sent")]
    TooLarge { path: String },
}

impl<'a> Context<'a> {
    /// Lists what `sources` name, or everything.
    pub(super) fn gather(
        workspace: &'a Workspace,
        dockerfile: (&'a ChangePath, &'a str),
        sources: Option<&[String]>,
        ignored: &Ignored,
    ) -> Result<Self, ContextError> {
        let mut context = Self { workspace, dockerfile, entries: Vec::new() };
        match sources {
            None => context.enter(None, ignored)?,
            Some(sources) => {
                for source in sources {
                    let missing = || ContextError::Missing { path: source.clone() };
                    let path = ChangePath::new(source.as_str()).map_err(|_| missing())?;
                    if ignored.leaves_out(source) {
                        return Err(ContextError::LeftOut { path: source.clone() });
                    }
                    context.add(path, ignored)?.ok_or_else(missing)?;
                }
            }
        }
        context.entries.sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
        context.entries.dedup_by(|a, b| a.path == b.path);
        context.entries.retain(|entry| entry.path != *dockerfile.0);
        Ok(context)
    }

    /// All that decides what is built from it.
    pub(super) fn hash(&self, to: &mut blake3::Hasher) {
        to.update(self.dockerfile.1.as_bytes());
        for entry in &self.entries {
            to.update(entry.path.as_bytes());
            to.update(&[0]);
            to.update(&entry.target);
            to.update(format!("\0{:?} {:o} {}\0", entry.kind, entry.mode, entry.size).as_bytes());
            to.update(entry.hash.map_or([0; 32], |hash| *hash.as_bytes()).as_slice());
        }
    }

    /// Takes in whatever has that path; `None` where nothing does.
    fn add(&mut self, path: ChangePath, ignored: &Ignored) -> Result<Option<()>, ContextError> {
        let fail = |source: io::Error| ContextError::Read { path: path.to_string(), source };
        let place = match self.workspace.place(&path) {
            Ok(place) => place,
            Err(crate::changes::WorkspaceError::NoParent { .. }) => return Ok(None),
            Err(error) => return Err(fail(io::Error::other(error))),
        };
        let found =
            match rustix::fs::statat(&place.dir, place.name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
            {
                Ok(found) => found,
                Err(rustix::io::Errno::NOENT) => return Ok(None),
                Err(errno) => return Err(fail(errno.into())),
            };
        let mut entry = Entry {
            path: path.clone(),
            kind: Kind::File,
            target: Vec::new(),
            mode: 0o644,
            size: 0,
            hash: None,
        };
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => {
                (entry.kind, entry.mode) = (Kind::Directory, 0o755);
                self.entries.push(entry);
                self.enter(Some(&path), ignored)?;
            }
            FileType::Symlink => {
                let target =
                    readlinkat(&place.dir, place.name, Vec::new()).map_err(|e| fail(e.into()))?;
                (entry.kind, entry.mode, entry.target) = (Kind::Link, 0o777, target.into_bytes());
                self.entries.push(entry);
            }
            FileType::RegularFile => {
                let mut file = place.open_file().map_err(fail)?;
                let mut hasher = blake3::Hasher::new();
                entry.size = io::copy(&mut file, &mut hasher).map_err(fail)?;
                if entry.size > tar::MOST_SIZE {
                    return Err(ContextError::TooLarge { path: path.to_string() });
                }
                entry.mode = if found.st_mode & 0o111 == 0 { 0o644 } else { 0o755 };
                entry.hash = Some(hasher.finalize());
                self.entries.push(entry);
            }
            // Sockets and devices are nothing to build from.
            _ => {}
        }
        Ok(Some(()))
    }

    fn enter(&mut self, dir: Option<&ChangePath>, ignored: &Ignored) -> Result<(), ContextError> {
        let shown = || dir.map_or_else(|| ".".to_owned(), ToString::to_string);
        let fail = |source: io::Error| ContextError::Read { path: shown(), source };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let open = match dir {
            None => openat(self.workspace.root(), ".", flags, Mode::empty()),
            Some(dir) => {
                let place =
                    self.workspace.place(dir).map_err(|error| fail(io::Error::other(error)))?;
                openat(&place.dir, place.name, flags, Mode::empty())
            }
        };
        let open = open.map_err(|errno| fail(errno.into()))?;
        let mut names = Names::of(open.as_fd()).map_err(fail)?;
        names.sort();
        let names: Vec<_> = names.iter().map(OsStr::to_owned).collect();
        for name in names {
            let path = match dir {
                None => ChangePath::new(name),
                Some(dir) => dir.join(&name),
            };
            let Ok(path) = path else { continue };
            // Patterns are text; so is whatever they are held against.
            let text = String::from_utf8_lossy(path.as_bytes()).into_owned();
            if ignored.leaves_out_all(&text) {
                continue;
            }
            let before = self.entries.len();
            self.add(path, ignored)?;
            if ignored.leaves_out(&text) {
                // A directory may hold something that was taken back.
                let only_it = self.entries.len() == before + 1;
                let is_directory =
                    self.entries.get(before).is_some_and(|e| e.kind == Kind::Directory);
                if only_it || !is_directory {
                    self.entries.truncate(before);
                }
            }
        }
        Ok(())
    }

    fn name(entry: &Entry) -> Vec<u8> {
        let mut name = entry.path.as_bytes().to_vec();
        if entry.kind == Kind::Directory {
            name.push(b'/');
        }
        name
    }

    fn head(entry: &Entry) -> Vec<u8> {
        tar::head(&Self::name(entry), entry.kind, &entry.target, entry.mode, entry.size)
    }
}

impl Streamed for Context<'_> {
    fn length(&self) -> u64 {
        let of = |head: usize, size: u64| head as u64 + size + tar::padding(size) as u64;
        let (path, text) = self.dockerfile;
        let own = text.len() as u64;
        let own_head = tar::head(path.as_bytes(), Kind::File, b"", 0o644, own).len();
        let entries = self.entries.iter().map(|entry| of(Self::head(entry).len(), entry.size));
        entries.sum::<u64>() + of(own_head, own) + tar::END as u64
    }

    fn write(&self, to: &mut dyn Write) -> io::Result<()> {
        let (path, text) = self.dockerfile;
        let own = text.len() as u64;
        to.write_all(&tar::head(path.as_bytes(), Kind::File, b"", 0o644, own))?;
        to.write_all(text.as_bytes())?;
        to.write_all(&vec![0; tar::padding(own)])?;
        for entry in &self.entries {
            to.write_all(&Self::head(entry))?;
            if entry.kind == Kind::File {
                self.contents(entry, to)?;
                to.write_all(&vec![0; tar::padding(entry.size)])?;
            }
        }
        to.write_all(&[0; tar::END])
    }
}

impl Context<'_> {
    fn contents(&self, entry: &Entry, to: &mut dyn Write) -> io::Result<()> {
        let changed = || io::Error::other(format!("{} changed while it was sent", entry.path));
        let place = self.workspace.place(&entry.path).map_err(io::Error::other)?;
        let mut file = place.open_file()?.take(entry.size);
        let (mut hasher, mut left) = (blake3::Hasher::new(), entry.size);
        let mut buffer = vec![0; 64 << 10];
        while left > 0 {
            let got = file.read(&mut buffer)?;
            if got == 0 {
                return Err(changed());
            }
            hasher.update(&buffer[..got]);
            to.write_all(&buffer[..got])?;
            left -= got as u64;
        }
        if Some(hasher.finalize()) == entry.hash { Ok(()) } else { Err(changed()) }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::process::{Command, Stdio};

    use super::*;

    fn ignored(text: &str) -> Ignored {
        Ignored::new(text, &[".env"]).unwrap()
    }

    fn listed(context: &Context<'_>) -> Vec<String> {
        let mut child = Command::new("tar")
            .args(["-tf", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut bytes = Vec::new();
        context.write(&mut bytes).unwrap();
        assert_eq!(bytes.len() as u64, context.length());
        child.stdin.take().unwrap().write_all(&bytes).unwrap();
        let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        said.lines().map(str::to_owned).collect()
    }

    fn hash(context: &Context<'_>) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        context.hash(&mut hasher);
        hasher.finalize()
    }

    #[test]
    fn only_what_is_taken_and_not_ignored_is_sent() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("src/deep")).unwrap();
        fs::create_dir_all(at("node_modules/x")).unwrap();
        for name in ["a", ".env", "src/b", "src/deep/.env", "node_modules/x/y"] {
            fs::write(at(name), name).unwrap();
        }
        fs::write(at(&"l".repeat(120)), "long").unwrap();
        symlink("/etc/shadow", at("link")).unwrap();
        fs::write(at("Dockerfile"), "what stands there by now").unwrap();
        let own = ChangePath::new("Dockerfile").unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        let all = Context::gather(&workspace, (&own, "FROM a\n"), None, &ignored("node_modules\n"))
            .unwrap();
        let long = "l".repeat(120);
        let names = ["Dockerfile", "a", "link", long.as_str(), "src/", "src/b", "src/deep/"];
        assert_eq!(listed(&all), names);
        let only = ["a".to_owned()];
        let few =
            Context::gather(&workspace, (&own, "FROM a\n"), Some(&only), &ignored("")).unwrap();
        assert_eq!(listed(&few), ["Dockerfile", "a"]);
        let before = hash(&few);
        fs::write(at("src/b"), "other").unwrap();
        let again =
            Context::gather(&workspace, (&own, "FROM a\n"), Some(&only), &ignored("")).unwrap();
        assert_eq!(hash(&again), before, "what is not taken does not count");
        fs::write(at("a"), "other").unwrap();
        let sent = few.write(&mut Vec::new()).unwrap_err().to_string();
        assert!(sent.contains("changed while it was sent"), "{sent}");
        let changed =
            Context::gather(&workspace, (&own, "FROM a\n"), Some(&only), &ignored("")).unwrap();
        assert_ne!(hash(&changed), before);
        for (name, said) in
            [(".env", "left out"), ("nothing", "not there"), ("no/thing", "not there")]
        {
            let of = [name.to_owned()];
            let error =
                Context::gather(&workspace, (&own, ""), Some(&of), &ignored("")).unwrap_err();
            assert!(error.to_string().contains(said), "{error}");
        }
        fs::remove_dir_all(at("src")).unwrap();
        symlink("/etc", at("src")).unwrap();
        let through = ["src/passwd".to_owned()];
        assert!(Context::gather(&workspace, (&own, ""), Some(&through), &ignored("")).is_err());
    }
}
