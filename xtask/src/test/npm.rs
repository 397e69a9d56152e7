//! Packages of npm, for tools of the tests.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::cargo::succeed;

/// Installs `packages` into `dir`, each as `NAME@VERSION`.
pub(super) fn install(dir: &Path, packages: &[String]) -> Result<()> {
    std::fs::create_dir_all(dir)?;
    let mut npm = Command::new("npm");
    // What packages want to do when they are installed, nobody here has read.
    npm.args(["install", "--silent", "--no-fund", "--no-audit", "--ignore-scripts", "--prefix"]);
    succeed(npm.arg(dir).args(packages))
}
