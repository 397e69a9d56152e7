//! `cargo xtask fuzz`: random bytes, guided by what they reach, against everything that reads what somebody else wrote.
//!
//! The targets are functions of `crates/fuzz`; `fuzz/`, outside of the workspace, makes programs of them, which cargo-fuzz
//! builds with the compiler's address sanitizer. That is for nightly compilers; `RUSTC_BOOTSTRAP` lets the stable one do
//! it. They begin with the inputs in `fuzz/corpus`. What a target finds is left by cargo-fuzz in `fuzz/artifacts`; it
//! becomes a test where the bug is, and an input in the corpus.

use std::fs;
use std::process::{Command, ExitCode};

use anyhow::{Context as _, Result};

use crate::args::{Args, Usage};
use crate::cargo::{cargo, root, succeed, works};

const HELP: &str = "\
Usage: cargo xtask fuzz [TARGET…] [OPTIONS]

Builds the targets of fuzz/ and runs each for a minute, from the inputs in fuzz/corpus; without a name all of them. Ends with
exit code 1 if one finds something, and goes on with the others first. Needs cargo-fuzz, and installs it. Building takes
minutes, and the first time a quarter of an hour.

What it finds lies in fuzz/artifacts. It becomes a test beside the mended code and an input in fuzz/corpus, all of which
`cargo xtask test` runs through the same functions without libFuzzer.

Options:
  --seconds N   how long each is run (60)
  --keep        put inputs that led somewhere new into fuzz/corpus, to be looked at and committed
  --help        this text

Examples:
  cargo xtask fuzz
  cargo xtask fuzz config manifest --seconds 600
  cargo xtask fuzz shell --keep";

/// Targets that need more than core, and so take long to build: by the feature that builds them.
const FEATURES: [(&str, &str); 6] = [
    ("check", "sandbox"),
    ("journal", "sandbox"),
    ("overlay", "sandbox"),
    ("policy", "sandbox"),
    ("shell", "sandbox"),
    ("http", "server"),
];

/// Longer inputs are slow, and what they find mostly has a short form. In bytes, seconds and megabytes.
const BOUNDS: [&str; 3] = ["-max_len=4096", "-timeout=25", "-rss_limit_mb=4096"];
/// Inputs that are kept are smaller still.
const KEPT: &str = "-max_len=512";

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let Some(Options { names, seconds, keeping }) = Options::parse(args)? else {
        println!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    };
    if !works(&mut cargo(["fuzz", "--version"])) {
        succeed(&mut cargo(["install", "cargo-fuzz", "--locked"]))?;
    }
    // The versions that are shipped are the ones to be fed.
    let lock = root().join("fuzz/Cargo.lock");
    fs::copy(root().join("Cargo.lock"), &lock)
        .with_context(|| format!("cannot write {}", lock.display()))?;
    let mut found = Vec::new();
    let feature = widest(&names);
    for name in names {
        println!("==> {name}");
        let (new, corpus) = (format!("fuzz/found/{name}"), format!("fuzz/corpus/{name}"));
        for dir in [&new, &corpus] {
            let dir = root().join(dir);
            fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        }
        // New inputs go into the first directory.
        let time = format!("-max_total_time={seconds}");
        let mut fuzz = target(&name, feature, [&new, &corpus]);
        fuzz.args(BOUNDS).args([&time, "-print_final_stats=1"]);
        let mut run = succeed(&mut fuzz);
        if run.is_ok() && keeping == Keeping::New {
            run = succeed(target(&name, feature, [&corpus, &new]).args(["-merge=1", KEPT]));
        }
        if let Err(error) = run {
            found.push(format!("{name}: {error:#}"));
        }
    }
    found.iter().for_each(|line| eprintln!("xtask: {line}"));
    Ok(if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The feature that all of `names` are built with: with each its own, most of the work would be done three times.
fn widest(names: &[String]) -> Option<&'static str> {
    let is_needed = |wanted: &&str| {
        FEATURES
            .iter()
            .any(|(target, feature)| feature == wanted && names.iter().any(|n| n == target))
    };
    ["server", "sandbox"].into_iter().find(is_needed)
}

/// A target with its inputs, up to where libFuzzer's own options begin.
fn target(name: &str, feature: Option<&str>, inputs: [&str; 2]) -> Command {
    let mut fuzz = cargo(["fuzz", "run"]);
    fuzz.args(feature.iter().flat_map(|feature| ["--features", feature]));
    fuzz.arg(name).args(inputs).arg("--").env("RUSTC_BOOTSTRAP", "1");
    fuzz
}

#[derive(Debug, PartialEq, Eq)]
struct Options {
    names: Vec<String>,
    seconds: usize,
    keeping: Keeping,
}

/// What becomes of inputs that led somewhere new.
#[derive(Debug, PartialEq, Eq)]
enum Keeping {
    Nothing,
    /// They join the corpus.
    New,
}

impl Options {
    /// `None` where help was asked for.
    fn parse(mut args: Args) -> Result<Option<Self>> {
        let known = targets()?;
        let mut options = Self { names: Vec::new(), seconds: 60, keeping: Keeping::Nothing };
        while let Some(word) = args.next() {
            match word.as_str() {
                "--seconds" => options.seconds = args.number("--seconds")?,
                "--keep" => options.keeping = Keeping::New,
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
        assert!(names.len() >= 11, "{names:?}");
        for name in names {
            let (_, block) = manifest.split_once(&format!("name = \"{name}\"\n")).unwrap();
            let block = block.split("[[").next().unwrap();
            let feature = FEATURES.iter().find(|(target, _)| *target == name);
            let needed = feature.map(|(_, feature)| format!("required-features = [\"{feature}\"]"));
            let holds = needed.map_or(!block.contains("required"), |line| block.contains(&line));
            assert!(holds, "{name}: {block}");
        }
        let parse = |words: &[&str]| Options::parse(Args::from_words(words));
        let options = parse(&["config", "--seconds=5", "--keep"]).unwrap().unwrap();
        assert_eq!((options.names.as_slice(), options.seconds), (&["config".to_owned()][..], 5));
        assert_eq!(options.keeping, Keeping::New);
        assert!(parse(&["no-such-target"]).is_err());
        let widest = |words: &[&str]| widest(&parse(words).unwrap().unwrap().names);
        assert_eq!(widest(&["config", "image"]), None);
        assert_eq!(widest(&["config", "shell"]), Some("sandbox"));
        assert_eq!(widest(&[]), Some("server"));
    }
}
