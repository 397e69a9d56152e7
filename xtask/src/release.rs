//! `cargo xtask build`: the program as it is given out, one file that needs nothing else.
//!
//! Linked without shared libraries it starts in about half the time, for no linker has to put it together at
//! every start, and it runs in any container. Cargo has no way to say that in a manifest: flags for the whole
//! build would reach procedural macros, which cannot be linked so.

pub(crate) mod layout;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::OnceLock;

use anyhow::Result;

use crate::args::{Args, Usage};
use crate::cargo::{cargo, succeed, target_dir};

const HELP: &str = "\
Usage: cargo xtask build

Builds the release binary, linked without shared libraries, and says where it is.";

pub(crate) fn run(mut args: Args) -> Result<ExitCode> {
    match args.next().as_deref() {
        None => println!("{}", binary()?.display()),
        Some("--help" | "-h") => println!("{HELP}"),
        Some(other) => return Err(Usage::unknown(other, "build").into()),
    }
    Ok(ExitCode::SUCCESS)
}

const PROGRAM: [&str; 4] = ["--package", "cofferdam-cli", "--bin", "cofferdam"];

/// How it is linked.
const LINKED: &[&str] = &[
    "--",
    "-Ctarget-feature=+crt-static",
    // Half the pages to touch before the first instruction.
    "-Clink-arg=-Wl,-z,pack-relative-relocs",
    // Those pages are asked for at once: `native/src/sys/entry.rs`.
    #[cfg(target_arch = "x86_64")]
    "-Clink-arg=-Wl,-e,cofferdam_entry",
];

fn link(how: &[&str], more: &[&str]) -> Result<()> {
    succeed(&mut cargo(how.iter().chain(&PROGRAM).chain(LINKED).chain(more).copied()))
}

/// The same program without shared libraries and without haste, for tests.
pub(crate) fn quick() -> Result<PathBuf> {
    link(&["rustc", "--quiet", "--profile", "static"], &[])?;
    Ok(target_dir()?.join("static/cofferdam"))
}

/// What stands for the release binary from now on.
static CHOSEN: OnceLock<PathBuf> = OnceLock::new();

/// Has [`binary`] be this one, which somebody has built already.
pub(crate) fn choose(program: PathBuf) {
    // The first choice holds; there is one command line.
    CHOSEN.get_or_init(|| program);
}

/// The release binary, built once.
pub(crate) fn binary() -> Result<PathBuf> {
    if let Some(program) = CHOSEN.get() {
        return Ok(program.clone());
    }
    // The whole program at once: it takes twice as long to build, and has a fifth less to be relocated at every start.
    let arranged = format!("-Clink-arg=-Wl,-T,{}", layout::script()?.display());
    let how = ["--config", "profile.release.lto=\"fat\"", "rustc", "--quiet", "--release"];
    link(&how, &[&arranged])?;
    let target = target_dir()?.join("release/cofferdam");
    Ok(CHOSEN.get_or_init(|| target).clone())
}
