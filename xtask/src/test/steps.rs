//! Steps, one after the other: announced, timed, counted, summed up.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::ending::stand_still;

/// What a step of tests counted. A step that is no test counts nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: Vec<Skipped>,
}

/// A test that was not run, and why.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Skipped {
    pub(crate) name: String,
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Steps(Vec<Done>);

#[derive(Debug)]
struct Done {
    name: &'static str,
    took: Duration,
    counts: Counts,
    error: Option<String>,
}

impl Done {
    fn is_good(&self) -> bool {
        self.error.is_none() && self.counts.failed == 0
    }

    fn line(&self) -> String {
        let word = if self.is_good() { "ok" } else { "FAILED" };
        let error = self.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default();
        format!("{:9} {word:6} {:>9}{error}", self.name, seconds(self.took))
    }
}

impl Steps {
    /// Runs one step; whether it went well.
    pub(crate) fn run(
        &mut self,
        name: &'static str,
        step: impl FnOnce() -> Result<Counts>,
    ) -> bool {
        stand_still();
        println!("==> {name}");
        let start = Instant::now();
        let result = step();
        let took = start.elapsed();
        let done = match result {
            Ok(counts) => Done { name, took, counts, error: None },
            Err(e) => {
                let counts = Counts { failed: 1, ..Counts::default() };
                Done { name, took, counts, error: Some(format!("{e:#}")) }
            }
        };
        println!("<== {}", done.line());
        let good = done.is_good();
        self.0.push(done);
        good
    }

    /// Prints the summary. Its last line has a fixed form, for programs to read.
    pub(crate) fn close(&self) -> ExitCode {
        print!("\n{}", self.summary());
        if self.0.iter().all(Done::is_good) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    fn summary(&self) -> String {
        let mut text = String::new();
        for done in &self.0 {
            text += &format!("{}\n", done.line());
        }
        let skipped: Vec<_> = self.0.iter().flat_map(|done| &done.counts.skipped).collect();
        for Skipped { name, reason } in &skipped {
            let reason = reason.as_deref().unwrap_or("no reason given");
            text += &format!("skipped {name}: {reason}\n");
        }
        let sum =
            |count: fn(&Counts) -> usize| self.0.iter().map(|d| count(&d.counts)).sum::<usize>();
        let (passed, failed) = (sum(|counts| counts.passed), sum(|counts| counts.failed));
        let checks = self.0.iter().filter(|done| done.error.is_some()).count();
        let ran = passed + failed - checks;
        text += &format!("tests run: {ran}, ignored: {}\n", skipped.len());
        text + &format!("{passed} passed, {failed} failed, {} skipped\n", skipped.len())
    }
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    fn counted(passed: usize, failed: usize) -> Counts {
        let why = Skipped { name: "crate test_a".to_owned(), reason: Some("needs x".to_owned()) };
        Counts { passed, failed, skipped: vec![why] }
    }

    #[test]
    fn sums_up_and_ends_with_the_fixed_line() {
        let mut steps = Steps::default();
        assert!(steps.run("format", || Ok(Counts::default())));
        assert!(steps.run("test", || Ok(counted(3, 0))));
        let text = steps.summary();
        assert!(text.contains("skipped crate test_a: needs x\n"), "{text}");
        assert!(text.ends_with("\n3 passed, 0 failed, 1 skipped\n"), "{text}");
        assert_eq!(steps.close(), ExitCode::SUCCESS);
    }

    #[test]
    fn a_failing_test_and_a_failing_check_both_fail_and_both_count() {
        let mut steps = Steps::default();
        assert!(!steps.run("test", || Ok(counted(3, 2))));
        assert_eq!(steps.close(), ExitCode::FAILURE);
        assert!(!steps.run("lint", || Err(anyhow!("cargo clippy: exit status: 1"))));
        let text = steps.summary();
        assert!(text.contains("cargo clippy: exit status: 1"), "{text}");
        assert!(text.contains("\ntests run: 5, ignored: 1\n"), "{text}");
        assert!(text.ends_with("\n3 passed, 3 failed, 1 skipped\n"), "{text}");
    }
}
