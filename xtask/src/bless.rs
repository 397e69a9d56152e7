//! `cargo xtask bless`: the tests that compare generated references write them instead.

use std::process::ExitCode;

use anyhow::Result;

use crate::args::{Args, Usage};
use crate::cargo::{cargo, succeed};

const HELP: &str = "\
Usage: cargo xtask bless

Writes the generated references (CLI, configuration, schemas, snapshots of them) anew: runs the tests
with `reference` or `schema` in their name with COFFERDAM_BLESS=1 and INSTA_UPDATE=always.

Example:
  cargo xtask bless && git diff";

const BLESSED: &str = "test(reference) | test(schema)";

pub(crate) fn run(mut args: Args) -> Result<ExitCode> {
    match args.next().as_deref() {
        None => {}
        Some("--help" | "-h") => {
            println!("{HELP}");
            return Ok(ExitCode::SUCCESS);
        }
        Some(other) => return Err(Usage::unknown(other, "bless").into()),
    }
    let mut command =
        cargo(["nextest", "run", "--workspace", "--all-features", "--no-fail-fast", "-E", BLESSED]);
    succeed(command.env("COFFERDAM_BLESS", "1").env("INSTA_UPDATE", "always"))?;
    println!("written anew; look at them with git diff before you commit");
    Ok(ExitCode::SUCCESS)
}
