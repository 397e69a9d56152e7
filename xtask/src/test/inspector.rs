//! The inspector of the Model Context Protocol, a client of its own, with a Node that is new enough for it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use super::npm;
use crate::cargo::{target_dir, works};

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
        let node = format!("node-linux-{machine}@{NODE}");
        npm::install(&dir, &[node, format!("@modelcontextprotocol/inspector@{INSPECTOR}")])?;
    }
    Ok(programs)
}
