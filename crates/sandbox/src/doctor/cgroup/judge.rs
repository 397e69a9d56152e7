//! Checks out of what was found about control groups.

use std::io;

use cofferdam_core::caps::Lack;
use cofferdam_native::DELEGATE;

use super::{Controller, Facts, Found, Layout, Trial, Version};
use crate::doctor::Who;
use crate::doctor::check::{Check, Question};

const VERSION: Question = Question::new("cgroup.version", "control groups");
const MEMORY: Question = Question::new("cgroup.memory", "memory limit");
const PIDS: Question = Question::new("cgroup.pids", "process limit");
const CPU: Question = Question::new("cgroup.cpu", "cpu limit");
const DELEGATION: Question = Question::new("cgroup.delegation", "a control group of our own");

/// Version 1 cannot be handed to users safely, so systemd does not.
const UNIFY: &str = "boot with version 2 only (systemd.unified_cgroup_hierarchy=1), where users can be \
    given groups, or run as root; or give limits up by name with --relax limits";

/// A remedy, and what one can do without it.
fn relaxing(remedy: &str) -> String {
    format!("{remedy}; or give limits up by name with --relax limits")
}

pub(super) fn judge(facts: io::Result<Facts>, who: Who) -> Vec<Check> {
    let facts = match facts {
        Ok(facts) => facts,
        Err(error) => {
            let unread = |q: Question| q.warn(format!("/proc/self: {error}"), "mount /proc");
            return [VERSION, MEMORY, PIDS, CPU, DELEGATION].map(unread).into();
        }
    };
    let mut checks = vec![version(facts.layout)];
    for (controller, found) in &facts.controllers {
        checks.push(limit(*controller, found.as_ref(), facts.lack.as_ref(), who));
    }
    checks.push(delegation(&facts, who));
    checks
}

fn version(layout: Layout) -> Check {
    match layout {
        Layout::V2 => VERSION.ok("version 2"),
        Layout::V1 => VERSION.ok("version 1"),
        Layout::Hybrid => VERSION.ok("hybrid: version 1, with version 2 beside it"),
        Layout::Absent => VERSION.warn(
            "none that we could use",
            "mount cgroup2 at /sys/fs/cgroup; or give limits up by name with --relax limits",
        ),
    }
}

fn limit(controller: Controller, found: Option<&Found>, lack: Option<&Lack>, who: Who) -> Check {
    let question = match controller {
        Controller::Memory => MEMORY,
        Controller::Pids => PIDS,
        Controller::Cpu => CPU,
    };
    let name = controller.name();
    let Some(found) = found else {
        let remedy = match who {
            Who::Root => format!(
                "use a kernel with the {name} controller (for memory it may need \
                 cgroup_enable=memory on its command line); or --relax limits"
            ),
            Who::Ordinary => relaxing(DELEGATE),
        };
        return question.warn(format!("no {name} controller where we are"), remedy);
    };
    let version = match found.version {
        Version::V1 => "version 1",
        Version::V2 => "version 2",
    };
    let seen = format!("{name} controller of {version} at {}", found.dir.display());
    match (&found.trial, who, lack) {
        // At the top root can hand it down at any time, and in a group of their own others can.
        (Trial::Withheld, Who::Ordinary, Some(lack)) => question.warn(
            format!("{seen}, not handed down to groups below it: {}", lack.reason),
            format!("{}; or --relax limits", lack.remedy),
        ),
        _ => question.ok(seen),
    }
}

fn delegation(facts: &Facts, who: Who) -> Check {
    let found = || facts.controllers.iter().filter_map(|(_, found)| found.as_ref());
    for one in found() {
        let dir = one.dir.display();
        match (&one.trial, who) {
            (Trial::Left(group, error), _) => {
                let group = group.display();
                return DELEGATION.warn(
                    format!("{group} was made and not removed: {error}"),
                    format!("rmdir {group}"),
                );
            }
            (Trial::Refused(error), Who::Ordinary) => {
                return match (one.version, &facts.lack) {
                    (Version::V2, Some(lack)) => {
                        DELEGATION.warn(lack.reason.as_str(), relaxing(&lack.remedy))
                    }
                    (version, _) => {
                        let remedy = match version {
                            Version::V1 => UNIFY.to_owned(),
                            Version::V2 => relaxing(DELEGATE),
                        };
                        DELEGATION.warn(format!("no group can be made in {dir}: {error}"), remedy)
                    }
                };
            }
            (Trial::Refused(error), Who::Root) => {
                return DELEGATION.warn(
                    format!("no group can be made in {dir}: {error}"),
                    "mount /sys/fs/cgroup writable (in a container, run Cofferdam on the host); or \
                     give limits up by name with --relax limits",
                );
            }
            (Trial::HandedDown | Trial::Withheld, _) => {}
        }
    }
    match found().next() {
        Some(_) => DELEGATION.ok("made one"),
        None => DELEGATION.not_applicable("no controller to make one for"),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::doctor::Status;

    fn found(trial: Trial) -> Option<Found> {
        Some(Found { version: Version::V2, dir: PathBuf::from("/cg"), trial })
    }

    fn statuses(layout: Layout, who: Who, trial: impl Fn() -> Option<Found>) -> Vec<Status> {
        let controllers = Controller::ALL.map(|one| (one, trial()));
        let checks = judge(Ok(Facts { layout, controllers, lack: lack() }), who);
        checks.iter().map(|check| check.status).collect()
    }

    fn lack() -> Option<Lack> {
        let (reason, remedy) = ("no scope could be had".into(), "log in".into());
        Some(Lack { reason, remedy })
    }

    fn denied() -> io::Error {
        io::Error::from(io::ErrorKind::PermissionDenied)
    }

    const OK: Status = Status::Ok;
    const WARN: Status = Status::Warn;

    #[test]
    fn all_there() {
        let made = || found(Trial::HandedDown);
        assert_eq!(statuses(Layout::V2, Who::Ordinary, made), [OK; 5]);
        assert_eq!(statuses(Layout::Hybrid, Who::Root, made), [OK; 5]);
    }

    #[test]
    fn no_group_of_our_own() {
        let refused = || found(Trial::Refused(denied()));
        assert_eq!(statuses(Layout::V1, Who::Ordinary, refused), [OK, OK, OK, OK, WARN]);
        for (version, part) in
            [(Version::V2, "Delegate=cpu memory pids"), (Version::V1, "unified_cgroup_hierarchy=1")]
        {
            let found = || refused().map(|found| Found { version, ..found });
            let controllers = Controller::ALL.map(|one| (one, found()));
            let facts = Facts { layout: Layout::Hybrid, controllers, lack: None };
            let remedy = delegation(&facts, Who::Ordinary).remedy.unwrap();
            assert!(remedy.contains(part), "{remedy}");
        }
    }

    #[test]
    fn controllers_that_are_held_back() {
        let withheld = || found(Trial::Withheld);
        assert_eq!(statuses(Layout::V2, Who::Ordinary, withheld), [OK, WARN, WARN, WARN, OK]);
        assert_eq!(statuses(Layout::V2, Who::Root, withheld), [OK; 5]);
        // In a group of our own we hand them down ourselves.
        let controllers = Controller::ALL.map(|one| (one, withheld()));
        let own = judge(Ok(Facts { layout: Layout::V2, controllers, lack: None }), Who::Ordinary);
        assert!(own.iter().all(|check| check.status == OK), "{own:?}");
    }

    #[test]
    fn nothing_there_or_nothing_to_read_warns_and_never_passes() {
        let absent = statuses(Layout::Absent, Who::Root, || None);
        assert_eq!(absent, [WARN, WARN, WARN, WARN, Status::NotApplicable]);
        let unread = judge(Err(denied()), Who::Root);
        assert!(unread.iter().all(|check| check.status == WARN) && unread.len() == 5);
    }

    #[test]
    fn a_group_left_behind_is_named() {
        let controllers = Controller::ALL
            .map(|one| (one, found(Trial::Left(PathBuf::from("/cg/cofferdam-probe-1"), denied()))));
        let check = delegation(&Facts { layout: Layout::V2, controllers, lack: None }, Who::Root);
        assert_eq!(check.remedy.as_deref(), Some("rmdir /cg/cofferdam-probe-1"));
    }
}
