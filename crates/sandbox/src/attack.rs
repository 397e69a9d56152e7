//! Carries out the attacks of `cofferdam_core::attack` and says what came of each.
//!
//! [`Means`] are what it needs, [`assail`] makes the attacks of one backend. Each has a place of its own, with a home, a
//! state and a workspace that are thrown away; what is attacked is this very program, started as a user starts it.
//! What counts is what the host sees afterwards: files, listeners, processes, sealed changes, exit codes.
//! What the program inside says counts only where it says that it won.

mod act;
mod marks;
mod place;
mod scripts;
mod steps;
mod surroundings;
pub mod trying;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use cofferdam_core::attack::{Attack, Way};
use cofferdam_core::backend::Backend;
use serde::Serialize;

use crate::tree::remove_tree;
use place::Place;

/// What attacks are made with.
#[derive(Debug)]
pub struct Means {
    /// This program. A copy of it is shown to the sandboxes.
    pub program: PathBuf,
    /// Where places may be made.
    pub temporary: PathBuf,
    /// The host's variables that say where programs and engines are, and no others.
    pub variables: Vec<(OsString, OsString)>,
}

/// One attack on one backend, and how it ended.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    pub id: &'static str,
    pub group: cofferdam_core::attack::Group,
    pub tried: &'static str,
    pub holds: &'static str,
    pub verdict: Verdict,
    /// Why, where it did not just hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It was made, would have succeeded elsewhere, and came to nothing.
    Held,
    /// It succeeded.
    Broken,
    /// It succeeded, and that is a limit that is told.
    KnownLimit,
    /// It could not be made here, or would fail without a sandbox, too.
    NotRun,
    /// It succeeded where nobody claims that it would not.
    Open,
}

/// What was found about one backend.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub backend: Backend,
    /// Why nothing could be tried, where that is so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unusable: Option<String>,
    pub findings: Vec<Finding>,
}

impl Report {
    pub fn count(&self, verdict: Verdict) -> usize {
        self.findings.iter().filter(|finding| finding.verdict == verdict).count()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum AttackError {
    #[error("cannot make a place for the attacks in {}", path.display())]
    Place { path: PathBuf, source: io::Error },
    #[error("cannot start {}", program.display())]
    Start { program: PathBuf, source: io::Error },
    #[error("cannot look at {}", path.display())]
    Look { path: PathBuf, source: io::Error },
}

impl AttackError {
    fn place(path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Place { path: path.clone(), source }
    }

    fn look(path: &Path) -> impl Fn(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Look { path: path.clone(), source }
    }
}

/// What an attempt at an attack came to, before anybody asks what was claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Came {
    ToNothing,
    ToSomething(String),
    NotToBe(String),
}

/// Makes `attacks` on one backend, one after the other, and tells of each as it ends.
pub fn assail(
    means: &Means,
    backend: Backend,
    attacks: &[&'static Attack],
    mut tell: impl FnMut(&Finding),
) -> Result<Report, AttackError> {
    let ground = place::Ground::make(means)?;
    let made = scout(&ground, backend).and_then(|scouted| {
        let mut report = Report { backend, unusable: None, findings: Vec::new() };
        for attack in attacks {
            let (verdict, because) = match &scouted {
                Scouted::Usable(footing) => judge(&ground, footing, attack)?,
                Scouted::Unusable(why) => (Verdict::NotRun, Some(why.clone())),
            };
            let Attack { id, group, tried, holds, .. } = **attack;
            let finding = Finding { id, group, tried, holds, verdict, because };
            tell(&finding);
            report.findings.push(finding);
        }
        if let Scouted::Unusable(why) = scouted {
            report.unusable = Some(why);
        }
        Ok(report)
    });
    let removed = remove_tree(ground.top()).map_err(AttackError::place(ground.top()));
    let report = made?;
    removed?;
    Ok(report)
}

/// How runs are started on a backend here.
#[derive(Debug, Clone, Copy)]
struct Footing {
    backend: Backend,
    limits: Limits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limits {
    Enforced,
    /// This host gives whoever asks no control group.
    GivenUp,
}

impl Footing {
    const OPEN: Self = Self { backend: Backend::Local, limits: Limits::Enforced };

    /// The flags that name it.
    fn flags(self) -> Vec<&'static str> {
        let mut flags = vec!["--sandbox", self.backend.name()];
        if self.limits == Limits::GivenUp {
            flags.extend(["--relax", "limits"]);
        }
        flags
    }
}

enum Scouted {
    Usable(Footing),
    Unusable(String),
}

/// Whether a harmless command runs on a backend, and with what.
fn scout(ground: &place::Ground, backend: Backend) -> Result<Scouted, AttackError> {
    let mut why = String::new();
    for limits in [Limits::Enforced, Limits::GivenUp] {
        let footing = Footing { backend, limits };
        if backend.confines() || limits == Limits::Enforced {
            let place = Place::make(ground, footing)?;
            let done = place.run(&[], "true")?;
            let ended = done.code == Some(0);
            place.leave()?;
            if ended {
                return Ok(Scouted::Usable(footing));
            }
            if why.is_empty() {
                why = done.said.lines().next().unwrap_or("it does not run").to_owned();
            }
        }
    }
    Ok(Scouted::Unusable(why))
}

fn judge(
    ground: &place::Ground,
    footing: &Footing,
    attack: &Attack,
) -> Result<(Verdict, Option<String>), AttackError> {
    let backend = footing.backend;
    if backend.confines() && !attack.on.contains(&backend) {
        let why = format!("{backend} has nothing that it could be tried on");
        return Ok((Verdict::NotRun, Some(why)));
    }
    let came = match attack.way {
        Way::Inside { script, twin } => scripts::make(ground, *footing, script, twin)?,
        Way::Call(name) => scripts::call(ground, *footing, name)?,
        _ if !backend.confines() => Came::NotToBe("only about backends that confine".to_owned()),
        Way::Planted { path, class } => steps::plant(ground, *footing, path, class)?,
        Way::Steps(_) if needs_limits(attack) && footing.limits == Limits::GivenUp => {
            Came::NotToBe("this host gives whoever asks no control group".to_owned())
        }
        Way::Steps(steps) => steps::take(ground, *footing, steps)?,
    };
    let known = attack.known.filter(|known| known.on.contains(&backend));
    Ok(match (came, known) {
        (Came::ToSomething(what), _) if !backend.confines() => (Verdict::Open, Some(what)),
        (Came::ToNothing, _) if !backend.confines() => {
            (Verdict::NotRun, Some("it fails on this host without a sandbox, too".to_owned()))
        }
        (Came::ToNothing, _) => (Verdict::Held, None),
        (Came::ToSomething(_), Some(known)) => (Verdict::KnownLimit, Some(known.why.to_owned())),
        (Came::ToSomething(what), None) => (Verdict::Broken, Some(what)),
        (Came::NotToBe(why), _) => (Verdict::NotRun, Some(why)),
    })
}

/// Whether it is about limits that a run can be told to do without.
fn needs_limits(attack: &Attack) -> bool {
    use cofferdam_core::attack::Step;
    let Way::Steps(steps) = attack.way else { return false };
    steps.iter().any(|step| match step {
        Step::Run(flags, ..) => flags.contains(&"--memory") || flags.contains(&"--pids"),
        _ => false,
    })
}
