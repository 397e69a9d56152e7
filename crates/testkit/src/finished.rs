//! What one command did.

use std::borrow::Cow;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Output};

use serde_json::Value;

/// A command that has ended. Every failing assertion shows the command, its end and both streams.
#[derive(Debug, Clone)]
pub struct Finished {
    pub args: Vec<OsString>,
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl Finished {
    pub(crate) fn new(args: Vec<OsString>, output: Output) -> Self {
        Self { args, status: output.status, stdout: output.stdout, stderr: output.stderr }
    }

    /// The exit code, or `None` where a signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }

    pub fn stdout_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stdout)
    }

    pub fn stderr_text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.stderr)
    }

    /// Standard output as one JSON document.
    #[track_caller]
    pub fn json(&self) -> Value {
        match serde_json::from_slice(&self.stdout) {
            Ok(value) => value,
            Err(error) => panic!("stdout is not JSON: {error}\n{}", self.shown()),
        }
    }

    #[track_caller]
    pub fn assert_exit(&self, code: i32) -> &Self {
        assert!(self.code() == Some(code), "expected exit code {code}\n{}", self.shown());
        self
    }

    #[track_caller]
    pub fn assert_stdout(&self, text: &str) -> &Self {
        assert!(self.stdout == text.as_bytes(), "expected stdout {text:?}\n{}", self.shown());
        self
    }

    #[track_caller]
    pub fn assert_stderr_has(&self, part: &str) -> &Self {
        assert!(self.stderr_text().contains(part), "expected {part:?} on stderr\n{}", self.shown());
        self
    }

    #[track_caller]
    pub fn assert_stdout_has(&self, part: &str) -> &Self {
        assert!(self.stdout_text().contains(part), "expected {part:?} on stdout\n{}", self.shown());
        self
    }

    fn shown(&self) -> String {
        format!(
            "args: {:?}\nended: {}\nstdout:\n{}\nstderr:\n{}",
            self.args,
            self.status,
            self.stdout_text(),
            self.stderr_text()
        )
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::process::Command;

    use super::*;

    fn shell(script: &str) -> Finished {
        let output = Command::new("/bin/sh").args(["-c", script]).output().unwrap();
        Finished::new(vec![script.into()], output)
    }

    #[test]
    fn tells_an_exit_from_a_signal() {
        let done = shell("printf out; printf err >&2; exit 7");
        done.assert_exit(7).assert_stdout("out").assert_stderr_has("er");
        assert_eq!((done.code(), done.signal()), (Some(7), None));
        let killed = shell("kill -9 $$");
        assert_eq!((killed.code(), killed.signal()), (None, Some(9)));
    }

    #[test]
    fn a_wrong_expectation_fails_and_shows_both_streams() {
        let done = shell("echo seen-out; echo seen-err >&2; exit 1");
        let wrong: [&dyn Fn(); 4] = [
            &|| assert!(done.assert_exit(0).code().is_some()),
            &|| assert!(done.assert_stdout("other").code().is_some()),
            &|| assert!(done.assert_stderr_has("other").code().is_some()),
            &|| assert!(done.json().is_null()),
        ];
        for assertion in wrong {
            let panic = catch_unwind(AssertUnwindSafe(assertion)).unwrap_err();
            let text = panic.downcast_ref::<String>().unwrap();
            assert!(text.contains("seen-out") && text.contains("seen-err"), "{text}");
        }
    }

    #[test]
    fn reads_json() {
        assert_eq!(shell("echo '{\"a\": [1]}'").json()["a"][0], 1);
    }
}
