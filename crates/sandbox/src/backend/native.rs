//! Linux namespaces, no daemon: the sandbox of [`cofferdam_native`], watched like any other command.

use std::os::fd::BorrowedFd;

use cofferdam_core::outcome::{Outcome, OutcomeClass};
use cofferdam_core::plan::{Plan, Profile};
use cofferdam_core::receipt::{Again, Cleanup, CleanupReceipt, Violation};
use cofferdam_core::spec::Terminal;
use cofferdam_native::confined::{
    self, ConfineError, Confinement, Handed, Preparation, Running, Unsupplied, start,
};
use cofferdam_native::process::{StartError, StdinKind, is_null_device};
use cofferdam_native::supervise::{Cause, Ended, Notice, supervise};
use cofferdam_native::terminal::Size;
use rustix::fs::{fstat, fstatfs};

use super::bounds::patience;
use super::local::{not_started, outcome, passage};
use super::{Finish, Observer, Occupant, Stage, Standing, Starter};
use crate::launcher::{Lease, Lost};

/// A sandbox that we make ourselves is on its way; a launcher is asked when the command is to start.
#[derive(Debug)]
pub(crate) enum OnItsWay {
    Ours { profile: Box<Profile>, process: Result<Unsupplied, StartError> },
    Launchers,
}

#[derive(Debug)]
pub(crate) enum Begun {
    Ours(Result<confined::Begun, StartError>),
    Launchers,
}

pub(super) fn set_out(plan: &Plan, stage: &Stage<'_>) -> OnItsWay {
    match stage.starter {
        Starter::Here | Starter::Repeatedly(_) => {
            let profile = Box::new(Profile::of(plan));
            let process = confined::bear(&preparation(&profile, stage));
            OnItsWay::Ours { profile, process }
        }
        Starter::Launcher(_) => OnItsWay::Launchers,
    }
}

fn preparation<'a>(profile: &'a Profile, stage: &Stage<'a>) -> Preparation<'a> {
    let stock = stage.starter.stock();
    Preparation { profile, name: stage.run, state: stage.dir, stock }
}

impl OnItsWay {
    pub(super) fn begin(self, stage: &Stage<'_>) -> Begun {
        let Self::Ours { profile, process } = self else { return Begun::Launchers };
        Begun::Ours(process.and_then(|process| process.supply(&preparation(&profile, stage))))
    }

    pub(super) fn give_up(self) {
        if let Self::Ours { process: Ok(process), .. } = self {
            process.give_up();
        }
    }
}

pub(super) fn run(
    begun: Begun,
    plan: &Plan,
    stage: &Stage<'_>,
    observer: &mut dyn Observer,
) -> Finish {
    let stdin = match plan.terminal {
        Terminal::Streams => stdin_kind(stage.streams.stdin),
        Terminal::Tty => {
            StdinKind::Terminal(stage.streams.stdin.and_then(Size::of).unwrap_or(USUAL))
        }
    };
    let started = match begun {
        Begun::Ours(begun) => begun
            .and_then(|begun| begun.order(plan, stage.run, stdin))
            .inspect(|_| observer.at_leisure())
            .and_then(|ahead| ahead.started(plan))
            .map(|(running, handed)| (running, Keeper::Us(handed))),
        Begun::Launchers => {
            let asked = Confinement { plan, run_id: stage.run, state: stage.dir, stdin };
            sandbox(stage.starter, &asked).inspect(|_| observer.at_leisure())
        }
    };
    let (Running { process, receipt, effective }, keeper) = match started {
        Ok(started) => started,
        Err(error) => {
            let finish = violated_or_not_started(&error, observer);
            return match stage.starter {
                // It may have died over a sandbox for this run, which is then named after the run.
                Starter::Launcher(launcher) if launcher.is_gone() => {
                    Finish { cleanup: cleanup(Lease::sweep(stage.run)), ..finish }
                }
                _ => finish,
            };
        }
    };
    let effective =
        effective.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    observer.standing(Standing { effective, receipt, ..Standing::default() });
    let ended = supervise(
        process,
        passage(stage.streams),
        patience(plan, stage.dir),
        stage.signals,
        observer,
    );
    // The first process has ended everybody else, or died and took them along.
    if ended.as_ref().is_ok_and(|ended| ended.left.is_empty()) {
        observer.quiet();
    }
    // Whatever happened to the command, the sandbox goes, and what would not go is said.
    let (left, maker) = keeper.finish();
    match ended {
        Ok(ended) => {
            let mut left = left;
            left.extend(ended.left.iter().map(|pid| format!("process {pid}")));
            let end = match after(ended.again, observer) {
                Some(outcome) => outcome,
                None => judge(plan, &ended, maker),
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

fn violated_or_not_started(error: &StartError, observer: &mut dyn Observer) -> Finish {
    if let StartError::Confine(ConfineError::Violated { violation }) = error {
        observer.violated(violation);
    }
    not_started(error)
}

/// What a second trial of the forbidden makes of the end. A sandbox that no longer held is no sandbox, whatever the
/// command's own end was.
pub(super) fn after(again: Again, observer: &mut dyn Observer) -> Option<Outcome> {
    match again {
        Again::NotAsked => None,
        Again::Refused => {
            observer.proved_again();
            None
        }
        Again::Succeeded(act) => {
            let what = "when the command had ended".to_owned();
            let violation = Violation { act, what };
            observer.violated(&violation);
            let message = violation.to_string();
            Some(Outcome::ended(OutcomeClass::SandboxFailure, None, message))
        }
    }
}

/// Makes the sandbox and leaves it to its occupant until the session is over.
pub(super) fn hold(
    begun: Begun,
    plan: &Plan,
    stage: &Stage<'_>,
    observer: &mut dyn Observer,
    occupant: &dyn Occupant,
) -> Finish {
    let Begun::Ours(begun) = begun else {
        let message = "a session makes its own sandbox".to_owned();
        let remedy = "hold it in a process of its own".to_owned();
        return not_started(&ConfineError::Reported { message, remedy }.into());
    };
    let (room, handed) = match begun.and_then(|begun| begun.settle(plan)) {
        Ok(settled) => settled,
        Err(error) => return violated_or_not_started(&error, observer),
    };
    let effective =
        room.effective.iter().map(|(name, value)| ((*name).to_owned(), value.clone().into()));
    let (effective, receipt) = (effective.collect(), room.receipt.clone());
    observer.standing(Standing { effective, receipt, ..Standing::default() });
    observer.at_leisure();
    observer.notice(&Notice::Lasting);
    let outcome = occupant.occupy(&room, plan, stage);
    Finish { outcome, usage: None, cleanup: cleanup(handed.finish()) }
}

/// The program is given no file of the host to hold: through one that is open it could change its mode, or
/// write to it, or reach a network. An unnamed pipe is nobody's file; everything else is carried.
pub(crate) fn stdin_kind(stdin: Option<BorrowedFd<'_>>) -> StdinKind {
    const PIPEFS: i64 = 0x5049_5045;
    match stdin {
        None => StdinKind::Empty,
        Some(fd) if fstat(fd).is_ok_and(|stat| is_null_device(&stat)) => StdinKind::Empty,
        Some(fd) if fstatfs(fd).is_ok_and(|fs| fs.f_type == PIPEFS) => StdinKind::Inherit,
        Some(_) => StdinKind::Pipe,
    }
}

/// Who keeps the sandbox while the command runs.
#[derive(Debug)]
pub(crate) enum Keeper<'a> {
    Us(Handed),
    Launcher(Lease<'a>),
}

/// What became of the process that made the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Maker {
    Alive,
    Dead,
}

impl Keeper<'_> {
    pub(crate) fn finish(self) -> (Vec<String>, Maker) {
        let lease = match self {
            Self::Us(handed) => return (handed.finish(), Maker::Alive),
            Self::Launcher(lease) => lease,
        };
        let name = lease.name().to_owned();
        match lease.finish() {
            Ok(left) => (left, Maker::Alive),
            Err(Lost) => (Lease::sweep(&name), Maker::Dead),
        }
    }
}

/// A sandbox with the command running in it.
pub(crate) fn sandbox<'a>(
    starter: Starter<'a>,
    confinement: &Confinement<'_>,
) -> Result<(Running, Keeper<'a>), StartError> {
    match starter {
        Starter::Here | Starter::Repeatedly(_) => {
            let (running, handed) = start(confinement, starter.stock())?;
            Ok((running, Keeper::Us(handed)))
        }
        Starter::Launcher(launcher) => {
            let (running, lease) = launcher.start(confinement)?;
            Ok((running, Keeper::Launcher(lease)))
        }
    }
}

pub(crate) fn judge(plan: &Plan, ended: &Ended, maker: Maker) -> Outcome {
    let own = outcome(plan, ended.status, ended.cause);
    if ended.oom {
        let message = Some(format!("more memory was used than {}", plan.limits.memory));
        return Outcome { class: OutcomeClass::Oom, message, ..own };
    }
    // The kernel kills a sandbox with its maker: that is not the command's doing.
    let killed = own.signal == Some(SIGKILL) && ended.cause == Cause::Own;
    if maker == Maker::Dead && killed {
        let message = "the launcher died, and the sandbox with it";
        return Outcome::ended(OutcomeClass::SandboxFailure, None, message);
    }
    own
}

const SIGKILL: i32 = 9;
/// Of a terminal that nobody looks at.
const USUAL: Size = Size { rows: 24, columns: 80 };

fn cleanup(left: Vec<String>) -> Cleanup {
    let receipt =
        if left.is_empty() { CleanupReceipt::Terminated } else { CleanupReceipt::Unconfirmed };
    Cleanup { receipt, left }
}
