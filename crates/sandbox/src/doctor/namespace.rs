//! Namespaces, each made once in a child, and the switches by which hosts turn them off.

use std::fs;
use std::io;

use cofferdam_native::apparmor::Standing;
use cofferdam_native::probe::{self, Namespace};

use super::check::{Check, Question};
use super::{Place, Who};

const CLONE: Question =
    Question::new("sysctl.unprivileged_userns_clone", "user namespaces for everybody");
const MAX: Question = Question::new("sysctl.max_user_namespaces", "number of user namespaces");
const APPARMOR: Question = Question::new("apparmor.userns", "AppArmor on user namespaces");

pub(super) fn examine(place: &Place) -> Vec<Check> {
    let who = place.who();
    let trials = Namespace::ALL.map(|one| (one, trial(one)));
    let user = trials.iter().find(|(one, _)| *one == Namespace::User);
    let denied = user.is_some_and(|(_, trial)| trial.is_denied());
    let mut checks: Vec<_> =
        trials.into_iter().map(|(one, trial)| judge(one, trial, who)).collect();
    checks.extend(judge_switches(who, &Switches::read()));
    checks.push(judge_apparmor(who, Standing::read(), denied));
    checks
}

/// What came of making one.
#[derive(Debug)]
enum Trial {
    Made,
    Refused(io::Error),
    /// The child that should have tried could not.
    Untried(String),
}

impl Trial {
    /// By whoever gives rights, and not for want of room or of a newer kernel.
    fn is_denied(&self) -> bool {
        matches!(self, Self::Refused(error) if error.kind() == io::ErrorKind::PermissionDenied)
    }
}

fn trial(namespace: Namespace) -> Trial {
    match probe::namespace(namespace) {
        Ok(0) => Trial::Made,
        Ok(errno) => Trial::Refused(io::Error::from_raw_os_error(errno)),
        Err(error) => Trial::Untried(format!("{error}: {}", error.source)),
    }
}

const fn question(namespace: Namespace) -> Question {
    match namespace {
        Namespace::User => Question::new("namespace.user", "user namespace"),
        Namespace::Mount => Question::new("namespace.mount", "mount namespace"),
        Namespace::Pid => Question::new("namespace.pid", "process namespace"),
        Namespace::Net => Question::new("namespace.net", "network namespace"),
        Namespace::Ipc => Question::new("namespace.ipc", "IPC namespace"),
        Namespace::Uts => Question::new("namespace.uts", "host name namespace"),
        Namespace::Cgroup => Question::new("namespace.cgroup", "cgroup namespace"),
    }
}

fn judge(namespace: Namespace, trial: Trial, who: Who) -> Check {
    let question = question(namespace);
    let (seen, remedy) = match trial {
        Trial::Made => return question.ok("made one"),
        Trial::Untried(why) => (why, "end some processes, or raise the limit on them".to_owned()),
        Trial::Refused(error) => {
            let remedy = match error.kind() {
                // The limit of user.max_*_namespaces, and nesting too deep (namespaces(7)).
                io::ErrorKind::StorageFull => {
                    format!("raise user.max_{}_namespaces with sysctl", limit_name(namespace))
                }
                io::ErrorKind::InvalidInput => {
                    format!("use a kernel with {} namespaces", namespace.name())
                }
                _ => "see the checks on user namespaces; in a container, its engine forbids it: \
                      run Cofferdam on the host"
                    .to_owned(),
            };
            let what = match namespace {
                Namespace::User => "cannot be made, or not be used",
                _ => "cannot be made",
            };
            (format!("{what}: {error}"), remedy)
        }
    };
    match (namespace, who) {
        (Namespace::User, Who::Root) => question.warn(format!("{seen}; root does without"), remedy),
        _ => question.fail(seen, remedy),
    }
}

/// The kernel's name in the sysctl, which for mounts is not the common one.
const fn limit_name(namespace: Namespace) -> &'static str {
    match namespace {
        Namespace::Mount => "mnt",
        other => other.name(),
    }
}

/// As read; `None` where the kernel has no such switch.
#[derive(Debug, Default)]
struct Switches {
    clone: Option<String>,
    max: Option<String>,
}

impl Switches {
    fn read() -> Self {
        let read = |path: &str| Some(fs::read_to_string(path).ok()?.trim_end().to_owned());
        Self {
            clone: read("/proc/sys/kernel/unprivileged_userns_clone"),
            max: read("/proc/sys/user/max_user_namespaces"),
        }
    }
}

const ABSENT: &str = "the kernel has no such switch";
const ROOT: &str = "root needs no user namespace";

fn judge_switches(who: Who, switches: &Switches) -> [Check; 2] {
    if who == Who::Root {
        return [CLONE, MAX].map(|question| question.not_applicable(ROOT));
    }
    let clone = match switches.clone.as_deref() {
        None => CLONE.not_applicable(ABSENT),
        Some("0") => CLONE.fail(
            "kernel.unprivileged_userns_clone is 0",
            "sudo sysctl -w kernel.unprivileged_userns_clone=1, and a line in /etc/sysctl.d to keep it",
        ),
        Some(value) => CLONE.ok(format!("kernel.unprivileged_userns_clone is {value}")),
    };
    let max = match switches.max.as_deref() {
        None => MAX.not_applicable(ABSENT),
        Some("0") => MAX.fail(
            "user.max_user_namespaces is 0",
            "sudo sysctl -w user.max_user_namespaces=15000, and a line in /etc/sysctl.d to keep it",
        ),
        Some(value) => MAX.ok(format!("user.max_user_namespaces is {value}")),
    };
    [clone, max]
}

/// A profile may allow too little, which can only be seen by making a namespace and using it.
fn judge_apparmor(who: Who, standing: Standing, denied: bool) -> Check {
    if who == Who::Root {
        return APPARMOR.not_applicable(ROOT);
    }
    match standing {
        Standing::NoSwitch => APPARMOR.not_applicable(ABSENT),
        Standing::Off => APPARMOR.ok("kernel.apparmor_restrict_unprivileged_userns is 0"),
        Standing::Restricted(lack) => APPARMOR.fail(lack.reason, lack.remedy),
        Standing::Profiled(profiled) if denied => {
            let lack = profiled.denied();
            APPARMOR.fail(lack.reason, lack.remedy)
        }
        Standing::Profiled(profiled) => {
            APPARMOR.ok(format!("restricted, but this program has the profile {}", profiled.label))
        }
    }
}

#[cfg(test)]
mod tests;
