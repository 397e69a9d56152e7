//! Where groups can be made on this host, and if nowhere, why and what would help.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cofferdam_core::caps::Lack;
use rustix::fs::{Access, access, statfs};

use super::{Controller, scope, v2};
use crate::identity::effective_uid;
use crate::kernel_text;

const MOUNT: &str = "/sys/fs/cgroup";
const V1_MAGIC: u64 = 0x0027_e0eb;
const V2_MAGIC: u64 = 0x6367_7270;
/// Where the supervisor stands while the groups beside it are limited.
pub const SUPERVISOR: &str = "cofferdam.supervisor";

/// What an ordinary user can do where the user's service manager gave no group.
const MANAGED: &str = "log in where systemd runs a service manager for you (`sudo loginctl enable-linger $USER` keeps one), \
     or run it as root";

/// What the owner of a host can do where a controller is not given to users.
pub const DELEGATE: &str = "let systemd hand the controllers to users: `[Service]` and `Delegate=cpu memory pids` in \
     /etc/systemd/system/user@.service.d/delegate.conf, then sudo systemctl daemon-reload and a new login";

/// The hierarchies that limits can be held in.
#[derive(Debug)]
pub(crate) enum Survey {
    Unified { base: PathBuf, lacks: Vec<(Controller, Lack)> },
    Separate(Vec<(Controller, Result<PathBuf, Lack>)>),
}

impl Survey {
    /// The directory below which a group for this controller can be made.
    pub(crate) fn seat(&self, wanted: Controller) -> Result<&Path, &Lack> {
        match self {
            Self::Unified { base, lacks } => match lacks.iter().find(|(c, _)| *c == wanted) {
                Some((_, lack)) => Err(lack),
                None => Ok(base),
            },
            Self::Separate(seats) => match seats.iter().find(|(c, _)| *c == wanted) {
                Some((_, seat)) => seat.as_deref(),
                None => unreachable!("every controller is looked for"),
            },
        }
    }

    pub(super) fn bases(&self) -> Vec<PathBuf> {
        let mut bases: Vec<_> = Controller::ALL
            .into_iter()
            .filter_map(|controller| self.seat(controller).ok().map(Path::to_owned))
            .collect();
        bases.dedup();
        bases
    }
}

/// Looks for a place. A few reads of small files: this is on the way of every start.
pub(crate) fn survey() -> Survey {
    survey_unified().unwrap_or_else(survey_separate)
}

/// [`survey`] for who is about to make groups: where an ordinary user has no place for them, the user's service manager
/// is asked for one, and this process moves there.
pub(crate) fn claim() -> Survey {
    claim_unified().unwrap_or_else(survey_separate)
}

/// The same for the unified hierarchy alone, the only one that is handed to users.
pub(crate) fn claim_unified() -> Option<Survey> {
    let found = survey_unified()?;
    let Survey::Unified { base, lacks } = &found else { return Some(found) };
    if lacks.is_empty() || effective_uid() == 0 {
        return Some(found);
    }
    // Once is enough: what it could not give then it has not now.
    static ASKED: OnceLock<Result<(), String>> = OnceLock::new();
    match ASKED.get_or_init(|| enter_scope().map_err(|e| e.to_string())) {
        Ok(()) => survey_unified(),
        Err(reason) => {
            let because = |lack: &Lack| Lack {
                reason: format!("{}; the user's service manager gave none: {reason}", lack.reason),
                remedy: MANAGED.to_owned(),
            };
            let lacks = lacks.iter().map(|(c, lack)| (*c, because(lack))).collect();
            Some(Survey::Unified { base: base.clone(), lacks })
        }
    }
}

/// Moves into a scope, and there out of the way at once. A process that we start from here on, such as the guard of a
/// terminal, is born beside the groups that come and not where it would stop them from being limited.
fn enter_scope() -> io::Result<()> {
    scope::enter(effective_uid())?;
    let Some(found @ Survey::Unified { .. }) = survey_unified() else { return Ok(()) };
    let given: Vec<_> = Controller::ALL.into_iter().filter(|c| found.seat(*c).is_ok()).collect();
    found.bases().first().map_or(Ok(()), |base| {
        v2::enable(base, &given).map_err(|e| io::Error::new(e.source.kind(), e))
    })
}

/// Takes the place that a run would take. What is missing, where something is.
pub fn claim_place() -> Option<Lack> {
    let found = claim();
    Controller::ALL.into_iter().find_map(|controller| found.seat(controller).err().cloned())
}

/// The unified hierarchy, where it has something to offer: in a hybrid layout it may not.
pub(crate) fn survey_unified() -> Option<Survey> {
    for mount in [MOUNT.to_owned(), format!("{MOUNT}/unified")] {
        let controllers = kernel_text::read(format!("{mount}/cgroup.controllers"));
        let Ok(controllers) = controllers else { continue };
        if controllers.contains("memory") && magic(&mount) == Some(V2_MAGIC) {
            return Some(unified(&mount, own_path()));
        }
    }
    None
}

/// One hierarchy per controller, for hosts without the unified one.
pub(crate) fn survey_separate() -> Survey {
    Survey::Separate(Controller::ALL.map(|c| (c, separate(c))).into())
}

fn unified(mount: &str, own: Option<String>) -> Survey {
    let base = if effective_uid() == 0 {
        PathBuf::from(mount)
    } else {
        let own = own.unwrap_or_default();
        let own = own.strip_suffix(&format!("/{SUPERVISOR}")).unwrap_or(&own);
        PathBuf::from(mount).join(own.trim_start_matches('/'))
    };
    let all = |lack: &Lack| Controller::ALL.map(|c| (c, lack.clone())).into();
    if let Err(lack) = writable(&base) {
        return Survey::Unified { base, lacks: all(&lack) };
    }
    if let Some(lack) = crowded(&base) {
        return Survey::Unified { base, lacks: all(&lack) };
    }
    let here = fs::read_to_string(base.join("cgroup.controllers")).unwrap_or_default();
    let lacks = Controller::ALL
        .into_iter()
        .filter(|c| !here.split_ascii_whitespace().any(|name| name == c.name()))
        .map(|c| {
            let reason = format!("the {} controller is not given to {}", c.name(), base.display());
            (c, Lack { reason, remedy: format!("{DELEGATE}; or run it as root") })
        })
        .collect();
    Survey::Unified { base, lacks }
}

/// A group with processes in it cannot have limited groups below it, the root of all excepted. Ours is
/// no obstacle where we are alone: we can step aside.
fn crowded(base: &Path) -> Option<Lack> {
    let passed_on = fs::read_to_string(base.join("cgroup.subtree_control")).unwrap_or_default();
    let is_root = !base.join("cgroup.type").exists();
    if is_root || Controller::ALL.iter().all(|c| passed_on.contains(c.name())) {
        return None;
    }
    let inside = fs::read_to_string(base.join("cgroup.procs")).unwrap_or_default();
    let us = std::process::id().to_string();
    let others = inside.lines().filter(|pid| *pid != us).count();
    (others > 0).then(|| Lack {
        reason: format!("the control group {} has other processes in it", base.display()),
        remedy: MANAGED.to_owned(),
    })
}

fn separate(controller: Controller) -> Result<PathBuf, Lack> {
    let mount = format!("{MOUNT}/{}", controller.name());
    if magic(&mount) != Some(V1_MAGIC) {
        return Err(Lack {
            reason: format!("this host has no {} control groups", controller.name()),
            remedy: "mount the cgroup2 file system on /sys/fs/cgroup".to_owned(),
        });
    }
    let mut base = PathBuf::from(mount);
    if effective_uid() != 0 {
        let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let own = v1_path(&text, controller.name()).unwrap_or_default();
        base.push(own.trim_start_matches('/'));
    }
    writable(&base)?;
    Ok(base)
}

fn writable(dir: &Path) -> Result<(), Lack> {
    access(dir, Access::WRITE_OK | Access::EXEC_OK).map_err(|errno| Lack {
        reason: format!("no control group can be made in {} ({errno})", dir.display()),
        remedy: MANAGED.to_owned(),
    })
}

fn magic(path: &str) -> Option<u64> {
    u64::try_from(statfs(path).ok()?.f_type).ok()
}

/// Our own group in the unified hierarchy.
pub(super) fn own_path() -> Option<String> {
    v2_path(&fs::read_to_string("/proc/self/cgroup").ok()?)
}

/// `0::/a/b`, see cgroups(7).
fn v2_path(text: &str) -> Option<String> {
    text.lines().find_map(|line| line.strip_prefix("0::")).map(str::to_owned)
}

/// `4:memory:/a/b`; several controllers may share a line.
fn v1_path(text: &str, controller: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        controllers.split(',').any(|name| name == controller).then(|| path.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "4:memory:/a:b/c\n2:cpu,cpuacct:/x\n1:name=systemd:/y\n0::/u/s.scope\n";

    #[test]
    fn our_own_groups_are_read_from_the_kernels_list() {
        assert_eq!(v2_path(HYBRID).as_deref(), Some("/u/s.scope"));
        assert_eq!(v2_path("4:memory:/a\n"), None);
        assert_eq!(v1_path(HYBRID, "memory").as_deref(), Some("/a:b/c"));
        assert_eq!(v1_path(HYBRID, "cpu").as_deref(), Some("/x"));
        assert_eq!(v1_path(HYBRID, "pids"), None);
    }

    #[test]
    fn a_seat_is_given_or_refused_with_a_remedy() {
        let lack = Lack { reason: "r".into(), remedy: "m".into() };
        let survey = Survey::Unified { base: "/x".into(), lacks: vec![(Controller::Cpu, lack)] };
        assert_eq!(survey.seat(Controller::Memory).unwrap(), Path::new("/x"));
        assert_eq!(survey.seat(Controller::Cpu).unwrap_err().remedy, "m");
        assert_eq!(survey.bases(), [PathBuf::from("/x")]);
    }
}
