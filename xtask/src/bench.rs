//! `cargo xtask bench`: speed, as figures that can be compared.
//!
//! A bench is a list of cases, the first of them the base. [`rounds`] runs all cases in every round, in
//! random order, so that whatever else the machine does hits each alike; [`figures`] sums up; [`page`]
//! puts the table into `docs/benchmarks.md`. A new bench is a file like [`start`] and a line in
//! [`BENCHES`].

mod case;
mod changes;
mod check;
mod compare;
mod dashboard;
mod docker;
mod driver;
mod engine;
mod figures;
mod image;
mod overhead;
mod page;
mod peers;
mod plot;
mod rounds;
mod search;
mod server;
mod session;
mod start;
mod throughput;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use crate::args::{Args, Usage};
use crate::cargo::root;
use crate::place::{self, Place};
use case::Case;
use compare::Old;
use figures::Table;
use rounds::Rounds;

const HELP: &str = "\
Usage: cargo xtask bench [NAME…] [OPTIONS]

Measures wall time from start to end of each case, in interleaved rounds, and prints median, 99th
percentile and the ratio of the median to the base case; for many starts at once, how many a second. Without a name all benches are run.

Benches:
  start   all of the following: starting a command bare, sandboxed, in bubblewrap; from a process
          that lives on, as servers do (start-library); and every way in one run, Docker's too (start-all)
  peers   the same start in other sandboxes, those that can be had and run here
  session  a command in a session that is there already; and in one in a container, against `docker exec`
          (session-docker)
  throughput  how many a second, with several callers at once
  docker  a container of ours against `docker run --rm` with the same hardening
  image   an image build of which nothing has changed, against `docker build`; a run in that image
  container-work  a test run and a build (container-work-build) of some seconds: outside, in a container of
          its own, and in one that is there already
  size    starting one in a workspace of 3 files and of 100,000
  git     git status, outside a sandbox and inside
  grep    grep -r over a tree, outside and inside
  python  a test run of Python's, outside and inside
  cargo   cargo build of a small crate, outside and inside
  changes  all of the following: knowing of ten changes in trees of 1,000, 10,000 and 100,000 files
          (changes-1k, changes-10k, changes-100k), applying new files (changes-apply-1k,
          changes-apply-10k), and a change set of a million files (changes-million)
  check   looking at Python, in megabytes a second
  loop    what a loop adds to the commands of an iteration
  server  tasks a second through a server and its runner, what submitting takes, memory with a long queue and many
          listeners, and what a task costs with few and with many stored
  dashboard  the page in a browser: its weight, its first view, and its longest task with 5,000 files to review

Options:
  --rounds N    rounds that count (200)
  --warm-up N   rounds before them that do not (10)
  --json        print JSON, one object a bench on a line each
  --compare OLD  hold the figures against those that --json printed before: a case whose ratio to its base has grown
                by more than a quarter, or whose rate has fallen so, is named, and the exit code is 1
  --write       put the table between <!-- bench:NAME --> and <!-- /bench:NAME --> in
                docs/benchmarks.md, and the plots beside it, in docs/plots
  --help        this text

Examples:
  cargo xtask bench
  cargo xtask bench start --rounds 1000 --write
  cargo xtask bench --json > old.json
  cargo xtask bench --compare old.json";

/// Builds a bench's cases. What they need on disk goes into the place, which is removed afterwards.
type Prepare = fn(&Place) -> Result<Vec<Case>>;

enum Kind {
    /// Cases, timed in rounds.
    Rounds(Prepare),
    /// Something that is done once, and the table of it.
    Once(fn(&Place) -> Result<String>),
}

struct Bench {
    name: &'static str,
    kind: Kind,
    /// What takes long is not repeated as often, whatever was asked for.
    most_rounds: usize,
}

const BENCHES: &[Bench] = &[
    Bench { name: "start", kind: Kind::Rounds(start::cases), most_rounds: usize::MAX },
    Bench { name: "start-library", kind: Kind::Rounds(driver::cases), most_rounds: usize::MAX },
    Bench { name: "start-all", kind: Kind::Rounds(engine::cases), most_rounds: 50 },
    Bench { name: "peers", kind: Kind::Rounds(peers::cases), most_rounds: 10 },
    Bench { name: "session", kind: Kind::Rounds(session::cases), most_rounds: usize::MAX },
    Bench { name: "session-docker", kind: Kind::Rounds(session::in_container), most_rounds: 100 },
    Bench { name: "throughput", kind: Kind::Rounds(throughput::cases), most_rounds: 20 },
    Bench { name: "docker", kind: Kind::Rounds(docker::start), most_rounds: 50 },
    Bench { name: "image", kind: Kind::Rounds(image::cases), most_rounds: 50 },
    Bench { name: "container-work", kind: Kind::Rounds(docker::test_run), most_rounds: 7 },
    Bench { name: "container-work-build", kind: Kind::Rounds(docker::build), most_rounds: 7 },
    Bench { name: "size", kind: Kind::Rounds(start::sizes), most_rounds: usize::MAX },
    Bench { name: "git", kind: Kind::Rounds(overhead::git), most_rounds: 50 },
    Bench { name: "grep", kind: Kind::Rounds(overhead::grep), most_rounds: 20 },
    Bench { name: "python", kind: Kind::Rounds(overhead::python), most_rounds: 20 },
    Bench { name: "cargo", kind: Kind::Rounds(overhead::cargo_build), most_rounds: 10 },
    Bench { name: "changes-1k", kind: Kind::Rounds(changes::in_1k), most_rounds: 50 },
    Bench { name: "changes-10k", kind: Kind::Rounds(changes::in_10k), most_rounds: 30 },
    Bench { name: "changes-100k", kind: Kind::Rounds(changes::in_100k), most_rounds: 15 },
    Bench { name: "changes-apply-1k", kind: Kind::Rounds(changes::apply_1k), most_rounds: 15 },
    Bench { name: "changes-apply-10k", kind: Kind::Rounds(changes::apply_10k), most_rounds: 5 },
    Bench { name: "check", kind: Kind::Once(check::speed), most_rounds: 1 },
    Bench { name: "loop", kind: Kind::Once(search::overhead), most_rounds: 1 },
    Bench { name: "server", kind: Kind::Once(server::figures), most_rounds: 1 },
    Bench { name: "dashboard", kind: Kind::Once(dashboard::figures), most_rounds: 1 },
    Bench { name: "changes-million", kind: Kind::Once(changes::million), most_rounds: 1 },
];

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let Some(options) = Options::parse(args)? else {
        println!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    };
    let old = options.compare.as_deref().map(Old::read).transpose()?;
    let mut slower = Vec::new();
    for bench in BENCHES.iter().filter(|bench| options.wants(bench.name)) {
        let place = Place::new()?;
        let mut drawn = None;
        let (markdown, json) = match bench.kind {
            Kind::Rounds(prepare) => {
                let table = timed(bench, &mut prepare(&place)?, options.rounds)?;
                drawn = Some(plot::bars(bench.name, &table.medians()));
                (table.markdown(), table.json())
            }
            Kind::Once(act) => {
                let text = act(&place)?;
                let json = serde_json::json!({ "bench": bench.name, "table": text });
                (text, json.to_string())
            }
        };
        match options.print {
            Print::Markdown => println!("{markdown}"),
            Print::Json => println!("{json}"),
        }
        if options.keep == Keep::Page {
            page::write(&root().join("docs/benchmarks.md"), bench.name, &markdown)?;
            if let Some(svg) = drawn {
                page::draw(&root().join("docs/plots"), bench.name, &svg)?;
            }
        }
        if let Some(old) = &old {
            slower.extend(old.slower(&json)?);
        }
    }
    slower.iter().for_each(|case| eprintln!("slower: {case}"));
    Ok(if slower.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn timed(bench: &Bench, cases: &mut [Case], rounds: Rounds) -> Result<Table> {
    let most = bench.most_rounds;
    let rounds = Rounds { warm_up: rounds.warm_up.min(most), counted: rounds.counted.min(most) };
    Ok(Table::new(bench.name, rounds, &rounds::measure(cases, rounds)?))
}

#[derive(Debug, PartialEq, Eq)]
struct Options {
    names: Vec<String>,
    rounds: Rounds,
    print: Print,
    keep: Keep,
    compare: Option<PathBuf>,
}

#[derive(Debug, PartialEq, Eq)]
enum Print {
    Markdown,
    Json,
}

#[derive(Debug, PartialEq, Eq)]
enum Keep {
    Nothing,
    Page,
}

impl Options {
    /// `None` where help was asked for.
    fn parse(mut args: Args) -> Result<Option<Self>, Usage> {
        let rounds = Rounds { warm_up: 10, counted: 200 };
        let mut options = Self {
            names: Vec::new(),
            rounds,
            print: Print::Markdown,
            keep: Keep::Nothing,
            compare: None,
        };
        while let Some(word) = args.next() {
            match word.as_str() {
                "--rounds" => options.rounds.counted = args.number("--rounds")?,
                "--warm-up" => options.rounds.warm_up = args.number("--warm-up")?,
                "--json" => options.print = Print::Json,
                "--compare" => options.compare = Some(args.value("--compare")?.into()),
                "--write" => options.keep = Keep::Page,
                "--help" | "-h" => return Ok(None),
                name if BENCHES.iter().any(|known| belongs(known.name, name)) => {
                    options.names.push(name.to_owned());
                }
                other => return Err(Usage::unknown(other, "bench")),
            }
        }
        Ok(Some(options))
    }

    fn wants(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|wanted| belongs(name, wanted))
    }
}

/// Whether a bench is the one that was named, or one of the group of that name.
fn belongs(bench: &str, name: &str) -> bool {
    bench.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_understood_or_refused() {
        let parse = |words: &[&str]| Options::parse(Args::from_words(words));
        let options = parse(&["start", "--rounds", "7", "--write"]).unwrap().unwrap();
        assert_eq!(options.rounds, Rounds { warm_up: 10, counted: 7 });
        assert!(options.wants("start") && !options.wants("other"));
        assert_eq!((options.print, options.keep), (Print::Markdown, Keep::Page));
        assert!(parse(&[]).unwrap().unwrap().wants("start"));
        let group = parse(&["changes"]).unwrap().unwrap();
        assert!(group.wants("changes-1k") && !group.wants("start"));
        assert!(parse(&["stert"]).is_err());
        assert!(parse(&["--rounds=many"]).is_err());
    }
}
