//! The dashboard in a browser: how heavy its page is, how soon it is there, and how long the longest task is while five
//! thousand changed files are scrolled through.
//!
//! Measured by the tests that hold these figures to their limits (`crates/cli/tests/dashboard/speed.rs`), against the
//! release program. Not here: the limits.

use std::fs;

use anyhow::{Context as _, Result, bail};

use crate::cargo::{cargo, succeed};
use crate::place::Place;
use crate::release;

const MEASURED_BY: [&str; 9] = [
    "nextest",
    "run",
    "-p",
    "cofferdam-cli",
    "--all-features",
    "--test",
    "dashboard",
    "-E",
    "test(speed)",
];

pub(crate) fn figures(place: &Place) -> Result<String> {
    let file = place.workspace().join("figures");
    let mut command = cargo(MEASURED_BY);
    // Two at once would measure each other.
    command.args(["-j", "1"]).env("TEST_PROGRAM", release::binary()?).env("TEST_FIGURES", &file);
    succeed(&mut command)?;
    let said =
        fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut table = String::from("| what | figure |\n|---|---:|\n");
    for line in said.lines() {
        let Some((what, figure)) = line.split_once('\t') else { bail!("not a figure: {line:?}") };
        table += &format!("| {what} | {figure} |\n");
    }
    Ok(table + "\nDebian's Chromium without a window, on the loopback; the best of some passes.")
}
