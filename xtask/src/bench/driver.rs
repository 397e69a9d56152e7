//! How long a start takes from a process that lives on, as that of a server: one line in, one out.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::case::Case;
use super::place::Place;
use super::start::with;
use crate::release;

/// Between two starts, so that what is done after an answer is not done during the next.
const PAUSE: Duration = Duration::from_millis(20);

pub(crate) fn cases(place: &Place) -> Result<Vec<Case>> {
    let program = release::binary()?;
    let case = |name: &str, how: &str| -> Result<Case> {
        let mut driver = Driver::start(place, &program, how)?;
        Ok(Case::paused(name, PAUSE, move || driver.ask_nothing()))
    };
    Ok(vec![
        case("a process that lives on: plain start of `/bin/true`", "plain")?,
        case("the same: native, made when asked for", "cold")?,
        case("the same: native, prepared by the launcher", "pooled")?,
    ])
}

/// What is asked for: once to prove that it is done, then to be timed.
const SOMETHING: &str =
    r#"["--sandbox","native","--relax","limits","--","/bin/sh","-c","exit 83"]"#;
const NOTHING: &str = r#"["--sandbox","native","--relax","limits","--","/bin/true"]"#;

pub(super) struct Driver {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Driver {
    /// Only a driver that starts the command is timed.
    pub(super) fn start(place: &Place, program: &Path, how: &str) -> Result<Self> {
        let mut command = with(place, program, &["drive", how]);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut driver = Self::new(child.context("cannot start the driver")?)?;
        driver.ask(SOMETHING, 83)?;
        driver.ask_nothing()?;
        Ok(driver)
    }

    pub(super) fn ask_nothing(&mut self) -> Result<()> {
        self.ask_nothing_times(1)
    }

    /// Asks for so many starts in one breath: the driver does one after the other, and does not wait for us in between.
    pub(super) fn ask_nothing_times(&mut self, times: usize) -> Result<()> {
        self.send(&format!("{NOTHING}\n").repeat(times))?;
        (0..times).try_for_each(|_| self.hear(0))
    }

    fn new(mut child: Child) -> Result<Self> {
        let stdout = child.stdout.take().context("the driver has no output")?;
        Ok(Self { stdin: child.stdin.take(), stdout: BufReader::new(stdout), child })
    }

    fn ask(&mut self, line: &str, code: i32) -> Result<()> {
        self.send(&format!("{line}\n"))?;
        self.hear(code)
    }

    fn send(&mut self, lines: &str) -> Result<()> {
        let stdin = self.stdin.as_mut().context("the driver has no input")?;
        stdin.write_all(lines.as_bytes()).context("the driver is gone")
    }

    fn hear(&mut self, code: i32) -> Result<()> {
        let mut answer = String::new();
        self.stdout.read_line(&mut answer).context("the driver is gone")?;
        if answer.trim() != format!("{{\"exit_code\":{code}}}") {
            bail!("expected exit code {code}, and the driver said {answer:?}");
        }
        Ok(())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        drop(self.stdin.take());
        if let Err(error) = self.child.wait() {
            eprintln!("xtask: the driver cannot be waited for: {error}");
        }
    }
}
