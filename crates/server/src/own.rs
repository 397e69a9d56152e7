//! Commands of our own, started as programs: what they say is heard up to a bound, and not for ever.
//!
//! A sandboxed program decides how long a diff of its changes is. [`hear`] holds no more of it than it was told to.

use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

/// What a command is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// It looks, and may be ended at any time: when it has said enough, and when it takes too long.
    Look,
    /// It changes something. It is not ended because it says much.
    Act,
}

impl Work {
    fn patience(self) -> Duration {
        match self {
            Self::Look => Duration::from_secs(120),
            Self::Act => Duration::from_secs(3600),
        }
    }
}

/// What a command said, and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
    pub(crate) end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Exited(ExitStatus),
    /// It said more than what was heard of it.
    Cut,
}

impl Said {
    /// Its exit code, where all of what it said was heard.
    pub(crate) fn code(&self) -> Option<i32> {
        match self.end {
            End::Exited(status) => status.code(),
            End::Cut => None,
        }
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.end == End::Cut
    }

    pub(crate) fn success(&self) -> bool {
        self.code() == Some(0)
    }
}

/// Bytes of complaints that are heard.
const MOST_STDERR: usize = 64 << 10;
/// How long a stream may stay open after its command.
const LINGERS: Duration = Duration::from_secs(2);

/// Runs a command and hears `most` bytes of its standard output. Blocks.
pub(crate) fn hear(command: &mut Command, work: Work, most: usize) -> io::Result<Said> {
    hear_for(command, work, most, work.patience())
}

fn hear_for(
    command: &mut Command,
    work: Work,
    most: usize,
    patience: Duration,
) -> io::Result<Said> {
    let until = Instant::now() + patience;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let stdout = child.stdout.take().map(|stream| listen(stream, most));
    let stderr = child.stderr.take().map(|stream| listen(stream, MOST_STDERR));
    let heard = receive(stdout, patience);
    let enough = matches!(&heard, Ok(bytes) if bytes.len() > most);
    let status = match work {
        Work::Look if enough => end(&mut child).map(Some),
        Work::Look | Work::Act => wait(&mut child, until),
    };
    let (Ok(mut stdout), Some(status)) = (heard, status?) else {
        end(&mut child)?;
        let message = format!("it took longer than {} s", patience.as_secs());
        return Err(io::Error::new(io::ErrorKind::TimedOut, message));
    };
    let mut stderr = receive(stderr, LINGERS).unwrap_or_default();
    stdout.truncate(most);
    stderr.truncate(MOST_STDERR);
    Ok(Said { stdout, stderr, end: if enough { End::Cut } else { End::Exited(status) } })
}

/// Hears one byte more than `most`, so that it is known whether there is more. What follows is not kept, but taken, so
/// that nobody waits for us.
fn listen(mut stream: impl Read + Send + 'static, most: usize) -> Receiver<Vec<u8>> {
    let (tell, heard) = channel();
    spawn(move || {
        let mut bytes = Vec::new();
        // A stream that breaks has ended.
        stream.by_ref().take(most as u64 + 1).read_to_end(&mut bytes).ok();
        if tell.send(bytes).is_ok() {
            io::copy(&mut stream, &mut io::sink()).ok();
        }
    });
    heard
}

fn receive(
    heard: Option<Receiver<Vec<u8>>>,
    patience: Duration,
) -> Result<Vec<u8>, RecvTimeoutError> {
    heard.map_or(Ok(Vec::new()), |heard| heard.recv_timeout(patience))
}

/// Nothing where it has not ended by then.
fn wait(child: &mut Child, until: Instant) -> io::Result<Option<ExitStatus>> {
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            return Ok(None);
        }
        sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

fn end(child: &mut Child) -> io::Result<ExitStatus> {
    child.kill()?;
    child.wait()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_is_short_is_heard_whole() {
        let said = hear(&mut sh("printf abc; echo why >&2; exit 3"), Work::Look, 3).unwrap();
        assert_eq!(
            (said.code(), &said.stdout[..], &said.stderr[..]),
            (Some(3), &b"abc"[..], &b"why\n"[..])
        );
        assert!(!said.is_cut() && !said.success());
    }

    #[test]
    fn a_look_that_never_stops_is_ended_when_it_has_said_enough() {
        let said = hear(&mut sh("exec yes"), Work::Look, 1000).unwrap();
        assert_eq!((said.stdout.len(), said.end), (1000, End::Cut));
    }

    #[test]
    fn a_look_that_says_nothing_is_ended_when_its_time_is_over() {
        let begun = Instant::now();
        let patience = Duration::from_millis(200);
        for script in ["exec sleep 60", "exec >&-; exec sleep 60"] {
            let error = hear_for(&mut sh(script), Work::Look, 10, patience).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{script}");
        }
        assert!(begun.elapsed() < Duration::from_secs(20));
    }

    /// It is in the middle of its work when it says too much, and comes to its end.
    #[test]
    fn what_acts_is_not_ended_because_it_says_much() {
        let place = tempfile::tempdir().unwrap();
        let done = place.path().join("done");
        let script = format!("head -c 1000000 /dev/zero; echo x > {}", done.display());
        let said = hear(&mut sh(&script), Work::Act, 1000).unwrap();
        assert!(said.is_cut() && done.exists());
    }
}
