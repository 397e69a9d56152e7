//! How long it takes to start a command that does nothing.
//!
//! A program that never starts its command ends well too, and sooner. So every case first has to show
//! that it does what its name says; only then is it timed.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::case::Case;
use super::place::Place;
use crate::cargo::{cargo, shown, succeed, target_dir};
use crate::provide::is_there;

pub(crate) fn cases(place: &Place) -> Result<Vec<Case>> {
    if !is_there("bwrap") {
        bail!("bwrap, the peer to compare with, is missing: cargo xtask test installs it");
    }
    succeed(&mut cargo([
        "build",
        "--release",
        "--package",
        "cofferdam-cli",
        "--bin",
        "cofferdam",
    ]))?;
    let cofferdam = target_dir()?.join("release/cofferdam");

    let version = || with(place, &cofferdam, &["--version"]);
    prove(version(), 0, "cofferdam ")?;
    Ok(vec![
        Case::command("plain start of `/bin/true`", place.command(NOTHING)),
        Case::command("`cofferdam --version`", version()),
        starter("`cofferdam run --sandbox local`", place, &cofferdam, LOCAL)?,
        starter("bubblewrap, read-only root", place, "/usr/bin/bwrap".as_ref(), BWRAP)?,
    ])
}

/// What is started in the end.
const NOTHING: &str = "/bin/true";

/// What is started instead to prove it: words and an exit code that nobody else would come up with.
const SOMETHING: &[&str] = &["/bin/sh", "-c", "echo started; exit 83"];

const LOCAL: &[&str] = &["run", "--sandbox", "local", "--"];

const BWRAP: &[&str] = &[
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--unshare-all",
    "--die-with-parent",
];

/// A program that starts the command at the end of its own arguments.
fn starter(name: &str, place: &Place, program: &Path, args: &[&str]) -> Result<Case> {
    let command = |started: &[&str]| with(place, program, &[args, started].concat());
    prove(command(SOMETHING), 83, "started\n").with_context(|| format!("case {name}"))?;
    Ok(Case::command(name, command(&[NOTHING])))
}

fn with(place: &Place, program: &Path, args: &[&str]) -> Command {
    let mut command = place.command(program);
    command.args(args);
    command
}

/// Runs `command` once and wants exactly this code, and an output that begins like this.
fn prove(mut command: Command, code: i32, beginning: &str) -> Result<()> {
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot start {}", shown(&command)))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.code() != Some(code) || !said.starts_with(beginning) {
        bail!(
            "{} does not do what is to be timed: expected exit code {code} and {beginning:?}, got {}, \
             {said:?} and on stderr {:?}",
            shown(&command),
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_program_that_starts_the_command_is_timed() {
        let place = Place::new().unwrap();
        let starts = |program: &str, args: &[&str]| starter("x", &place, program.as_ref(), args);
        assert!(starts("/usr/bin/env", &[]).and_then(|mut case| case.act()).is_ok());
        // Ends well and starts nothing.
        let error = starts("/bin/true", &[]).err().map(|error| format!("{error:#}")).unwrap();
        assert!(error.contains("does not do what is to be timed"), "{error}");
        // Starts it and hides how it ended.
        assert!(starts("/bin/sh", &["-c", "\"$@\"; true", "sh"]).is_err());
        // Ends with that code without having started it.
        assert!(starts("/bin/sh", &["-c", "exit 83", "sh"]).is_err());
    }
}
