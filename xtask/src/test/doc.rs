//! The examples in documentation comments, which nextest does not run.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};

use super::steps::{Counts, Skipped};
use crate::cargo::{cargo, shown};

pub(crate) fn run() -> Result<Counts> {
    let mut command = cargo(["test", "--workspace", "--all-features", "--doc", "--no-fail-fast"]);
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
    let mut counts = Counts::default();
    let stdout = child.stdout.take().context("cargo has no standard output")?;
    for line in BufReader::new(stdout).lines() {
        let line = line.context("cannot read what cargo prints")?;
        println!("{line}");
        take(&line, &mut counts);
    }
    let status = child.wait().context("cannot wait for cargo")?;
    if !status.success() && counts.failed == 0 {
        bail!("{}: {status}", shown(&command));
    }
    Ok(counts)
}

fn take(line: &str, counts: &mut Counts) {
    // `merged doctests` and others add words behind; the last word but for a reason is the verdict.
    let Some((name, verdict)) = line.strip_prefix("test ").and_then(|l| l.rsplit_once(" ... "))
    else {
        return;
    };
    match verdict {
        "ok" => counts.passed += 1,
        "FAILED" => counts.failed += 1,
        _ if verdict.starts_with("ignored") => counts.skipped.push(Skipped {
            name: name.to_owned(),
            reason: Some("an example marked `ignore`".to_owned()),
        }),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_counted_and_other_lines_are_not() {
        let mut counts = Counts::default();
        for line in [
            "running 4 tests",
            "test src/a.rs - a (line 1) ... ok",
            "test src/a.rs - b (line 2) - compile ... ok",
            "test src/a.rs - c (line 3) ... FAILED",
            "test src/a.rs - d (line 4) ... ignored",
            "test result: FAILED. 2 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out",
        ] {
            take(line, &mut counts);
        }
        assert_eq!((counts.passed, counts.failed, counts.skipped.len()), (2, 1, 1));
    }
}
