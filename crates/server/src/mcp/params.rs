//! What the tools are given. The descriptions are what an agent reads.

use rmcp::schemars;
use serde::Deserialize;

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ShellParams {
    /// A command line for `sh -c`. Give this or `argv`.
    pub(super) command: Option<String>,
    /// The program and its arguments, without a shell. Give this or `command`.
    pub(super) argv: Option<Vec<String>>,
    /// Seconds after which it is stopped. Not more than the session allows for each command (see `status`).
    pub(super) timeout: Option<u64>,
    /// Directory to start in: below the workspace, or absolute inside the sandbox.
    pub(super) workdir: Option<String>,
    /// Return at once; the command goes on, and `read_output` and `kill` take its number.
    #[serde(default)]
    pub(super) background: bool,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct JobParams {
    /// The number of the command, as `shell` gave it.
    pub(super) job: u64,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadParams {
    /// The file, below the workspace.
    pub(super) path: String,
    /// The first line to show, counted from 1.
    pub(super) from_line: Option<usize>,
    /// How many lines to show.
    pub(super) lines: Option<usize>,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteParams {
    /// The file, below the workspace. Directories that lead to it are made.
    pub(super) path: String,
    /// All that it is to hold.
    pub(super) content: String,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EditParams {
    /// The file, below the workspace.
    pub(super) path: String,
    /// Text that stands in it, exactly; once, unless `all` is set.
    pub(super) old: String,
    /// What is to stand there instead.
    pub(super) new: String,
    /// Replace it wherever it stands.
    #[serde(default)]
    pub(super) all: bool,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListParams {
    /// The directory, below the workspace; the workspace itself where it is left out.
    pub(super) path: Option<String>,
    /// How deep to go; 1 where it is left out.
    pub(super) depth: Option<u32>,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SearchParams {
    /// An extended regular expression, as `grep -E` takes it.
    pub(super) pattern: String,
    /// Where to search, below the workspace; everywhere in it where it is left out.
    pub(super) path: Option<String>,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PathParams {
    /// Only these files and directories, below the workspace; all where it is left out.
    #[serde(default)]
    paths: Vec<String>,
}

impl PathParams {
    /// As our own commands take them, run in the workspace: none is taken for a flag or a run.
    pub(super) fn below(&self) -> Vec<String> {
        self.paths.iter().map(|path| format!("./{path}")).collect()
    }
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NoParams {}
