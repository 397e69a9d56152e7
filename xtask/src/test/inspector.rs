//! The inspector of the Model Context Protocol, a client of its own, with a Node that is new enough for it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::cargo::{succeed, target_dir, works};

/// The versions that the tests were written for.
const INSPECTOR: &str = "2.12.0";
const NODE: &str = "22.23.3";

/// Makes it where it is not there yet; the directory of its programs, Node's beside it.
pub(crate) fn make() -> Result<PathBuf> {
    let dir = target_dir()?.join(format!("test-inspector-{INSPECTOR}-{NODE}"));
    let programs = dir.join("node_modules/.bin");
    if !works(Command::new(programs.join("node")).arg(programs.join("mcp-inspector")).arg("--help"))
    {
        let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        std::fs::create_dir_all(&dir)?;
        let mut npm = Command::new("npm");
        // What packages want to do when they are installed, nobody here has read.
        npm.args([
            "install",
            "--silent",
            "--no-fund",
            "--no-audit",
            "--ignore-scripts",
            "--prefix",
        ]);
        npm.arg(&dir).args([
            format!("node-linux-{machine}@{NODE}"),
            format!("@modelcontextprotocol/inspector@{INSPECTOR}"),
        ]);
        succeed(&mut npm)?;
    }
    Ok(programs)
}
