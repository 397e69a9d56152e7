//! `cargo xtask mutants`: opens holes on purpose, one by one, and sees that a test notices each.
//!
//! The holes are those of `crates/core/src/weaken.rs`, which only a build with the feature `weaken` has. The named tests
//! are run first as they are, and must pass; then each with its hole open, and must fail. A test that stays green with a hole
//! open tests nothing, and is told.

mod table;

use std::collections::BTreeSet;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

use crate::args::{Args, Usage};
use crate::cargo::{cargo, shown};
use table::{MUTANTS, Mutant};

const HELP: &str = "\
Usage: cargo xtask mutants [OPTIONS]

Builds the tests once with holes that can be opened, sees that they pass, and opens the holes one by one: each must make
the test fail that is named for it. Prints a table; ends with 1 where a hole is not noticed.

Options:
  --only NAME   only the mutants with this hole in their name
  --list        print the table and run nothing
  --help        this text

Examples:
  cargo xtask mutants
  cargo xtask mutants --only filter";

/// What cargo-nextest ends with where a test failed; anything else is no answer.
const TEST_FAILED: i32 = 100;

pub(crate) fn run(mut args: Args) -> Result<ExitCode> {
    let (mut only, mut list) = (None, false);
    while let Some(word) = args.next() {
        match word.as_str() {
            "--only" => only = Some(args.value("--only")?),
            "--list" => list = true,
            "--help" | "-h" => {
                println!("{HELP}");
                return Ok(ExitCode::SUCCESS);
            }
            other => return Err(Usage::unknown(other, "mutants").into()),
        }
    }
    let chosen: Vec<&Mutant> = MUTANTS
        .iter()
        .filter(|mutant| only.as_ref().is_none_or(|only| mutant.holes.contains(only.as_str())))
        .collect();
    if chosen.is_empty() {
        return Err(Usage::new("no mutant is called so; see cargo xtask mutants --list").into());
    }
    if list {
        chosen.iter().for_each(|mutant| println!("{:<36} {}", mutant.holes, mutant.name()));
        return Ok(ExitCode::SUCCESS);
    }
    see_them_pass(&chosen)?;
    let mut missed = 0;
    for mutant in &chosen {
        let begin = Instant::now();
        let noticed = is_noticed(mutant)?;
        missed += usize::from(!noticed);
        let word = if noticed { "noticed" } else { "MISSED" };
        let seconds = begin.elapsed().as_secs_f64();
        println!("{word:<8} {:<36} {} ({seconds:.1} s)", mutant.holes, mutant.name());
    }
    println!("{} holes, {} noticed, {missed} missed", chosen.len(), chosen.len() - missed);
    Ok(if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Without a hole every named test passes: else its failure would say nothing.
fn see_them_pass(mutants: &[&Mutant]) -> Result<()> {
    let tests: BTreeSet<String> = mutants.iter().map(|mutant| mutant.filter()).collect();
    let all = tests.into_iter().collect::<Vec<_>>().join(" | ");
    let mut command = nextest(mutants, &all);
    let status = command.status().with_context(|| format!("cannot start {}", shown(&command)))?;
    if !status.success() {
        bail!("without any hole the tests do not pass: {status}");
    }
    Ok(())
}

fn is_noticed(mutant: &Mutant) -> Result<bool> {
    let mut command = nextest(&[mutant], &mutant.filter());
    command.env("TEST_WEAKEN", mutant.holes).stdout(Stdio::null()).stderr(Stdio::null());
    let status = command.status().with_context(|| format!("cannot start {}", shown(&command)))?;
    match status.code() {
        Some(0) => Ok(false),
        Some(TEST_FAILED) => Ok(true),
        _ => bail!("{}: the test could not be run: {status}", mutant.holes),
    }
}

/// Only the test binaries that are needed are built, and as `cargo xtask test` builds them.
fn nextest(mutants: &[&Mutant], filter: &str) -> Command {
    let mut command = cargo(["nextest", "run", "-p", "cofferdam-cli", "--all-features"]);
    let binaries: BTreeSet<&str> = mutants.iter().map(|mutant| mutant.binary).collect();
    for binary in binaries {
        command.args(["--test", binary]);
    }
    command.args(["--no-fail-fast", "-E", filter]);
    command
}

impl Mutant {
    fn filter(&self) -> String {
        format!("(binary(={}) & test(={}))", self.binary, self.test)
    }

    fn name(&self) -> String {
        format!("{} {}", self.binary, self.test)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed() -> BTreeSet<String> {
        let path = crate::cargo::root().join("crates/core/src/weaken.rs");
        let text = std::fs::read_to_string(path).unwrap();
        let (_, list) = text.split_once("\nweaknesses! {").unwrap();
        let (list, _) = list.split_once("\n}").unwrap();
        let names = list.lines().filter_map(|line| line.split('"').nth(1));
        names.map(str::to_owned).collect()
    }

    #[test]
    fn every_hole_has_a_test_that_notices_it() {
        let used: BTreeSet<String> =
            MUTANTS.iter().flat_map(|mutant| mutant.holes.split(',')).map(str::to_owned).collect();
        assert_eq!(used, listed());
        assert!(MUTANTS.len() >= 25, "{}", MUTANTS.len());
    }

    #[test]
    fn every_named_test_exists() {
        let tests = crate::cargo::root().join("crates/cli/tests");
        for mutant in MUTANTS {
            let (module, name) = match mutant.test.split_once("::") {
                Some((module, name)) => (Some(module), name),
                None => (None, mutant.test),
            };
            let file = tests.join(format!("{}.rs", mutant.binary));
            let file = match module {
                Some(module) if !file.exists() => {
                    tests.join(mutant.binary).join(format!("{module}.rs"))
                }
                _ => file,
            };
            let text = std::fs::read_to_string(&file).unwrap();
            assert!(text.contains(&format!("fn {name}(")), "{} in {}", name, file.display());
        }
    }
}
