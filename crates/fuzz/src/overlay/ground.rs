//! A workspace and an upper directory, made step by step of any bytes.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use cofferdam_core::changes::manifest::Moment;
use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, setxattr};

/// Few, so that steps meet each other.
const NAMES: [&[u8]; 8] = [b"a", b"b", b"c", b"a.b", b".git", b"\n", b"\xff", "ä".as_bytes()];
const CONTENTS: [&str; 4] = ["", "x", "y\n", "long enough to be a line\n"];
const MOST_STEPS: usize = 64;

pub(super) struct Ground {
    pub(super) workspace: PathBuf,
    pub(super) run: PathBuf,
    pub(super) upper: PathBuf,
    /// As root overlays are marked by attributes that others cannot set.
    marks: &'static str,
    _dir: tempfile::TempDir,
}

impl Ground {
    pub(super) fn new() -> io::Result<Self> {
        let dir = tempfile::tempdir()?;
        let (workspace, run) = (dir.path().join("workspace"), dir.path().join("run"));
        let upper = run.join("upper");
        fs::create_dir(&workspace)?;
        fs::create_dir_all(&upper)?;
        let is_root = fs::metadata("/proc/self")?.uid() == 0;
        let marks = if is_root { "trusted.overlay." } else { "user.overlay." };
        Ok(Self { workspace, run, upper, marks, _dir: dir })
    }

    /// Four bytes are a step. One that is impossible, such as a file below a file, is left out.
    pub(super) fn fill(&self, input: &[u8]) {
        for step in input.as_chunks::<4>().0.iter().take(MOST_STEPS) {
            self.step(step).unwrap_or_default();
        }
    }

    fn step(&self, [act, path, other, detail]: &[u8; 4]) -> io::Result<()> {
        let (below, above) = (place(&self.workspace, *path), place(&self.upper, *path));
        let content = CONTENTS[usize::from(detail % 4)];
        let target = place(Path::new(""), *other);
        match act % 16 {
            0 => write(&below, content),
            1 => fs::create_dir_all(below),
            2 => symlink(target, below),
            3 => mode(&below, *detail),
            4 | 5 => write(&above, content),
            6 => fs::create_dir_all(above),
            7 => symlink(target, above),
            8 | 9 => special(&above, FileType::CharacterDevice),
            10 => special(&above, FileType::Fifo),
            11 => fs::hard_link(place(&self.upper, *other), above),
            12 => mode(&above, *detail),
            13 => self.mark(&above, "opaque", if detail % 2 == 0 { b"y" } else { b"x" }),
            14 => self.mark(&above, "whiteout", b"y"),
            _ => {
                let names = ["opaque", "overlay.opaque", "redirect", "metacopy", "impure"];
                self.mark(&above, names[usize::from(other % 5)], &[*detail])
            }
        }
    }

    fn mark(&self, path: &Path, name: &str, value: &[u8]) -> io::Result<()> {
        Ok(setxattr(path, format!("{}{name}", self.marks), value, XattrFlags::empty())?)
    }

    /// The time of a file that is made now: what changed later is not what the run began with.
    pub(super) fn now(&self) -> io::Result<Moment> {
        let mark = self.run.join("mark");
        fs::write(&mark, "")?;
        let stat = fs::metadata(&mark)?;
        let nanos = u32::try_from(stat.ctime_nsec()).unwrap_or(0);
        Ok(Moment { seconds: stat.ctime(), nanos })
    }

    pub(super) fn forget_manifest(&self) -> io::Result<()> {
        fs::remove_file(self.run.join("manifest"))
    }
}

/// One to three names, by two bits of depth and six of names.
fn place(root: &Path, choice: u8) -> PathBuf {
    let names = [choice >> 2 & 7, choice >> 5, choice >> 3 & 3];
    let depth = usize::from(choice % 3) + 1;
    let name = |at: &u8| std::ffi::OsStr::from_bytes(NAMES[usize::from(*at)]).to_owned();
    names[..depth].iter().map(name).fold(root.to_owned(), |path, name| path.join(name))
}

/// Never into a pipe, which would wait for somebody who reads it.
fn write(path: &Path, content: &str) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(there) if !there.is_file() => Ok(()),
        _ => fs::write(path, content),
    }
}

fn special(path: &Path, kind: FileType) -> io::Result<()> {
    Ok(mknodat(CWD, path, kind, Mode::RUSR | Mode::WUSR, 0)?)
}

/// Its owner can always look into it: what nobody can read is not what is asked here.
fn mode(path: &Path, bits: u8) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_symlink() {
        return Ok(());
    }
    let bits = u32::from(bits);
    fs::set_permissions(path, Permissions::from_mode(0o700 | bits & 0o77 | bits << 3 & 0o7000))
}
