//! Takes away what the program needs, one thing at a time: disk space, descriptors, a state directory that can
//! be written to, a steady clock, parts that answer.
//!
//! Each fault has a scene of its own. While it lasts, the program ends with the exit code that the manual says and
//! with words that name the fault; when it is over, one `gc` and the next run go well, and nothing is left.

mod clock;
mod descriptors;
mod disk;
mod standstill;

use std::path::Path;

use anyhow::{Context as _, Result};

use super::report::Report;
use super::scene::{Actor, Ended, Scene};
use super::{Asked, traces};

/// A fault: its name, and what is done.
type Fault = (&'static str, fn(&Actor<'_>, &mut Report) -> Result<()>);

const FAULTS: [Fault; 9] = [
    ("no space when it starts", disk::full),
    ("no space while it runs", disk::filled_from_inside),
    ("a state directory that is read-only", disk::read_only),
    ("no descriptors", descriptors::few),
    ("a clock that was wrong before", clock::between_runs),
    ("a clock that jumps during a run", clock::during_a_run),
    ("a first process that stands still", standstill::first_process),
    ("a command line that stands still", standstill::command_line),
    ("a session holder that stands still", standstill::holder),
];

pub(super) fn perform(asked: &Asked) -> Result<Report> {
    let mut report = Report::new("faults");
    for (name, fault) in FAULTS {
        let scene = Scene::new(asked)?;
        let actor = scene.actor(0)?;
        let before = report.wrong.len();
        // What cannot be tried is wrong, and the others are tried all the same.
        if let Err(error) = fault(&actor, &mut report) {
            report.wrong(format!("{error:#}"));
        }
        over(&scene, &actor, &mut report)?;
        for wrong in &mut report.wrong[before..] {
            *wrong = format!("{name}: {wrong}");
        }
        let word = if report.wrong.len() == before { "held" } else { "WRONG" };
        report.count(name, word);
    }
    Ok(report)
}

/// Everything is there again: so is the program.
fn over(scene: &Scene, actor: &Actor<'_>, report: &mut Report) -> Result<()> {
    for words in [&["gc"][..], &RUN_TRUE, &["gc"], &["audit", "verify"]] {
        let ended = actor.finish(words)?;
        report
            .expect(ended.code() == Some(0), || format!("afterwards {words:?}: {}", ended.story()));
    }
    // Nobody was killed: whoever failed could still take its mark away.
    let unsigned = traces::unsigned(&scene.state());
    report.expect(unsigned.is_empty(), || format!("left: {unsigned:?}"));
    let seen = traces::ids(&scene.state());
    traces::left(scene, &seen).into_iter().for_each(|left| report.wrong(format!("left: {left}")));
    Ok(())
}

const RUN_TRUE: [&str; 6] = ["run", "--quiet", "--sandbox", "native", "--", "true"];

/// Wants one exit code, and words on standard error that name what is the matter.
fn expect(report: &mut Report, what: &str, ended: &Ended, code: i32, words: &str) {
    let right = ended.code() == Some(code) && ended.stderr.contains(words);
    report
        .expect(right, || format!("{what}: expected {code} and {words:?}, got {}", ended.story()));
}

/// A file system in memory over a directory, until it is dropped.
struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    fn new(dir: &'a Path, size: &str) -> Result<Self> {
        std::fs::create_dir_all(dir)?;
        mount(&["-t", "tmpfs", "-o", &format!("size={size},mode=700"), "tmpfs"], dir)?;
        Ok(Self(dir))
    }

    fn remount(&self, options: &str) -> Result<()> {
        mount(&["-o", &format!("remount,{options}")], self.0)
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        if !crate::cargo::works(std::process::Command::new("umount").arg(self.0)) {
            eprintln!("xtask: {} is still mounted", self.0.display());
        }
    }
}

fn mount(words: &[&str], dir: &Path) -> Result<()> {
    let mut command = std::process::Command::new("mount");
    crate::cargo::succeed(command.args(words).arg(dir))
        .context("a file system of its own needs root")
}
