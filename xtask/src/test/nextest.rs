//! The tests, through cargo-nextest. Counts come from its JUnit file, skipped tests from its list, and
//! their reasons from the test binaries, which alone know them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::engine::Engines;
use super::postgres::Postgres;
use super::steps::{Counts, Skipped};
use super::{axe, inspector, python};
use crate::cargo::{cargo, output_of, root, shown};

/// Where a profile puts its file: nextest keeps its own things at the workspace's root, wherever cargo builds to.
fn junit_of(length: Length) -> String {
    format!("target/nextest/{}/junit.xml", length.profile())
}

/// How often tests repeat what only fails now and then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    Short,
    Long,
}

impl Length {
    /// In `.config/nextest.toml`.
    fn profile(self) -> &'static str {
        match self {
            Self::Short => "ci",
            Self::Long => "long",
        }
    }
}

/// Claims about sandboxes that every backend has to keep. What only native ones have is in a module of that name.
/// How changes are sealed, shown and applied is the same whoever made them.
const CLAIMS: &str = "package(cofferdam-cli) & \
                      (binary(/^(native_|session$|shell$|step$|changes_(capture|from|git))/) | \
                      (binary(changes_apply) & test(/^copies::/))) \
                      - binary(native_pool) - test(/(^|::)native_only::/)";

/// How often a run is killed in the long form, as root and as an ordinary user each.
const LONG_KILLS: &str = "250";

/// Which tests are run, and about which backend the claims among them are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pass {
    All,
    ClaimsOn(&'static str),
}

impl Pass {
    fn filter(self, asked: Option<&str>) -> Option<String> {
        match (self, asked) {
            (Self::All, asked) => asked.map(str::to_owned),
            (Self::ClaimsOn(_), None) => Some(CLAIMS.to_owned()),
            (Self::ClaimsOn(_), Some(asked)) => Some(format!("({CLAIMS}) & ({asked})")),
        }
    }
}

/// Which of the tests, and how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) filter: Option<&'a str>,
    pub(crate) length: Length,
}

/// What was made for the tests.
#[derive(Debug)]
pub(crate) struct Means<'a> {
    pub(crate) engines: &'a Engines,
    pub(crate) postgres: &'a Postgres,
    /// The program without shared libraries.
    pub(crate) program: &'a Path,
}

pub(crate) fn run(pass: Pass, asked: Asked<'_>, means: &Means<'_>) -> Result<Counts> {
    let Asked { filter: asked, length } = asked;
    let filter = pass.filter(asked);
    let filter = filter.as_deref();
    let junit = root().join(junit_of(length));
    // An old one would speak for a run that did not come this far.
    match fs::remove_file(&junit) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            return Err(e).with_context(|| format!("cannot remove {}", junit.display()));
        }
        _ => {}
    }
    let mut command = nextest("run", filter, length);
    if length == Length::Long {
        command.env("TEST_KILLS", LONG_KILLS);
    }
    command.env("TEST_MCP_PYTHON", python::MCP.make()?);
    command.env("TEST_API_PYTHON", python::API.make()?);
    command.env("TEST_MCP_INSPECTOR", inspector::make()?);
    command.env("TEST_AXE", axe::fetch()?);
    command.env("TEST_DOCKER_SOCKET", means.engines.docker());
    command.env("TEST_PODMAN_SOCKET", means.engines.podman());
    command.env("TEST_POSTGRES", means.postgres.url());
    command.env("TEST_STATIC_BINARY", means.program);
    if let Pass::ClaimsOn(backend) = pass {
        command.env("TEST_BACKEND", backend);
        // Of what was asked for, nothing may be a claim.
        command.arg("--no-tests=pass");
    }
    let status = command.status().with_context(|| format!("cannot start {}", shown(&command)))?;
    let (passed, failed) = match fs::read_to_string(&junit) {
        Ok(text) => count(&text).with_context(|| format!("{} is not JUnit", junit.display()))?,
        Err(_) if status.success() && asked.is_some() => (0, 0),
        Err(_) => bail!("{}: {status}, and no test ran", shown(&command)),
    };
    if !status.success() && failed == 0 {
        bail!("{}: {status}, though no test failed", shown(&command));
    }
    Ok(Counts { passed, failed, skipped: skipped(filter, length)? })
}

fn nextest(verb: &'static str, filter: Option<&str>, length: Length) -> Command {
    let scope = ["--workspace", "--all-features", "--profile", length.profile()];
    let mut command = cargo(["nextest", verb].into_iter().chain(scope));
    if let Some(filter) = filter {
        command.args(["-E", filter]);
    }
    command
}

/// Passed and failed, from the head of a JUnit file.
fn count(junit: &str) -> Option<(usize, usize)> {
    let (_, rest) = junit.split_once("<testsuites ")?;
    let (head, _) = rest.split_once('>')?;
    let attribute = |name: &str| {
        let (_, rest) = head.split_once(&format!("{name}=\""))?;
        rest.split_once('"')?.0.parse::<usize>().ok()
    };
    let failed = attribute("failures")? + attribute("errors")?;
    Some((attribute("tests")?.checked_sub(failed)?, failed))
}

fn skipped(filter: Option<&str>, length: Length) -> Result<Vec<Skipped>> {
    let mut command = nextest("list", filter, length);
    command.args(["--run-ignored", "ignored-only", "--message-format", "json"]);
    let list: Value = serde_json::from_slice(&output_of(&mut command)?)
        .context("the list of cargo nextest is not JSON")?;
    let suites = list["rust-suites"].as_object().context("the list names no rust-suites")?;
    let mut skipped = Vec::new();
    for (id, suite) in suites {
        let names = ignored(suite);
        if names.is_empty() {
            continue;
        }
        let said = ask(suite, &names)?;
        skipped.extend(names.into_iter().map(|name| Skipped {
            name: format!("{id} {name}"),
            reason: reason(&said, name).map(str::to_owned),
        }));
    }
    Ok(skipped)
}

fn ignored(suite: &Value) -> Vec<&str> {
    let cases = suite["testcases"].as_object().into_iter().flatten();
    cases
        .filter(|(_, case)| case["ignored"] == true && case["filter-match"]["status"] == "matches")
        .map(|(name, _)| name.as_str())
        .collect()
}

/// What the binary of `suite` says when it is asked to run ignored tests without being told to include
/// them: it runs nothing and prints why.
fn ask(suite: &Value, names: &[&str]) -> Result<String> {
    let binary = suite["binary-path"].as_str().context("a suite has no binary-path")?;
    let cwd = suite["cwd"].as_str().context("a suite has no cwd")?;
    let mut command = Command::new(Path::new(binary));
    command.arg("--exact").args(names).current_dir(cwd).stdin(Stdio::null());
    let output = output_of(&mut command)?;
    Ok(String::from_utf8_lossy(&output).into_owned())
}

fn reason<'a>(said: &'a str, name: &str) -> Option<&'a str> {
    let line = format!("test {name} ... ignored, ");
    said.lines().find_map(|said| said.strip_prefix(line.as_str()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn claims_are_chosen_among_what_was_asked_for() {
        assert_eq!(Pass::All.filter(Some("test(a)")).as_deref(), Some("test(a)"));
        let both = Pass::ClaimsOn("docker").filter(Some("test(a)")).unwrap();
        assert!(both.contains("binary(native_pool)") && both.ends_with("& (test(a))"), "{both}");
    }

    #[test]
    fn counts_are_read_from_the_head() {
        let junit = "<?xml version=\"1.0\"?>\n<testsuites name=\"nextest-run\" tests=\"12\" \
                     failures=\"2\" errors=\"1\" time=\"0.1\">\n<testsuite name=\"a\" tests=\"9\"";
        assert_eq!(count(junit), Some((9, 3)));
        assert_eq!(count("<testsuites tests=\"1\">"), None);
        assert_eq!(count(""), None);
    }

    #[test]
    fn only_ignored_tests_that_match_are_skipped_tests() {
        let suite = json!({"testcases": {
            "a": {"ignored": true, "filter-match": {"status": "matches"}},
            "b": {"ignored": false, "filter-match": {"status": "mismatch", "reason": "ignored"}},
            "c": {"ignored": true, "filter-match": {"status": "mismatch", "reason": "expression"}},
        }});
        assert_eq!(ignored(&suite), ["a"]);
    }

    #[test]
    fn a_reason_belongs_to_its_own_test() {
        let said = "running 2 tests\ntest a::b ... ignored, needs x\ntest a::bc ... ignored\n";
        assert_eq!(reason(said, "a::b"), Some("needs x"));
        assert_eq!(reason(said, "a::bc"), None);
        assert_eq!(reason(said, "b"), None);
    }
}
