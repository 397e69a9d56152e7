//! What the kernel takes for a command in namespaces of its own, whoever asks for them: see `floor.c`, which is compiled for it.

use std::fs;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::{STARTS, all_of};
use crate::bench::case::Case;
use crate::bench::place::Place;
use crate::bench::start::{NOTHING, prove, shown_by};
use crate::cargo::succeed;
use crate::provide::is_root;

const SOURCE: &str = include_str!("floor.c");

pub(super) fn case(place: &Place, callers: usize) -> Result<Case> {
    let name = format!("the kernel's part alone, {callers} at once");
    if !is_root() {
        return Ok(Case::skipped(name, "only root has all of it".to_owned()));
    }
    let (source, program) = (place.top().join("floor.c"), place.top().join("floor"));
    fs::write(&source, SOURCE).with_context(|| format!("cannot write {}", source.display()))?;
    succeed(Command::new("cc").args(["-O2", "-o"]).args([&program, &source]))?;
    let started = |times: usize, at: usize| {
        let mut command = place.command(&program);
        command.arg(place.top().join(format!("floor-{at}"))).arg(times.to_string());
        command
    };
    prove(shown_by(started(1, 0), &[]), 83, "started\n")?;
    let mut commands: Vec<Command> = (0..callers).map(|at| started(STARTS / callers, at)).collect();
    for command in &mut commands {
        command.arg(NOTHING);
    }
    let act = move || {
        all_of(&mut commands, |command, _| match command.status()?.success() {
            true => Ok(()),
            false => bail!("it has failed"),
        })
    };
    Ok(Case::new(name, act).of_starts(STARTS))
}
