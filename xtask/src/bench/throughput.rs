//! How many sandboxes a host starts and takes down in a second, with several callers at once.
//!
//! Each caller is a process that lives on, as a server's launcher does, and makes one start after the
//! other: what is left to do after an answer is done before the next, so that all of it counts. It is told how many in one
//! breath: talk with whoever measures would be measured, too.

mod floor;

use std::process::Command;
use std::thread;

use anyhow::{Context as _, Result, bail};

use super::case::Case;
use super::driver::Driver;
use super::place::Place;
use super::start;
use crate::release;

/// Starts in one round of a case.
const STARTS: usize = 120;

pub(crate) fn cases(place: &Place) -> Result<Vec<Case>> {
    let program = release::binary()?;
    let case = |how: &str, callers: usize, name: &str| -> Result<Case> {
        let drivers = (0..callers).map(|_| Driver::start(place, &program, how));
        let mut drivers = drivers.collect::<Result<Vec<_>>>()?;
        let name = format!("{name}, {callers} at once");
        Ok(Case::new(name, move || all_at_once(&mut drivers)).of_starts(STARTS))
    };
    let mut cases = vec![case("plain", 4, "plain start of `/bin/true`")?];
    for callers in [1, 2, 4] {
        cases.push(case("cold", callers, "native, staged, limited")?);
    }
    cases.push(bubblewrap(place, 4)?);
    cases.push(floor::case(place, 4)?);
    Ok(cases)
}

/// The peer, which stages, limits and records nothing.
fn bubblewrap(place: &Place, callers: usize) -> Result<Case> {
    // It has shown that it starts something.
    drop(start::bubblewrap(place)?);
    let command = || {
        let mut command = place.command("/usr/bin/bwrap");
        command.args(start::BWRAP).arg(start::NOTHING);
        command
    };
    let mut commands: Vec<Command> = (0..callers).map(|_| command()).collect();
    let name = format!("bubblewrap, read-only root, {callers} at once");
    let act = move || {
        all_of(&mut commands, |command, times| {
            (0..times).try_for_each(|_| match command.status()?.success() {
                true => Ok(()),
                false => bail!("bubblewrap has failed"),
            })
        })
    };
    Ok(Case::new(name, act).of_starts(STARTS))
}

fn all_at_once(drivers: &mut [Driver]) -> Result<()> {
    all_of(drivers, Driver::ask_nothing_times)
}

/// Has each of the callers do its share of the starts, all at once.
fn all_of<Caller: Send>(
    callers: &mut [Caller],
    start: impl Fn(&mut Caller, usize) -> Result<()> + Sync,
) -> Result<()> {
    let each = STARTS / callers.len();
    let start = &start;
    thread::scope(|scope| {
        let askers: Vec<_> =
            callers.iter_mut().map(|caller| scope.spawn(move || start(caller, each))).collect();
        askers.into_iter().try_for_each(|asker| match asker.join() {
            Ok(answer) => answer,
            Err(_) => bail!("a caller has panicked"),
        })
    })
    .context("several callers at once")
}
