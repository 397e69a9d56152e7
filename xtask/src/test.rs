//! `cargo xtask test`: everything that must hold before a change goes in.
//!
//! Every step runs even if one before it failed, so that one run tells all; only without the programs
//! the tests need there is nothing to go on with. The usage pages under `docs/` are ordinary tests.

pub(crate) mod axe;
mod bases;
mod doc;
mod engine;
mod inspector;
mod nextest;
mod npm;
pub(crate) mod postgres;
mod python;
mod steps;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use crate::args::{Args, Usage};
use crate::cargo::{cargo, succeed};
use crate::drill;
use crate::provide::{self, Install};
use crate::release;
use engine::Engines;
use nextest::{Asked, Length, Means, Pass};
use postgres::Postgres;
use steps::{Counts, Steps};

const HELP: &str = "\
Usage: cargo xtask test [OPTIONS]

Installs missing programs, checks format and lints, starts container engines and a PostgreSQL for the tests, runs all tests and documentation tests,
and the claims about sandboxes once more on each engine, and each drill in its short form; lists every skipped test with its reason. Ends with a line `N passed, N failed, N skipped`, in which a check
that fails without being a test counts as one failure.

Options:
  --filter EXPR   only the tests of this nextest filterset; no documentation tests
  --long          repeat hundreds of times what only fails now and then
  --no-install    fail where a program is missing
  --help          this text

Examples:
  cargo xtask test
  cargo xtask test --filter 'package(cofferdam-core)'
  cargo xtask test --filter 'test(apply)' --no-install";

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let Some(options) = Options::parse(args)? else {
        println!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    };
    let mut steps = Steps::default();
    if steps.run("provide", || check(provide::everything(options.install))) {
        steps.run("format", || check(succeed(&mut cargo(["fmt", "--all", "--check"]))));
        steps.run("lint", || check(succeed(&mut cargo(LINT))));
        let mut program = None;
        steps.run("static", || {
            program = Some(release::quick()?);
            Ok(Counts::default())
        });
        let mut engines = None;
        steps.run("engines", || {
            engines = Some(Engines::start()?);
            Ok(Counts::default())
        });
        if let Some(engines) = &engines {
            steps.run("bases", || check(bases::bring(&engines.docker())));
        }
        let mut postgres = None;
        steps.run("postgres", || {
            postgres = Some(Postgres::start()?);
            Ok(Counts::default())
        });
        if let (Some(engines), Some(program), Some(postgres)) = (&engines, &program, &postgres) {
            for (name, pass) in PASSES {
                let asked = Asked { filter: options.filter.as_deref(), length: options.length };
                steps
                    .run(name, || nextest::run(pass, asked, &Means { engines, postgres, program }));
            }
        }
        drop((engines, postgres));
        if let (Some(program), None) = (&program, &options.filter) {
            steps.run("drills", || drills(program));
        }
        if options.filter.is_none() {
            steps.run("doc test", doc::run);
        }
    }
    Ok(steps.close())
}

const PASSES: [(&str, Pass); 3] = [
    ("test", Pass::All),
    ("docker", Pass::ClaimsOn("docker")),
    ("podman", Pass::ClaimsOn("podman")),
];

const LINT: [&str; 7] =
    ["clippy", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"];

/// Each drill in its short form is a test.
fn drills(program: &Path) -> Result<Counts> {
    let mut counts = Counts::default();
    for report in drill::short(program)? {
        print!("{}", report.text());
        match report.wrong.len() {
            0 => counts.passed += 1,
            _ => counts.failed += 1,
        }
    }
    Ok(counts)
}

/// A step that is no test.
fn check(result: Result<()>) -> Result<Counts> {
    result.map(|()| Counts::default())
}

#[derive(Debug, PartialEq, Eq)]
struct Options {
    filter: Option<String>,
    length: Length,
    install: Install,
}

impl Options {
    /// `None` where help was asked for.
    fn parse(mut args: Args) -> Result<Option<Self>, Usage> {
        let mut options = Self { filter: None, length: Length::Short, install: Install::Missing };
        while let Some(word) = args.next() {
            match word.as_str() {
                "--filter" => options.filter = Some(args.value("--filter")?),
                "--long" => options.length = Length::Long,
                "--no-install" => options.install = Install::Nothing,
                "--help" | "-h" => return Ok(None),
                other => return Err(Usage::unknown(other, "test")),
            }
        }
        Ok(Some(options))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_understood_or_refused() {
        let parse = |words: &[&str]| Options::parse(Args::from_words(words));
        assert_eq!(
            parse(&["--no-install", "--filter=test(a) & test(=b)"]).unwrap(),
            Some(Options {
                filter: Some("test(a) & test(=b)".to_owned()),
                length: Length::Short,
                install: Install::Nothing
            })
        );
        assert_eq!(parse(&["--long"]).unwrap().unwrap().length, Length::Long);
        assert_eq!(parse(&["--help"]).unwrap(), None);
        assert!(parse(&["--filter"]).is_err());
        assert!(parse(&["apply"]).is_err());
    }
}
