//! Talks to a session that somebody holds.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

use cofferdam_core::id::RunId;
use cofferdam_core::plan::ExecSpec;
use cofferdam_core::refusal::Refusal;
use cofferdam_native::SysError;
use cofferdam_native::channel::Channel;

use super::door;
use super::job::Job;
use super::wire::{Question, Stay, Stream, Told, bytes};

/// How a session is reached. Each question is a connection of its own.
#[derive(Debug, Clone)]
pub struct Client {
    dir: PathBuf,
}

/// Streams that are handed to the session: an input must be a pipe; output goes wherever these lead.
#[derive(Debug, Clone, Copy, Default)]
pub struct Given<'a> {
    pub stdin: Option<BorrowedFd<'a>>,
    pub stdout: Option<BorrowedFd<'a>>,
    pub stderr: Option<BorrowedFd<'a>>,
}

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// There is nobody.
    #[error("the session is not there any more")]
    Gone { source: io::Error },
    #[error("{0}")]
    Refused(Refusal),
    #[error("{0}")]
    Failed(String),
    #[error("the session ended before it answered")]
    Silent,
    #[error("cannot {action}")]
    Io { action: &'static str, source: io::Error },
    #[error(transparent)]
    Sys(#[from] SysError),
}

/// A command that is waited for. Dropped before its end, it is ended.
#[derive(Debug)]
pub struct Watched {
    channel: Channel,
    pub exec: u64,
}

impl Client {
    /// For the session whose run has this directory.
    pub fn new(run_dir: &Path) -> Self {
        Self { dir: run_dir.to_owned() }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Starts a command, to be waited for.
    pub fn exec(
        &self,
        spec: &ExecSpec,
        name: Option<&str>,
        given: Given<'_>,
    ) -> Result<Watched, ClientError> {
        self.start(spec, name, given, Stay::ToTheEnd)
    }

    /// Starts a command that goes on by itself; its number.
    pub fn exec_detached(&self, spec: &ExecSpec, name: Option<&str>) -> Result<u64, ClientError> {
        let watched = self.start(spec, name, Given::default(), Stay::UntilItRuns)?;
        match answer(&watched.channel)? {
            Told::Done => Ok(watched.exec),
            Told::Ended(job) => {
                let message = job.outcome.and_then(|outcome| outcome.message);
                Err(ClientError::Failed(message.unwrap_or_else(|| "it did not start".to_owned())))
            }
            other => Err(unexpected(other)),
        }
    }

    fn start(
        &self,
        spec: &ExecSpec,
        name: Option<&str>,
        given: Given<'_>,
        stay: Stay,
    ) -> Result<Watched, ClientError> {
        let all = [
            (Stream::Stdin, given.stdin),
            (Stream::Stdout, given.stdout),
            (Stream::Stderr, given.stderr),
        ];
        let (kinds, fds): (Vec<_>, Vec<_>) =
            all.into_iter().filter_map(|(kind, fd)| Some((kind, fd?))).unzip();
        let spec = Box::new(spec.clone());
        let name = name.map(str::to_owned);
        let channel = self.ask(&Question::Exec { spec, name, given: kinds, stay }, &fds)?;
        match answer(&channel)? {
            Told::Began(exec) => Ok(Watched { channel, exec }),
            other => Err(unexpected(other)),
        }
    }

    /// The commands that run, and the latest that did.
    pub fn jobs(&self) -> Result<Vec<Job>, ClientError> {
        match answer(&self.ask(&Question::Jobs, &[])?)? {
            Told::Jobs(jobs) => Ok(jobs),
            other => Err(unexpected(other)),
        }
    }

    /// Sends a signal to a command, by number or name. Of one that has ended, all that it left is killed.
    pub fn kill(&self, job: &str, signal: i32) -> Result<(), ClientError> {
        done(answer(&self.ask(&Question::Kill { job: job.to_owned(), signal }, &[])?)?)
    }

    /// Asks it to end. That takes until its socket is gone.
    pub fn stop(&self) -> Result<(), ClientError> {
        done(answer(&self.ask(&Question::Stop, &[])?)?)
    }

    /// Asks it to end and to begin anew from a look at it: as a run of its own, held by the same process.
    pub fn rollback(&self, look: RunId) -> Result<(), ClientError> {
        done(answer(&self.ask(&Question::Rollback { look }, &[])?)?)
    }

    fn ask(&self, question: &Question, fds: &[BorrowedFd<'_>]) -> Result<Channel, ClientError> {
        let channel = door::connect(&self.dir).map_err(|source| ClientError::Gone { source })?;
        channel.send(&bytes(question), fds)?;
        Ok(channel)
    }
}

impl Watched {
    /// Passes a signal on to the command.
    pub fn signal(&self, signal: i32) -> Result<(), ClientError> {
        Ok(self.channel.send(&signal.to_le_bytes(), &[])?)
    }

    /// Waits for the end.
    pub fn wait(&self) -> Result<Job, ClientError> {
        match answer(&self.channel)? {
            Told::Ended(job) => Ok(*job),
            other => Err(unexpected(other)),
        }
    }
}

impl AsFd for Watched {
    /// Readable when the end can be waited for without waiting.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

fn answer(channel: &Channel) -> Result<Told, ClientError> {
    let message = channel.receive()?.ok_or(ClientError::Silent)?;
    serde_json::from_slice(&message.bytes)
        .map_err(|error| ClientError::Failed(format!("an answer that is not understood: {error}")))
}

fn done(told: Told) -> Result<(), ClientError> {
    match told {
        Told::Done => Ok(()),
        other => Err(unexpected(other)),
    }
}

fn unexpected(told: Told) -> ClientError {
    match told {
        Told::Refused(refusal) => ClientError::Refused(refusal),
        Told::Failed(reason) => ClientError::Failed(reason),
        _ => ClientError::Silent,
    }
}
