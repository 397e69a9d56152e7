//! How fast code is looked at: megabytes a second, on one core, with the start of the program and the reading of the
//! files.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::place::Place;
use crate::release;

const ROUNDS: usize = 7;

/// A table of what was looked at and how fast.
pub(crate) fn speed(place: &Place) -> Result<String> {
    let program = release::binary()?;
    let mut table = String::from("| what | MB | median | MB/s |\n|---|---:|---:|---:|\n");
    for (name, what) in [library(place)?, written(place)?] {
        let Some((path, bytes)) = what else {
            table += &format!("| {name} | skipped: there is none here | | |\n");
            continue;
        };
        let mut times = Vec::new();
        for _ in 0..=ROUNDS {
            let mut command = place.command(&program);
            command.args(["check", "--json"]).arg(&path);
            let begun = Instant::now();
            let output = command.output().context("cannot start the program")?;
            times.push(begun.elapsed());
            // Findings are no failure here; no report is.
            if !matches!(output.status.code(), Some(0 | 1)) || output.stdout.is_empty() {
                bail!("{name}: {}", String::from_utf8_lossy(&output.stderr));
            }
        }
        // The first read the files from the disk.
        times.remove(0);
        times.sort_unstable();
        let median: Duration = times[times.len() / 2];
        #[expect(clippy::cast_precision_loss, reason = "a few megabytes")]
        let megabytes = bytes as f64 / 1e6;
        let (seconds, milliseconds) = (median.as_secs_f64(), median.as_secs_f64() * 1000.0);
        table += &format!(
            "| {name} | {megabytes:.1} | {milliseconds:.0} ms | {:.1} |\n",
            megabytes / seconds
        );
    }
    Ok(table + &format!("\nMedian of {ROUNDS}, one thread, with the program's start."))
}

type Case = (&'static str, Option<(PathBuf, u64)>);

/// The standard library of the Python that is here, copied so that nothing else lies beside it.
fn library(place: &Place) -> Result<Case> {
    let name = "Python's standard library";
    let found = fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|entry| entry.path());
    let found = found.filter(|path| path.join("os.py").is_file()).max();
    let Some(from) = found else { return Ok((name, None)) };
    let to = place.workspace().join("library");
    let bytes = copy(&from, &to)?;
    Ok((name, Some((to, bytes))))
}

fn copy(from: &Path, to: &Path) -> Result<u64> {
    fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    let mut bytes = 0;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_dir() {
            bytes += copy(&path, &to.join(entry.file_name()))?;
        } else if kind.is_file() && path.extension().is_some_and(|ending| ending == "py") {
            bytes += fs::copy(&path, to.join(entry.file_name()))?;
        }
    }
    Ok(bytes)
}

/// Ten megabytes in one file, of which a tenth is of interest.
fn written(place: &Place) -> Result<Case> {
    let plain = "def f(x, y):\n    total = sum(i * 2 for i in x if i)\n    return {'a': total, 'b': [y, x]}\n\n";
    let block = plain.repeat(9)
        + "def g(name):\n    with open(name) as file:\n        return eval_of(file.read())\n\n";
    let text = block.repeat(10_000_000 / block.len());
    let path = place.workspace().join("large.py");
    fs::write(&path, &text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(("one file of Python", Some((path, text.len().try_into()?))))
}
