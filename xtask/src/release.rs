//! `cargo xtask build`: the program as it is given out, one file that needs nothing else.
//!
//! Linked without shared libraries it starts in about half the time, for no linker has to put it together at
//! every start, and it runs in any container. Cargo has no way to say that in a manifest: flags for the whole
//! build would reach procedural macros, which cannot be linked so.

pub(crate) mod layout;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;

use anyhow::{Context as _, Result};

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

/// Symbols say what a function is made for, so that those of a start are known by their names wherever the program is built.
const NAMED: &str = "build.rustflags=[\"-Csymbol-mangling-version=v0\"]";

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
    let how = ["--config", "profile.release.lto=\"fat\"", "--config", NAMED, "rustc", "--quiet"];
    link(&[&how[..], &["--release"]].concat(), &[&arranged])?;
    let target = target_dir()?.join("release/cofferdam");
    settle(&target)?;
    Ok(CHOSEN.get_or_init(|| target).clone())
}

/// Has the kernel hold the program in large pieces, as it holds a file that it has read from a disk. A linker writes its
/// output page by page, and so it is held until the next boot: each start then takes a third of a millisecond longer.
fn settle(program: &Path) -> Result<()> {
    let fail = || format!("cannot settle {}", program.display());
    // Cargo's own copy is another name of the same file, until this was done.
    if fs::metadata(program).with_context(fail)?.nlink() < 2 {
        return Ok(());
    }
    let whole = program.with_extension("whole");
    fs::write(&whole, fs::read(program).with_context(fail)?).with_context(fail)?;
    let mode = fs::metadata(program).with_context(fail)?.permissions();
    fs::set_permissions(&whole, mode).with_context(fail)?;
    fs::rename(&whole, program).with_context(fail)
}
