//! One hierarchy per controller.

use std::path::Path;

use cofferdam_core::spec::Limits;
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::{Cgroup, CgroupError, Controller, Entry, Need, Setting, Survey, group_of};
use crate::sys::SysError;

pub(super) fn make(
    group: &mut Cgroup,
    found: &Survey,
    run: &str,
    limits: &Limits,
    wanted: &[Controller],
) -> Result<(), CgroupError> {
    let mut tasks = Vec::new();
    for controller in wanted {
        let Ok(base) = found.seat(*controller) else { continue };
        let dir = group_of(base, run);
        group.add(&dir)?;
        group.limit(&dir, *controller, &settings(*controller, limits), "cgroup v1")?;
        match controller {
            Controller::Memory => group.counters.kills = Some(dir.join("memory.oom_control")),
            Controller::Pids => group.counters.refusals = Some(dir.join("pids.events")),
            Controller::Cpu => {}
        }
        tasks.push(open_tasks(&dir)?);
    }
    group.entry = Entry::Tasks(tasks);
    Ok(())
}

fn open_tasks(dir: &Path) -> Result<std::os::fd::OwnedFd, SysError> {
    let file = dir.join("tasks");
    openat(CWD, &file, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|e| SysError::on("open", file.display(), e))
}

/// In this order: memory and swap together may not be less than memory.
fn settings(controller: Controller, limits: &Limits) -> Vec<Setting> {
    const PERIOD_MICROS: u64 = 100_000;
    let must = |file, value: String| Setting { file, value, need: Need::Must };
    match controller {
        Controller::Memory => vec![
            must("memory.limit_in_bytes", limits.memory.0.to_string()),
            // What sockets hold is counted apart.
            Setting {
                file: "memory.kmem.tcp.limit_in_bytes",
                value: limits.memory.0.to_string(),
                need: Need::WhereThere,
            },
            Setting {
                file: "memory.memsw.limit_in_bytes",
                value: limits.memory.0.to_string(),
                need: Need::WhereThere,
            },
        ],
        Controller::Cpu => vec![
            must("cpu.cfs_period_us", PERIOD_MICROS.to_string()),
            must(
                "cpu.cfs_quota_us",
                (u64::from(limits.cpus.millis) * PERIOD_MICROS / 1000).to_string(),
            ),
        ],
        // One more, for the sandbox's own first process.
        Controller::Pids => vec![must("pids.max", (u64::from(limits.pids) + 1).to_string())],
    }
}
