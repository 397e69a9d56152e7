//! Changes: what comes after the command's end until they are sealed, and what it takes to list them and to show them.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::bench::changes::{RUN, newest_run, prove_lines};
use crate::bench::curve::{Curve, Series};
use crate::bench::figures::rank;
use crate::bench::start::with;
use crate::cargo::shown;
use crate::place::Place;
use crate::release;

/// Changed files, and how often that is done: what takes long is not done as often.
const SIZES: [(usize, usize); 5] = [(10, 9), (100, 9), (1_000, 5), (10_000, 3), (100_000, 1)];

/// Makes as many files as it is told, and says when it is done.
const MAKE: &str = "import os, sys\nfor n in range(int(sys.argv[1])):\n    if n % 1000 == 0:\n        os.mkdir(f'd{n}'); d = n\n    \
                    with open(f'd{d}/f{n}', 'w') as f: f.write('some words in a file\\n')\nprint('made', flush=True)\n";

pub(crate) fn changes(place: &Place) -> Result<Curve> {
    let program = release::binary()?;
    let mut series = [
        Series::new("sealed, after the command's end"),
        Series::new("`cofferdam diff --name-only`"),
        Series::new("`cofferdam diff`"),
    ];
    for (size, rounds) in SIZES {
        let mut times = [const { Vec::new() }; 3];
        for round in 0..rounds {
            eprintln!("growth-changes: {size} files, {} of {rounds}", round + 1);
            times[0].push(sealed(place, &program, size)?);
            let run = newest_run(place)?;
            let words = |words: &[&str]| with(place, &program, &[&["diff", &run], words].concat());
            // A directory is a change as well.
            prove_lines(words(&["--name-only"]), size + size.div_ceil(1000))?;
            times[1].push(read_to_its_end(words(&["--name-only"]))?);
            times[2].push(read_to_its_end(words(&[]))?);
        }
        for (series, times) in series.iter_mut().zip(times) {
            series.points.push((size, rank(&times, 50)));
        }
    }
    let often: Vec<String> = SIZES.iter().map(|(_, rounds)| rounds.to_string()).collect();
    let note = format!("New files in a native sandbox; medians of {} times", often.join(", "));
    Ok(Curve { across: "changed files", series: series.into(), note })
}

/// From the moment at which the command has made the last file.
fn sealed(place: &Place, program: &Path, size: usize) -> Result<Duration> {
    let mut command = with(place, program, RUN);
    command.args(["python3", "-c", MAKE, &size.to_string()]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut said = String::new();
    let stdout = child.stdout.take().context("its output is a pipe")?;
    BufReader::new(stdout).read_line(&mut said)?;
    let begun = Instant::now();
    let status = child.wait()?;
    ensure!(status.success() && said == "made\n", "{}: {status}, {said:?}", shown(&command));
    Ok(begun.elapsed())
}

fn read_to_its_end(mut command: Command) -> Result<Duration> {
    let begun = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    ensure!(status.success(), "{}: {status}", shown(&command));
    Ok(begun.elapsed())
}
