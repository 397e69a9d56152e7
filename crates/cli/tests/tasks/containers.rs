//! The way of a task in a container of a real engine.

use std::fs;

use cofferdam_core::control::state::TaskState;
use cofferdam_testkit::TestEnv;
use cofferdam_testkit::docker::{Engine, Which};

use crate::path::git;
use crate::place::{BINARY, Place};

const IMAGE: &str = "cofferdam-test-tasks:1";

fn with_engine(claim: impl Fn(&Place<'_>, &Engine)) {
    let engine = Engine::shared(Which::Docker);
    engine.import_busybox(IMAGE, &["sh", "sleep", "cat", "echo"], &[]);
    let env = TestEnv::with_binary(BINARY);
    {
        let place = Place::new(&env, Some(&engine));
        place.run(&["project", "create", "shop"]).assert_exit(0);
        claim(&place, &engine);
        place.chain_holds();
    }
    assert_eq!(engine.left(&env.seen_runs()), Vec::<String>::new());
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn from_request_to_apply() {
    with_engine(|place, _| {
        let script = "echo made > made.txt; cat made-for-this 2>/dev/null; echo said";
        let words = ["--project", "shop", "--image", IMAGE, "--artifact", "made.txt"];
        let task = place.task(&[&words[..], &["--", "sh", "-c", script]].concat());
        let id = task.to_string();
        let logs = place.run(&["task", "logs", "-f", &id]);
        assert_eq!(logs.stdout_text(), "said\n");
        let ended = place.ended(task);
        assert_eq!(ended.state, TaskState::Succeeded, "{ended:#?}");
        let audit = place.run(&["task", "audit", &id, "--json"]).json();
        assert_eq!(audit["container_id"].as_str().unwrap().len(), 64);
        assert_eq!(audit["exit_code"], 0);
        assert!(audit["error"].is_null());
        let started = place.events("sandbox.started");
        assert_eq!(started[0]["data"]["container_id"], audit["container_id"]);
        let home = place.env.workspace().join("made.txt");
        assert!(!home.exists());
        let kept = place.run(&["task", "artifacts", &id, "--get", "made.txt"]);
        assert_eq!(kept.stdout_text(), "made\n");
        let changes = place.run(&["task", "changes", &id, "--json"]).json();
        assert_eq!(changes[0]["path"], "made.txt");
        place.run(&["task", "apply", "--reviewed", &id]).assert_exit(0);
        assert_eq!(fs::read_to_string(home).unwrap(), "made\n");
        let failed =
            place.task(&["--project", "shop", "--image", IMAGE, "--", "sh", "-c", "exit 9"]);
        let failed = place.ended(failed);
        assert_eq!((failed.state, failed.result.exit_code), (TaskState::Failed, Some(9)));
    });
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn a_canceled_container_is_gone_before_the_task_is_canceled() {
    with_engine(|place, engine| {
        let task = place.task(&["--project", "shop", "--image", IMAGE, "--", "sleep", "300"]);
        let running = place.until(task, |task| task.result.container_id.is_some());
        let container = running.result.container_id.unwrap();
        let ids = || engine.client(&["ps", "-a", "-q", "--no-trunc"]);
        assert!(ids().contains(&container));
        place.run(&["task", "cancel", &task.to_string()]).assert_exit(0);
        let ended = place.ended(task);
        assert!(!ids().contains(&container), "it is canceled, and its container is there");
        assert_eq!(ended.state, TaskState::Canceled, "{ended:#?}");
    });
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn a_forbidden_mount_starts_nothing() {
    with_engine(|place, _| {
        let mounted = ["--mount", "/etc:/host-etc", "--", "true"];
        let words = ["task", "create", "--project", "shop", "--image", IMAGE];
        let refused = place.run(&[&words[..], &mounted].concat());
        refused.assert_exit(2);
        assert!(refused.stderr_text().contains("mount-forbidden"), "{}", refused.stderr_text());
        assert_eq!(place.events("sandbox.rejected").len(), 1);
        // Whatever is started is a run of this state directory first.
        assert!(place.env.runs().is_empty(), "{:?}", place.env.runs());
        let words = ["--project", "shop", "--image", IMAGE, "--", "echo"];
        let allowed = place.task(&words);
        assert_eq!(place.ended(allowed).state, TaskState::Succeeded);
        assert_eq!(place.env.runs().len(), 1);
    });
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn an_image_is_not_built_for_a_task_unless_that_was_approved() {
    with_engine(|place, _| {
        let env = place.env;
        env.host_config("images: {auto_build: true}\n");
        env.file("Dockerfile.cofferdam", "FROM scratch\n");
        for words in [&["init", "-q", "-b", "main"][..], &["add", "."], &["commit", "-qm", "one"]] {
            git(env, words);
        }
        let docker = ["--project", "shop", "--set", "sandbox.backend=docker", "--mode"];
        for (mode, why) in [
            ("isolated-worktree", "works in a worktree"),
            ("shared-workspace", "is not what you approved"),
        ] {
            let ended = place.ended(place.task(&[&docker[..], &[mode, "--", "true"]].concat()));
            assert_eq!(ended.result.outcome.as_deref(), Some("refused"), "{ended:#?}");
            let said = ended.result.message.unwrap_or_default();
            assert!(said.starts_with("images.auto_build: ") && said.contains(why), "{said}");
        }
        // Who names an image needs none to be built.
        let named = place.task(&["--project", "shop", "--image", IMAGE, "--", "echo"]);
        assert_eq!(place.ended(named).state, TaskState::Succeeded);
    });
}
