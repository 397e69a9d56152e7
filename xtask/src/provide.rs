//! The programs that the tests need, and getting them. A test that lacks its program fails; it does not
//! skip itself. So they are brought in first.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::cargo::{cargo, succeed, works};

/// A program of the system, the Debian package that has it, and what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Program {
    name: &'static str,
    package: &'static str,
    why: &'static str,
}

const PROGRAMS: &[Program] = &[
    Program { name: "git", package: "git", why: "repositories as workspaces" },
    Program { name: "python3", package: "python3", why: "programs under test that are not shell" },
    Program { name: "script", package: "bsdutils", why: "a terminal to type into" },
    Program { name: "tmux", package: "tmux", why: "a window with keys and a screen" },
    Program { name: "vim", package: "vim", why: "an editor inside a sandbox" },
    Program { name: "npm", package: "npm", why: "the inspector of the Model Context Protocol" },
    Program { name: "gcc", package: "gcc", why: "probes that make one system call; the linker" },
    Program { name: "make", package: "make", why: "builds inside a sandbox" },
    Program {
        name: "bwrap",
        package: "bubblewrap",
        why: "the peer that starts are measured against",
    },
    Program { name: "rsync", package: "rsync", why: "the peer that apply is measured against" },
    Program { name: "dockerd", package: "docker.io", why: "an engine for the tests" },
    Program { name: "docker", package: "docker.io", why: "a client to look at engines with" },
    Program { name: "podman", package: "podman", why: "another engine for the tests" },
    Program { name: "sshd", package: "openssh-server", why: "an engine on another host" },
    Program { name: "ssh", package: "openssh-client", why: "the way there" },
    Program { name: "newuidmap", package: "uidmap", why: "an engine without root" },
    Program { name: "rootlesskit", package: "rootlesskit", why: "Docker without root" },
    Program { name: "setpriv", package: "util-linux", why: "to start it as its user" },
    Program { name: "strace", package: "strace", why: "a kernel that says no to one call" },
    Program { name: "dbus-daemon", package: "dbus-daemon", why: "a bus to ask for scopes over" },
    Program { name: "ip", package: "iproute2", why: "a cable to a runner, to be pulled" },
    Program { name: "crun", package: "crun", why: "another runtime" },
    Program { name: "runsc", package: "runsc", why: "a runtime with a kernel of its own" },
    Program { name: "runc", package: "runc", why: "the runtime of both" },
    Program { name: "busybox", package: "busybox-static", why: "what the tests make an image of" },
    Program {
        name: "docker-registry",
        package: "docker-registry",
        why: "images that have to be fetched",
    },
    Program {
        name: "mmdebstrap",
        package: "mmdebstrap",
        why: "bases of images, of Debian's packages",
    },
    Program {
        name: "pg_ctlcluster",
        package: "postgresql",
        why: "the other database of the control plane",
    },
    Program { name: "faketime", package: "faketime", why: "a clock that jumps, in drills" },
    Program { name: "chromium", package: "chromium", why: "a browser for the dashboard" },
    Program { name: "chromedriver", package: "chromium-driver", why: "to drive it" },
    Program { name: "ps", package: "procps", why: "processes seen from inside a sandbox" },
];

/// Tools of cargo, and how they are had.
const TOOLS: &[(&str, &[&str])] = &[
    ("fmt", &["rustup", "component", "add", "rustfmt"]),
    ("clippy", &["rustup", "component", "add", "clippy"]),
    ("nextest", &["cargo", "install", "cargo-nextest", "--locked"]),
];

/// Where a sandbox will look as well. A program in somebody's home is not one that the tests can use.
const SYSTEM_DIRS: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Install {
    Missing,
    Nothing,
}

/// Makes sure that all of it is there.
pub(crate) fn everything(install: Install) -> Result<()> {
    programs(install)?;
    for (tool, how) in TOOLS {
        if works(&mut cargo([*tool, "--version"])) {
            continue;
        }
        let remedy = how.join(" ");
        if install == Install::Nothing {
            bail!("cargo {tool} is missing: {remedy}");
        }
        println!("installing cargo {tool}: {remedy}");
        let mut command = Command::new(how[0]);
        succeed(command.args(&how[1..]).stdin(Stdio::null()))?;
        if !works(&mut cargo([*tool, "--version"])) {
            bail!("cargo {tool} is still missing after: {remedy}");
        }
    }
    Ok(())
}

fn programs(install: Install) -> Result<()> {
    let missing = missing(PROGRAMS, is_there);
    if missing.is_empty() {
        return Ok(());
    }
    let list = listed(&missing);
    if install == Install::Nothing {
        bail!("missing programs:{list}\nleave out --no-install, or install them yourself");
    }
    if !is_there("apt-get") {
        bail!("missing programs:{list}\nthis is no Debian: install them with your package manager");
    }
    println!("installing missing programs:{list}");
    succeed(apt_get()?.arg("update"))?;
    let packages = missing.iter().map(|program| program.package);
    succeed(apt_get()?.args(["install", "-y", "--no-install-recommends"]).args(packages))?;
    let still = self::missing(PROGRAMS, is_there);
    if !still.is_empty() {
        bail!("still missing after installing their packages:{}", listed(&still));
    }
    Ok(())
}

/// Installs one more package, for a bench that can do without.
pub(crate) fn package(name: &str) -> Result<()> {
    if !is_there("apt-get") {
        bail!("this is no Debian: install {name} with your package manager");
    }
    println!("installing {name}");
    succeed(apt_get()?.args(["install", "-y", "--no-install-recommends", name]))
}

fn apt_get() -> Result<Command> {
    let mut command = if is_root() {
        Command::new("apt-get")
    } else if works(Command::new("sudo").args(["-n", "true"])) {
        let mut command = Command::new("sudo");
        // sudo drops our environment, so apt-get's is set behind it.
        command.args(["-n", "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
        command
    } else {
        return Err(anyhow::anyhow!("neither root nor sudo without a password"))
            .context("cannot install packages: run as root once, or install them yourself");
    };
    command.env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
    Ok(command)
}

fn missing(programs: &[Program], is_there: impl Fn(&str) -> bool) -> Vec<Program> {
    programs.iter().filter(|program| !is_there(program.name)).copied().collect()
}

pub(crate) fn is_root() -> bool {
    works(Command::new("/bin/sh").args(["-c", "test \"$(id -u)\" = 0"]))
}

/// Whether the system has a program `name`.
pub(crate) fn is_there(name: &str) -> bool {
    SYSTEM_DIRS.iter().any(|dir| Path::new(dir).join(name).is_file())
}

fn listed(programs: &[Program]) -> String {
    let line = |p: &Program| format!("\n  {} (package {}): {}", p.name, p.package, p.why);
    programs.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_missing_is_named_with_its_package_and_reason() {
        assert!(missing(PROGRAMS, |_| true).is_empty());
        let found = missing(PROGRAMS, |name| name != "bwrap");
        assert_eq!(found.len(), 1);
        let text = listed(&found);
        assert!(text.contains("bwrap (package bubblewrap): the peer"), "{text}");
    }

    #[test]
    fn programs_are_looked_for_in_the_system() {
        assert!(is_there("sh") && !is_there("no-such-program"));
    }
}
