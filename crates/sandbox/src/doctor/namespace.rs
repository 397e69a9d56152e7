//! Namespaces, each made once in a child, and the switches by which hosts turn them off.

use std::fs;
use std::io;

use cofferdam_native::probe::{self, Namespace};

use super::check::{Check, Question};
use super::{Place, Who};

const CLONE: Question =
    Question::new("sysctl.unprivileged_userns_clone", "user namespaces for everybody");
const MAX: Question = Question::new("sysctl.max_user_namespaces", "number of user namespaces");
const APPARMOR: Question = Question::new("apparmor.userns", "AppArmor on user namespaces");

pub(super) fn examine(place: &Place) -> Vec<Check> {
    let who = place.who();
    let mut checks: Vec<_> =
        Namespace::ALL.into_iter().map(|one| judge(one, trial(one), who)).collect();
    checks.extend(judge_switches(who, &Switches::read()));
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
            (format!("cannot be made: {error}"), remedy)
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
    apparmor: Option<String>,
    /// The AppArmor label of this process.
    label: Option<String>,
}

impl Switches {
    fn read() -> Self {
        let read = |path: &str| {
            let text = fs::read_to_string(path).ok()?;
            Some(text.trim_end_matches(['\n', '\0']).to_owned())
        };
        Self {
            clone: read("/proc/sys/kernel/unprivileged_userns_clone"),
            max: read("/proc/sys/user/max_user_namespaces"),
            apparmor: read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
            label: read("/proc/self/attr/apparmor/current"),
        }
    }
}

fn judge_switches(who: Who, switches: &Switches) -> [Check; 3] {
    if who == Who::Root {
        return [CLONE, MAX, APPARMOR].map(|q| q.not_applicable("root needs no user namespace"));
    }
    let absent = "the kernel has no such switch";
    let clone = match switches.clone.as_deref() {
        None => CLONE.not_applicable(absent),
        Some("0") => CLONE.fail(
            "kernel.unprivileged_userns_clone is 0",
            "sudo sysctl -w kernel.unprivileged_userns_clone=1, and a line in /etc/sysctl.d to keep it",
        ),
        Some(value) => CLONE.ok(format!("kernel.unprivileged_userns_clone is {value}")),
    };
    let max = match switches.max.as_deref() {
        None => MAX.not_applicable(absent),
        Some("0") => MAX.fail(
            "user.max_user_namespaces is 0",
            "sudo sysctl -w user.max_user_namespaces=15000, and a line in /etc/sysctl.d to keep it",
        ),
        Some(value) => MAX.ok(format!("user.max_user_namespaces is {value}")),
    };
    [clone, max, judge_apparmor(switches)]
}

/// Where it restricts, a user namespace can be made and is then worth nothing, unless the program has
/// a profile that says otherwise: so this cannot be seen by making one.
fn judge_apparmor(switches: &Switches) -> Check {
    match (switches.apparmor.as_deref(), switches.label.as_deref()) {
        (None, _) => APPARMOR.not_applicable("the kernel has no such switch"),
        (Some("0"), _) => APPARMOR.ok("kernel.apparmor_restrict_unprivileged_userns is 0"),
        (Some(_), Some(label)) if label != "unconfined" => {
            APPARMOR.ok(format!("restricted, but this program has the profile {label}"))
        }
        (Some(_), _) => APPARMOR.fail(
            "kernel.apparmor_restrict_unprivileged_userns is set and this program has no profile",
            "give the program an AppArmor profile that allows `userns`; or \
             sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
        ),
    }
}

#[cfg(test)]
mod tests;
