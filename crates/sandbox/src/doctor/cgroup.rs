//! Control groups: which kind, which controllers, and whether we may make a group of our own.
//!
//! Without them a run's limits cannot be held. Runs then need `--relax limits`, so nothing here fails:
//! it warns.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cofferdam_core::caps::Lack;
use cofferdam_native::claim_place;

use super::check::Check;
use super::trial;
use super::{Place, Who};

mod hierarchy;
mod judge;

use hierarchy::{Hierarchy, Version};

pub(super) fn examine(place: &Place) -> Vec<Check> {
    // Where a run would go, there it is tried.
    let lack = if place.who() == Who::Ordinary { claim_place() } else { None };
    let facts = read().map(|(mountinfo, own)| {
        let hierarchies = hierarchy::find(&mountinfo, &own, place.who());
        let controllers = Controller::ALL.map(|one| (one, locate(one, &hierarchies)));
        Facts { layout: Layout::of(&hierarchies), controllers, lack }
    });
    judge::judge(facts, place.who())
}

fn read() -> io::Result<(String, String)> {
    Ok((fs::read_to_string("/proc/self/mountinfo")?, fs::read_to_string("/proc/self/cgroup")?))
}

#[derive(Debug)]
struct Facts {
    layout: Layout,
    controllers: [(Controller, Option<Found>); 3],
    /// What an ordinary user would be refused for.
    lack: Option<Lack>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    V2,
    V1,
    /// Both are mounted; a controller belongs to one of them.
    Hybrid,
    Absent,
}

impl Layout {
    fn of(hierarchies: &[Hierarchy]) -> Self {
        let has = |version| hierarchies.iter().any(|one| one.version() == version);
        match (has(Version::V2), has(Version::V1)) {
            (true, true) => Self::Hybrid,
            (true, false) => Self::V2,
            (false, true) => Self::V1,
            (false, false) => Self::Absent,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Controller {
    Memory,
    Pids,
    Cpu,
}

impl Controller {
    const ALL: [Self; 3] = [Self::Memory, Self::Pids, Self::Cpu];

    const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Pids => "pids",
            Self::Cpu => "cpu",
        }
    }
}

/// Where a controller is, and what came of making a group there.
#[derive(Debug)]
struct Found {
    version: Version,
    dir: PathBuf,
    trial: Trial,
}

#[derive(Debug)]
enum Trial {
    /// A group made here has the controller.
    HandedDown,
    /// Version 2 only: the controller is here, and groups below do not have it yet.
    Withheld,
    Refused(io::Error),
    /// It could be made and not be removed.
    Left(PathBuf, io::Error),
}

fn locate(controller: Controller, hierarchies: &[Hierarchy]) -> Option<Found> {
    hierarchies.iter().find_map(|hierarchy| {
        let dir = hierarchy.dir().to_owned();
        let here = match hierarchy {
            Hierarchy::V2 { .. } => lists(&dir, controller),
            Hierarchy::V1 { controllers, .. } => controllers.iter().any(|c| c == controller.name()),
        };
        here.then(|| Found {
            version: hierarchy.version(),
            trial: try_in(&dir, hierarchy.version(), controller),
            dir,
        })
    })
}

fn try_in(dir: &Path, version: Version, controller: Controller) -> Trial {
    let group = dir.join(trial::name());
    if let Err(error) = fs::create_dir(&group) {
        return Trial::Refused(error);
    }
    let handed_down = version == Version::V1 || lists(&group, controller);
    match fs::remove_dir(&group) {
        Err(error) => Trial::Left(group, error),
        Ok(()) if handed_down => Trial::HandedDown,
        Ok(()) => Trial::Withheld,
    }
}

fn lists(dir: &Path, controller: Controller) -> bool {
    fs::read_to_string(dir.join("cgroup.controllers"))
        .is_ok_and(|text| text.split_whitespace().any(|name| name == controller.name()))
}
