//! The commands of a session: those that run, and the latest that did.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cofferdam_core::outcome::Outcome;
use cofferdam_core::paths::Arg;
use cofferdam_core::record::{KeptStream, Output, Usage};
use cofferdam_core::stamp::Stamp;
use rustix::io::ioctl_fionbio;
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::runs::KeptOutput;

/// Where the output of a session's commands is kept, in the run's directory.
pub(super) const EXECS: &str = "execs";
/// So many that have ended are remembered; the audit log has all.
const REMEMBERED: usize = 1000;

/// One command of a session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    pub exec: u64,
    pub name: Option<String>,
    /// Without the values of secrets.
    pub command: Vec<Arg>,
    /// Absent while it runs.
    pub outcome: Option<Outcome>,
    pub usage: Option<Usage>,
    /// As it was when the command ended; what it left running may have written more since.
    pub output: Output,
    pub started_at: Stamp,
    pub finished_at: Option<Stamp>,
}

impl Job {
    fn answers_to(&self, text: &str) -> bool {
        self.exec.to_string() == text || self.name.as_deref() == Some(text)
    }
}

pub(super) fn output_path(run_dir: &Path, exec: u64, stream: &str) -> PathBuf {
    run_dir.join(EXECS).join(format!("{exec}.{stream}"))
}

/// What is kept of a command's output so far: standard output and standard error.
pub fn kept_output(run_dir: &Path, job: &Job) -> io::Result<[KeptOutput; 2]> {
    let read =
        |stream, kept: &KeptStream| KeptOutput::read(&output_path(run_dir, job.exec, stream), kept);
    Ok([read("stdout", &job.output.stdout)?, read("stderr", &job.output.stderr)?])
}

/// All that a session knows of its commands.
#[derive(Debug)]
pub(super) struct Roster {
    last: u64,
    /// When the latest command ended, or the session began.
    quiet_since: Instant,
    running: Vec<Running>,
    ended: VecDeque<Ended>,
}

#[derive(Debug)]
struct Running {
    job: Job,
    /// Bytes written here are signals for it.
    petitions: OwnedFd,
}

#[derive(Debug)]
struct Ended {
    job: Job,
    /// The number of its first process, where it had one.
    leader: Option<i32>,
}

/// A pipe on which nobody ever waits: reader and writer.
pub(super) fn quiet_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    ioctl_fionbio(&reader, true)?;
    ioctl_fionbio(&writer, true)?;
    Ok((reader.into(), writer.into()))
}

/// What there is to do about a signal for a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Killing {
    Passed,
    /// It has ended; this is what it left.
    EndFamily {
        leader: i32,
        exec: u64,
    },
    /// It has ended, and never ran.
    Nothing,
    Unknown,
}

impl Roster {
    pub(super) fn new() -> Self {
        let (running, ended) = (Vec::new(), VecDeque::new());
        Self { last: 0, quiet_since: Instant::now(), running, ended }
    }

    /// For how long nothing has run; `None` while something does.
    pub(super) fn quiet(&self) -> Option<Duration> {
        self.is_idle().then(|| self.quiet_since.elapsed())
    }

    /// Gives a command its number, and where signals for it will arrive.
    pub(super) fn begin(
        &mut self,
        command: Vec<Arg>,
        name: Option<String>,
    ) -> io::Result<(u64, OwnedFd)> {
        let (arriving, petitions) = quiet_pipe()?;
        self.last += 1;
        let job = Job {
            exec: self.last,
            name,
            command,
            outcome: None,
            usage: None,
            output: Output::default(),
            started_at: clock::now(),
            finished_at: None,
        };
        self.running.push(Running { job, petitions });
        Ok((self.last, arriving))
    }

    pub(super) fn end(
        &mut self,
        exec: u64,
        leader: Option<i32>,
        (outcome, usage, output): (Outcome, Option<Usage>, Output),
    ) -> Option<Job> {
        let at = self.running.iter().position(|running| running.job.exec == exec)?;
        let mut job = self.running.swap_remove(at).job;
        (job.outcome, job.usage, job.output) = (Some(outcome), usage, output);
        job.finished_at = Some(clock::now());
        self.quiet_since = Instant::now();
        if self.ended.len() == REMEMBERED {
            self.ended.pop_front();
        }
        self.ended.push_back(Ended { job: job.clone(), leader });
        Some(job)
    }

    /// What was kept in the end of a command whose background went on.
    pub(super) fn amend(&mut self, exec: u64, output: &Output) {
        if let Some(ended) = self.ended.iter_mut().find(|ended| ended.job.exec == exec) {
            ended.job.output = output.clone();
        }
    }

    pub(super) fn jobs(&self) -> Vec<Job> {
        let ended = self.ended.iter().map(|ended| &ended.job);
        let mut all: Vec<Job> = ended.chain(self.running.iter().map(|r| &r.job)).cloned().collect();
        all.sort_by_key(|job| job.exec);
        all
    }

    pub(super) fn is_idle(&self) -> bool {
        self.running.is_empty()
    }

    pub(super) fn is_taken(&self, name: &str) -> bool {
        self.running.iter().any(|running| running.job.answers_to(name))
    }

    /// Passes a signal to a command, by its number or name. The newest of a name is meant.
    pub(super) fn signal(&self, text: &str, signal: u8) -> Killing {
        if let Some(running) = self.running.iter().find(|r| r.job.answers_to(text)) {
            // A pipe that is full holds signals enough.
            rustix::io::write(&running.petitions, &[signal]).ok();
            return Killing::Passed;
        }
        match self.ended.iter().rev().find(|ended| ended.job.answers_to(text)) {
            Some(Ended { job, leader: Some(leader) }) => {
                Killing::EndFamily { leader: *leader, exec: job.exec }
            }
            Some(_) => Killing::Nothing,
            None => Killing::Unknown,
        }
    }

    pub(super) fn signal_all(&self, signal: u8) {
        for running in &self.running {
            rustix::io::write(&running.petitions, &[signal]).ok();
        }
    }
}
