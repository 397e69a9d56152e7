//! A Python of the tests' own, with the official SDK of the Model Context Protocol.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::cargo::{succeed, target_dir, works};
use crate::provide;

/// The version that the tests were written for. A newer one is tried on purpose, not by chance.
const SDK: &str = "2.3.0";

/// Makes it where it is not there yet; the interpreter.
pub(crate) fn make() -> Result<PathBuf> {
    let dir = target_dir()?.join("test-python");
    let python = dir.join("bin/python");
    let is_it = format!("import importlib.metadata as m; assert m.version('mcp') == '{SDK}'");
    let has_sdk = || works(Command::new(&python).args(["-c", &is_it]));
    if !has_sdk() {
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv"]).arg(&dir);
        if !works(&mut venv) {
            // Debian has it in a package of its own.
            provide::package("python3-venv")?;
            succeed(&mut venv)?;
        }
        succeed(Command::new(&python).args([
            "-m",
            "pip",
            "install",
            "--quiet",
            &format!("mcp=={SDK}"),
        ]))?;
    }
    Ok(python)
}
