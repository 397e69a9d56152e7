//! `cargo xtask screenshots`: pictures of every page of the dashboard, light, dark and narrow.
//!
//! They are taken by the test that holds each page to the rules of accessibility, so a picture shows a page that was
//! looked at by a program first. A person looks afterwards.

use std::process::ExitCode;

use anyhow::{Context as _, Result};

use crate::args::{Args, Usage};
use crate::cargo::{cargo, root, succeed};
use crate::provide::{self, Install};
use crate::test::axe;

const HELP: &str = "\
Usage: cargo xtask screenshots

Starts a server with something of everything, visits each page of the dashboard in a browser, in light, dark and narrow
form, and writes what it looks like into docs/screenshots. Installs missing programs.

Example:
  cargo xtask screenshots && git status docs/screenshots";

const TAKEN_BY: [&str; 4] = ["--test", "dashboard", "-E", "test(every_page)"];

pub(crate) fn run(mut args: Args) -> Result<ExitCode> {
    match args.next().as_deref() {
        None => {}
        Some("--help" | "-h") => {
            println!("{HELP}");
            return Ok(ExitCode::SUCCESS);
        }
        Some(other) => return Err(Usage::unknown(other, "screenshots").into()),
    }
    provide::everything(Install::Missing)?;
    let dir = root().join("docs/screenshots");
    std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let mut command = cargo(["nextest", "run", "-p", "cofferdam-cli", "--all-features"]);
    command.args(TAKEN_BY);
    succeed(command.env("TEST_AXE", axe::fetch()?).env("TEST_SCREENSHOTS", &dir))?;
    println!("written to {}: look at them", dir.display());
    Ok(ExitCode::SUCCESS)
}
