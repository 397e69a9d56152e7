//! Server, runner and commands over TLS: with the right authority all of it works, and with no other anything.

use std::net::{IpAddr, Ipv4Addr};

use cofferdam_core::control::state::TaskState;
use cofferdam_testkit::{Authority, TestEnv};

use crate::place::{BINARY, NATIVE, Place};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

#[test]
fn a_task_goes_its_whole_way_over_tls() {
    let env = TestEnv::with_binary(BINARY);
    let mut place = Place::over_tls(&env, HERE, &["--no-runner"]);
    assert!(place.url().starts_with("https://"), "{}", place.url());
    let token = place.runner_token("one");
    let runner = place.runner("one", &token, &[]);
    let task = place.task(&[&NATIVE[..], &["--", "echo", "over"]].concat());
    assert_eq!(place.ended(task).state, TaskState::Succeeded);
    assert_eq!(place.run(&["task", "logs", &task.to_string()]).stdout_text(), "over\n");
    place.keep(runner);
}

#[test]
fn another_authority_and_no_tls_are_refused_by_both_sides() {
    let env = TestEnv::with_binary(BINARY);
    let place = Place::over_tls(&env, HERE, &["--no-runner"]);
    let dir = env.top().join("others");
    std::fs::create_dir(&dir).unwrap();
    let others = Authority::new().vouch(&dir, &[&HERE.to_string()]).ca;
    let clear = place.url().replace("https://", "http://");
    let token = place.runner_token("one");
    // Without a file, those of the system count, and none of them knows this server.
    for ca in [others.to_str().unwrap(), ""] {
        for words in [&["task", "ls"][..], &["runner", "--api", place.url()]] {
            let mut command = place.cofferdam();
            command.args(words).env("COFFERDAM_TOKEN", &token);
            match ca {
                "" => command.env_remove("COFFERDAM_CA"),
                ca => command.env("COFFERDAM_CA", ca),
            };
            let refused = env.finish(command);
            refused.assert_exit(1);
            let said = refused.stderr_text();
            assert!(said.contains("certificate") && said.contains("--ca"), "{words:?}: {said}");
        }
    }
    // Whoever takes the one for the other is told, and does not try for ever.
    let wrong = place.run(&["task", "ls", "--server", &clear]);
    wrong
        .assert_exit(2)
        .assert_stderr_has("speaks TLS")
        .assert_stderr_has("remedy: write https://");
    let wrong = place.run(&["runner", "--api", &clear, "--name", "two"]);
    wrong.assert_exit(1).assert_stderr_has("speaks TLS").assert_stderr_has("https://");
    place.run(&["task", "ls", "--ca", "/nonexistent/ca.pem"]).assert_exit(1);
    place.run(&["task", "ls"]).assert_exit(0);
    let client = place.client();
    assert!(client.wait(client.client().runners()).unwrap().items.is_empty(), "nobody got in");

    let other = TestEnv::with_binary(BINARY);
    let plain = Place::with(&other, None, &["--no-runner"]);
    let https = plain.url().replace("http://", "https://");
    let wrong = plain.run(&["task", "ls", "--server", &https]);
    wrong.assert_exit(1).assert_stderr_has("does not speak TLS").assert_stderr_has("http://");
    let wrong = plain.run(&["runner", "--api", &https, "--name", "two"]);
    wrong.assert_exit(1).assert_stderr_has("does not speak TLS").assert_stderr_has("http://");

    // Beyond the loopback there is no server in the clear, and no token goes there in the clear.
    let open = env.run(["serve", "--listen", "0.0.0.0:0"]);
    open.assert_exit(1).assert_stderr_has("--tls-cert");
    place.run(&["task", "ls", "--server", "http://198.18.0.1:7411"]).assert_exit(2);
}
