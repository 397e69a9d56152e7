//! Server and runner, killed at any moment: no task is lost, done twice with success, or stuck.

use std::time::{Duration, Instant};

use cofferdam_core::control::state::TaskState;
use cofferdam_testkit::{TestEnv, wait_until};

use crate::place::{BINARY, NATIVE, PATIENCE, Place, Signal, signal};

const TASKS: usize = 24;

/// How often somebody is killed; `cargo xtask test --long` asks for more.
fn kills() -> usize {
    let asked = std::env::var("TEST_KILLS").ok();
    asked.map_or(8, |text| text.parse().expect("TEST_KILLS is a number"))
}

#[test]
fn nothing_is_lost_or_done_twice_whoever_is_killed() {
    let env = TestEnv::with_binary(BINARY);
    let mut place = Place::with(&env, None, &["--no-runner", "--lease", "2s"]);
    let token = place.runner_token("one");
    let mut runner = place.runner("one", &token, &["--capacity", "4"]);
    let retry = ["--retries", "90", "--retry-on", "lost,sandbox-failure", "--backoff", "1ms"];
    let ids: Vec<_> = (0..TASKS)
        .map(|n| {
            let script = format!("sleep 0.{}; echo {n}", n % 5);
            place.task(&[&retry, &NATIVE[..], &["--", "sh", "-c", &script]].concat())
        })
        .collect();
    let mut chance = 0x9e37_79b9_u64;
    for n in 0..kills() {
        chance =
            chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        std::thread::sleep(Duration::from_millis((chance >> 33) % 400));
        if n % 2 == 0 {
            signal(&runner, Signal::Kill);
            runner.wait().unwrap();
            runner = place.runner("one", &token, &["--capacity", "4"]);
        } else {
            place.kill_server();
        }
    }
    let client = place.client();
    let began = Instant::now();
    for id in &ids {
        let ended = place.until(*id, |task| task.state.is_terminal());
        assert_eq!(ended.state, TaskState::Succeeded, "{ended:#?}");
        let attempts = client.wait(client.client().attempts(*id)).unwrap().items;
        let good = attempts.iter().filter(|attempt| attempt.state == TaskState::Succeeded).count();
        assert_eq!(good, 1, "{attempts:#?}");
        assert_eq!(attempts.last().unwrap().state, TaskState::Succeeded);
    }
    assert!(began.elapsed() < PATIENCE * 3, "{:?}", began.elapsed());
    // What it printed is there, once.
    for (n, id) in ids.iter().enumerate() {
        let said = place.run(&["task", "logs", &id.to_string()]);
        let said = said.stdout_text();
        assert_eq!(said, format!("{n}\n"));
    }
    place.chain_holds();
    signal(&runner, Signal::Terminate);
    assert!(wait_until(PATIENCE, || runner.try_wait().unwrap().is_some()));
}
