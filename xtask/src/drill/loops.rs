//! Autonomous loops, at full length: two hundred iterations of a generator that cheats, and owners that are killed.
//!
//! The same tests as in the suite, made longer by a variable; what they look at is said there.

use std::time::Instant;

use anyhow::Result;

use super::Asked;
use super::report::Report;
use crate::cargo::{cargo, succeed};

const KILLS: usize = 50;
const TESTS: &str = "test(=a_generator_that_cheats_never_wins_by_it) | \
                     test(=killed_at_any_moment_it_goes_on_as_if_it_had_not_been)";

pub(super) fn perform(asked: &Asked) -> Result<Report> {
    let kills = asked.size.unwrap_or(KILLS);
    let mut report = Report::new("loop");
    let begin = Instant::now();
    let mut tests = cargo(["nextest", "run", "--package", "cofferdam-cli", "--test", "loops"]);
    tests.args(["--no-fail-fast", "-E", TESTS]).env("TEST_KILLS", kills.to_string());
    if let Err(error) = succeed(&mut tests) {
        report.wrong(format!("{error:#}"));
    }
    report.count("iterations", 200);
    report.count("kills", kills);
    report.count("seconds, building included", begin.elapsed().as_secs());
    Ok(report)
}
