//! What it costs to know what changed, and to bring it home, against the tools that people use for it.

use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::case::Case;
use super::place::Place;
use super::start::{fill, with};
use crate::cargo::{shown, succeed};
use crate::provide::is_there;
use crate::release::binary;

/// What changes ten files of a tree made by [`fill`].
const TEN_CHANGES: &str = "for n in 0 1 2 3 4; do echo changed >> d$n/f0.txt; done; \
                           rm d0/f1.txt d1/f1.txt; echo new > new1; echo new > d2/new2; echo new > d3/new3";

pub(crate) fn in_1k(place: &Place) -> Result<Vec<Case>> {
    listing(place, 10)
}

pub(crate) fn in_10k(place: &Place) -> Result<Vec<Case>> {
    listing(place, 100)
}

pub(crate) fn in_100k(place: &Place) -> Result<Vec<Case>> {
    listing(place, 1000)
}

/// Ten changes among `dirs` hundred files: to know of them.
fn listing(place: &Place, dirs: usize) -> Result<Vec<Case>> {
    let program = binary()?;
    // The same tree twice: one in which the changes were made, one in which they are staged.
    let (plain, staged) = (place.workspace().join("plain"), place.workspace().join("staged"));
    for tree in [&plain, &staged] {
        fill(tree, dirs, 100)?;
    }
    let commit =
        "git init -q . && git add -A && git -c user.name=n -c user.email=e commit -qm first";
    sh(
        place,
        &plain,
        &format!("{commit} && git status --short > /dev/null && {{ {TEN_CHANGES}; }}"),
    )?;
    let git = || in_dir(place.command("git"), &plain, &["status", "--short"]);
    prove_lines(git(), 10)?;
    let run = |script: &str| {
        in_dir(with(place, &program, &[]), &staged, &[RUN, &["sh", "-c", script]].concat())
    };
    succeed(run(TEN_CHANGES).stderr(Stdio::null()))?;
    let last = newest_run(place)?;
    let diff = || in_dir(place.command(&program), &staged, &["diff", &last, "--name-only"]);
    prove_lines(diff(), 10)?;
    let (to_stat, to_hash) = (plain.clone(), plain.clone());
    Ok(vec![
        Case::command("`git status`", git()),
        Case::new("walk and stat", move || walk(&to_stat, &mut |_| Ok(()))),
        Case::new("walk, read and hash", move || walk(&to_hash, &mut hash)),
        Case::command("`cofferdam diff --name-only`", diff()),
        Case::command("`cofferdam run` that changes nothing", run("true")),
        Case::command("`cofferdam run` that makes the ten changes, sealed", run(TEN_CHANGES)),
    ])
}

pub(crate) fn apply_1k(place: &Place) -> Result<Vec<Case>> {
    applying(place, 10)
}

pub(crate) fn apply_10k(place: &Place) -> Result<Vec<Case>> {
    applying(place, 100)
}

/// `dirs` hundred new files: to bring them home.
fn applying(place: &Place, dirs: usize) -> Result<Vec<Case>> {
    if !is_there("rsync") {
        bail!("rsync, the peer to compare with, is missing: cargo xtask test installs it");
    }
    let program = binary()?;
    let (source, home) = (place.workspace().join("source"), place.workspace().join("home"));
    fill(&source, dirs, 100)?;
    fs::create_dir(&home)?;
    // The sandbox sees only its workspace: the files are made there, as an agent makes them.
    let make = format!(
        "for d in $(seq 0 {}); do mkdir d$d; for f in $(seq 0 99); do \
         echo 'some words in a file' > d$d/f$f.txt; done; done",
        dirs - 1
    );
    succeed(
        in_dir(with(place, &program, &[]), &home, &[RUN, &["sh", "-c", &make]].concat())
            .stderr(Stdio::null()),
    )?;
    let run = newest_run(place)?;
    let ours = |words: &[&str]| in_dir(place.command(&program), &home, words);
    let apply = || ours(&["apply", &run, "--allow-budget", "--quiet"]);
    let undo = ours(&["undo", &run, "--quiet"]);
    let copy = |tool: &str, name: &str| {
        let target = place.workspace().join(name);
        let mut command = place.command(tool);
        command.arg("-a").arg(source.join(".")).arg(&target);
        let empty = move || {
            if target.exists() {
                fs::remove_dir_all(&target)?;
            }
            Ok(fs::create_dir(&target)?)
        };
        Case::command(format!("`{tool} -a`"), command).after(empty)
    };
    // Proof: what was applied is what the peers copy.
    succeed(&mut apply())?;
    let count = count_files(&home)?;
    if count != dirs * 100 {
        bail!("apply brought {count} files, not {}", dirs * 100);
    }
    let mut undo = undo;
    let again = move || {
        undo.stdout(Stdio::null()).stderr(Stdio::null());
        succeed(&mut undo)
    };
    Ok(vec![
        copy("rsync", "by-rsync"),
        copy("cp", "by-cp"),
        Case::command("`cofferdam apply`: checked, journaled, synced", apply()).after(again),
    ])
}

/// A change set of a million files: time and memory of sealing and applying it, once.
pub(crate) fn million(place: &Place) -> Result<String> {
    let program = binary()?;
    let make = "i = 0\nimport os\nfor d in range(1000):\n    os.mkdir(f'd{d}')\n    \
                for f in range(1000):\n        os.close(os.open(f'd{d}/f{f}', os.O_CREAT | os.O_WRONLY, 0o644))\n";
    let run = in_dir(
        with(place, &program, &[]),
        &place.workspace(),
        &[RUN, &["python3", "-c", make]].concat(),
    );
    let sealed = watch(run)?;
    let last = newest_run(place)?;
    let words = |words: &[&str]| in_dir(place.command(&program), &place.workspace(), words);
    let listed = watch(words(&["diff", &last, "--name-only"]))?;
    let applied = watch(words(&["apply", &last, "--allow-budget", "--quiet"]))?;
    let undone = watch(words(&["undo", &last, "--quiet"]))?;
    let mut table = String::from("| a million new files | time | most memory |\n|---|---:|---:|\n");
    for (name, (time, memory)) in [
        ("made inside and sealed", sealed),
        ("listed", listed),
        ("applied", applied),
        ("undone", undone),
    ] {
        table += &format!(
            "| {name} | {:.1} s | {:.1} MiB |\n",
            time.as_secs_f64(),
            memory as f64 / 1024.0
        );
    }
    Ok(table)
}

pub(super) const RUN: &[&str] =
    &["run", "--quiet", "--sandbox", "native", "--relax", "limits", "--"];

/// The newest run, by its whole id: so that what is timed does not have to look for it.
pub(super) fn newest_run(place: &Place) -> Result<String> {
    let runs = place.state().join("cofferdam/runs");
    let mut names: Vec<String> = fs::read_dir(&runs)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_>>()?;
    names.sort();
    names.pop().with_context(|| format!("no run in {}", runs.display()))
}

fn in_dir(mut command: Command, dir: &Path, args: &[&str]) -> Command {
    command.args(args).current_dir(dir);
    command
}

fn sh(place: &Place, dir: &Path, script: &str) -> Result<()> {
    succeed(&mut in_dir(place.command("/bin/sh"), dir, &["-c", script]))
}

/// Only a command that finds all of them is timed.
pub(super) fn prove_lines(mut command: Command, lines: usize) -> Result<()> {
    let output = command.stdin(Stdio::null()).output()?;
    let found = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
    if !output.status.success() || found != lines {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("{} lists {found} changes, not {lines}: {said}", shown(&command));
    }
    Ok(())
}

fn walk(dir: &Path, look: &mut dyn FnMut(&Path) -> Result<()>) -> Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let meta = fs::symlink_metadata(&path)?;
        if meta.is_dir() {
            walk(&path, look)?;
        } else {
            look(&path)?;
        }
    }
    Ok(())
}

fn hash(path: &Path) -> Result<()> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.read_to_end(&mut bytes)?;
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    std::hint::black_box(hasher.finish());
    Ok(())
}

fn count_files(dir: &Path) -> Result<usize> {
    let mut count = 0;
    walk(dir, &mut |_| {
        count += 1;
        Ok(())
    })?;
    Ok(count)
}

/// How long a command takes, and the most memory that it had, in KiB. The kernel keeps the most; it is
/// looked at again and again until there is nothing to look at.
fn watch(mut command: Command) -> Result<(Duration, u64)> {
    let start = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn()?;
    let status_file = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut most = 0;
    let status = loop {
        let text = fs::read_to_string(&status_file).unwrap_or_default();
        let peak = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok());
        most = most.max(peak.unwrap_or(0));
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    if !status.success() {
        bail!("{}: {status}", shown(&command));
    }
    Ok((start.elapsed(), most))
}
