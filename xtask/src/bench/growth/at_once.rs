//! Runs that are started at the same moment: until the last has ended, and what that is for each.

use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use crate::bench::case::Case;
use crate::bench::curve::{Curve, Series};
use crate::bench::rounds::{Rounds, measure};
use crate::bench::start::{NATIVE, NOTHING, prove, shown_by, with};
use crate::place::Place;
use crate::release;

const SIZES: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
const ROUNDS: Rounds = Rounds { warm_up: 1, counted: 20, within: Duration::from_secs(40) };

pub(crate) fn concurrency(place: &Place) -> Result<Curve> {
    let program = release::binary()?;
    prove(shown_by(with(place, &program, NATIVE), &[]), 83, "started\n")?;
    let mut cases: Vec<Case> =
        SIZES.iter().map(|size| together(place, program.clone(), *size)).collect();
    let times = measure("growth-concurrency", &mut cases, ROUNDS)?;
    let rounds = times.first().context("there are cases")?.times.len();
    let all = super::medians(&SIZES, &times);
    let shared = |(size, time): &(usize, Duration)| -> Result<_> {
        Ok((*size, *time / u32::try_from(*size)?))
    };
    let each = all.iter().map(shared).collect::<Result<_>>()?;
    let series = vec![
        Series { name: "until the last has ended", points: all },
        Series { name: "that, for each of them", points: each },
    ];
    let note = format!("`cofferdam run` of `/bin/true`, medians of {rounds} interleaved rounds");
    Ok(Curve { across: "runs at once", series, note })
}

fn together(place: &Place, program: PathBuf, size: usize) -> Case {
    let mut command = with(place, &program, NATIVE);
    command.arg(NOTHING).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Case::new(size.to_string(), move || {
        let started: std::io::Result<Vec<Child>> = (0..size).map(|_| command.spawn()).collect();
        // All are waited for before any is judged: none goes on into the next round.
        let ended: std::io::Result<Vec<_>> =
            started?.iter_mut().map(Child::wait).collect::<Vec<_>>().into_iter().collect();
        let failed = ended?.into_iter().find(|status| !status.success());
        ensure!(failed.is_none(), "one of {size} at once failed: {failed:?}");
        Ok(())
    })
}
