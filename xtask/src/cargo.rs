//! Starting cargo and other programs in the workspace.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::ending::stand_still;

/// The workspace's root. Cargo says at run time where xtask lies; the path it was compiled under is for
/// an xtask that was started by hand.
pub(crate) fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR");
    let manifest =
        manifest.map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.parent().map_or(manifest.clone(), Path::to_owned)
}

/// The cargo that runs us, at the root and without standard input: nothing here asks questions.
pub(crate) fn cargo<'a>(args: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root()).stdin(Stdio::null());
    command
}

/// Runs `command` to its end, its output passed through.
pub(crate) fn succeed(command: &mut Command) -> Result<()> {
    stand_still();
    let status = command.status().with_context(|| format!("cannot start {}", shown(command)))?;
    if !status.success() {
        bail!("{}: {status}", shown(command));
    }
    Ok(())
}

/// Whether `command` runs and ends well, its output hidden.
pub(crate) fn works(command: &mut Command) -> bool {
    let hidden = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    hidden.status().is_ok_and(|status| status.success())
}

/// Standard output of `command`; its standard error is passed through.
pub(crate) fn output_of(command: &mut Command) -> Result<Vec<u8>> {
    stand_still();
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("cannot start {}", shown(command)))?;
    if !output.status.success() {
        bail!("{}: {}", shown(command), output.status);
    }
    Ok(output.stdout)
}

/// Where cargo builds to, whoever decided that: variable, configuration or default.
pub(crate) fn target_dir() -> Result<PathBuf> {
    let text = output_of(&mut cargo(["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_slice(&text).context("cargo metadata is not JSON")?;
    let dir = metadata["target_directory"].as_str();
    Ok(dir.context("cargo metadata names no target_directory")?.into())
}

/// As one would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(program.as_os_str());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_program_is_an_error_that_names_it() {
        assert!(succeed(&mut Command::new("true")).is_ok());
        let error = succeed(Command::new("/bin/sh").args(["-c", "exit 3"])).unwrap_err();
        assert_eq!(error.to_string(), "sh -c exit 3: exit status: 3");
        assert!(works(&mut Command::new("true")) && !works(&mut Command::new("false")));
        assert!(!works(&mut Command::new("/no/such/program")));
        assert!(output_of(&mut Command::new("false")).is_err());
    }

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("Cargo.toml").is_file() && root().join("xtask").is_dir());
    }
}
