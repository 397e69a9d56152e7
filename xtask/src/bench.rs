//! `cargo xtask bench`: speed, as figures that can be compared.
//!
//! A bench is a list of cases, the first of them the base. [`rounds`] runs all cases in every round, in
//! random order, so that whatever else the machine does hits each alike; [`figures`] sums up; [`page`]
//! puts the table into `docs/benchmarks.md`. What grows with something is a [`curve`]. A new bench is a file like
//! [`start`] and a line in [`list`].

mod case;
mod changes;
mod check;
mod compare;
mod curve;
mod dashboard;
mod docker;
mod driver;
mod engine;
mod figures;
mod growth;
mod image;
mod list;
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
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::args::{Args, Usage};
use crate::cargo::root;
use crate::place::{self, Place};
use crate::release;
use case::Case;
use compare::Old;
use figures::Table;
use list::{BENCHES, Bench, Kind};
use rounds::Rounds;

const HELP: &str = "\
Usage: cargo xtask bench [NAME…] [OPTIONS]

Measures wall time from start to end of each case, in interleaved rounds, and prints median, 99th
percentile and the ratio of the median to the base case; for many starts at once, how many a second. Without a name all benches
are run, but those of a million: each in its own time, so that all of them take about twenty minutes on a quiet machine. How far they are is said on
standard error. A bench that fails is named there, the others are run, and the exit code is 1.

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
          changes-apply-10k), and a change set of a million files (changes-million: ten minutes)
  check   looking at Python, in megabytes a second
  loop    what a loop adds to the commands of an iteration
  server  tasks a second through a server and its runner, what submitting takes, memory with a long queue and many
          listeners, and what a task costs with few and with many stored
  dashboard  the page in a browser: its weight, its first view, and its longest task with 5,000 files to review
  growth  all of the following: a start with 3 to 100,000 files in the workspace (growth-files), sealing and listing 10 to
          100,000 changes (growth-changes), what a server does with 1,000 to 300,000 tasks stored (growth-tasks), and 1 to
          64 runs at once (growth-concurrency)
  tasks-million  the same as growth-tasks, with a million (ten minutes)

Options:
  --rounds N    rounds that count (200, or fewer where the time is up)
  --warm-up N   rounds before them that do not (10)
  --seconds N   time for the rounds of a bench (20, or without end where --rounds is given); three are counted at least
  --program FILE  this program, and not the release binary, built first
  --json        print JSON, one object a bench on a line each
  --compare OLD  hold the figures against those that --json printed before: a case whose ratio to its base, of the
                quickest tenth of their times, has grown by more than a quarter is named, and the exit code is 1
  --write       put the table between <!-- bench:NAME --> and <!-- /bench:NAME --> in
                docs/benchmarks.md, and the plots beside it, in docs/plots
  --help        this text

Examples:
  cargo xtask bench
  cargo xtask bench start --rounds 1000 --write
  cargo xtask bench growth --write
  cargo xtask bench --json > old.json
  cargo xtask bench --compare old.json";

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let Some(options) = Options::parse(args)? else {
        println!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    };
    if let Some(program) = &options.program {
        let program = program.canonicalize().with_context(|| program.display().to_string())?;
        release::choose(program);
    }
    let old = options.compare.as_deref().map(Old::read).transpose()?;
    let (mut slower, mut failed) = (Vec::new(), Vec::new());
    for bench in BENCHES.iter().filter(|bench| options.wants(bench)) {
        eprintln!("bench {}", bench.name);
        let slower_here = measured(bench, options.rounds)
            .and_then(|measured| measured.hand_out(bench.name, &options, old.as_ref()));
        match slower_here {
            Ok(cases) => slower.extend(cases),
            Err(error) => failed.push(format!("{}: {error:#}", bench.name)),
        }
    }
    slower.iter().for_each(|case| eprintln!("slower: {case}"));
    failed.iter().for_each(|bench| eprintln!("failed: {bench}"));
    let well = slower.is_empty() && failed.is_empty();
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What a bench found, in every form that it is handed out in.
struct Measured {
    markdown: String,
    json: String,
    drawn: Option<String>,
}

fn measured(bench: &Bench, rounds: Rounds) -> Result<Measured> {
    let place = Place::new()?;
    let measured = match bench.kind {
        Kind::Rounds(prepare) => {
            let table = timed(bench, &mut prepare(&place)?, rounds)?;
            let drawn = Some(plot::bars(bench.name, &table.medians()));
            Measured { markdown: table.markdown(), json: table.json(), drawn }
        }
        Kind::Curve(follow) => {
            let curve = follow(&place)?;
            let drawn = Some(plot::lines(bench.name, &curve));
            Measured { markdown: curve.markdown(), json: curve.json(bench.name), drawn }
        }
        Kind::Once(act) => {
            let text = act(&place)?;
            let json = serde_json::json!({ "bench": bench.name, "table": text });
            Measured { markdown: text, json: json.to_string(), drawn: None }
        }
    };
    eprintln!("{}: measured; what it needed is removed", bench.name);
    Ok(measured)
}

impl Measured {
    /// Prints it, keeps it where that was asked for, and names what is slower than it was.
    fn hand_out(self, name: &str, options: &Options, old: Option<&Old>) -> Result<Vec<String>> {
        match options.print {
            Print::Markdown => println!("{}", self.markdown),
            Print::Json => println!("{}", self.json),
        }
        if options.keep == Keep::Page {
            page::write(&root().join("docs/benchmarks.md"), name, &self.markdown)?;
            if let Some(svg) = self.drawn {
                page::draw(&root().join("docs/plots"), name, &svg)?;
            }
        }
        let Some(old) = old else { return Ok(Vec::new()) };
        let slower = old.slower(&self.json)?;
        if slower.is_none() {
            eprintln!("{name}: there is nothing to compare with");
        }
        Ok(slower.unwrap_or_default())
    }
}

fn timed(bench: &Bench, cases: &mut [Case], rounds: Rounds) -> Result<Table> {
    let most = bench.most_rounds;
    let (warm_up, counted) = (rounds.warm_up.min(most), rounds.counted.min(most));
    let rounds = Rounds { warm_up, counted, ..rounds };
    Ok(Table::new(bench.name, &rounds::measure(bench.name, cases, rounds)?))
}

#[derive(Debug, PartialEq, Eq)]
struct Options {
    names: Vec<String>,
    rounds: Rounds,
    print: Print,
    keep: Keep,
    compare: Option<PathBuf>,
    program: Option<PathBuf>,
}

/// For the rounds of a bench, where nobody says how many.
const TIME: Duration = Duration::from_secs(20);

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
        let rounds = Rounds { warm_up: 10, counted: 200, within: TIME };
        let mut options = Self {
            names: Vec::new(),
            rounds,
            print: Print::Markdown,
            keep: Keep::Nothing,
            compare: None,
            program: None,
        };
        let mut within = None;
        while let Some(word) = args.next() {
            match word.as_str() {
                "--rounds" => {
                    options.rounds.counted = args.number("--rounds")?;
                    options.rounds.within = Duration::MAX;
                }
                "--seconds" => {
                    within = Some(Duration::from_secs(args.number("--seconds")? as u64));
                }
                "--program" => options.program = Some(args.value("--program")?.into()),
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
        options.rounds.within = within.unwrap_or(options.rounds.within);
        Ok(Some(options))
    }

    fn wants(&self, bench: &Bench) -> bool {
        match self.names.as_slice() {
            [] => !LONGEST.contains(&bench.name),
            names => names.iter().any(|wanted| belongs(bench.name, wanted)),
        }
    }
}

/// Each takes as long as all others, and is run where somebody names it.
const LONGEST: [&str; 2] = ["changes-million", "tasks-million"];

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
        let wanted = |words: &[&str]| -> Vec<&str> {
            let options = parse(words).unwrap().unwrap();
            let wanted = BENCHES.iter().filter(|bench| options.wants(bench));
            wanted.map(|bench| bench.name).collect()
        };
        let options = parse(&["start", "--rounds", "7", "--write"]).unwrap().unwrap();
        assert_eq!(options.rounds, Rounds { warm_up: 10, counted: 7, within: Duration::MAX });
        assert_eq!((options.print, options.keep), (Print::Markdown, Keep::Page));
        assert_eq!(parse(&[]).unwrap().unwrap().rounds.within, TIME);
        let both = parse(&["--seconds=3", "--rounds=5"]).unwrap().unwrap().rounds;
        assert_eq!((both.within, both.counted), (Duration::from_secs(3), 5));
        assert_eq!(wanted(&["growth-files", "loop"]), ["loop", "growth-files"]);
        assert!(
            wanted(&["changes"]).contains(&LONGEST[0]) && !wanted(&["changes"]).contains(&"start")
        );
        assert_eq!(wanted(&[]).len(), BENCHES.len() - LONGEST.len(), "all but the longest");
        assert!(parse(&["stert"]).is_err());
        assert!(parse(&["--rounds=many"]).is_err());
    }
}
