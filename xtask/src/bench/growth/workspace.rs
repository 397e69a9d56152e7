//! Starting a sandbox, with few files in the workspace and with many.

use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::bench::curve::{Curve, Series};
use crate::bench::rounds::{Rounds, measure};
use crate::bench::start::{fill_empty, in_tree};
use crate::place::Place;

const SIZES: [usize; 5] = [3, 100, 1_000, 10_000, 100_000];
const ROUNDS: Rounds = Rounds { warm_up: 5, counted: 100, within: Duration::from_secs(30) };

pub(crate) fn files(place: &Place) -> Result<Curve> {
    let mut cases = Vec::new();
    for size in SIZES {
        eprintln!("growth-files: making {size} files");
        let tree = place.workspace().join(size.to_string());
        fill_empty(&tree, size.div_ceil(100), size.min(100))?;
        let files: usize = std::fs::read_dir(&tree)?
            .map(|dir| Ok(std::fs::read_dir(dir?.path())?.count()))
            .sum::<Result<usize>>()?;
        anyhow::ensure!(files == size, "{files} files were made, not {size}");
        cases.push(in_tree(&size.to_string(), place, &tree)?);
    }
    let times = measure("growth-files", &mut cases, ROUNDS)?;
    let rounds = times.first().context("there are cases")?.times.len();
    let points = super::medians(&SIZES, &times);
    let series = vec![Series { name: "`cofferdam run` of `/bin/true`", points }];
    let note = format!("Medians of {rounds} interleaved rounds");
    Ok(Curve { across: "files in the workspace", series, note })
}
