//! `cofferdam doctor` as a user meets it.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use cofferdam_testkit::{Finished, TestEnv};

const NATIVE: [&str; 22] = [
    "kernel.version",
    "process.privileges",
    "namespace.user",
    "namespace.mount",
    "namespace.pid",
    "namespace.net",
    "namespace.ipc",
    "namespace.uts",
    "namespace.cgroup",
    "sysctl.unprivileged_userns_clone",
    "sysctl.max_user_namespaces",
    "apparmor.userns",
    "overlay.mount",
    "overlay.upper",
    "seccomp.filter",
    "landlock.abi",
    "cgroup.version",
    "cgroup.memory",
    "cgroup.pids",
    "cgroup.cpu",
    "cgroup.delegation",
    "native.sandbox",
];
const ENGINES: [&str; 8] = [
    "docker.binary",
    "docker.socket",
    "docker.container",
    "docker.answer",
    "podman.binary",
    "podman.socket",
    "podman.container",
    "podman.answer",
];

fn test_env() -> TestEnv {
    TestEnv::with_binary(env!("CARGO_BIN_EXE_cofferdam"))
}

fn ids(done: &Finished) -> BTreeSet<String> {
    let report = done.json();
    let checks = report["checks"].as_array().expect("checks are a list");
    checks.iter().map(|check| check["id"].as_str().expect("an id is text").to_owned()).collect()
}

fn set(names: &[&[&str]]) -> BTreeSet<String> {
    names.concat().into_iter().map(str::to_owned).collect()
}

fn check(done: &Finished, id: &str) -> serde_json::Value {
    let report = done.json();
    let checks = report["checks"].as_array().expect("checks are a list");
    checks.iter().find(|check| check["id"] == id).cloned().unwrap_or_else(|| panic!("no {id}"))
}

/// Whether a backend that confines is usable, by the report's own word.
fn some_confines(done: &Finished) -> bool {
    let report = done.json();
    let backends = report["backends"].as_array().expect("backends are a list");
    backends.iter().any(|one| one["backend"] != "local" && one["usable"] == true)
}

#[test]
fn json_has_every_check_and_every_backend() {
    for env in [test_env(), test_env().unprivileged()] {
        let done = env.run(["doctor", "--json"]);
        assert_eq!(ids(&done), set(&[&NATIVE, &ENGINES, &["state.writable"]]));
        let report = done.json();
        let backends: Vec<_> =
            report["backends"].as_array().unwrap().iter().map(|one| &one["backend"]).collect();
        assert_eq!(backends, ["docker", "podman", "native", "local"]);
        for check in report["checks"].as_array().unwrap() {
            let bad = check["status"] == "warn" || check["status"] == "fail";
            assert!(!bad || check["remedy"].is_string(), "no remedy: {check}");
        }
        done.assert_exit(if some_confines(&done) { 0 } else { 1 });
    }
}

#[test]
fn the_table_says_the_same_with_a_line_a_check() {
    let env = test_env();
    let done = env.run(["doctor"]);
    let text = done.stdout_text();
    for id in NATIVE.iter().chain(&ENGINES) {
        let lines = text.lines().filter(|line| line.split_whitespace().nth(1) == Some(id));
        assert_eq!(lines.count(), 1, "{id} in\n{text}");
    }
    assert!(text.contains("\ndocker  not usable: "), "{text}");
    assert!(done.stderr.is_empty());
}

#[test]
fn one_backend_decides_alone() {
    let env = test_env();
    let local = env.run(["doctor", "--backend", "local", "--json"]);
    assert_eq!(ids(&local), set(&[&["state.writable"]]));
    local.assert_exit(0);
    // Nothing answers there.
    let docker = env.run(["doctor", "--backend", "docker", "--json"]);
    assert_eq!(ids(&docker), set(&[&ENGINES[..4], &["state.writable"]]));
    docker.assert_exit(1);
    let native = env.run(["doctor", "--backend", "native", "--json"]);
    assert_eq!(ids(&native), set(&[&NATIVE, &["state.writable"]]));
    native.assert_exit(if some_confines(&native) { 0 } else { 1 });
    env.run(["doctor", "--backend", "magic"]).assert_exit(2);
}

#[test]
fn a_state_directory_that_cannot_be_made_stops_everything() {
    let env = test_env();
    fs::write(env.state_dir(), "in the way").unwrap();
    let done = env.run(["doctor", "--json"]);
    done.assert_exit(1);
    assert_eq!(check(&done, "state.writable")["status"], "fail");
    assert!(!some_confines(&done));
}

#[test]
fn the_home_stays_as_it_was() {
    let env = test_env();
    let before = env.tree_hash(env.top());
    env.run(["doctor"]);
    assert_eq!(env.tree_hash(env.top()), before);
}

#[test]
fn an_engine_that_hangs_is_not_waited_for() {
    let env = test_env();
    let socket = env.top().join("hung.sock");
    let _listener = UnixListener::bind(&socket).unwrap();
    let mut command = env.cofferdam();
    command.args(["doctor", "--json", "--backend", "docker"]);
    command.env("DOCKER_HOST", format!("unix://{}", socket.display()));
    let start = Instant::now();
    let done = env.finish(command);
    assert!(start.elapsed() < Duration::from_secs(15), "took {:?}", start.elapsed());
    done.assert_exit(1);
    assert_eq!(check(&done, "docker.socket")["status"], "ok");
    assert_eq!(check(&done, "docker.answer")["status"], "fail");
}

#[test]
fn a_socket_of_somebody_else_is_denied_to_an_ordinary_user() {
    let env = test_env().unprivileged();
    let socket = env.top().join("closed.sock");
    let _listener = UnixListener::bind(&socket).unwrap();
    let closed = std::os::unix::fs::PermissionsExt::from_mode(0o000);
    fs::set_permissions(&socket, closed).unwrap();
    let mut command = env.cofferdam();
    command.args(["doctor", "--json", "--backend", "podman"]);
    command.env("CONTAINER_HOST", format!("unix://{}", socket.display()));
    let done = env.finish(command);
    let found = check(&done, "podman.socket");
    assert_eq!(found["status"], "fail");
    assert!(found["detail"].as_str().unwrap().contains("permission denied"), "{found}");
}

#[test]
fn an_address_with_a_password_is_not_shown() {
    let env = test_env();
    for (address, words) in [
        ("tcp://me:pa55@192.0.2.1:1", "DOCKER_HOST holds more than a user, a host and a port"),
        ("ssh://me:pa55@192.0.2.1", "DOCKER_HOST holds a password"),
        ("tcp://192.0.2.1:2376", "DOCKER_HOST names another host by tcp://"),
    ] {
        let mut command = env.cofferdam();
        command.args(["doctor", "--backend", "docker"]).env("DOCKER_HOST", address);
        let done = env.finish(command);
        assert!(done.stdout_text().contains(words), "{}", done.stdout_text());
        assert!(!done.stdout_text().contains("pa55"));
    }
}

#[test]
fn a_whole_sandbox_is_made_where_one_can_be_and_not_where_it_cannot() {
    for env in [test_env(), test_env().unprivileged()] {
        let done = env.run(["doctor", "--backend", "native", "--json"]);
        let made = check(&done, "native.sandbox");
        assert_eq!(made["status"], "ok", "{made}");
        assert!(made["detail"].as_str().unwrap().starts_with("made one"), "{made}");
    }
    // A root of a user namespace that lost every capability.
    let env = test_env();
    let mut bare = env.program("unshare");
    bare.args(["--user", "--map-root-user", "setpriv", "--bounding-set=-all", "--inh-caps=-all"]);
    bare.arg(env.cofferdam().get_program()).args(["doctor", "--backend", "native", "--json"]);
    let done = env.finish(bare);
    let failed = check(&done, "native.sandbox");
    assert_eq!(failed["status"], "fail", "{failed}");
    assert!(failed["remedy"].is_string() && !some_confines(&done));
    done.assert_exit(1);
}
