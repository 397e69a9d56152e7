//! Linux namespaces, no daemon: the sandbox of [`cofferdam_native`], watched like any other command.

use std::os::fd::BorrowedFd;

use cofferdam_core::outcome::{Outcome, OutcomeClass};
use cofferdam_core::plan::Plan;
use cofferdam_core::receipt::{Cleanup, CleanupReceipt};
use cofferdam_native::confined::{Confined, Confinement, start};
use cofferdam_native::process::StdinKind;
use cofferdam_native::supervise::supervise;
use rustix::fs::fstatfs;

use super::local::{not_started, outcome, passage, patience};
use super::{Finish, Observer, Stage, Standing};

pub(crate) fn run(plan: &Plan, stage: &Stage<'_>, observer: &mut dyn Observer) -> Finish {
    let confinement = Confinement {
        plan,
        run_id: stage.run,
        state: stage.dir,
        stdin: stdin_kind(stage.streams.stdin),
    };
    let Confined { process, hold, receipt, effective } = match start(&confinement) {
        Ok(confined) => confined,
        Err(error) => return not_started(&error),
    };
    let effective =
        effective.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    observer.standing(Standing { container_id: None, effective, receipt });
    let ended = supervise(process, passage(stage.streams), patience(plan), stage.signals, observer);
    // Whatever happened to the command, the sandbox goes, and what would not go is said.
    let left = hold.finish();
    match ended {
        Ok(ended) => {
            let mut left = left;
            left.extend(ended.left.iter().map(|pid| format!("process {pid}")));
            let end = if ended.oom {
                let limit = plan.limits.memory;
                Outcome {
                    class: OutcomeClass::Oom,
                    message: Some(format!("more memory was used than {limit}")),
                    ..outcome(plan, ended.status, ended.cause)
                }
            } else {
                outcome(plan, ended.status, ended.cause)
            };
            Finish { outcome: end, usage: Some(ended.usage), cleanup: cleanup(left) }
        }
        Err(error) => Finish {
            outcome: Outcome::ended(
                OutcomeClass::SandboxFailure,
                None,
                format!("lost the sandbox: {error}: {}", error.source),
            ),
            usage: None,
            cleanup: cleanup(left),
        },
    }
}

/// The program is given no file of the host to hold: through one that is open it could change its mode, or
/// write to it, or reach a network. An unnamed pipe is nobody's file; everything else is carried.
fn stdin_kind(stdin: Option<BorrowedFd<'_>>) -> StdinKind {
    const PIPEFS: i64 = 0x5049_5045;
    match stdin {
        None => StdinKind::Empty,
        Some(fd) if fstatfs(fd).is_ok_and(|fs| fs.f_type == PIPEFS) => StdinKind::Inherit,
        Some(_) => StdinKind::Pipe,
    }
}

fn cleanup(left: Vec<String>) -> Cleanup {
    let receipt =
        if left.is_empty() { CleanupReceipt::Terminated } else { CleanupReceipt::Unconfirmed };
    Cleanup { receipt, left }
}
