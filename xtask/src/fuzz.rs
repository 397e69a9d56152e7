//! `cargo xtask fuzz`: random bytes, guided by what they reach, against everything that reads what somebody else wrote.
//!
//! The targets are in `fuzz/`, outside of the workspace, and are built by cargo-fuzz with the compiler's address sanitizer.
//! That is for nightly compilers; `RUSTC_BOOTSTRAP` lets the stable one do it. What a target finds is left by
//! cargo-fuzz in `fuzz/artifacts`; it becomes a test where the bug is.

use std::process::ExitCode;

use anyhow::{Context as _, Result};

use crate::args::{Args, Usage};
use crate::cargo::{cargo, root, succeed, works};

const HELP: &str = "\
Usage: cargo xtask fuzz [TARGET…] [OPTIONS]

Builds the targets of fuzz/ and runs each for a while; without a name all of them. Ends with exit code 1 if one finds
something. Needs cargo-fuzz, and installs it.

Options:
  --seconds N   how long each is run (60)
  --help        this text

Examples:
  cargo xtask fuzz
  cargo xtask fuzz config manifest --seconds 600";

/// Targets that need more than core, and so take long to build.
const OF_THE_LIBRARY: [&str; 2] = ["check", "policy"];

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let Some(Options { names, seconds }) = Options::parse(args)? else {
        println!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    };
    if !works(&mut cargo(["fuzz", "--version"])) {
        succeed(&mut cargo(["install", "cargo-fuzz", "--locked"]))?;
    }
    let mut found = Vec::new();
    for name in names {
        println!("==> {name}");
        let time = format!("-max_total_time={seconds}");
        let mut fuzz = cargo(["fuzz", "run"]);
        if OF_THE_LIBRARY.contains(&name.as_str()) {
            fuzz.args(["--features", "sandbox"]);
        }
        fuzz.args([&name, "--", &time]);
        if let Err(error) = succeed(fuzz.env("RUSTC_BOOTSTRAP", "1")) {
            found.push(format!("{name}: {error:#}"));
        }
    }
    found.iter().for_each(|line| eprintln!("xtask: {line}"));
    Ok(if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[derive(Debug, PartialEq, Eq)]
struct Options {
    names: Vec<String>,
    seconds: usize,
}

impl Options {
    /// `None` where help was asked for.
    fn parse(mut args: Args) -> Result<Option<Self>> {
        let known = targets()?;
        let mut options = Self { names: Vec::new(), seconds: 60 };
        while let Some(word) = args.next() {
            match word.as_str() {
                "--seconds" => options.seconds = args.number("--seconds")?,
                "--help" | "-h" => return Ok(None),
                name if known.iter().any(|known| known == name) => {
                    options.names.push(name.to_owned())
                }
                other => return Err(Usage::unknown(other, "fuzz").into()),
            }
        }
        if options.names.is_empty() {
            options.names = known;
        }
        Ok(Some(options))
    }
}

/// Every file among the targets is one.
fn targets() -> Result<Vec<String>> {
    let dir = root().join("fuzz/fuzz_targets");
    let entries =
        std::fs::read_dir(&dir).with_context(|| format!("cannot read {}", dir.display()))?;
    let mut names = Vec::new();
    for entry in entries {
        let path = entry?.path();
        names.extend(path.file_stem().map(|name| name.to_string_lossy().into_owned()));
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_known_by_their_files_and_named_in_the_manifest() {
        let manifest = std::fs::read_to_string(root().join("fuzz/Cargo.toml")).unwrap();
        let names = targets().unwrap();
        assert!(names.len() >= 8, "{names:?}");
        for name in names {
            assert!(manifest.contains(&format!("name = \"{name}\"\n")), "{name}");
        }
        let parse = |words: &[&str]| Options::parse(Args::from_words(words));
        let options = parse(&["config", "--seconds=5"]).unwrap().unwrap();
        assert_eq!((options.names.as_slice(), options.seconds), (&["config".to_owned()][..], 5));
        assert!(parse(&["no-such-target"]).is_err());
    }
}
