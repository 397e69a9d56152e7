//! Owners that die, engines that die, and many at once: nothing of ours is left, nothing of others is touched, and
//! a failing engine never looks like a failing command.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

use std::process::Stdio;
use std::time::{Duration, Instant};

use cofferdam_testkit::docker::{Engine, PrivateEngine, Which, as_root_and_as_user};
use cofferdam_testkit::{TestEnv, wait_until};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn killed_at_random_moments() {
    as_root_and_as_user(BINARY, Which::Docker, |engine, env| {
        engine.run(env, &[], "true").assert_exit(0);
        // Somebody else's, with a name like ours.
        let foreign = format!("cofferdam-foreign-{}", std::process::id());
        let images = engine.client(&["images", "-q", "cofferdam-host-*"]);
        let image = images.lines().next().unwrap();
        engine.client(&["create", "--name", &foreign, image, "true"]);
        engine.client(&["volume", "create", &foreign]);
        let kills = kills();
        for step in 0..kills {
            let mut child = engine.spawn(env, &[], "sleep 100");
            // From before anything exists to well after the command runs.
            std::thread::sleep(Duration::from_micros(step * 500_000 / kills));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        // An engine may still be making what it was told to make.
        let mut said = String::new();
        let clean = wait_until(Duration::from_secs(30), || {
            let done = engine.command(env, ["gc"]);
            said = format!("{}{}", done.stdout_text(), done.stderr_text());
            done.code() == Some(0) && engine.left(&env.seen_runs()).is_empty()
        });
        assert!(clean, "{said}\n{:?}", engine.left(&env.seen_runs()));
        engine.command(env, ["audit", "verify"]).assert_exit(0);
        let mounts = std::fs::read_dir(env.state_dir().join("mounts"));
        assert!(mounts.is_err() || mounts.unwrap().count() == 0);
        engine.client(&["rm", &foreign]);
        engine.client(&["volume", "rm", &foreign]);
    });
}

/// Not even the next clean-up is needed: nothing of the command runs on.
#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn a_command_ends_with_its_owner() {
    as_root_and_as_user(BINARY, Which::Docker, |engine, env| {
        let (ready, alive) = (env.workspace().join("ready"), env.workspace().join("alive"));
        let script = "touch ready; setsid sh -c 'while :; do touch alive; sleep 0.1; done'";
        let mut child = engine.spawn(env, &["--mode", "direct"], script);
        assert!(wait_until(Duration::from_secs(30), || ready.exists()));
        let name = format!("cofferdam-{}", env.seen_runs().iter().next().unwrap());
        let running = || engine.client(&["inspect", "--format", "{{.State.Running}}", &name]);
        assert_eq!(running(), "true");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(wait_until(Duration::from_secs(10), || running() == "false"));
        std::fs::remove_file(&alive).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        assert!(!alive.exists(), "somebody still writes");
        engine.command(env, ["gc"]).assert_exit(0);
    });
}

/// What a doctor makes to try the engine has no run.
#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn a_doctor_that_is_killed_leaves_nothing_to_the_next_clean_up() {
    let (engine, env) = (Engine::shared(Which::Docker), TestEnv::with_binary(BINARY));
    let mut met = false;
    for _ in 0..10 {
        let mut doctor = engine.cofferdam(&env);
        let mut doctor = doctor.args(["doctor", "--json"]).stdout(Stdio::null()).spawn().unwrap();
        let label = format!("label=cofferdam.run=cofferdam-probe-{}", doctor.id());
        let trial = || engine.client(&["ps", "-aq", "--filter", &label]);
        while doctor.try_wait().unwrap().is_none() && !met {
            met = !trial().is_empty();
        }
        doctor.kill().unwrap();
        doctor.wait().unwrap();
        let gone = wait_until(Duration::from_secs(30), || {
            engine.command(&env, ["gc"]).assert_exit(0);
            trial().is_empty()
        });
        assert!(gone, "{}", trial());
        if met {
            return;
        }
    }
    panic!("never met one at it");
}

/// How often: more in the long form of the tests.
fn kills() -> u64 {
    let asked = std::env::var("TEST_KILLS").ok();
    asked.map_or(20, |text| text.parse().expect("TEST_KILLS is a number"))
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn many_at_once_do_not_mix() {
    crowd(Which::Docker);
}

#[test]
#[cfg_attr(not(feature = "test-podman"), ignore = "needs a Podman service: cargo xtask test")]
fn many_at_once_do_not_mix_on_podman() {
    crowd(Which::Podman);
}

fn crowd(which: Which) {
    let engine = Engine::shared(which);
    let env = TestEnv::with_binary(BINARY);
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..32)
            .map(|n| {
                let (engine, env) = (&engine, &env);
                scope.spawn(move || {
                    let script = format!("echo {n} > mine; sleep 0.2; cat mine; exit {}", n % 7);
                    (n, engine.run(env, &["--timeout", "120s"], &script))
                })
            })
            .collect();
        for run in runs {
            let (n, done) = run.join().unwrap();
            done.assert_exit(n % 7).assert_stdout(&format!("{n}\n"));
        }
    });
    assert_eq!(engine.left(&env.seen_runs()), Vec::<String>::new());
    assert_eq!(env.runs().len(), 32);
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn an_engine_that_dies_is_a_failure_of_the_sandbox() {
    dies(PrivateEngine::start());
}

#[test]
#[cfg_attr(not(feature = "test-podman"), ignore = "needs Podman: cargo xtask test")]
fn a_podman_service_that_dies_is_a_failure_of_the_sandbox() {
    dies(PrivateEngine::podman());
}

fn dies(mut private: PrivateEngine) {
    let engine = private.engine();
    let env = TestEnv::with_binary(BINARY);
    let ready = env.workspace().join("ready");
    let mut child = engine.spawn(&env, &["--mode", "direct"], "touch ready; sleep 100");
    assert!(wait_until(Duration::from_secs(30), || ready.exists()));
    private.kill();
    let start = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(125));
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    let record = env.latest_record();
    assert_eq!(record["outcome"]["class"], "sandbox_failure");
    assert_eq!(record["cleanup"]["receipt"], "unconfirmed", "{}", record["cleanup"]);
    // It stays on record until it is gone.
    engine.command(&env, ["gc"]).assert_exit(1);
    private.start_again();
    engine.command(&env, ["gc"]).assert_exit(0);
    assert_eq!(engine.left(&env.seen_runs()), Vec::<String>::new());
    assert_eq!(env.latest_record()["cleanup"]["receipt"], "terminated");
    engine.run(&env, &[], "echo fine").assert_exit(0).assert_stdout("fine\n");
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn an_engine_that_hangs_is_not_waited_for() {
    let private = PrivateEngine::start();
    let engine = private.engine();
    let env = TestEnv::with_binary(BINARY);
    engine.run(&env, &[], "true").assert_exit(0);
    let frozen = private.freeze();
    let start = Instant::now();
    engine.run(&env, &[], "true").assert_exit(125).assert_stderr_has("no answer");
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    drop(frozen);
    engine.run(&env, &[], "true").assert_exit(0);
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn auto_means_the_engine_that_answers() {
    let engine = Engine::shared(Which::Docker);
    let env = TestEnv::with_binary(BINARY);
    engine.command(&env, ["run", "--quiet", "--", "true"]).assert_exit(0);
    assert_eq!(env.latest_record()["backend"], "docker");
    assert!(env.events().iter().any(|event| {
        event["type"] == "sandbox.started"
            && event["container_id"].is_string()
            && event["image_digest"].as_str().is_some_and(|digest| digest.starts_with("sha256:"))
    }));
    // One without the image that is asked for is passed over, and said to be.
    engine.command(&env, ["run", "--image", "no-such:1", "--", "true"]).assert_exit(125);
}
