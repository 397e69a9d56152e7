//! One command of an attack, seen through to its end.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Child;
use std::time::{Duration, Instant};

/// What came of a command.
#[derive(Debug)]
pub(super) struct Done {
    /// As a shell tells it; `None` where it had to be killed because it would not end.
    pub(super) code: Option<i32>,
    /// Both streams.
    pub(super) said: String,
}

impl Done {
    /// For people: how it ended, and its first words.
    pub(super) fn told(&self) -> String {
        let how = match self.code {
            Some(code) => format!("exit code {code}"),
            None => "it did not end".to_owned(),
        };
        match self.said.lines().find(|line| !line.trim().is_empty()) {
            Some(line) => format!("{how}: {}", line.chars().take(200).collect::<String>()),
            None => how,
        }
    }
}

const PAUSE: Duration = Duration::from_millis(2);

pub(super) fn wait(mut child: Child, end: Instant) -> io::Result<Option<i32>> {
    loop {
        if let Some(status) = child.try_wait()? {
            let signaled = status.signal().map(|signal| 128 + signal);
            return Ok(status.code().or(signaled));
        }
        if Instant::now() >= end {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(PAUSE);
    }
}
