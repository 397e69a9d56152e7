//! How many sandboxes a host starts and takes down in a second, with several callers at once.
//!
//! Each caller is a process that lives on, as a server's launcher does, and makes one start after the
//! other: what is left to do after an answer is done before the next, so that all of it counts. It is told how many in one
//! breath: talk with whoever measures would be measured, too.

use std::thread;

use anyhow::{Context as _, Result, bail};

use super::case::Case;
use super::driver::Driver;
use super::place::Place;
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
    Ok(cases)
}

fn all_at_once(drivers: &mut [Driver]) -> Result<()> {
    let each = STARTS / drivers.len();
    thread::scope(|scope| {
        let askers: Vec<_> = drivers
            .iter_mut()
            .map(|driver| scope.spawn(move || driver.ask_nothing_times(each)))
            .collect();
        askers.into_iter().try_for_each(|asker| match asker.join() {
            Ok(answer) => answer,
            Err(_) => bail!("a caller has panicked"),
        })
    })
    .context("several callers at once")
}
