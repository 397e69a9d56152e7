//! Git, started on the host with nothing of anybody's in its way.
//!
//! Every start names its repository, reads no settings but those of that repository, runs no hook, asks for
//! nothing and fetches nothing. It is never pointed at anything that a sandboxed
//! program wrote.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cofferdam_core::inert::Inert;

/// A repository to start git on, and whose files git makes.
#[derive(Debug, Clone)]
pub(super) struct Git {
    dir: PathBuf,
    owner: Option<(u32, u32)>,
}

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("cannot start git")]
    Start { source: io::Error },
    #[error("git {action} failed: {said}")]
    Failed { action: String, said: String },
}

/// Where git is looked for. The caller's own search path is not asked: it may lead into a workspace.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What no repository's settings may change. See git-config(1).
const SETTINGS: [&str; 11] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.pager=cat",
    "core.askPass=",
    "credential.helper=",
    "protocol.allow=never",
    "transfer.fsckObjects=true",
    "log.showSignature=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

impl Git {
    /// A repository of ours.
    pub(super) fn at(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), owner: None }
    }

    /// A repository of the host's. What root makes in somebody's repository becomes theirs.
    pub(super) fn of_host(dir: &Path) -> io::Result<Self> {
        let meta = fs::metadata(dir)?;
        let us = fs::metadata("/proc/self")?.uid();
        let owner = (us == 0 && meta.uid() != 0).then(|| (meta.uid(), meta.gid()));
        Ok(Self { dir: dir.to_owned(), owner })
    }

    /// What it prints.
    pub(super) fn ask<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
    ) -> Result<Vec<u8>, GitError> {
        self.run(args, Stdio::null(), Stdio::piped())
    }

    /// What it prints when it reads `input`.
    pub(super) fn tell<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
        input: File,
    ) -> Result<Vec<u8>, GitError> {
        self.run(args, input.into(), Stdio::piped())
    }

    /// Reads `input` and prints into `output`.
    pub(super) fn pass<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
        input: File,
        output: File,
    ) -> Result<(), GitError> {
        self.run(args, input.into(), output.into()).map(drop)
    }

    fn run<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
        input: Stdio,
        output: Stdio,
    ) -> Result<Vec<u8>, GitError> {
        let args: Vec<OsString> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        let mut command = self.command();
        command.args(&args).stdin(input).stdout(output).stderr(Stdio::piped());
        let ended = command.spawn().and_then(std::process::Child::wait_with_output);
        let ended = ended.map_err(|source| GitError::Start { source })?;
        if ended.status.success() {
            return Ok(ended.stdout);
        }
        let action = args.first().map(|arg| arg.to_string_lossy().into_owned());
        let said = Inert::line(ended.stderr.trim_ascii()).to_string();
        Err(GitError::Failed { action: action.unwrap_or_default(), said })
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command
            .env_clear()
            .env("PATH", PATH)
            .env("HOME", "/nonexistent")
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .current_dir("/");
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.arg("--git-dir").arg(&self.dir);
        if let Some((uid, gid)) = self.owner {
            command.gid(gid).uid(uid);
        }
        command
    }
}
