//! Images that projects of the tests are built on: made once of Debian's packages, under the names by which the
//! Dockerfiles ask for them, and kept as an archive for the engines of later runs.
//!
//! They stand in for what registries have: the same programs in the same places, at Debian's versions.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::cargo::{succeed, target_dir, works};

/// One language's image.
struct Base {
    /// Debian's packages.
    packages: &'static str,
    /// What is done then, so that things are where the usual images have them.
    then: &'static str,
    names: &'static [&'static str],
}

const BASES: &[Base] = &[
    Base {
        packages: "golang-go",
        then: "cp -rL /usr/lib/go-1.19 /usr/local/go && rm -rf /usr/lib/go-1.19 /usr/share/go-1.19 \
               /usr/local/go/test /usr/local/go/api && ln -s /usr/local/go /usr/lib/go-1.19",
        names: &["golang:1.19-alpine", "golang:1.19-bookworm"],
    },
    Base {
        packages: "nodejs npm",
        then: "true",
        names: &["node:18.20-alpine", "node:18.20-bookworm-slim"],
    },
    Base {
        packages: "python3 python3-venv python3-pip",
        then: "true",
        names: &["python:3.11-alpine", "python:3.11-slim-bookworm"],
    },
    Base { packages: "rustc cargo", then: "true", names: &["rust:1.63-slim-bullseye"] },
];

/// What all of them have, so that nothing has to be fetched when a project's image is built.
const SHARED: &str = "git,ca-certificates,gcc,g++,libc6-dev,make";
const GROUND: &str = "cofferdam-test-debian:12";
/// To be raised when anything above changes.
const VERSION: u32 = 1;

/// Brings them into the engine at `socket`.
pub(crate) fn bring(socket: &Path) -> Result<()> {
    let kept = target_dir()?.join(format!("test-bases-{VERSION}.tar"));
    let host = format!("unix://{}", socket.display());
    if !kept.exists() {
        make(&host, &kept).context("cannot make the images that projects are built on")?;
        return Ok(());
    }
    succeed(docker(&host).args(["load", "--quiet", "--input"]).arg(&kept).stdout(Stdio::null()))
}

fn make(host: &str, kept: &Path) -> Result<()> {
    let tree = kept.with_extension("ground.tar");
    let mut bootstrap = Command::new("mmdebstrap");
    bootstrap.args(["--quiet", "--variant=minbase", &format!("--include={SHARED}")]);
    // What is made here is thrown away if the machine fails; nothing waits for the disk.
    bootstrap.arg("--dpkgopt=force-unsafe-io");
    for left_out in ["man", "doc", "locale", "info"] {
        bootstrap.arg(format!("--dpkgopt=path-exclude=/usr/share/{left_out}/*"));
    }
    succeed(bootstrap.arg("bookworm").arg(&tree).stdin(Stdio::null()))?;
    succeed(docker(host).arg("import").arg(&tree).arg(GROUND).stdout(Stdio::null()))?;
    fs::remove_file(&tree)?;
    for base in BASES {
        let text = format!(
            "FROM {GROUND}\nRUN apt-get update && \
             apt-get install -y --no-install-recommends -o DPkg::Options::=--force-unsafe-io {} && \
             apt-get clean && {}\n",
            base.packages, base.then
        );
        build(host, &text, base.names)?;
    }
    let part = kept.with_extension("part");
    let names = BASES.iter().flat_map(|base| base.names);
    succeed(docker(host).args(["save", "--output"]).arg(&part).args(names))?;
    fs::rename(&part, kept)?;
    Ok(())
}

/// With the host's network, which is the one that leads to Debian.
fn build(host: &str, dockerfile: &str, names: &[&str]) -> Result<()> {
    let mut command = docker(host);
    command.args(["build", "--quiet", "--network", "host"]).env("DOCKER_BUILDKIT", "0");
    for name in names {
        command.args(["--tag", name]);
    }
    let mut child = command.arg("-").stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
    let mut stdin = child.stdin.take().context("it has no input")?;
    stdin.write_all(dockerfile.as_bytes())?;
    drop(stdin);
    let status = child.wait()?;
    if !status.success() || !works(docker(host).args(["image", "inspect", names[0]])) {
        bail!("{} was not built: {status}", names[0]);
    }
    Ok(())
}

fn docker(host: &str) -> Command {
    let mut command = Command::new("docker");
    command.args(["-H", host]);
    command
}
