//! Pythons of the tests' own, each with the packages that some tests need and no others.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::cargo::{succeed, target_dir, works};
use crate::provide;

/// A place and what is installed there: the versions that the tests were written for. A newer one is tried on
/// purpose, not by chance.
#[derive(Debug)]
pub(crate) struct Kit {
    dir: &'static str,
    packages: &'static [(&'static str, &'static str)],
}

/// The official SDK of the Model Context Protocol.
pub(crate) const MCP: Kit = Kit { dir: "test-python", packages: &[("mcp", "2.3.0")] };

/// What holds the API against its description, and makes a client of that.
pub(crate) const API: Kit = Kit {
    dir: "test-python-api",
    packages: &[("schemathesis", "4.32.5"), ("openapi-python-client", "0.29.1")],
};

impl Kit {
    /// Makes it where it is not there yet; the interpreter.
    pub(crate) fn make(&self) -> Result<PathBuf> {
        let dir = target_dir()?.join(self.dir);
        let python = dir.join("bin/python");
        let checks = self
            .packages
            .iter()
            .map(|(name, version)| format!("assert m.version('{name}') == '{version}'"));
        let is_it =
            format!("import importlib.metadata as m; {}", checks.collect::<Vec<_>>().join("; "));
        if works(Command::new(&python).args(["-c", &is_it])) {
            return Ok(python);
        }
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv"]).arg(&dir);
        if !works(&mut venv) {
            // Debian has it in a package of its own.
            provide::package("python3-venv")?;
            succeed(&mut venv)?;
        }
        let wanted = self.packages.iter().map(|(name, version)| format!("{name}=={version}"));
        succeed(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(wanted))?;
        Ok(python)
    }
}
