//! Limits of memory, processor time and processes, held by control groups.
//!
//! One group per sandbox, `cofferdam.<name>`, the run's name or, where it was prepared before there was
//! a run, its own, in the unified hierarchy (v2) where it has the controllers,
//! else in one hierarchy per controller (v1). Where an ordinary user has no place for it, the user's service manager is
//! asked for one (see `scope.rs`). Entered at the sandbox's birth (v2) or before it gives up its
//! privileges (v1), removed when it is gone.

mod bus;
mod place;
mod scope;
mod tally;
mod v1;
mod v2;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cofferdam_core::caps::{Guarantee, Lack};
use cofferdam_core::spec::Limits;
use cofferdam_core::weaken::{Weakness, weakened};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use crate::kernel_text;
use crate::sys::SysError;
pub use place::{DELEGATE, SUPERVISOR, claim_place};
pub(crate) use place::{Survey, claim, claim_unified, survey, survey_separate};
pub(crate) use tally::{Counters, Tally, refused_in_here};

/// How the names of our groups begin.
const OURS: &str = "cofferdam.";
/// How long the kernel may take to let go of a group whose processes are dead.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum Controller {
    Memory,
    Cpu,
    Pids,
}

impl Controller {
    pub(crate) const ALL: [Self; 3] = [Self::Memory, Self::Cpu, Self::Pids];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Cpu => "cpu",
            Self::Pids => "pids",
        }
    }

    pub(crate) const fn guarantee(self) -> Guarantee {
        match self {
            Self::Memory => Guarantee::MemoryLimit,
            Self::Cpu => Guarantee::CpuLimit,
            Self::Pids => Guarantee::PidsLimit,
        }
    }
}

/// A file of a group and what to write into it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Setting {
    file: &'static str,
    value: String,
    need: Need,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    Must,
    /// Kernels without swap have no such file, and no need of it.
    WhereThere,
}

/// A limit that is in force, as read back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InForce {
    pub(crate) controller: Controller,
    /// `cgroup v1 memory.limit_in_bytes`
    pub(crate) mechanism: String,
    pub(crate) value: String,
}

/// The groups of one run. Removed when dropped, if they were not before.
#[derive(Debug)]
pub(crate) struct Cgroup {
    dirs: Vec<PathBuf>,
    entry: Entry,
    pub(crate) in_force: Vec<InForce>,
    /// Where the kernel counts who came up against a limit.
    counters: Counters,
}

/// How the first process gets in.
#[derive(Debug)]
enum Entry {
    None,
    /// Born into it.
    Birth(OwnedFd),
    /// It writes itself into each: a single thread that moves itself needs no lock and no grace period.
    Tasks(Vec<OwnedFd>),
}

/// A limit that nothing here can hold.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CgroupError {
    #[error("{}", lack.reason)]
    Lacking { guarantee: Guarantee, lack: Lack },
    #[error(transparent)]
    Sys(#[from] SysError),
}

impl Cgroup {
    /// No limits: each was given up by name.
    pub(crate) fn none() -> Self {
        let counters = Counters::default();
        Self { dirs: Vec::new(), entry: Entry::None, in_force: Vec::new(), counters }
    }

    /// Makes the groups for the limits in `wanted`, where the survey found a place for them, and reads back
    /// what is in force.
    pub(crate) fn make(
        found: &Survey,
        run: &str,
        limits: &Limits,
        wanted: &[Controller],
    ) -> Result<Self, CgroupError> {
        if wanted.is_empty() {
            return Ok(Self::none());
        }
        for controller in wanted {
            if let Err(lack) = found.seat(*controller) {
                let guarantee = controller.guarantee();
                return Err(CgroupError::Lacking { guarantee, lack: lack.clone() });
            }
        }
        let mut group = Self::none();
        match found {
            Survey::Unified { base, .. } => v2::make(&mut group, base, run, limits, wanted)?,
            Survey::Separate(_) => v1::make(&mut group, found, run, limits, wanted)?,
        }
        Ok(group)
    }

    /// The group to be born into.
    pub(crate) fn birth(&self) -> Option<BorrowedFd<'_>> {
        use std::os::fd::AsFd as _;
        match &self.entry {
            Entry::Birth(fd) => Some(fd.as_fd()),
            Entry::None | Entry::Tasks(_) => None,
        }
    }

    pub(crate) fn counters(&self) -> Counters {
        self.counters.clone()
    }

    /// Where the first process is to write itself into, to be handed to it.
    pub(crate) fn tasks(&self) -> &[OwnedFd] {
        match &self.entry {
            Entry::Tasks(files) => files,
            Entry::None | Entry::Birth(_) => &[],
        }
    }

    /// Somebody is in, or has what it takes to get in: nothing is held open for that any longer.
    pub(crate) fn close_entry(&mut self) {
        self.entry = Entry::None;
    }

    /// Removes the groups and says which would not go.
    pub(crate) fn remove(&mut self) -> Vec<String> {
        self.close_entry();
        let dirs = std::mem::take(&mut self.dirs);
        let deadline = Instant::now() + PATIENCE;
        dirs.iter().filter_map(|dir| remove(dir, deadline).err()).collect()
    }

    /// Sets limits in `dir` and reads back what came of them.
    fn limit(
        &mut self,
        dir: &Path,
        controller: Controller,
        settings: &[Setting],
        dialect: &str,
    ) -> Result<(), SysError> {
        let mut files = Vec::with_capacity(settings.len());
        for setting in settings {
            files.extend(apply(dir, setting)?.map(|file| (file, setting)));
        }
        // All of them are set: one may have changed another.
        for (file, setting) in files {
            self.in_force.push(InForce {
                controller,
                mechanism: format!("{dialect} {}", setting.file),
                value: read_back(&file, dir, setting)?,
            });
        }
        Ok(())
    }

    fn add(&mut self, dir: &Path) -> Result<(), SysError> {
        fs::create_dir(dir).map_err(|e| SysError::on("mkdir", dir.display(), e))?;
        self.dirs.push(dir.to_owned());
        Ok(())
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        self.remove();
    }
}

/// In the child: moves it into the groups whose files these are.
pub(crate) fn enter(tasks: Vec<OwnedFd>) -> Result<(), SysError> {
    if weakened(Weakness::Limits) {
        return Ok(());
    }
    for file in tasks {
        rustix::io::write(&file, b"0").map_err(|e| SysError::on("write", "tasks", e))?;
    }
    Ok(())
}

/// Ends what a dead supervisor left in the groups of `run`, removes them, and says what would not go.
pub fn sweep(run: &str) -> Vec<String> {
    let deadline = Instant::now() + PATIENCE;
    let mut left = Vec::new();
    for dir in survey().bases().iter().map(|base| group_of(base, run)) {
        if !dir.is_dir() {
            continue;
        }
        for pid in fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default().lines() {
            // A process that is gone by now needs no signal; one that stays keeps the group.
            if let Some(pid) = pid.parse().ok().and_then(Pid::from_raw) {
                kill_process(pid, Signal::KILL).ok();
            }
        }
        left.extend(remove(&dir, deadline).err());
    }
    left
}

/// Names of sandboxes that have a group here and begin with these words.
pub fn names_with(prefix: &str) -> BTreeSet<String> {
    let groups = survey().bases().into_iter().flat_map(fs::read_dir).flatten().flatten();
    groups
        .filter_map(|group| {
            let name = group.file_name();
            let name = name.to_str()?.strip_prefix(OURS)?;
            name.starts_with(prefix).then(|| name.to_owned())
        })
        .collect()
}

/// Where the group of a run is, below a place where groups can be made. Not in a directory of ours: the
/// last run to end would have to remove it under the next one's feet.
fn group_of(base: &Path, run: &str) -> PathBuf {
    base.join(format!("{OURS}{run}"))
}

fn remove(dir: &Path, deadline: Instant) -> Result<(), String> {
    loop {
        match fs::remove_dir(dir) {
            Ok(()) => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(e) if e.raw_os_error() == Some(libc::EBUSY) && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(e) => return Err(format!("control group {}: {e}", dir.display())),
        }
    }
}

/// Sets a limit. The file is left open to be read back.
fn apply(dir: &Path, setting: &Setting) -> Result<Option<File>, SysError> {
    let path = dir.join(setting.file);
    let mut file = match File::options().read(true).write(true).open(&path) {
        Ok(file) => file,
        Err(e) if setting.need == Need::WhereThere && e.kind() == io::ErrorKind::NotFound => {
            return Ok(None);
        }
        Err(e) => return Err(SysError::on("open", path.display(), e)),
    };
    file.write_all(setting.value.as_bytes())
        .map_err(|e| SysError::on("write", format!("{}={}", path.display(), setting.value), e))?;
    Ok(Some(file))
}

/// Reads a limit back. One that is not what was asked for, though the kernel may round it down, is no
/// limit.
fn read_back(file: &File, dir: &Path, setting: &Setting) -> Result<String, SysError> {
    let path = dir.join(setting.file);
    let text = kernel_text::again(file).map_err(|e| SysError::on("read", path.display(), e))?;
    let text = text.trim().to_owned();
    let number = |s: &str| s.split(' ').next().and_then(|n| n.parse::<u64>().ok());
    match (number(&text), number(&setting.value)) {
        (Some(is), Some(asked)) if is <= asked => Ok(text),
        _ => {
            let wrong = format!("{}: {} instead of {}", path.display(), text, setting.value);
            Err(SysError::on("read back", wrong, rustix::io::Errno::RANGE))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_not_in_force_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let setting = Setting { file: "pids.max", value: "100".into(), need: Need::Must };
        for (text, good) in [("100\n", true), ("96\n", true), ("max\n", false), ("200\n", false)] {
            fs::write(dir.path().join("pids.max"), text).unwrap();
            let file = File::open(dir.path().join("pids.max")).unwrap();
            assert_eq!(read_back(&file, dir.path(), &setting).is_ok(), good, "{text}");
        }
    }
}
