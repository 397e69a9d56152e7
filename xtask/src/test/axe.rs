//! The rules of accessibility that the dashboard is held to, as a script that runs in its pages.

use std::path::PathBuf;

use anyhow::Result;

use super::npm;
use crate::cargo::target_dir;

/// The version that the tests were written for.
const AXE: &str = "4.14.0";

/// Fetches it where it is not there yet; the script.
pub(crate) fn fetch() -> Result<PathBuf> {
    let dir = target_dir()?.join(format!("test-axe-{AXE}"));
    let script = dir.join("node_modules/axe-core/axe.min.js");
    if !script.is_file() {
        npm::install(&dir, &[format!("axe-core@{AXE}")])?;
    }
    Ok(script)
}
