//! A run in a container of ours against the engine's own client with the same hardening, in the same image; and what
//! work costs in there.

use std::process::Command;

use anyhow::{Context as _, Result};

use super::case::Case;
use super::engine::{Engine, IMAGE};
use super::place::Place;
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
    let tree = place.workspace().join("tree");
    std::fs::create_dir(&tree).with_context(|| format!("cannot make {}", tree.display()))?;
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

/// A test run that needs the processor and nothing else.
pub(crate) fn work(place: &Place) -> Result<Vec<Case>> {
    let cofferdam = release::binary()?;
    let engine = Engine::find(place)?;
    let tree = place.workspace().join("tree");
    std::fs::create_dir(&tree).with_context(|| format!("cannot make {}", tree.display()))?;
    let test = "import unittest\n\n\nclass Sums(unittest.TestCase):\n    def test_sum(self):\n        \
                self.assertEqual(sum(i * i for i in range(100_000_000)), 333333328333333350000000)\n";
    std::fs::write(tree.join("test_sums.py"), test).context("cannot write a test")?;
    let words = ["/usr/bin/python3", "-m", "unittest", "-q"];
    let mut outside = Command::new(words[0]);
    outside.args(&words[1..]).current_dir(&tree);
    let mut inside = place.command(&cofferdam);
    inside.env("DOCKER_HOST", engine.host()).current_dir(&tree);
    inside.args(["run", "--quiet", "--sandbox", "docker", "--"]).args(words);
    let mut inside = Case::command("the same in a container, start included", inside);
    inside.keep(engine);
    Ok(vec![Case::command("a test run of Python's on the bare host", outside), inside])
}
