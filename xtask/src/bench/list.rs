//! Every bench there is, in the order in which they are run.

use anyhow::Result;

use super::case::Case;
use super::curve::Curve;
use super::place::Place;
use super::{
    changes, check, dashboard, docker, driver, engine, growth, image, overhead, peers, search,
    server, session, start, throughput,
};

pub(super) const BENCHES: &[Bench] = &[
    Bench { name: "start", kind: Kind::Rounds(start::cases), most_rounds: usize::MAX },
    Bench { name: "start-library", kind: Kind::Rounds(driver::cases), most_rounds: usize::MAX },
    Bench { name: "start-all", kind: Kind::Rounds(engine::cases), most_rounds: 50 },
    Bench { name: "peers", kind: Kind::Rounds(peers::cases), most_rounds: 10 },
    Bench { name: "session", kind: Kind::Rounds(session::cases), most_rounds: usize::MAX },
    Bench { name: "session-docker", kind: Kind::Rounds(session::in_container), most_rounds: 100 },
    Bench { name: "throughput", kind: Kind::Rounds(throughput::cases), most_rounds: 20 },
    Bench { name: "docker", kind: Kind::Rounds(docker::start), most_rounds: 50 },
    Bench { name: "image", kind: Kind::Rounds(image::cases), most_rounds: 50 },
    Bench { name: "container-work", kind: Kind::Rounds(docker::test_run), most_rounds: 5 },
    Bench { name: "container-work-build", kind: Kind::Rounds(docker::build), most_rounds: 5 },
    Bench { name: "size", kind: Kind::Rounds(start::sizes), most_rounds: usize::MAX },
    Bench { name: "git", kind: Kind::Rounds(overhead::git), most_rounds: 50 },
    Bench { name: "grep", kind: Kind::Rounds(overhead::grep), most_rounds: 20 },
    Bench { name: "python", kind: Kind::Rounds(overhead::python), most_rounds: 20 },
    Bench { name: "cargo", kind: Kind::Rounds(overhead::cargo_build), most_rounds: 10 },
    Bench { name: "changes-1k", kind: Kind::Rounds(changes::in_1k), most_rounds: 50 },
    Bench { name: "changes-10k", kind: Kind::Rounds(changes::in_10k), most_rounds: 30 },
    Bench { name: "changes-100k", kind: Kind::Rounds(changes::in_100k), most_rounds: 15 },
    Bench { name: "changes-apply-1k", kind: Kind::Rounds(changes::apply_1k), most_rounds: 15 },
    Bench { name: "changes-apply-10k", kind: Kind::Rounds(changes::apply_10k), most_rounds: 5 },
    Bench { name: "check", kind: Kind::Once(check::speed), most_rounds: 1 },
    Bench { name: "loop", kind: Kind::Once(search::overhead), most_rounds: 1 },
    Bench { name: "server", kind: Kind::Once(server::figures), most_rounds: 1 },
    Bench { name: "dashboard", kind: Kind::Once(dashboard::figures), most_rounds: 1 },
    Bench { name: "growth-files", kind: Kind::Curve(growth::files), most_rounds: 1 },
    Bench { name: "growth-changes", kind: Kind::Curve(growth::changes), most_rounds: 1 },
    Bench { name: "growth-tasks", kind: Kind::Curve(growth::tasks), most_rounds: 1 },
    Bench { name: "growth-concurrency", kind: Kind::Curve(growth::concurrency), most_rounds: 1 },
    Bench { name: "tasks-million", kind: Kind::Curve(growth::million_tasks), most_rounds: 1 },
    Bench { name: "changes-million", kind: Kind::Once(changes::million), most_rounds: 1 },
];

/// Builds a bench's cases. What they need on disk goes into the place, which is removed afterwards.
pub(super) type Prepare = fn(&Place) -> Result<Vec<Case>>;

pub(super) enum Kind {
    /// Cases, timed in rounds.
    Rounds(Prepare),
    /// How figures change as something grows.
    Curve(fn(&Place) -> Result<Curve>),
    /// Something that is done once, and the table of it.
    Once(fn(&Place) -> Result<String>),
}

pub(super) struct Bench {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// What takes long is not repeated as often, whatever was asked for.
    pub(super) most_rounds: usize,
}
