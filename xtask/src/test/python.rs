//! A Python of the tests' own, with the official SDK of the Model Context Protocol.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::cargo::{succeed, target_dir, works};
use crate::provide;

/// Makes it where it is not there yet; the interpreter.
pub(crate) fn make() -> Result<PathBuf> {
    let dir = target_dir()?.join("test-python");
    let python = dir.join("bin/python");
    let has_sdk = || works(Command::new(&python).args(["-c", "import mcp"]));
    if !has_sdk() {
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv"]).arg(&dir);
        if !works(&mut venv) {
            // Debian has it in a package of its own.
            provide::package("python3-venv")?;
            succeed(&mut venv)?;
        }
        succeed(Command::new(&python).args(["-m", "pip", "install", "--quiet", "mcp"]))?;
    }
    Ok(python)
}
