//! What bounds a run from outside, whatever its backend: its time, and what it must leave of the disk.

use std::path::Path;

use cofferdam_core::plan::Plan;
use cofferdam_core::quantity::ByteSize;
use cofferdam_core::refusal::{Refusal, Rule};
use cofferdam_core::spec::Mode;
use cofferdam_native::reserve::{Lookout, Reserve};
use cofferdam_native::supervise::Patience;
use rustix::fs::{StatVfsMountFlags, statvfs};

/// With what is to stay free of the disk that is written to, where `dir` is the run's own directory.
pub(crate) fn patience<'a>(plan: &'a Plan, dir: &'a Path) -> Patience<'a> {
    let disk = Lookout::over(reserve(plan, written_to(plan, dir)));
    Patience { disk, ..unwatched_disk(plan) }
}

pub(crate) fn unwatched_disk<'a>(plan: &Plan) -> Patience<'a> {
    Patience {
        wall: plan.limits.timeout.duration(),
        idle: plan.limits.idle_timeout.map(|span| span.duration()),
        grace: plan.limits.stop_grace.duration(),
        disk: None,
    }
}

/// Where what the program writes goes to.
pub(crate) fn written_to<'a>(plan: &'a Plan, dir: &'a Path) -> &'a Path {
    match plan.workspace.mode {
        Mode::Direct => &plan.workspace.source.real,
        Mode::Stage | Mode::Readonly => dir,
    }
}

/// Why a run was stopped on a disk of which so many bytes are kept.
pub(crate) fn disk_full(kept: u64) -> String {
    let kept = rounded(kept);
    format!(
        "stopped, because the disk that it writes to is to keep {kept} and some inodes free (`sandbox.disk_reserve`)"
    )
}

/// A part of a disk is seldom a round number.
fn rounded(bytes: u64) -> ByteSize {
    let unit = if bytes < ByteSize::MIB { ByteSize::KIB } else { ByteSize::MIB };
    ByteSize(bytes / unit * unit)
}

pub(crate) fn reserve<'a>(plan: &Plan, dir: &'a Path) -> Reserve<'a> {
    Reserve { dir, bytes: plan.limits.disk_reserve.0 }
}

/// Who is to write to the workspace itself can do so.
pub(crate) fn can_be_written(plan: &Plan) -> Result<(), Refusal> {
    if plan.workspace.mode != Mode::Direct || !plan.backend.confines() {
        return Ok(());
    }
    let place = &plan.workspace.source.real;
    // Where it cannot be told, whoever mounts it finds out.
    let is_readonly =
        statvfs(&**place).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY));
    if !is_readonly {
        return Ok(());
    }
    Err(Refusal {
        rule: Rule::HostRange,
        field: "sandbox.mode".to_owned(),
        message: format!("the workspace {} is on a read-only file system", place.display()),
        remedy: "leave `--mode direct` out: with `--mode stage` what is written is kept apart"
            .to_owned(),
    })
}

/// A run that would be stopped at once is not begun.
pub(crate) fn leaves_room(plan: &Plan, state: &Path) -> Result<(), Refusal> {
    let dir = written_to(plan, state);
    let reserve = reserve(plan, dir);
    if !reserve.is_used_up() {
        return Ok(());
    }
    let kept = rounded(reserve.kept());
    Err(Refusal {
        rule: Rule::HostRange,
        field: "sandbox.disk_reserve".to_owned(),
        message: format!(
            "the disk of {} has less than {kept} free, or hardly an inode",
            dir.display()
        ),
        remedy:
            "throw away what runs have changed with `cofferdam discard`, remove old ones with `cofferdam gc \
                 --older-than 7d`, make room on that disk, or set `sandbox.disk_reserve` lower in the host file"
                .to_owned(),
    })
}
