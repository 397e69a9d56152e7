//! A run in a container of ours against the engine's own client with the same hardening, in the same image; and what
//! work costs in there.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use super::case::Case;
use super::engine::{Engine, IMAGE};
use super::overhead::own;
use super::place::Place;
use super::session::Session;
use super::start::{NOTHING, prove, shown_by};
use crate::release;

/// What `cofferdam run` asks an engine for, in the words of `docker run`.
const HARDENED: &[&str] = &[
    "run",
    "--rm",
    "--init",
    "--network=none",
    "--read-only",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges:true",
    "--memory=2g",
    "--memory-swap=2g",
    "--cpus=2",
    "--pids-limit=513",
    "--ipc=private",
    "--log-driver=none",
    "--user=65533:65533",
    "--hostname=sandbox",
    "--no-healthcheck",
    "--tmpfs=/tmp:rw,exec,nosuid,nodev,size=512m",
    "--tmpfs=/home/sandbox:rw,exec,nosuid,nodev,size=64m",
    "--workdir=/workspace",
];

pub(crate) fn start(place: &Place) -> Result<Vec<Case>> {
    let cofferdam = release::binary()?;
    let names = [
        "`docker run --rm` with the same hardening, the workspace bound read-only",
        "`cofferdam run` in the same image: staged, looked at, recorded",
        "`cofferdam run` with the host's own programs",
    ];
    let engine = match Engine::find(place) {
        Ok(engine) => engine,
        Err(error) => {
            let reason = format!("{error:#}");
            return Ok(names.map(|name| Case::skipped(name, reason.clone())).into());
        }
    };
    let tree = tree(place)?;
    let mount = format!("--mount=type=bind,src={},dst=/workspace,readonly", tree.display());
    let peer = || {
        let mut command = engine.docker();
        command.args(HARDENED).args([mount.as_str(), IMAGE]);
        command
    };
    let ours = |flags: &[&str]| {
        let mut command = place.command(&cofferdam);
        command.env("DOCKER_HOST", engine.host()).current_dir(&tree);
        command.args(["run", "--quiet", "--sandbox", "docker"]).args(flags).arg("--");
        command
    };
    let image = ["--image", IMAGE];
    for command in [peer(), ours(&image), ours(&[])] {
        prove(shown_by(command, &[]), 83, "started\n")?;
    }
    let [peer_name, image_name, host_name] = names;
    let nothing = |mut command: Command| {
        command.arg(NOTHING);
        command
    };
    let mut cases = vec![
        Case::command(peer_name, nothing(peer())),
        Case::command(image_name, nothing(ours(&image))),
        Case::command(host_name, nothing(ours(&[]))),
    ];
    // The last case to go takes the engine with it.
    if let Some(last) = cases.last_mut() {
        last.keep(engine);
    }
    Ok(cases)
}

/// A test run that needs the processor and nothing else, and long enough that no start decides.
pub(crate) fn test_run(place: &Place) -> Result<Vec<Case>> {
    let tree = tree(place)?;
    let sum = (SUMMED - 1) * SUMMED * (2 * SUMMED - 1) / 6;
    let test = format!(
        "import unittest\n\n\nclass Sums(unittest.TestCase):\n    def test_sum(self):\n        \
         self.assertEqual(sum(i * i for i in range({SUMMED})), {sum})\n"
    );
    std::fs::write(tree.join("test_sums.py"), test).context("cannot write a test")?;
    compared(place, "a test run of Python's", "/usr/bin/python3 -m unittest -q")
}

/// Squares in the sum: some eight seconds, of which the start of a container is a fortieth.
const SUMMED: u128 = 180_000_000;

/// A build from nothing, of code that takes a compiler as long.
pub(crate) fn build(place: &Place) -> Result<Vec<Case>> {
    let tree = tree(place)?;
    let manifest = "[package]\nname = \"sums\"\nversion = \"0.0.0\"\nedition = \"2024\"\n";
    std::fs::write(tree.join("Cargo.toml"), manifest).context("cannot write a manifest")?;
    let function = |n: usize| {
        format!(
            "pub fn f{n}(v: &[u64]) -> Vec<String> {{ v.iter().map(|x| x.wrapping_mul({n})).filter(|x| x % 3 != 0)\
             .map(|x| format!(\"{{x}} {n}\")).collect() }}\n"
        )
    };
    let code: String = (0..BUILT).map(function).collect();
    let src = tree.join("src");
    std::fs::create_dir(&src).with_context(|| format!("cannot make {}", src.display()))?;
    std::fs::write(src.join("lib.rs"), code).context("cannot write code")?;
    let script = "rm -rf target && cargo build --offline --quiet --release";
    compared(place, "`cargo build --release`", script)
}

/// Functions in the code that is built: some seconds of a compiler's work.
const BUILT: usize = 600;

fn tree(place: &Place) -> Result<PathBuf> {
    let tree = place.workspace().join("tree");
    std::fs::create_dir(&tree).with_context(|| format!("cannot make {}", tree.display()))?;
    Ok(tree)
}

/// A script on the bare host, in a container of its own, and in one that is there already.
fn compared(place: &Place, name: &str, script: &str) -> Result<Vec<Case>> {
    let cofferdam = release::binary()?;
    let engine = Engine::find(place)?;
    let here = |program: &Path| {
        let mut command = place.command(program);
        own(&mut command);
        command.env("DOCKER_HOST", engine.host()).current_dir(place.workspace().join("tree"));
        command
    };
    let ours = |args: &[&str]| {
        let mut command = here(&cofferdam);
        command.args(args);
        command
    };
    let shell = ["/bin/sh", "-c", script];
    let mut outside = here(Path::new(shell[0]));
    outside.args(&shell[1..]);
    let alone = [&["run", "--quiet", "--sandbox", "docker", "--"], &shell[..]].concat();
    let session = Session::start(&ours, place, &["--sandbox", "docker"])?;
    let there = [&["session", "exec", &session.run, "--"], &shell[..]].concat();
    let mut there = Case::command(format!("{name} in a container that is there"), ours(&there));
    let alone = Case::command(format!("{name} in a container, start included"), ours(&alone));
    there.keep((session, engine));
    Ok(vec![Case::command(format!("{name} on the bare host"), outside), alone, there])
}
