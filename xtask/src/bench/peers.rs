//! The same start in other sandboxes: those that Debian, npm and PyPI have.
//!
//! Each shows first that it starts the command, as every case does. One that cannot be had or does not run here stands in
//! the table with what it said.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::case::Case;
use super::engine::Engine;
use super::place::Place;
use super::start::{self, NOTHING, prove, shown_by, starter};
use crate::cargo::{output_of, succeed, target_dir, works};
use crate::provide::is_there;

const NODE: &str = "22.23.3";
const SANDBOX_RUNTIME: &str = "0.0.83";
const LLM_SANDBOX: &str = "0.3.46";

pub(crate) fn cases(place: &Place) -> Result<Vec<Case>> {
    let mut cases = vec![
        Case::command("plain start of `/bin/true`", place.command(NOTHING)),
        start::native(place)?,
        start::bubblewrap(place)?,
    ];
    for runtime in ["runc", "crun", "runsc"] {
        cases.push(or_why(format!("`{runtime} run`, a bundle of its own"), |name| {
            bundle(place, runtime, name)
        }));
    }
    cases.push(or_why("`podman run --rm`, no network".to_owned(), |name| podman(place, name)));
    let name = format!("`srt` (@anthropic-ai/sandbox-runtime {SANDBOX_RUNTIME})");
    cases.push(or_why(name, |name| sandbox_runtime(place, name)));
    let name = format!("`llm-sandbox` {LLM_SANDBOX}, a container and a command in it");
    cases.push(or_why(name, |name| llm_sandbox(place, name)));
    Ok(cases)
}

/// The case, or its place in the table with the reason.
fn or_why(name: String, make: impl FnOnce(&str) -> Result<Case>) -> Case {
    make(&name)
        .unwrap_or_else(|error| Case::skipped(name, one_line(own_words(&format!("{error:#}")))))
}

/// What the peer said itself, where the story of how it was asked goes before it.
fn own_words(story: &str) -> &str {
    story.rsplit_once(" and on stderr ").map_or(story, |(_, said)| said)
}

/// A table's cell: no breaks, no bars, and not without end. The end is what a program said last, so that is kept.
fn one_line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "/");
    let count = words.chars().count();
    if count <= LONGEST {
        return words;
    }
    format!("… {}", words.chars().skip(count - LONGEST).collect::<String>())
}

const LONGEST: usize = 240;

/// A root of busybox, read-only, and the runtime's own idea of a container around it.
fn bundle(place: &Place, runtime: &str, name: &str) -> Result<Case> {
    if !is_there(runtime) {
        bail!("{runtime} is missing: cargo xtask test installs it");
    }
    let made = |words: &[&str]| -> Result<PathBuf> {
        let dir = place.top().join(format!("bundle-{runtime}-{}", words.len()));
        root(&dir.join("rootfs"))?;
        succeed(
            Command::new(if runtime == "runsc" { "runc" } else { runtime })
                .arg("spec")
                .current_dir(&dir),
        )?;
        let file = dir.join("config.json");
        let mut spec: Value = serde_json::from_slice(&fs::read(&file)?)?;
        spec["process"]["args"] = json!(words);
        spec["process"]["terminal"] = json!(false);
        fs::write(&file, spec.to_string())?;
        Ok(dir)
    };
    let state = place.top().join(format!("state-{runtime}"));
    let run = |dir: &Path| {
        let mut command = place.command(runtime);
        command.arg("--root").arg(&state);
        if runtime == "runsc" {
            command.args(["--network", "none"]);
        }
        command.arg("run").arg("--bundle").arg(dir).arg(format!("bench-{runtime}"));
        command
    };
    prove(run(&made(&["/bin/sh", "-c", "echo started; exit 83"])?), 83, "started\n")?;
    Ok(Case::command(name, run(&made(&["/bin/true"])?)))
}

/// A tree with a shell in it.
fn root(dir: &Path) -> Result<()> {
    fs::create_dir_all(dir.join("bin"))?;
    for name in ["dev", "proc", "sys", "tmp"] {
        fs::create_dir_all(dir.join(name))?;
    }
    for name in ["sh", "true"] {
        fs::copy("/bin/busybox", dir.join("bin").join(name)).context("busybox is missing")?;
    }
    Ok(())
}

fn podman(place: &Place, name: &str) -> Result<Case> {
    let tree = place.top().join("podman-root");
    root(&tree)?;
    let tree = tree.to_str().context("a path that is not text")?;
    let words =
        ["--cgroup-manager", "cgroupfs", "--runtime", "runc", "run", "--rm", "--network", "none"];
    let head = [
        &words[..],
        &[
            "--ulimit",
            "nofile=1024:1024",
            "--ulimit",
            "nproc=1024:1024",
            "--read-only",
            "--rootfs",
            tree,
        ],
    ]
    .concat();
    starter(name, place, Path::new("/usr/bin/podman"), &head)
}

fn sandbox_runtime(place: &Place, name: &str) -> Result<Case> {
    let dir = target_dir()?.join(format!("bench-srt-{SANDBOX_RUNTIME}-{NODE}"));
    let programs = dir.join("node_modules/.bin");
    if !programs.join("srt").exists() {
        fs::create_dir_all(&dir)?;
        let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
        let mut npm = Command::new("npm");
        // As everywhere: what packages want to do when they are installed, nobody here has read.
        npm.args([
            "install",
            "--silent",
            "--no-fund",
            "--no-audit",
            "--ignore-scripts",
            "--prefix",
        ])
        .arg(&dir);
        npm.arg(format!("node-linux-{machine}@{NODE}"));
        succeed(npm.arg(format!("@anthropic-ai/sandbox-runtime@{SANDBOX_RUNTIME}")))?;
    }
    for (program, package) in [("socat", "socat"), ("rg", "ripgrep")] {
        if !is_there(program) {
            crate::provide::package(package)?;
        }
    }
    let command = || {
        let mut command = place.command(programs.join("node"));
        command.arg(programs.join("srt"));
        command
    };
    prove(shown_by(command(), &[]), 83, "started\n")?;
    let mut nothing = command();
    nothing.arg(NOTHING);
    Ok(Case::command(name, nothing))
}

/// Python that opens a session, runs one command in it and closes it. With a first process that heeds signals: the
/// engine would wait ten seconds for any other, and that is no time of the peer's.
const SESSION: &str = "import sys\nfrom llm_sandbox import SandboxSession\n\
with SandboxSession(lang='python', image=sys.argv[1], skip_environment_setup=True, runtime_configs={'command': ['/bin/sleep', '1000000'], 'user': '0:0', 'init': True}) as session:\n\
\x20   result = session.execute_command(sys.argv[2])\nprint(result.stdout, end='')\nsys.exit(result.exit_code)\n";

fn llm_sandbox(place: &Place, name: &str) -> Result<Case> {
    let dir = target_dir()?.join(format!("bench-llm-sandbox-{LLM_SANDBOX}"));
    let python = dir.join("bin/python3");
    if !works(Command::new(&python).args(["-c", "import llm_sandbox, docker"])) {
        succeed(Command::new("python3").args(["-m", "venv"]).arg(&dir))?;
        let package = format!("llm-sandbox[docker]=={LLM_SANDBOX}");
        output_of(Command::new(dir.join("bin/pip")).args(["install", "--quiet", &package]))?;
    }
    let engine = Engine::find(place)?;
    let host = engine.host().to_owned();
    let command = |what: &str| {
        let mut command = place.command(&python);
        command.env("DOCKER_HOST", &host).args(["-c", SESSION, super::engine::IMAGE, what]);
        command
    };
    prove(command("/bin/sh -c 'echo started; exit 83'"), 83, "started\n")?;
    let mut case = Case::command(name, command("/bin/true"));
    case.keep(engine);
    Ok(case)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_run_says_why_in_one_cell() {
        let case = or_why("x".to_owned(), |_| bail!("no | such\n  engine"));
        assert_eq!(case.skipped.as_deref(), Some("no / such engine"));
        assert_eq!(own_words("x got 1, \"\" and on stderr \"no groups\""), "\"no groups\"");
        let long = one_line(&format!("{}the end", "word ".repeat(200)));
        assert!(long.starts_with("… ") && long.ends_with("the end"), "{long}");
        assert_eq!(long.chars().count(), LONGEST + 2);
        let good = or_why("y".to_owned(), |name| Ok(Case::new(name, || Ok(()))));
        assert_eq!((good.name.as_str(), good.skipped), ("y", None));
    }
}
