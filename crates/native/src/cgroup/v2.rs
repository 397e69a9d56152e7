//! The unified hierarchy.

use std::fs;
use std::io;
use std::path::Path;

use cofferdam_core::spec::Limits;
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::place::{SUPERVISOR, own_path};
use super::{Cgroup, CgroupError, Controller, Entry, Need, Setting, group_of};
use crate::sys::SysError;

pub(super) fn make(
    group: &mut Cgroup,
    base: &Path,
    run: &str,
    limits: &Limits,
    wanted: &[Controller],
) -> Result<(), CgroupError> {
    let dir = group_of(base, run);
    // A controller shows its files only where the directory above passes it on.
    enable(base, wanted)?;
    group.add(&dir)?;
    for controller in wanted {
        group.limit(&dir, *controller, &settings(*controller, limits), "cgroup v2")?;
        match controller {
            Controller::Memory => group.counters.kills = Some(dir.join("memory.events")),
            Controller::Pids => group.counters.refusals = Some(dir.join("pids.events")),
            Controller::Cpu => {}
        }
    }
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let fd = openat(CWD, &dir, flags, Mode::empty())
        .map_err(|e| SysError::on("open", dir.display(), e))?;
    group.entry = Entry::Birth(fd);
    Ok(())
}

/// Lets the groups below `dir` have the controllers. A group that has processes of its own may not:
/// where the only one is us, we move out of the way first.
pub(super) fn enable(dir: &Path, wanted: &[Controller]) -> Result<(), SysError> {
    let file = dir.join("cgroup.subtree_control");
    let fail = |e| SysError::on("write", file.display(), e);
    let now = fs::read_to_string(&file).map_err(fail)?;
    let missing = missing(&now, wanted);
    if missing.is_empty() {
        return Ok(());
    }
    match fs::write(&file, &missing) {
        Err(e) if e.raw_os_error() == Some(libc::EBUSY) && is_ours(dir) => {
            move_aside(dir)?;
            fs::write(&file, &missing).map_err(fail)
        }
        answer => answer.map_err(fail),
    }
}

/// What has to be written so that all of `wanted` are passed on.
fn missing(now: &str, wanted: &[Controller]) -> String {
    let has = |name: &str| now.split_ascii_whitespace().any(|n| n == name);
    let missing: Vec<String> =
        wanted.iter().filter(|c| !has(c.name())).map(|c| format!("+{}", c.name())).collect();
    missing.join(" ")
}

fn is_ours(dir: &Path) -> bool {
    own_path().is_some_and(|own| dir.ends_with(own.trim_start_matches('/')))
}

fn move_aside(dir: &Path) -> Result<(), SysError> {
    let aside = dir.join(SUPERVISOR);
    match fs::create_dir(&aside) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
            return Err(SysError::on("mkdir", aside.display(), e));
        }
        _ => {}
    }
    let file = aside.join("cgroup.procs");
    fs::write(&file, "0").map_err(|e| SysError::on("write", file.display(), e))
}

fn settings(controller: Controller, limits: &Limits) -> Vec<Setting> {
    const PERIOD_MICROS: u64 = 100_000;
    let must = |file, value: String| Setting { file, value, need: Need::Must };
    match controller {
        Controller::Memory => vec![
            must("memory.max", limits.memory.0.to_string()),
            // Here the limit of swap is counted apart; both together are to be the limit of memory.
            Setting { file: "memory.swap.max", value: "0".to_owned(), need: Need::WhereThere },
        ],
        Controller::Cpu => {
            let quota = u64::from(limits.cpus.millis) * PERIOD_MICROS / 1000;
            vec![must("cpu.max", format!("{quota} {PERIOD_MICROS}"))]
        }
        // One more, for the sandbox's own first process.
        Controller::Pids => vec![must("pids.max", (u64::from(limits.pids) + 1).to_string())],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_passed_on_yet_is_asked_for() {
        assert_eq!(missing("cpuset cpu memory pids\n", &Controller::ALL), "");
        assert_eq!(missing("cpuset pids\n", &Controller::ALL), "+memory +cpu");
        assert_eq!(missing("", &[Controller::Pids]), "+pids");
    }
}
