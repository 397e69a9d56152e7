//! Which backends can serve, by what was checked.

use cofferdam_core::backend::Backend;
use serde::Serialize;

use super::check::{Check, Status};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BackendVerdict {
    pub backend: Backend,
    pub usable: bool,
    pub because: String,
}

/// What the native backend is made of. A check that was not made is as bad as one that failed.
const NATIVE: [&str; 13] = [
    "process.privileges",
    "namespace.user",
    "namespace.mount",
    "namespace.pid",
    "namespace.net",
    "namespace.ipc",
    "namespace.uts",
    "namespace.cgroup",
    "overlay.mount",
    "overlay.upper",
    "seccomp.filter",
    "native.sandbox",
    "state.writable",
];

/// Switches that undo a need although the trial went well; to be absent is fine.
const NATIVE_SWITCHES: [&str; 3] =
    ["sysctl.unprivileged_userns_clone", "sysctl.max_user_namespaces", "apparmor.userns"];

/// Each of them is needed to hold any limit.
const LIMITS: [&str; 4] = ["cgroup.memory", "cgroup.pids", "cgroup.cpu", "cgroup.delegation"];

/// One verdict a backend, in the order of preference.
pub fn verdict(checks: &[Check]) -> Vec<BackendVerdict> {
    let checks = Checks(checks);
    Backend::ALL
        .into_iter()
        .map(|backend| {
            let judged = match backend {
                Backend::Docker => engine(&checks, "docker.answer", "docker.container"),
                Backend::Podman => engine(&checks, "podman.answer", "podman.container"),
                Backend::Native => native(&checks),
                Backend::Local => local(&checks),
            };
            let usable = judged.is_ok();
            let (Ok(because) | Err(because)) = judged;
            BackendVerdict { backend, usable, because }
        })
        .collect()
}

struct Checks<'a>(&'a [Check]);

impl Checks<'_> {
    fn status(&self, id: &str) -> Option<Status> {
        self.0.iter().find(|check| check.id == id).map(|check| check.status)
    }

    fn holds(&self, id: &str) -> bool {
        matches!(self.status(id), Some(Status::Ok | Status::Warn))
    }

    fn fails(&self, id: &str) -> bool {
        self.status(id) == Some(Status::Fail)
    }
}

/// The reason why, or the reason why not.
type Judged = Result<String, String>;

fn engine(checks: &Checks<'_>, answer: &str, container: &str) -> Judged {
    if !checks.holds("state.writable") {
        return Err("it needs state.writable".to_owned());
    }
    match (checks.holds(answer), checks.holds(container)) {
        (true, true) if checks.status(container) == Some(Status::Warn) => {
            Ok(format!("the engine answers, and takes runs with an image: see {container}"))
        }
        (true, true) => Ok("the engine answers and ran a container".to_owned()),
        (true, false) => Err(format!("the engine answers, but see {container}")),
        (false, _) => Err(format!("no engine answers: see {answer}")),
    }
}

fn native(checks: &Checks<'_>) -> Judged {
    let lacking = NATIVE.into_iter().filter(|id| !checks.holds(id));
    let switched_off = NATIVE_SWITCHES.into_iter().filter(|id| checks.fails(id));
    let obstacles: Vec<_> = lacking.chain(switched_off).collect();
    if !obstacles.is_empty() {
        return Err(format!("it needs {}", obstacles.join(", ")));
    }
    let mut because = "a sandbox could be made".to_owned();
    if checks.status("overlay.upper") != Some(Status::Ok) {
        because += "; a workspace is worked on in a copy: see overlay.upper";
    }
    if !LIMITS.into_iter().all(|id| checks.status(id) == Some(Status::Ok)) {
        because += "; limits cannot be held, so runs need --relax limits";
    }
    if checks.status("landlock.abi") != Some(Status::Ok) {
        because += "; Landlock is missing or old: see landlock.abi";
    }
    Ok(because)
}

fn local(checks: &Checks<'_>) -> Judged {
    match checks.holds("state.writable") {
        true => Ok("it needs nothing and confines nothing".to_owned()),
        false => Err("it needs state.writable".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::check::Question;

    /// Every check that a verdict looks at, all well but one.
    fn host(odd: &'static str, status: Status) -> Vec<Check> {
        let ids = NATIVE.into_iter().chain(NATIVE_SWITCHES).chain(LIMITS);
        let ids = ids.chain(["landlock.abi", "docker.answer", "podman.answer"]);
        let ids = ids.chain(["docker.container", "podman.container"]);
        ids.map(|id| {
            let check = Question::new(id, "a thing").ok("fine");
            if id == odd { Check { status, ..check } } else { check }
        })
        .collect()
    }

    fn of(backend: Backend, checks: &[Check]) -> BackendVerdict {
        verdict(checks).into_iter().find(|one| one.backend == backend).unwrap()
    }

    #[test]
    fn a_fit_host_runs_native_without_reserve() {
        let fit = of(Backend::Native, &host("", Status::Ok));
        assert!(fit.usable && !fit.because.contains("relax"), "{fit:?}");
    }

    #[test]
    fn each_need_stops_native_and_is_named() {
        for id in NATIVE.into_iter().chain(NATIVE_SWITCHES) {
            let unfit = of(Backend::Native, &host(id, Status::Fail));
            assert!(!unfit.usable && unfit.because.contains(id), "{unfit:?}");
            assert!(of(Backend::Native, &host(id, Status::Warn)).usable, "{id}");
        }
    }

    #[test]
    fn what_was_not_looked_at_is_not_there() {
        assert!(verdict(&[]).iter().all(|one| !one.usable));
        for id in NATIVE {
            let mut checks = host("", Status::Ok);
            checks.retain(|check| check.id != id);
            assert!(!of(Backend::Native, &checks).usable, "{id}");
        }
    }

    #[test]
    fn missing_limits_and_landlock_are_said_and_do_not_stop_it() {
        for id in LIMITS {
            let verdict = of(Backend::Native, &host(id, Status::Warn));
            assert!(verdict.usable && verdict.because.contains("--relax limits"), "{verdict:?}");
        }
        let verdict = of(Backend::Native, &host("landlock.abi", Status::Warn));
        assert!(verdict.usable && verdict.because.contains("landlock.abi"), "{verdict:?}");
    }

    #[test]
    fn an_engine_has_to_run_a_container() {
        assert!(of(Backend::Docker, &host("", Status::Ok)).usable);
        for id in ["docker.answer", "docker.container", "state.writable"] {
            let verdict = of(Backend::Docker, &host(id, Status::Fail));
            assert!(!verdict.usable && verdict.because.contains(id), "{verdict:?}");
        }
        assert!(of(Backend::Podman, &host("docker.container", Status::Fail)).usable);
    }

    #[test]
    fn local_needs_its_records() {
        assert!(of(Backend::Local, &host("seccomp.filter", Status::Fail)).usable);
        assert!(!of(Backend::Local, &host("state.writable", Status::Fail)).usable);
    }
}
