//! Docker and Podman: the program, the socket, and what answers there.
//!
//! An engine is asked where its own client would find it and nowhere else, in two seconds each; on another host, the
//! way there takes as long as it may. What it says is other people's text.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cofferdam_core::backend::Backend;
use cofferdam_core::caps::Lack;

use super::Place;
use super::check::{Check, Question, Status};
use super::trial;
use crate::backend::docker;
use crate::engine::address::{self, Address};
use crate::engine::ask::{self, Reached};
use crate::engine::{Endpoint, Engine as Found, Sight, Surroundings};

mod judge;

/// For all that is said with one socket.
const PATIENCE: Duration = Duration::from_secs(2);

/// One of the two, as the checks speak of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Engine {
    name: &'static str,
    /// The program, where it is installed.
    program: &'static str,
    binary: Question,
    socket: Question,
    answer: Question,
    container: Question,
    remedies: Remedies,
    address: fn(&Surroundings) -> Address,
    backend: Backend,
}

#[derive(Debug, Clone, Copy)]
struct Remedies {
    install: &'static str,
    start: &'static str,
    permit: &'static str,
}

pub(super) const DOCKER: Engine = Engine {
    name: "Docker",
    program: "docker",
    binary: Question::new("docker.binary", "Docker's program"),
    socket: Question::new("docker.socket", "Docker's socket"),
    answer: Question::new("docker.answer", "Docker's answer"),
    container: Question::new("docker.container", "a container of Docker's"),
    remedies: Remedies {
        install: "install Docker (https://docs.docker.com/engine/install)",
        start: "sudo systemctl start docker",
        permit: "sudo usermod -aG docker $USER and log in anew (that group is as good as root)",
    },
    address: address::docker,
    backend: Backend::Docker,
};

pub(super) const PODMAN: Engine = Engine {
    name: "Podman",
    program: "podman",
    binary: Question::new("podman.binary", "Podman's program"),
    socket: Question::new("podman.socket", "Podman's socket"),
    answer: Question::new("podman.answer", "Podman's answer"),
    container: Question::new("podman.container", "a container of Podman's"),
    remedies: Remedies {
        install: "install Podman (https://podman.io/docs/installation)",
        start: "sudo systemctl enable --now podman.socket",
        permit: "use your own: systemctl --user enable --now podman.socket",
    },
    address: address::podman,
    backend: Backend::Podman,
};

pub(super) fn examine(place: &Place, engine: Engine) -> Vec<Check> {
    let binary = find_program(&place.path, engine.program);
    let seen = match (engine.address)(&place.engines) {
        Address::Elsewhere(lack) => Seen::Elsewhere(lack),
        Address::Unreadable(lack) => Seen::Unreadable(lack),
        Address::At(endpoints) => {
            let (at, reached) = first_that_answers(endpoints);
            Seen::Endpoint { at, reached }
        }
    };
    let mut checks: Vec<Check> = judge::judge(engine, binary.as_deref(), &seen).into();
    let answers =
        checks.iter().any(|check| check.id == engine.answer.id && check.status == Status::Ok);
    checks.push(if answers {
        container(place, engine)
    } else {
        engine.container.not_applicable("no engine to make one")
    });
    checks
}

/// Runs one, in earnest.
fn container(place: &Place, engine: Engine) -> Check {
    let begun = Instant::now();
    let tried = match Found::find(engine.backend, &place.engines) {
        Ok(mut found) => match docker::unfit(&mut found, &place.engines) {
            Ok(None) if found.sight == Sight::Other => {
                let why = "not tried: it does not see this host's programs, and is sent a copy of the workspace";
                return engine.container.warn(why, "name an image with --image");
            }
            Ok(None) => {
                docker::trial(&found, &docker::run_labels(&trial::name(), &place.state_dir))
            }
            Ok(Some(lack)) => return engine.container.fail(lack.reason, lack.remedy),
            Err(why) => Err(why),
        },
        Err(lack) => return engine.container.fail(lack.reason, lack.remedy),
    };
    match tried {
        Ok(()) => {
            let millis = begun.elapsed().as_millis();
            engine.container.ok(format!("made, run and removed in {millis} ms"))
        }
        Err(why) => engine.container.fail(why, "look at the engine's log"),
    }
}

/// What was found about where an engine is.
#[derive(Debug)]
enum Seen {
    /// We do not go there: not looked at.
    Elsewhere(Lack),
    /// The setting that names it cannot be understood.
    Unreadable(Lack),
    Endpoint {
        at: Endpoint,
        reached: Reached,
    },
}

/// Of many the first that answers; else the first that is there; else the first.
fn first_that_answers(endpoints: Vec<Endpoint>) -> (Endpoint, Reached) {
    let mut best: Option<(Endpoint, Reached)> = None;
    let mut seen = Vec::new();
    for at in endpoints {
        // `/var/run` is `/run` on most hosts; a socket that hangs need not be waited for twice.
        let real = match &at {
            Endpoint::Socket(path) => {
                Endpoint::Socket(path.canonicalize().unwrap_or_else(|_| path.clone()))
            }
            other => other.clone(),
        };
        if seen.contains(&real) {
            continue;
        }
        seen.push(real);
        let reached = ask::ask(&at, PATIENCE);
        match (&best, &reached) {
            (_, Reached::Engine(_)) => return (at, reached),
            (None, _) => best = Some((at, reached)),
            (Some((_, Reached::Missing)), Reached::Missing) => {}
            (Some((_, Reached::Missing)), _) => best = Some((at, reached)),
            (Some(_), _) => {}
        }
    }
    best.unwrap_or((Endpoint::Socket(PathBuf::new()), Reached::Missing))
}

fn find_program(path: &[PathBuf], name: &str) -> Option<PathBuf> {
    let runs = |file: &Path| {
        fs::metadata(file)
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    path.iter().filter(|dir| dir.is_absolute()).map(|dir| dir.join(name)).find(|file| runs(file))
}

#[cfg(test)]
mod tests;
