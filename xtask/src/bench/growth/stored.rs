//! Tasks in the store of a server: what one more costs, and how long a page of the list and the overview take.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::bench::curve::{Curve, Series};
use crate::bench::figures::rank;
use crate::bench::server::stored::Stored;
use crate::place::Place;
use crate::release;

/// With the time for all of it: a slow disk ends it early.
pub(crate) fn tasks(place: &Place) -> Result<Curve> {
    const SIZES: [usize; 5] = [1_000, 10_000, 30_000, 100_000, 300_000];
    curve(place, &SIZES, Duration::from_secs(150))
}

/// More than anybody waits for who did not ask for it.
pub(crate) fn million_tasks(place: &Place) -> Result<Curve> {
    const SIZES: [usize; 3] = [1_000, 100_000, 1_000_000];
    curve(place, &SIZES, Duration::from_secs(40 * 60))
}

fn curve(place: &Place, sizes: &[usize], time: Duration) -> Result<Curve> {
    let end = Instant::now() + time;
    let mut stored = Stored::start(place, &release::binary()?)?;
    let mut series = [
        Series::new("processor time of one made and canceled"),
        Series::new("the newest 50, listed"),
        Series::new("the overview"),
    ];
    for &size in sizes {
        stored.fill(size, end)?;
        if stored.count() < size {
            break;
        }
        for (series, path) in series[1..].iter_mut().zip(["/v1/tasks?limit=50", "/v1/overview"]) {
            series.points.push((size, rank(&stored.answers(path)?, 50)));
        }
        series[0].points.push((size, stored.cost()?));
    }
    ensure!(!series[0].points.is_empty(), "there was no time for {} tasks", sizes[0]);
    let note = "SQLite, everything durable; medians of 50 answers".to_owned();
    Ok(Curve { across: "tasks stored", series: series.into(), note })
}
