//! Parts that stand still: the kernel stops them (SIGSTOP), for a while or for good.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::RUN_TRUE;
use crate::drill::processes::{self, Process, Signal};
use crate::drill::report::Report;
use crate::drill::scene::{Actor, PATIENCE};

/// For good: the timeout ends it all the same.
pub(super) fn first_process(actor: &Actor<'_>, report: &mut Report) -> Result<()> {
    let words = ["run", "--sandbox", "native", "--timeout", "1s", "--", "sleep", "50"];
    let begun = actor.begin(&words)?;
    // Before its command there is no time that could run out.
    wait_for(actor, "command inside")?;
    stop(actor, "first process")?;
    let ended = begun.finish()?;
    super::expect(report, "the run", &ended, 124, "timed out");
    Ok(())
}

/// For a while: it ends as if nothing had been, and meanwhile others run.
pub(super) fn command_line(actor: &Actor<'_>, report: &mut Report) -> Result<()> {
    let begun =
        actor.begin(&["run", "--sandbox", "native", "--", "sh", "-c", "sleep 1.5; exit 42"])?;
    wait_for(actor, "first process")?;
    let stopped = stop(actor, "command line")?;
    let other = actor.scene.actor(1)?.finish(&RUN_TRUE)?;
    report.expect(other.code() == Some(0), || format!("another run meanwhile: {}", other.story()));
    go_on(stopped)?;
    super::expect(report, "the run", &begun.finish()?, 42, "");
    Ok(())
}

pub(super) fn holder(actor: &Actor<'_>, report: &mut Report) -> Result<()> {
    let started = actor.finish(&["session", "start", "--sandbox", "native"])?;
    report.expect(started.code() == Some(0), || format!("session start: {}", started.story()));
    let stopped = stop(actor, "session holder")?;
    let begun = actor.begin(&["session", "exec", "last", "--", "sh", "-c", "exit 42"])?;
    let other = actor.scene.actor(1)?.finish(&RUN_TRUE)?;
    report.expect(other.code() == Some(0), || format!("another run meanwhile: {}", other.story()));
    go_on(stopped)?;
    super::expect(report, "the command", &begun.finish()?, 42, "");
    let ended = actor.finish(&["session", "stop", "--quiet"])?;
    report.expect(ended.code() == Some(0), || format!("session stop: {}", ended.story()));
    Ok(())
}

fn stop(actor: &Actor<'_>, role: &str) -> Result<Process> {
    let process = wait_for(actor, role)?;
    if !processes::send(Signal::Stop, process.pid) {
        bail!("the {role} is gone");
    }
    Ok(process)
}

fn go_on(process: Process) -> Result<()> {
    if !processes::send(Signal::Continue, process.pid) {
        bail!("process {} is gone: {}", process.pid, process.line);
    }
    Ok(())
}

fn wait_for(actor: &Actor<'_>, role: &str) -> Result<Process> {
    let end = Instant::now() + PATIENCE;
    loop {
        match processes::of_role(&actor.home, role) {
            Ok(process) => return Ok(process),
            Err(error) if Instant::now() > end => return Err(error).context("nobody to stop"),
            Err(_) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}
