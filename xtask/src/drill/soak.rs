//! Many runs after each other: what lives on must not grow, nor what lies on the host.
//!
//! Of ten runs six go through a launcher that lives as long as the drill, three are commands of one session and
//! one is a plain `run`. Twenty times in all everything is counted, and finished runs are removed, as
//! an owner would. Growth is the mean of the last quarter against that of the second: the first is for
//! warming up. Beyond noise is: more than 2 descriptors, more than 1 MiB or a tenth of memory, any control
//! group, mount or directory more, more than 4 KiB a run in the audit log, which only grows.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::processes::{self, Process};
use super::report::Report;
use super::scene::{Actor, Scene};
use super::watch::{Row, descriptors, memory};
use super::{Asked, traces};
use crate::progress::Progress;

const RUNS: usize = 20_000;
const LOOKS: usize = 20;
const MOST_DESCRIPTORS: u64 = 2;
const MOST_MEMORY: u64 = 1024;
const MOST_LOG: u64 = 4096;

pub(super) fn perform(asked: &Asked) -> Result<Report> {
    let scene = Scene::new(asked)?;
    let runs = asked.size.unwrap_or(RUNS);
    let mut report = Report::new("soak");
    let actor = scene.actor(0)?;
    let mut driver = Driver::start(&actor)?;
    driver.run()?;
    let started = actor.finish(&["session", "start", "--sandbox", "native"])?;
    if started.code() != Some(0) {
        bail!("no session: {}", started.story());
    }
    let mut rows = Rows::default();
    let progress = Progress::new("soak: runs", runs);
    let (mut done, every) = (0, (runs / LOOKS).max(10));
    while done < runs {
        for number in 0..every.min(runs - done) {
            one(number, &actor, &mut driver).with_context(|| format!("run {}", done + number))?;
            progress.at(done + number);
        }
        done += every.min(runs - done);
        rows.look(&scene, &actor)?;
    }
    let stopped = actor.finish(&["session", "stop", "--quiet"])?;
    report.expect(stopped.code() == Some(0), || format!("session stop: {}", stopped.story()));
    driver.close()?;
    report.count("runs", done);
    rows.judge(done, &mut report);
    let cleaned = scene.finish(&["gc"])?;
    report.expect(cleaned.code() == Some(0), || format!("gc: {}", cleaned.story()));
    let seen = traces::ids(&scene.state());
    traces::left(&scene, &seen).into_iter().for_each(|left| report.wrong(format!("left: {left}")));
    let audit = scene.finish(&["audit", "verify"])?;
    report.expect(audit.code() == Some(0), || format!("audit verify: {}", audit.story()));
    Ok(report)
}

const MAKE: &str = "echo made > made";

fn one(number: usize, actor: &Actor<'_>, driver: &mut Driver) -> Result<()> {
    let ended = match number % 10 {
        0..=5 => return driver.run(),
        6..=8 => actor.finish(&["session", "exec", "last", "--", "sh", "-c", MAKE])?,
        _ => actor.finish(&["run", "--quiet", "--sandbox", "native", "--", "sh", "-c", MAKE])?,
    };
    if ended.code() != Some(0) {
        bail!("{}", ended.story());
    }
    Ok(())
}

/// `cofferdam drive recorded`, and through it the launcher.
struct Driver {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Driver {
    fn start(actor: &Actor<'_>) -> Result<Self> {
        let mut command = actor.command(&["drive", "recorded"]);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.context("cannot start the driver")?;
        let stdout = BufReader::new(child.stdout.take().context("the driver has no output")?);
        Ok(Self { stdin: child.stdin.take().context("the driver has no input")?, stdout, child })
    }

    fn run(&mut self) -> Result<()> {
        let words = serde_json::json!(["--sandbox", "native", "--", "sh", "-c", MAKE]);
        writeln!(self.stdin, "{words}").context("the driver is gone")?;
        let mut answer = String::new();
        self.stdout.read_line(&mut answer).context("the driver is gone")?;
        let record: Value = serde_json::from_str(&answer).context("the driver's answer")?;
        if record["outcome"]["exit_code"] != 0 || record["changes"]["created"] != 1 {
            bail!("a run by the launcher: {} {}", record["outcome"], record["changes"]);
        }
        Ok(())
    }

    fn close(mut self) -> Result<()> {
        drop(self.stdin);
        let status = self.child.wait()?;
        if !status.success() {
            bail!("the driver: {status}");
        }
        Ok(())
    }
}

/// Everything that could grow.
#[derive(Default)]
struct Rows {
    of_processes: BTreeMap<(&'static str, &'static str), Row>,
    groups: Row,
    mounts: Row,
    entries: Row,
    log: Row,
}

/// Processes that live as long as the drill.
const LASTING: [&str; 3] = ["launcher", "launcher's owner", "session holder"];

impl Rows {
    fn look(&mut self, scene: &Scene, actor: &Actor<'_>) -> Result<()> {
        let all = processes::below(&actor.home);
        for part in LASTING {
            let pid = |p: &&Process| p.role() == part;
            let pid = all.iter().find(pid).with_context(|| format!("the {part} is gone"))?.pid;
            for (what, figure) in [(DESCRIPTORS, descriptors(pid)), (MEMORY, memory(pid))] {
                let figure = figure.with_context(|| format!("the {part} cannot be looked at"))?;
                self.of_processes.entry((part, what)).or_default().push(figure);
            }
        }
        let ids = traces::ids(&scene.state());
        self.groups.push(traces::groups(&ids).len() as u64);
        self.mounts.push(traces::mounts(scene.place.top()).len() as u64);
        // The session lives on, and everything else that has ended goes.
        std::thread::sleep(std::time::Duration::from_millis(1100));
        let removed = scene.finish(&["gc", "--older-than", "1s", "--pending"])?;
        if removed.code() != Some(0) {
            bail!("gc --older-than: {}", removed.story());
        }
        self.entries.push(entries(&scene.state(), 2));
        self.log.push(fs::metadata(scene.state().join("audit.jsonl"))?.len());
        Ok(())
    }

    fn judge(&self, runs: usize, report: &mut Report) {
        for ((part, what), row) in &self.of_processes {
            let (early, late) = row.ends();
            report
                .count(format!("{what} of the {part}, early and late"), format!("{early} {late}"));
            let noise =
                if *what == DESCRIPTORS { MOST_DESCRIPTORS } else { MOST_MEMORY.max(early / 10) };
            if let Some((early, late)) = row.grown(noise) {
                report.wrong(format!("{what} of the {part} grew from {early} to {late}"));
            }
        }
        for (what, row, noise) in [
            ("control groups", &self.groups, 0),
            ("mounts", &self.mounts, 0),
            ("entries of the state directory after gc", &self.entries, 2),
        ] {
            let (early, late) = row.ends();
            report.count(format!("{what}, early and late"), format!("{early} {late}"));
            if let Some((early, late)) = row.grown(noise) {
                report.wrong(format!("{what} grew from {early} to {late}"));
            }
        }
        let log = self.log.last() / runs.max(1) as u64;
        report.count("bytes of the audit log a run", log);
        report.expect(log <= MOST_LOG, || format!("the audit log takes {log} bytes a run"));
    }
}

const DESCRIPTORS: &str = "descriptors";
const MEMORY: &str = "KiB";

/// Names down to a depth. What a session staged is below that.
fn entries(dir: &Path, depth: usize) -> u64 {
    let mut count = 0;
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        count += 1;
        if depth > 1 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            count += entries(&entry.path(), depth - 1);
        }
    }
    count
}
