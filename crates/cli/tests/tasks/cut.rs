//! Two runners, and the cable of one is pulled: nothing fails there, it only hears nothing any more.

use std::fs;
use std::time::Duration;

use cofferdam_core::control::state::TaskState;
use cofferdam_testkit::{TestEnv, wait_until};

use crate::cable::Cable;
use crate::place::{BINARY, NATIVE, PATIENCE, Place};

/// Leases end, what was held is done elsewhere, and what the first runner says when it is back changes nothing
/// and stands in the timeline.
#[test]
#[cfg_attr(
    not(feature = "fault-injection"),
    ignore = "lays a cable, which needs root: cargo xtask test"
)]
fn what_a_runner_says_whose_cable_was_pulled_is_refused_and_recorded() {
    let env = TestEnv::with_binary(BINARY);
    let cable = Cable::lay();
    let mut place = Place::over_tls(&env, cable.here, &["--no-runner", "--lease", "2s"]);
    let (first, second) = (place.runner_token("first"), place.runner_token("second"));
    let cut = place.runner_by(cable.command(&env.cofferdam()), "first", &first, &[]);
    let words = ["--retries", "3", "--retry-on", "lost", "--backoff", "1ms"];
    // It ends while nobody hears of it.
    let task = place.task(&[&words, &NATIVE[..], &["--", "sleep", "2"]].concat());
    place.running(task);
    cable.pull();
    let lost = place.until(task, |task| task.state == TaskState::Queued && task.attempt == 1);
    assert_eq!(lost.attempt, 1);
    let other = place.runner("second", &second, &[]);
    let ended = place.until(task, |task| task.state == TaskState::Succeeded);
    assert_eq!(ended.attempt, 2, "{ended:#?}");
    assert!(place.events("runner.report_refused").is_empty());

    cable.plug_in();
    assert!(
        wait_until(PATIENCE, || !place.events("runner.report_refused").is_empty()),
        "its late word was not heard"
    );
    let refused = &place.events("runner.report_refused")[0];
    assert_eq!(refused["actor"], "runner:first", "{refused:#}");
    assert_eq!((&refused["attempt"], &refused["data"]["state"]), (&1.into(), &"succeeded".into()));
    let client = place.client();
    let attempts = client.wait(client.client().attempts(task)).unwrap().items;
    let states: Vec<TaskState> = attempts.iter().map(|attempt| attempt.state).collect();
    assert_eq!(states, [TaskState::Lost, TaskState::Succeeded]);
    let now = place.show(task).unwrap();
    assert_eq!((now.state, now.attempt, now.runner), (ended.state, 2, ended.runner));
    place.keep(cut);
    place.keep(other);
    place.chain_holds();
}

/// Once the lease is over another may have been given the same files.
#[test]
#[cfg_attr(
    not(feature = "fault-injection"),
    ignore = "lays a cable, which needs root: cargo xtask test"
)]
fn what_works_on_the_tree_itself_ends_with_its_lease_and_not_when_somebody_notices() {
    let env = TestEnv::with_binary(BINARY);
    let cable = Cable::lay();
    let mut place = Place::over_tls(&env, cable.here, &["--no-runner", "--lease", "2s"]);
    let token = place.runner_token("first");
    let cut = place.runner_by(cable.command(&env.cofferdam()), "first", &token, &[]);
    let root = env.workspace().to_str().unwrap().to_owned();
    place.run(&["project", "create", "p", "--root", &root]).assert_exit(0);
    let script = "n=0; while :; do n=$((n+1)); echo $n > beat; sleep 0.05; done";
    let words = ["--project", "p", "--mode", "shared-workspace"];
    let task = place.task(&[&words, &NATIVE[..], &["--", "sh", "-c", script]].concat());
    place.running(task);
    let beat = || fs::read_to_string(env.workspace().join("beat")).unwrap_or_default();
    let before = beat();
    assert!(wait_until(PATIENCE, || beat() != before), "it works on the tree");
    cable.pull();
    place.until(task, |task| task.state == TaskState::Lost);
    // The runner counts from when it was last heard, and so is over first; a moment to die is left to it.
    assert!(wait_until(Duration::from_secs(5), || {
        let before = beat();
        std::thread::sleep(Duration::from_millis(500));
        beat() == before
    }));
    cable.plug_in();
    place.keep(cut);
}
