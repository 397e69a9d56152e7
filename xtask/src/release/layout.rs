//! Which functions lie together at the beginning of the program that is given out.
//!
//! A run executes a twentieth of the program's code. Wherever that lies apart, the kernel brings sixteen pages into sight for each first
//! touch, and puts them away at the end: for code that is spread over the whole program that is a tenth of a start. So the
//! functions of a start are named in `first.txt`, and the linker puts them next to each other. A name that is no longer there
//! does no harm, and one that is missing costs some microseconds: `cargo xtask layout` writes the list anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::args::{Args, Usage};
use crate::cargo::{output_of, root, succeed, target_dir};
use crate::place::Place;
use crate::provide::is_there;

const HELP: &str = "\
Usage: cargo xtask layout

Builds the release binary, watches some hundred runs of it, as root and with `perf` (Debian: linux-perf), and writes down which functions they
execute: xtask/src/release/first.txt, by which `cargo xtask build` arranges the program.";

pub(crate) fn run(mut args: Args) -> Result<ExitCode> {
    match args.next().as_deref() {
        None => write_anew()?,
        Some("--help" | "-h") => println!("{HELP}"),
        Some(other) => return Err(Usage::unknown(other, "layout").into()),
    }
    Ok(ExitCode::SUCCESS)
}

/// A script for the linker that puts the named functions before all others, in a section of their own.
pub(super) fn script() -> Result<PathBuf> {
    // What the compiler takes for unlikely, as room for a list that grows, a start does as well.
    let sections = |name| [".text", ".text.unlikely"].map(|section| format!("{section}.{name}"));
    let names: Vec<_> = include_str!("first.txt").lines().flat_map(sections).collect();
    let text = format!(
        "SECTIONS {{ .text.first : {{ *({}) }} }} INSERT BEFORE .text;\n",
        names.join("\n")
    );
    // Under a name of its own: cargo links anew where it is told otherwise, and looks into no script.
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    let path = target_dir()?.join(format!("first-{:016x}.ld", hasher.finish()));
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// What is watched, how often, and in how many runs: code wherever it is met, which misses what is over in no time; and whatever
/// touches a page that is not in sight, which is what all this is about.
const WATCHES: [(&str, [&str; 2], usize); 2] =
    [("cpu-clock:u", ["--freq", "25000"], 1200), ("page-faults:u", ["--count", "1"], 40)];

fn write_anew() -> Result<()> {
    if !is_there("perf") {
        bail!("perf is missing: apt-get install linux-perf");
    }
    let (program, place) = (super::binary()?, Place::new()?);
    let all = output_of(Command::new("nm").arg("--format=just-symbols").arg(&program))?;
    let mut executed = String::new();
    for watch in WATCHES {
        executed.push_str(&watched(&program, &place, watch)?);
    }
    // As in `cofferdam 7f1c2d3e4f50 _ZN4core…`.
    let symbols = executed
        .lines()
        .filter_map(|line| line.trim().strip_prefix("cofferdam")?.split_whitespace().nth(1));
    let names = names(symbols, &String::from_utf8_lossy(&all));
    if names.is_empty() {
        bail!("perf has met no function of the program");
    }
    let path = root().join("xtask/src/release/first.txt");
    let list = names.into_iter().map(|name| name + "\n").collect::<String>();
    fs::write(&path, list).with_context(|| format!("cannot write {}", path.display()))
}

/// The functions that were met, a line each.
fn watched(
    program: &Path,
    place: &Place,
    (event, how_often, runs): (&str, [&str; 2], usize),
) -> Result<String> {
    let samples = place.workspace().join("samples");
    let script = format!(
        "i=0; while [ $i -lt {runs} ]; do \"$0\" run --sandbox native --relax limits -- /bin/true 2> /dev/null; i=$((i+1)); done"
    );
    let mut perf = place.command("perf");
    perf.args(["record", "--quiet", "--event", event]).args(how_often).arg("--output");
    perf.arg(&samples).args(["--", "sh", "-c", &script]).arg(program);
    succeed(&mut perf)?;
    let mut listed = Command::new("perf");
    listed.args(["script", "--no-demangle", "-F", "comm,ip,sym", "-i"]).arg(&samples);
    let text = output_of(listed.stderr(Stdio::null()))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// So many functions may have a name but for what differs between builds. Of one that is made for many types a start has
/// use of a few: those are named to the last letter, and have to be named anew when what they are made for changes.
const NAMESAKES: usize = 3;

/// What to call these functions of a program that has all those.
fn names<'a>(executed: impl Iterator<Item = &'a str>, all: &str) -> BTreeSet<String> {
    let mut namesakes = BTreeMap::<String, usize>::new();
    for name in all.lines().filter_map(pattern) {
        *namesakes.entry(name).or_default() += 1;
    }
    let called = |symbol: &str| {
        let name = pattern(symbol)?;
        let few = namesakes.get(&name).is_none_or(|count| *count <= NAMESAKES);
        Some(if few { name } else { symbol.to_owned() })
    };
    executed.filter_map(called).collect()
}

/// A symbol without what differs from one build to the next: the hash at the end of a name, or, in names of the other
/// kind, that of each crate. None for what is not Rust's and has no section of its own.
fn pattern(symbol: &str) -> Option<String> {
    if let Some(name) = symbol.strip_prefix("_ZN") {
        let (name, _) = name.rsplit_once("17h")?;
        return Some(format!("_ZN{name}17h*"));
    }
    let name = symbol.strip_prefix("_R")?;
    let (name, end) = name.split_once('.').map_or((name, ""), |(name, _)| (name, ".*"));
    let mut parts = name.split("Cs");
    let mut text = format!("_R{}", parts.next()?);
    for part in parts {
        let (hash, rest) = part.split_once('_')?;
        let is_hash = hash.chars().all(|c| c.is_ascii_alphanumeric());
        text += &if is_hash { format!("Cs*_{rest}") } else { format!("Cs{part}") };
    }
    Some(text + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_between_builds_is_left_open() {
        let of = |symbol: &str| pattern(symbol).unwrap();
        assert_eq!(of("_ZN4core3fmt17h0123456789abcdefE"), "_ZN4core3fmt17h*");
        assert_eq!(of("_ZN4core3fmt17h0123456789abcdefE.llvm.77"), "_ZN4core3fmt17h*");
        assert_eq!(of("_RNvCsabc12_4core3fmt"), "_RNvCs*_4core3fmt");
        assert_eq!(of("_RNvXCsa_3stdCsb_5alloc.12"), "_RNvXCs*_3stdCs*_5alloc.*");
        assert_eq!(pattern("malloc"), None);
    }

    #[test]
    fn one_of_many_namesakes_is_named_to_the_last_letter() {
        let all = ["1", "2", "3", "4"].map(|n| format!("_ZN4many17h{n}E\n")).concat();
        let all = format!("{all}_ZN3one17h5E\nmain\n");
        let executed = ["_ZN4many17h2E", "_ZN3one17h5E", "main"];
        let names = names(executed.into_iter(), &all);
        assert_eq!(names, ["_ZN3one17h*", "_ZN4many17h2E"].map(str::to_owned).into());
    }

    #[test]
    fn every_name_is_one_that_a_linker_takes() {
        for name in include_str!("first.txt").lines() {
            assert!(name.starts_with("_ZN") || name.starts_with("_R"), "{name}");
            assert!(
                !name.contains(|c: char| c.is_whitespace() || "()[]?{};".contains(c)),
                "{name}"
            );
        }
    }
}
