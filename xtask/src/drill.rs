//! `cargo xtask drill`: what happens to the program when its surroundings are bad to it.
//!
//! Each drill is a file: [`crash`] kills its processes, [`server`] those of the control plane, [`load`] crowds it,
//! [`soak`] wears it out, [`faults`] takes away what it needs; [`loops`] is the suite's own tests of loops, at full length; [`machine`] is another machine. The
//! others work in a [`Scene`] of their own, look at the host through [`traces`] and
//! not through what the program says of itself, and end in a [`Report`].

mod crash;
mod faults;
mod load;
mod loops;
mod machine;
mod processes;
mod report;
mod scene;
mod server;
mod soak;
mod traces;
mod watch;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};

use crate::args::{Args, Usage};
use crate::dice::Dice;
use crate::release;
use report::{Print, Report};

const HELP: &str = "\
Usage: cargo xtask drill crash|server|load|soak|faults|loop|machine [OPTIONS]

Ends with exit code 1 if anything was lost or left behind, and says what.

Drills:
  crash   kill -9 one process of ours at a random moment, again and again: the command line, the first
          process of a sandbox, the holder of a session, the launcher, the one that applies, the command itself; with
          --own-engine the engine's daemon too.
          Then `gc` once: no process, mount, control group or mark is left, every tree is as before an apply
          or as after it, every run that said it went well has its record and its changes, and the audit log
          verifies
  server  kill -9 the server, its runner, both or what makes the sandboxes at random moments, while tasks are submitted
          all the time, with --own-engine the engine's daemon too: every task that was acknowledged ends, is done with success once and said so once, the
          chain of events verifies, and nothing is left
  load    many agents at once, all inside at the same moment: each sees its own workspace, variables and
          changes, and nobody else's
  soak    many runs after each other, by a launcher, in a session and plain: what lives on gains no memory, no
          descriptors, and the host no control groups, mounts or files
  faults  no disk space, no descriptors, a read-only state directory, a clock that jumps, parts that stand
          still: a clear error and the right exit code, nothing left, and the next run works
  loop    200 iterations of a generator that cheats, and loops that are killed at any moment: nobody wins by cheating,
          the history is the one of a loop that was left alone, and no sandbox is left
  machine Ubuntu in an emulator, without a network: limits hold for root, for a user in a service and for one
          who logged in, and nothing is left after a kill; where AppArmor restricts user namespaces, a run is refused with a
          remedy, which is carried out and works. Installs qemu-system-x86 and mmdebstrap, and takes some minutes

Options:
  --kills N        kills of `crash` (1000), `server` (300) and `loop` (50)
  --store NAME     store of `server`: sqlite (the default) or postgres, started for it
  --agents N       agents of `load` (64)
  --runs N         runs of `soak` (20000)
  --seed N         the random numbers of `crash` and `server` again
  --sandbox NAME   native (the default), docker or podman; for `crash`, `server` and `load`, with the engine of DOCKER_HOST
                   or CONTAINER_HOST
  --own-engine     for `crash` and `server` with docker: an engine of the drill's own, which is killed and started again like any
                   other process
  --program FILE   this program, and not the release binary, built first; its name must be `cofferdam`, by which its
                   processes are known; not for `loop`, whose tests build their own
  --json           print JSON
  --help           this text

Examples:
  cargo xtask drill crash
  cargo xtask drill crash --kills 100 --seed 7
  cargo xtask drill crash --sandbox docker --own-engine --kills 200
  cargo xtask drill server --kills 50 --store postgres
  cargo xtask drill server --sandbox docker --own-engine --kills 60
  cargo xtask drill soak --runs 500 --json";

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let Some(options) = Options::parse(args)? else {
        println!("{HELP}");
        return Ok(ExitCode::SUCCESS);
    };
    let program = match &options.program {
        Some(program) => program.canonicalize().with_context(|| program.display().to_string())?,
        None if options.drill == Drill::Loop => PathBuf::new(),
        None => release::binary()?,
    };
    let report = perform(options.drill, &Asked { program, size: options.size, ..options.asked })?;
    Ok(report.close(options.print))
}

/// The short form of all of them, for `cargo xtask test`.
pub(crate) fn short(program: &Path) -> Result<Vec<Report>> {
    let asked = |size| Asked { program: program.to_owned(), size: Some(size), ..Asked::default() };
    let short = [
        (Drill::Crash, 30),
        (Drill::Server, 12),
        (Drill::Load, 64),
        (Drill::Soak, 100),
        (Drill::Faults, 1),
    ];
    let with_engine = Asked { sandbox: "docker".to_owned(), engine: Whose::Own, ..asked(12) };
    let native = short.into_iter().map(|(drill, size)| (drill, asked(size)));
    native
        .chain([(Drill::Crash, with_engine)])
        .map(|(drill, asked)| perform(drill, &asked))
        .collect()
}

fn perform(drill: Drill, asked: &Asked) -> Result<Report> {
    match drill {
        Drill::Crash => crash::perform(asked),
        Drill::Server => server::perform(asked),
        Drill::Load => load::perform(asked),
        Drill::Soak => soak::perform(asked),
        Drill::Faults => faults::perform(asked),
        Drill::Loop => loops::perform(asked),
        Drill::Machine => machine::perform(asked),
    }
}

/// What a drill has to know.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Asked {
    program: PathBuf,
    /// Kills, agents or runs; each drill has its own default.
    size: Option<usize>,
    seed: u64,
    sandbox: String,
    engine: Whose,
    store: Store,
}

/// Which engine a drill is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// The one that the environment names.
    Anybodys,
    Own,
}

/// What a server keeps everything in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Store {
    Sqlite,
    Postgres,
}

impl Default for Asked {
    fn default() -> Self {
        let (program, sandbox) = (PathBuf::new(), "native".to_owned());
        let seed = Dice::new().next() >> 32;
        Self { program, size: None, seed, sandbox, engine: Whose::Anybodys, store: Store::Sqlite }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Drill {
    Crash,
    Server,
    Load,
    Soak,
    Faults,
    Loop,
    Machine,
}

impl Drill {
    fn named(word: &str) -> Option<Self> {
        Some(match word {
            "crash" => Self::Crash,
            "server" => Self::Server,
            "load" => Self::Load,
            "soak" => Self::Soak,
            "faults" => Self::Faults,
            "loop" => Self::Loop,
            "machine" => Self::Machine,
            _ => return None,
        })
    }

    /// The option that says how much of it.
    fn size_option(self) -> Option<&'static str> {
        match self {
            Self::Crash | Self::Server | Self::Loop => Some("--kills"),
            Self::Load => Some("--agents"),
            Self::Soak => Some("--runs"),
            Self::Faults | Self::Machine => None,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Options {
    drill: Drill,
    asked: Asked,
    size: Option<usize>,
    program: Option<PathBuf>,
    print: Print,
}

impl Options {
    /// `None` where help was asked for.
    fn parse(mut args: Args) -> Result<Option<Self>, Usage> {
        let drill = match args.next() {
            Some(word) if ["--help", "-h"].contains(&word.as_str()) => return Ok(None),
            Some(word) => Drill::named(&word).ok_or_else(|| Usage::unknown(&word, "drill"))?,
            None => return Err(Usage::new(HELP)),
        };
        let asked = Asked::default();
        let mut options = Self { drill, asked, size: None, program: None, print: Print::Text };
        while let Some(word) = args.next() {
            match word.as_str() {
                size if drill.size_option() == Some(size) => {
                    options.size = Some(args.number(size)?);
                }
                "--seed" if !matches!(drill, Drill::Loop | Drill::Machine) => {
                    options.asked.seed = args.number("--seed")? as u64
                }
                "--sandbox" if matches!(drill, Drill::Crash | Drill::Server | Drill::Load) => {
                    let name = args.value("--sandbox")?;
                    if !["native", "docker", "podman"].contains(&name.as_str()) {
                        return Err(Usage::new(format!("no drill on {name:?}")));
                    }
                    options.asked.sandbox = name;
                }
                "--store" if drill == Drill::Server => {
                    options.asked.store = match args.value("--store")?.as_str() {
                        "sqlite" => Store::Sqlite,
                        "postgres" => Store::Postgres,
                        other => return Err(Usage::new(format!("no store {other:?}"))),
                    };
                }
                "--program" if drill != Drill::Loop => {
                    options.program = Some(program(args.value("--program")?.into())?)
                }
                "--own-engine" if matches!(drill, Drill::Crash | Drill::Server) => {
                    options.asked.engine = Whose::Own
                }
                "--json" => options.print = Print::Json,
                "--help" | "-h" => return Ok(None),
                other => return Err(Usage::unknown(other, "drill")),
            }
        }
        if options.asked.engine == Whose::Own && options.asked.sandbox != "docker" {
            return Err(Usage::new("--own-engine is for --sandbox docker"));
        }
        Ok(Some(options))
    }
}

/// One by another name would be taken for a command inside, and the parts of it never be killed.
fn program(path: PathBuf) -> Result<PathBuf, Usage> {
    if path.file_name().is_some_and(|name| name == "cofferdam") {
        return Ok(path);
    }
    let path = path.display();
    Err(Usage::new(format!("{path}: a drill knows its program by the name cofferdam; rename it")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_understood_or_refused() {
        let parse = |words: &[&str]| Options::parse(Args::from_words(words));
        let options = parse(&["crash", "--kills=7", "--seed", "3", "--json"]).unwrap().unwrap();
        assert_eq!((options.drill, options.size), (Drill::Crash, Some(7)));
        assert_eq!((options.asked.seed, options.print), (3, Print::Json));
        assert_eq!(parse(&["soak", "--help"]).unwrap(), None);
        // A size that is another drill's would be ignored.
        assert!(parse(&["load", "--kills", "7"]).is_err());
        assert!(parse(&["crash", "--store", "sqlite"]).is_err());
        assert!(parse(&["server", "--store", "paper"]).is_err());
        let options = parse(&["server", "--store", "postgres", "--kills", "5"]).unwrap().unwrap();
        assert_eq!((options.asked.store, options.size), (Store::Postgres, Some(5)));
        assert!(parse(&["faults", "--sandbox", "docker"]).is_err());
        assert!(parse(&["loop", "--kills", "9"]).is_ok());
        assert!(
            parse(&["loop", "--program", "x/cofferdam"]).is_err()
                && parse(&["loop", "--seed", "1"]).is_err()
        );
        assert!(parse(&["crash", "--program", "x/cofferdam"]).is_ok());
        assert!(parse(&["crash", "--program", "x/another"]).is_err());
        assert!(parse(&["crash", "--sandbox", "local"]).is_err());
        let own = parse(&["crash", "--own-engine", "--sandbox", "docker"]).unwrap().unwrap();
        assert_eq!(own.asked.engine, Whose::Own);
        let own = parse(&["server", "--own-engine", "--sandbox", "docker"]).unwrap().unwrap();
        assert_eq!(own.asked.engine, Whose::Own);
        assert!(parse(&["crash", "--own-engine"]).is_err());
        assert!(parse(&["load", "--sandbox", "docker", "--own-engine"]).is_err());
        assert!(parse(&["crush"]).is_err() && parse(&[]).is_err());
    }
}
