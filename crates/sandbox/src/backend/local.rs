//! The bare host: a process group of its own, an environment of its own, a clock. No confinement.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::os::fd::BorrowedFd;

use cofferdam_core::outcome::{Outcome, OutcomeClass, exit_code};
use cofferdam_core::plan::Plan;
use cofferdam_core::receipt::{Cleanup, CleanupReceipt};
use cofferdam_core::result;
use cofferdam_native::RESULT;
use cofferdam_native::process::{Launch, Process, StartError, StdinKind};
use cofferdam_native::supervise::{Cause, Ended, Passage, Status, StreamName, supervise};

use super::bounds::{disk_full, patience};
use super::{Finish, Observer, Stage, Standing, Streams};
use crate::state::make_private_dir;

/// The variable that marks a run's processes, for whoever has to find them after a crash.
pub(crate) const MARKER: &str = "COFFERDAM_RUN";

pub(crate) fn run(plan: &Plan, stage: &Stage<'_>, observer: &mut dyn Observer) -> Finish {
    if let Some(Err(error)) =
        plan.result.as_ref().map(|_| make_private_dir(&stage.dir.join(RESULT)))
    {
        return Finish::not_begun(&error);
    }
    let launch = Launch {
        argv: plan.command.iter().map(|arg| arg.0.clone()).collect(),
        env: environment(plan, stage),
        workdir: plan.workdir.0.clone(),
        stdin: stdin_kind(stage.streams.stdin),
    };
    let process = match Process::start(&launch) {
        Ok(process) => process,
        Err(error) => return not_started(&error),
    };
    let mut standing = Standing::default();
    standing.effective.insert("pid".to_owned(), process.pid().into());
    standing.effective.insert("process_group".to_owned(), process.pid().into());
    observer.standing(standing);
    observer.at_leisure();
    match supervise(
        process,
        passage(stage.streams),
        patience(plan, stage.dir),
        stage.signals,
        observer,
    ) {
        Ok(ended) => finish(plan, ended),
        Err(error) => Finish {
            outcome: Outcome::ended(
                OutcomeClass::SandboxFailure,
                None,
                format!("lost the command: {error}: {}", error.source),
            ),
            usage: None,
            cleanup: Cleanup::unconfirmed("the command and its descendants"),
        },
    }
}

fn environment(plan: &Plan, stage: &Stage<'_>) -> Vec<(OsString, OsString)> {
    let planned =
        plan.env.iter().map(|(name, value)| (name.as_str().into(), value.reveal().into()));
    let result = plan.result.iter().map(|_| {
        let path = stage.dir.join(RESULT).join(result::FILE);
        (result::VARIABLE.into(), path.into())
    });
    planned.chain([(MARKER.into(), stage.run.into())]).chain(result).collect()
}

/// A terminal is carried over a pipe; anything else the command may read by itself.
fn stdin_kind(stdin: Option<BorrowedFd<'_>>) -> StdinKind {
    match stdin {
        None => StdinKind::Empty,
        Some(fd) if fd.is_terminal() => StdinKind::Pipe,
        Some(_) => StdinKind::Inherit,
    }
}

pub(crate) fn passage<'a>(streams: Streams<'a>) -> Passage<'a> {
    Passage { stdout: streams.stdout, stderr: streams.stderr, stdin: streams.stdin }
}

/// What helps where there is no such directory to work in.
pub(crate) const NAME_A_DIRECTORY: &str =
    "name a directory that is there inside; a relative one begins at the workspace";

const MAKE_IT_EXECUTABLE: &str =
    "make it executable with `chmod +x`, or call what executes it, as in `python3 FILE`";
const SAY_WHOSE_IT_IS: &str =
    "begin it with a line like `#!/bin/sh`, or call what executes it, as in `sh FILE`";
const ENOEXEC: i32 = 8;

/// An error in words, with its cause; and what would help, where it is known.
pub(crate) fn told(error: &StartError) -> (String, Option<String>) {
    let cause = std::error::Error::source(error).map(|source| format!(": {source}"));
    let remedy = match error {
        StartError::Confine(error) => Some(error.remedy()),
        StartError::Workdir { .. } => Some(NAME_A_DIRECTORY.to_owned()),
        StartError::NotExecutable { source, .. } => match source.kind() {
            io::ErrorKind::PermissionDenied => Some(MAKE_IT_EXECUTABLE.to_owned()),
            // Neither a program of this machine nor a script that says whose.
            _ if source.raw_os_error() == Some(ENOEXEC) => Some(SAY_WHOSE_IT_IS.to_owned()),
            _ => None,
        },
        _ => None,
    };
    (format!("{error}{}", cause.unwrap_or_default()), remedy)
}

/// Both on one line.
pub(crate) fn told_at_once(error: &StartError) -> String {
    let (message, remedy) = told(error);
    let remedy = remedy.map(|remedy| format!("; remedy: {remedy}")).unwrap_or_default();
    format!("{message}{remedy}")
}

/// A command that could not be executed has an exit code of its own, and a directory that is not there is not given;
/// anything else is our failure.
pub(crate) fn not_started(error: &StartError) -> Finish {
    let message = told_at_once(error);
    let outcome = match error {
        StartError::NotFound { .. } => Outcome::exited(exit_code::NOT_FOUND.into()),
        StartError::NotExecutable { .. } | StartError::NoInterpreter { .. } => {
            Outcome::exited(exit_code::NOT_EXECUTABLE.into())
        }
        StartError::Workdir { .. } => Outcome::ended(OutcomeClass::Refused, None, ""),
        StartError::Sys(_) | StartError::Confine(_) | StartError::Spawn { .. } => {
            Outcome::ended(OutcomeClass::SandboxFailure, None, "")
        }
    };
    Finish { outcome: outcome.with_message(message), usage: None, cleanup: Cleanup::terminated() }
}

fn finish(plan: &Plan, ended: Ended) -> Finish {
    let outcome = outcome(plan, ended.status, ended.cause);
    let left: Vec<String> = ended.left.iter().map(|pid| format!("process {pid}")).collect();
    let receipt =
        if left.is_empty() { CleanupReceipt::Terminated } else { CleanupReceipt::Unconfirmed };
    Finish { outcome, usage: Some(ended.usage), cleanup: Cleanup { receipt, left } }
}

/// What a command comes to whose output has nowhere to go. One that had ended before it could be stopped keeps a code
/// that tells of a failure; but a success that nobody got is none.
fn unwritable(own: Outcome, stream: StreamName, errno: i32) -> Outcome {
    let name = match stream {
        StreamName::Stdout => "standard output",
        StreamName::Stderr => "standard error",
    };
    let why = std::io::Error::from_raw_os_error(errno);
    let message = format!("{name} cannot be written: {why}");
    match own.exit_code {
        None => Outcome { class: OutcomeClass::Canceled, ..own.with_message(message) },
        Some(0) => Outcome::ended(OutcomeClass::SandboxFailure, None, message),
        Some(_) => own.with_message(message),
    }
}

pub(super) fn outcome(plan: &Plan, status: Status, cause: Cause) -> Outcome {
    let own = match status {
        Status::Exited(code) => Outcome::exited(code),
        Status::Signaled(signal) => Outcome::signaled(signal),
    };
    let (class, message) = match cause {
        Cause::Own => return own,
        Cause::WallTimeout => {
            (OutcomeClass::TimedOut, format!("still running after {}", plan.limits.timeout))
        }
        Cause::IdleTimeout => {
            let span = plan.limits.idle_timeout.map(|s| s.to_string()).unwrap_or_default();
            (OutcomeClass::TimedOut, format!("no output for {span}"))
        }
        Cause::DiskFull { kept } => (OutcomeClass::Canceled, disk_full(kept)),
        Cause::Unwritable { stream, errno } => return unwritable(own, stream, errno),
        Cause::Canceled(signal) => {
            let signal_of = own.signal.or(Some(signal));
            let message = format!("stopped by signal {signal}");
            return Outcome {
                class: OutcomeClass::Canceled,
                signal: signal_of.filter(|_| own.exit_code.is_none()),
                message: Some(message),
                ..own
            };
        }
    };
    Outcome { class, message: Some(message), ..own }
}
