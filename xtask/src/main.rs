//! `cargo xtask`: what developers and CI run. It knows no other crate of the workspace; it starts
//! cargo and the built programs, and reads what they say.
//!
//! - `test`: everything that must hold before a change goes in.
//! - `bench`: speed, measured in interleaved rounds against a base.
//! - `mutants`: opens holes on purpose and sees them noticed.
//! - `drill`: kills, load, endurance and faults, until something gives.
//! - `fuzz`: random bytes against everything that reads what others wrote.
//! - `bless`: writes the generated references anew.
//! - `build`: the program as it is given out; `layout` arranges it.
//! - `screenshots`: what the dashboard looks like.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "its readers are people and CI logs"
)]

mod api;
mod args;
mod bench;
mod bless;
mod cargo;
mod dice;
mod drill;
mod ending;
mod engine;
mod fuzz;
mod mutants;
mod place;
mod progress;
mod provide;
mod release;
mod screenshots;
mod test;

use std::process::ExitCode;

use crate::args::{Args, Usage};

const HELP: &str = "\
Usage: cargo xtask COMMAND

Commands:
  test    format, lints, tests and documentation tests, all of them
  bench   measure speed
  mutants open holes on purpose, and see that tests notice
  drill   kill, crowd, wear out and starve the program, and see what is left
  fuzz    random bytes against everything that reads what others wrote
  bless   write the generated references anew
  build   the release binary, one file that needs nothing else
  layout  which functions lie together in it, written down anew
  screenshots
          pictures of the dashboard, into docs/screenshots

`cargo xtask COMMAND --help` says more.";

fn main() -> ExitCode {
    let done = ending::watch().and_then(|()| run(Args::of_this_process()));
    // Somebody else is at it, and will end us.
    ending::stand_still();
    match done {
        Ok(code) => code,
        Err(error) if error.is::<Usage>() => {
            eprintln!("xtask: {error}");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut args: Args) -> anyhow::Result<ExitCode> {
    match args.next().as_deref() {
        Some("test") => test::run(args),
        Some("bench") => bench::run(args),
        Some("mutants") => mutants::run(args),
        Some("drill") => drill::run(args),
        Some("fuzz") => fuzz::run(args),
        Some("bless") => bless::run(args),
        Some("build") => release::run(args),
        Some("layout") => release::layout::run(args),
        Some("screenshots") => screenshots::run(args),
        Some("help" | "--help" | "-h") => {
            println!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
        Some(other) => Err(Usage::new(format!("no command {other:?}\n\n{HELP}")).into()),
        None => Err(Usage::new(HELP).into()),
    }
}
