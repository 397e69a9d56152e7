//! How long it takes to start a command that does nothing.
//!
//! A program that never starts its command ends well too, and sooner. So every case first has to show
//! that it does what its name says; only then is it timed.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::case::Case;
use super::place::Place;
use crate::cargo::shown;
use crate::provide::is_there;
use crate::release;

pub(crate) fn cases(place: &Place) -> Result<Vec<Case>> {
    let cofferdam = release::binary()?;
    let version = || with(place, &cofferdam, &["--version"]);
    prove(version(), 0, "cofferdam ")?;
    Ok(vec![
        Case::command("plain start of `/bin/true`", place.command(NOTHING)),
        Case::command("`cofferdam --version`", version()),
        starter("`cofferdam run --sandbox local`, recorded", place, &cofferdam, LOCAL)?,
        native(place)?,
        starter("the same with `--receipt full`", place, &cofferdam, FULL)?,
        starter("the same with `--paranoid`", place, &cofferdam, PARANOID)?,
        bubblewrap(place)?,
        bubblewrap_alike(place)?,
    ])
}

pub(super) fn native(place: &Place) -> Result<Case> {
    let name = "`cofferdam run`: native, staged, limited, recorded, sealed";
    starter(name, place, &release::binary()?, NATIVE)
}

pub(super) fn bubblewrap(place: &Place) -> Result<Case> {
    if !is_there("bwrap") {
        bail!("bwrap, the peer to compare with, is missing: cargo xtask test installs it");
    }
    starter("bubblewrap, read-only root", place, "/usr/bin/bwrap".as_ref(), BWRAP)
}

/// With as much of what a run of ours shows and hides as it can be told to.
fn bubblewrap_alike(place: &Place) -> Result<Case> {
    let workspace = place.workspace();
    let workspace = workspace.to_str().context("a path that is not text")?;
    let args = [ALIKE, &["--bind", workspace, "/workspace", "--chdir", "/workspace"]].concat();
    starter("bubblewrap, with the same view of the host", place, "/usr/bin/bwrap".as_ref(), &args)
}

/// The same start in a small workspace and in a large one.
pub(crate) fn sizes(place: &Place) -> Result<Vec<Case>> {
    let (small, large) = (place.workspace().join("small"), place.workspace().join("large"));
    fill_empty(&small, 1, 3)?;
    fill_empty(&large, 1000, 100)?;
    Ok(vec![
        in_tree("native, a workspace of 3 files", place, &small)?,
        in_tree("native, a workspace of 100,000 files", place, &large)?,
    ])
}

/// A start with another workspace.
pub(super) fn in_tree(name: &str, place: &Place, tree: &Path) -> Result<Case> {
    let tree = tree.to_str().context("a path that is not text")?;
    let head = ["run", "--sandbox", "native", "--relax", "limits", "--workspace", tree, "--"];
    starter(name, place, &release::binary()?, &head)
}

pub(super) fn fill(tree: &Path, dirs: usize, files: usize) -> Result<()> {
    fill_with(tree, dirs, files, "some words in a file\n")
}

/// Where only names matter: a disk that is told of every block that is free takes minutes to forget a hundred thousand.
pub(super) fn fill_empty(tree: &Path, dirs: usize, files: usize) -> Result<()> {
    fill_with(tree, dirs, files, "")
}

fn fill_with(tree: &Path, dirs: usize, files: usize, text: &str) -> Result<()> {
    for dir in 0..dirs {
        let dir = tree.join(format!("d{dir}"));
        std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        for file in 0..files {
            let file = dir.join(format!("f{file}.txt"));
            std::fs::write(&file, text)
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
    }
    Ok(())
}

/// What is started in the end.
pub(super) const NOTHING: &str = "/bin/true";

/// What is started instead to prove it: words and an exit code that nobody else would come up with.
const SOMETHING: &[&str] = &["/bin/sh", "-c", "echo started; exit 83"];

const LOCAL: &[&str] = &["run", "--sandbox", "local", "--"];

/// An ordinary user may have no control group to set limits in; everybody else has them.
pub(super) const NATIVE: &[&str] = &["run", "--sandbox", "native", "--relax", "limits", "--"];

/// The sandbox tries all that is forbidden in it, before the command, and after it too.
const FULL: &[&str] =
    &["run", "--sandbox", "native", "--relax", "limits", "--receipt", "full", "--"];
const PARANOID: &[&str] = &["run", "--sandbox", "native", "--relax", "limits", "--paranoid", "--"];

pub(super) const BWRAP: &[&str] = &[
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

/// Without an overlay, limits, a filter of system calls, Landlock and a record, which it does not have or only takes from others.
const ALIKE: &[&str] = &[
    "--unshare-all",
    "--die-with-parent",
    "--new-session",
    "--hostname",
    "sandbox",
    "--cap-drop",
    "ALL",
    "--uid",
    "64987",
    "--gid",
    "64987",
    "--ro-bind",
    "/usr",
    "/usr",
    "--symlink",
    "usr/bin",
    "/bin",
    "--symlink",
    "usr/sbin",
    "/sbin",
    "--symlink",
    "usr/lib",
    "/lib",
    "--symlink",
    "usr/lib64",
    "/lib64",
    "--ro-bind-try",
    "/etc/ld.so.cache",
    "/etc/ld.so.cache",
    "--ro-bind-try",
    "/etc/alternatives",
    "/etc/alternatives",
    "--ro-bind-try",
    "/etc/services",
    "/etc/services",
    "--ro-bind-try",
    "/etc/ssl/certs",
    "/etc/ssl/certs",
    "--ro-bind-try",
    "/etc/ssl/openssl.cnf",
    "/etc/ssl/openssl.cnf",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--tmpfs",
    "/tmp",
    "--tmpfs",
    "/home/sandbox",
];

/// A program that starts the command at the end of its own arguments.
pub(super) fn starter(name: &str, place: &Place, program: &Path, args: &[&str]) -> Result<Case> {
    let command = |started: &[&str]| with(place, program, &[args, started].concat());
    prove(command(SOMETHING), 83, "started\n").with_context(|| format!("case {name}"))?;
    Ok(Case::command(name, command(&[NOTHING])))
}

pub(super) fn with(place: &Place, program: &Path, args: &[&str]) -> Command {
    let mut command = place.command(program);
    command.args(args);
    command
}

/// What proves a program that starts the command at the end of these arguments.
pub(super) fn shown_by(mut program: Command, args: &[&str]) -> Command {
    program.args(args).args(SOMETHING);
    program
}

/// Runs `command` once and wants exactly this code, and an output that begins like this.
pub(super) fn prove(mut command: Command, code: i32, beginning: &str) -> Result<()> {
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
