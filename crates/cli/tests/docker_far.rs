//! Engines that are not reached by a socket of this host: through a real `ssh` and a real `sshd`, and by a port of the
//! loopback, plain or in TLS. What is sent there and what comes back is claimed in `docker_machine.rs`; here it is the way.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cofferdam_testkit::docker::{Engine, PrivateEngine, Sshd, Which};
use cofferdam_testkit::{Authority, Finished, TestEnv, wait_until};
use serde_json::Value;

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");
const IMAGE: &str = "cofferdam-test-far:1";
/// Nothing may take longer to be given up.
const BOUND: Duration = Duration::from_secs(60);

fn import(engine: &Engine) {
    engine.import_busybox(IMAGE, &["sh", "cat", "tr", "sleep", "rm"], &[]);
}

/// Adds a run in the image to a command that knows its engine.
fn running(mut command: Command, flags: &[&str], script: &str) -> Command {
    command.args(["run", "--quiet", "--sandbox", "docker", "--image", IMAGE]).args(flags);
    command.args(["--", "sh", "-c", script]);
    command
}

fn quietly(mut command: Command) -> Child {
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// The checks of `doctor` about Docker: how each went, and what it says.
fn doctor(env: &TestEnv, mut command: Command) -> Vec<(String, String)> {
    command.args(["doctor", "--json"]);
    let done = env.finish(command);
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap().clone();
    let text = |check: &Value, name: &str| check[name].as_str().unwrap_or_default().to_owned();
    let ours = checks.iter().filter(|check| text(check, "id").starts_with("docker."));
    let told = |check: &Value| {
        (text(check, "status"), format!("{} {}", text(check, "detail"), text(check, "remedy")))
    };
    ours.map(told).collect()
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn by_ssh() {
    let engine = Engine::shared(Which::Docker);
    import(&engine);
    let env = TestEnv::with_binary(BINARY);
    let sshd = Sshd::before(&engine);
    let run = |host: &str, flags: &[&str], script: &str| {
        env.finish(running(sshd.cofferdam(&env, host), flags, script))
    };
    env.file("f", "old\n");
    let before = env.tree_hash("");
    run(Sshd::FAR, &[], "cat f; echo new > f; echo bad >&2; exit 7")
        .assert_exit(7)
        .assert_stdout("old\n")
        .assert_stderr_has("bad");
    assert_eq!(env.tree_hash(""), before, "nothing reaches the host before it is applied");
    assert_eq!(env.manifest("last").bytes("after", "f"), b"new\n");
    assert_eq!(env.latest_record()["effective"]["engine"], "ssh://far");
    assert_eq!(env.latest_record()["cleanup"]["receipt"], "terminated");
    run(Sshd::SHARED, &["--timeout", "1s"], "sleep 60").assert_exit(124);

    // Its input, to the end of it.
    let mut command = running(sshd.cofferdam(&env, Sshd::SHARED), &[], "tr a-z A-Z");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"shout").unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"SHOUT");

    let checks = doctor(&env, sshd.cofferdam(&env, Sshd::FAR));
    assert_eq!((checks[1].0.as_str(), checks[1].1.trim()), ("ok", "ssh://far (by ssh)"));
    assert_eq!(checks[2].0, "ok", "{checks:?}");

    killed(&engine, &env, &sshd);
    cut(&engine, &env, &sshd);
    assert_eq!(engine.left(&env.seen_runs()), Vec::<String>::new());
}

/// Waits until a container of `env`'s runs.
fn started(engine: &Engine, env: &TestEnv) -> bool {
    wait_until(BOUND, || {
        let running = engine.client(&["ps", "--format", "{{.Label \"cofferdam.run\"}}"]);
        let ours = env.seen_runs();
        running.lines().any(|run| ours.contains(run))
    })
}

/// Whoever is killed leaves a container that the next clean-up finds, by the way that stands in its note.
fn killed(engine: &Engine, env: &TestEnv, sshd: &Sshd) {
    let script = "echo precious > precious; sleep 600";
    let mut child = quietly(running(sshd.cofferdam(env, Sshd::SHARED), &[], script));
    assert!(started(engine, env));
    child.kill().unwrap();
    child.wait().unwrap();
    let mut gc = sshd.cofferdam(env, Sshd::SHARED);
    gc.arg("gc");
    env.finish(gc).assert_exit(0);
    assert_eq!(env.manifest("last").bytes("after", "precious"), b"precious\n");
}

/// A connection that breaks is never the command's failure, and what runs far away is ended all the same.
fn cut(engine: &Engine, env: &TestEnv, sshd: &Sshd) {
    let mut child = quietly(running(sshd.cofferdam(env, Sshd::SHARED), &[], "sleep 600"));
    assert!(started(engine, env));
    assert!(sshd.cut() > 0);
    assert!(wait_until(BOUND, || child.try_wait().unwrap().is_some()));
    assert_eq!(child.wait().unwrap().code(), Some(125));
    let record = env.latest_record();
    assert_eq!(record["outcome"]["class"], "sandbox_failure", "{record}");
    assert_eq!(record["cleanup"]["receipt"], "terminated", "by a new connection: {record}");
}

/// Runs where nothing can be reached: refused, with these words, in time.
#[track_caller]
fn refused(env: &TestEnv, command: Command, words: &[&str]) {
    let start = Instant::now();
    let done: Finished = env.finish(running(command, &[], "true"));
    done.assert_exit(125);
    words.iter().for_each(|words| {
        done.assert_stderr_has(words);
    });
    assert!(start.elapsed() < BOUND, "{:?}", start.elapsed());
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn who_is_not_let_in_is_told_why() {
    let env = TestEnv::with_binary(BINARY);
    let sshd = Sshd::before(&Engine::shared(Which::Docker));
    for (host, why) in [
        (Sshd::UNKNOWN, "Host key verification failed"),
        (Sshd::LOCKED, "Permission denied"),
        (Sshd::DEAD, "Connection refused"),
        (Sshd::SILENT, "timed out"),
    ] {
        let remedy = format!("ssh {host} docker version");
        refused(&env, sshd.cofferdam(&env, host), &[why, &remedy]);
    }
    let checks = doctor(&env, sshd.cofferdam(&env, Sshd::LOCKED));
    assert_eq!(checks[1].0, "fail", "{checks:?}");
    assert!(checks[1].1.contains("Permission denied"), "{checks:?}");
    // The key of the far side was shown to nobody, and nobody was asked to take it.
    let mut command = sshd.cofferdam(&env, Sshd::FAR);
    command.env("PATH", "/nonexistent");
    refused(&env, command, &["ssh cannot be started"]);
}

#[test]
fn a_host_that_is_a_flag_is_never_given_to_ssh() {
    let env = TestEnv::with_binary(BINARY);
    let bin = env.file("bin/ssh", "#!/bin/sh\ntouch \"${0%/*}/../started\"\n");
    let mut chmod = Command::new("chmod");
    assert!(chmod.arg("755").arg(&bin).status().unwrap().success());
    let with = |host: &str| {
        let mut command = env.cofferdam();
        let path = format!("{}:/usr/bin:/bin", bin.parent().unwrap().display());
        command.env("PATH", path).env("DOCKER_HOST", host);
        command
    };
    for host in ["ssh://-oProxyCommand=id", "ssh://-l@x", "ssh://a b", "ssh://x:y@h", "ssh://h/p"] {
        refused(&env, with(host), &["DOCKER_HOST holds"]);
    }
    refused(&env, with("tcp://192.0.2.1:2375"), &["another host", "ssh://user@host"]);
    refused(&env, with("tcp://192.0.2.1:2375"), &["DOCKER_TLS_VERIFY=1", "DOCKER_CERT_PATH"]);
    let mut command = with("tcp://-x:2376");
    command.env("DOCKER_TLS_VERIFY", "1");
    refused(&env, command, &["DOCKER_HOST holds"]);
    refused(&env, with("npipe:////./pipe/docker"), &["npipe://", "ssh://"]);
    let started = env.workspace().join("started");
    assert!(!started.exists());
    // Here it is seen to be the one that would have been started.
    refused(&env, with("ssh://h"), &["it ended without a word"]);
    assert!(started.exists());
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn by_a_port_of_this_host() {
    let private = PrivateEngine::with_port();
    let engine = private.engine();
    import(&engine);
    let address = format!("tcp://127.0.0.1:{}", private.port());
    for env in [TestEnv::with_binary(BINARY), TestEnv::with_binary(BINARY).unprivileged()] {
        let with = |address: &str| {
            let mut command = env.cofferdam();
            command.env("DOCKER_HOST", address);
            command
        };
        env.file("f", "old\n");
        let script = "cat f; echo new > f; exit 3";
        env.finish(running(with(&address), &[], script)).assert_exit(3).assert_stdout("old\n");
        assert_eq!(env.manifest("last").bytes("after", "f"), b"new\n");
        assert_eq!(fs::read_to_string(env.workspace().join("f")).unwrap(), "old\n");
        assert_eq!(env.latest_record()["effective"]["engine"], Value::from(address.clone()));
        // By a name, and by a context.
        let by_name = format!("tcp://localhost:{}", private.port());
        env.finish(running(with(&by_name), &[], "true")).assert_exit(0);
        let meta = format!(r#"{{"Name":"port","Endpoints":{{"docker":{{"Host":"{address}"}}}}}}"#);
        env.file("config/contexts/meta/aa/meta.json", meta);
        let mut command = with("");
        command.env("DOCKER_CONFIG", env.workspace().join("config"));
        command.env("DOCKER_CONTEXT", "port");
        env.finish(running(command, &[], "true")).assert_exit(0);
        let checks = doctor(&env, with(&address));
        assert_eq!(checks[1].0, "ok");
        assert!(checks[1].1.contains("every user of this host"), "{checks:?}");
        assert_eq!(engine.left(&env.seen_runs()), Vec::<String>::new());
        // Nobody there, and somebody who says nothing.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = silent.local_addr().unwrap().port();
        refused(&env, with(&format!("tcp://127.0.0.1:{port}")), &["no answer within 2 s"]);
        drop(silent);
        refused(&env, with(&format!("tcp://127.0.0.1:{port}")), &["nobody listens"]);
    }
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn in_tls() {
    let authority = Authority::new();
    let mut private = PrivateEngine::with_tls(&authority);
    let engine = private.engine();
    import(&engine);
    let as_user = TestEnv::with_binary(BINARY).unprivileged();
    for (env, dies) in [(TestEnv::with_binary(BINARY), false), (as_user, true)] {
        let keys = env.workspace().parent().unwrap().join("keys");
        authority.vouch(&keys, &["me"]);
        // Whoever is the user here has to be able to read them, as they would their own.
        let mut chmod = Command::new("chmod");
        assert!(chmod.args(["-R", "a+rX"]).arg(&keys).status().unwrap().success());
        let port = private.port();
        let with = |host: &str, keys: &Path| {
            let mut command = env.cofferdam();
            command.env("DOCKER_HOST", format!("tcp://{host}:{port}"));
            command.env("DOCKER_TLS_VERIFY", "1").env("DOCKER_CERT_PATH", keys);
            command
        };
        env.file("f", "old\n");
        let script = "cat f; echo new > f; echo bad >&2; exit 3";
        let done = env.finish(running(with("127.0.0.1", &keys), &[], script));
        done.assert_exit(3).assert_stdout("old\n").assert_stderr_has("bad");
        assert_eq!(env.manifest("last").bytes("after", "f"), b"new\n");
        assert_eq!(fs::read_to_string(env.workspace().join("f")).unwrap(), "old\n");
        let record = env.latest_record();
        let at = format!("tls://127.0.0.1:{port}{}", keys.display());
        assert_eq!(record["effective"]["engine"], Value::from(at.clone()));
        assert_eq!(record["cleanup"]["receipt"], "terminated");
        let slow = running(with("localhost", &keys), &["--timeout", "1s"], "sleep 60");
        env.finish(slow).assert_exit(124);

        // Its input, to the end of it.
        let mut command = running(with("localhost", &keys), &[], "tr a-z A-Z");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"shout").unwrap();
        assert_eq!(child.wait_with_output().unwrap().stdout, b"SHOUT");

        let checks = doctor(&env, with("127.0.0.1", &keys));
        assert_eq!((checks[1].0.as_str(), checks[1].1.trim()), ("ok", &*format!("{at} (in TLS)")));
        assert_eq!(checks[2].0, "ok", "{checks:?}");

        by_context(&env, port, &keys);
        not_let_in(&env, &with, &keys);
        let in_tls = with("127.0.0.1", &keys);
        left_by_a_kill(&engine, &env, &in_tls);
        if dies {
            lost(&mut private, &env, &in_tls);
        }
        assert_eq!(engine.left(&env.seen_runs()), Vec::<String>::new());
    }
}

/// A context has its keys in a place of its own; without them, or without a look at who answers, it is not used.
fn by_context(env: &TestEnv, port: u16, keys: &Path) {
    let context = |skips: bool| {
        let host = format!(r#""Host":"tcp://127.0.0.1:{port}","SkipTLSVerify":{skips}"#);
        let meta = format!(r#"{{"Name":"tls","Endpoints":{{"docker":{{{host}}}}}}}"#);
        env.file("config/contexts/meta/aa/meta.json", meta);
        let mut command = env.cofferdam();
        command.env("DOCKER_HOST", "").env("DOCKER_CONTEXT", "tls");
        command.env("DOCKER_CONFIG", env.workspace().join("config"));
        command
    };
    for name in ["ca.pem", "cert.pem", "key.pem"] {
        let text = fs::read_to_string(keys.join(name)).unwrap();
        env.file(format!("config/contexts/tls/aa/docker/{name}"), text);
    }
    env.finish(running(context(false), &[], "true")).assert_exit(0);
    refused(env, context(true), &["without a look at the engine's certificate", "ca="]);
    fs::remove_dir_all(env.workspace().join("config")).unwrap();
    // Plain words to a port in TLS are no engine's conversation.
    let mut command = env.cofferdam();
    command.env("DOCKER_HOST", format!("tcp://127.0.0.1:{port}"));
    refused(env, command, &["not an engine"]);
}

/// Whoever is not who they say, on either side.
fn not_let_in(env: &TestEnv, with: &dyn Fn(&str, &Path) -> Command, keys: &Path) {
    let others = keys.with_file_name("others");
    Authority::new().vouch(&others, &["me"]);
    let mixed = |name: &str, from: &Path, names: &[&str]| {
        let dir = keys.with_file_name(name);
        fs::create_dir_all(&dir).unwrap();
        for file in names {
            fs::copy(from.join(file), dir.join(file)).unwrap();
        }
        dir
    };
    mixed("stranger", keys, &["ca.pem"]);
    let stranger = mixed("stranger", &others, &["cert.pem", "key.pem"]);
    let nobody = mixed("nobody", keys, &["ca.pem"]);
    let half = mixed("half", keys, &["ca.pem", "cert.pem"]);
    let garbage = mixed("garbage", keys, &["cert.pem", "key.pem"]);
    fs::write(garbage.join("ca.pem"), "no certificate\n").unwrap();
    for dir in [&others, &stranger, &nobody, &half, &garbage] {
        let mut chmod = Command::new("chmod");
        assert!(chmod.args(["-R", "a+rX"]).arg(dir).status().unwrap().success());
    }
    let remedy = "--tlsverify";
    for (host, keys, why) in [
        ("127.0.0.1", &others, "the engine's certificate is refused"),
        // The certificate is not for this address of the same host.
        ("127.0.0.2", &keys.to_owned(), "not valid for name"),
        ("127.0.0.1", &stranger, "does not take the client's certificate"),
        ("127.0.0.1", &nobody, "does not take the client's certificate"),
        ("127.0.0.1", &half, "key.pem"),
        ("127.0.0.1", &garbage, "there is no certificate in PEM in it"),
        ("127.0.0.1", &keys.with_file_name("missing"), "ca.pem"),
    ] {
        refused(env, with(host, keys), &[why, remedy]);
    }
    let checks = doctor(env, with("127.0.0.1", &nobody));
    assert_eq!(checks[1].0, "fail", "{checks:?}");
    assert!(checks[1].1.contains("client's certificate"), "{checks:?}");
    // Nothing of it says what the keys are.
    let key = fs::read_to_string(keys.join("key.pem")).unwrap();
    let secret = key.lines().nth(1).unwrap();
    assert!(!checks.iter().any(|(_, said)| said.contains(secret)));
}

/// `cofferdam` with the variables of another command.
fn again(env: &TestEnv, with: &Command) -> Command {
    let mut command = env.cofferdam();
    command.envs(with.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

/// An engine that dies in the middle ends the run as a failure of the sandbox, and leaves nothing once it is back.
fn lost(private: &mut PrivateEngine, env: &TestEnv, with: &Command) {
    let mut child = quietly(running(again(env, with), &[], "sleep 600"));
    assert!(started(&private.engine(), env));
    private.kill();
    assert!(wait_until(BOUND, || child.try_wait().unwrap().is_some()));
    assert_eq!(child.wait().unwrap().code(), Some(125));
    assert_eq!(env.latest_record()["outcome"]["class"], "sandbox_failure");
    private.start_again();
    let mut gc = env.cofferdam();
    gc.arg("gc");
    env.finish(gc).assert_exit(0);
}

/// The note of a run has the way to its engine in it, keys and all.
fn left_by_a_kill(engine: &Engine, env: &TestEnv, with: &Command) {
    let script = "echo precious > precious; sleep 600";
    let mut child = quietly(running(again(env, with), &[], script));
    assert!(started(engine, env));
    child.kill().unwrap();
    child.wait().unwrap();
    let mut gc = env.cofferdam();
    gc.arg("gc");
    env.finish(gc).assert_exit(0);
    assert_eq!(env.manifest("last").bytes("after", "precious"), b"precious\n");
}
