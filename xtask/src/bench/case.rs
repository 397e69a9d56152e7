//! One thing to be measured.

use std::any::Any;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::cargo::shown;

/// A name for the table, and the act that is timed.
pub(crate) struct Case {
    pub(crate) name: String,
    /// Before each act, not counted.
    pub(crate) pause: Duration,
    /// What has to be done before each act, not counted either.
    ready: Box<dyn FnMut() -> Result<()>>,
    /// How many starts one act is.
    pub(crate) starts: usize,
    /// Why it cannot be measured here.
    pub(crate) skipped: Option<String>,
    act: Box<dyn FnMut() -> Result<()>>,
    /// What has to last as long as the case.
    kept: Option<Box<dyn Any>>,
}

impl Case {
    /// Anything that can be done many times over.
    pub(crate) fn new(name: impl Into<String>, act: impl FnMut() -> Result<()> + 'static) -> Self {
        Self::paused(name, Duration::ZERO, act)
    }

    /// The same, each time after a pause.
    pub(crate) fn paused(
        name: impl Into<String>,
        pause: Duration,
        act: impl FnMut() -> Result<()> + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            pause,
            starts: 1,
            skipped: None,
            ready: Box::new(|| Ok(())),
            act: Box::new(act),
            kept: None,
        }
    }

    /// The same, where one act is many starts.
    pub(crate) fn of_starts(self, starts: usize) -> Self {
        Self { starts, ..self }
    }

    /// One that stands in the table with the reason why it has no figures.
    pub(crate) fn skipped(name: impl Into<String>, reason: String) -> Self {
        Self { skipped: Some(reason), ..Self::new(name, || bail!("it is skipped")) }
    }

    /// Has something last as long as the case.
    pub(crate) fn keep(&mut self, what: impl Any) {
        self.kept = Some(Box::new(what));
    }

    /// A program, from its start to its end. One that fails is an error and not a fast result.
    pub(crate) fn command(name: impl Into<String>, mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self::new(name, move || {
            let status =
                command.status().with_context(|| format!("cannot start {}", shown(&command)))?;
            if !status.success() {
                bail!("{}: {status}; {}", shown(&command), words_of(&mut command));
            }
            Ok(())
        })
    }

    /// The same case, each act after `ready`.
    pub(crate) fn after(self, ready: impl FnMut() -> Result<()> + 'static) -> Self {
        Self { ready: Box::new(ready), ..self }
    }

    pub(crate) fn ready(&mut self) -> Result<()> {
        (self.ready)().with_context(|| format!("before case {}", self.name))
    }

    pub(crate) fn act(&mut self) -> Result<()> {
        (self.act)().with_context(|| format!("case {}", self.name))
    }
}

/// What a failing program says, had by running it once more with somebody listening.
fn words_of(command: &mut Command) -> String {
    match command.stderr(Stdio::piped()).output() {
        Ok(output) => format!("it says: {}", String::from_utf8_lossy(&output.stderr).trim()),
        Err(error) => format!("nor can it be started again: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Case {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        Case::command("sh", command)
    }

    #[test]
    fn a_program_that_fails_is_no_result() {
        assert!(shell("exit 0").act().is_ok());
        let error = format!("{:#}", shell("echo oh no >&2; exit 1").act().unwrap_err());
        assert!(error.contains("case sh") && error.contains("oh no"), "{error}");
        assert!(Case::command("x", Command::new("/no/such/program")).act().is_err());
    }
}
