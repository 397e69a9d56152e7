//! The adversarial suite, as a user starts it: what was tried holds, what was not tried is said, and nothing is left.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use cofferdam_core::attack::{Attack, Group, all};
use cofferdam_core::backend::Backend;
use cofferdam_testkit::{Finished, TestEnv};
use serde_json::Value;

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

/// Attacks in a directory of the test's own, of which nothing is left.
#[track_caller]
fn attack(env: &TestEnv, words: &[&str]) -> Finished {
    let place = env.workspace().join("places");
    env.file("places/keep", "");
    let mut command = env.cofferdam();
    command.env("TMPDIR", &place).arg("attack").args(words);
    let done = env.finish(command);
    let left: Vec<_> = fs::read_dir(&place).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["keep"], "left behind");
    done
}

/// Reasons for which an attack may not have been made.
const REASONS: [&str; 3] = [
    "on this host it fails without a sandbox",
    "has nothing that it could be tried on",
    "control group",
];

#[track_caller]
fn holds(env: &TestEnv, group: Group) {
    let backend = env.backend().name();
    let done = attack(env, &["--sandbox", backend, "--group", group.letter(), "--json"]);
    let report = &done.json()[0];
    let findings = report["findings"].as_array().unwrap();
    let bad: Vec<&Value> = findings
        .iter()
        .filter(|finding| match finding["verdict"].as_str().unwrap() {
            "held" => false,
            "known_limit" => known(finding["id"].as_str().unwrap()).is_none(),
            "not_run" => {
                let because = finding["because"].as_str().unwrap();
                !REASONS.iter().any(|reason| because.contains(reason))
            }
            _ => true,
        })
        .collect();
    assert!(bad.is_empty(), "{bad:#?}");
    done.assert_exit(0);
    assert_eq!(findings.len(), all().filter(|attack| attack.group == group).count());
    let held = findings.iter().filter(|finding| finding["verdict"] == "held").count();
    assert!(held * 3 > findings.len() * 2, "only {held} of {} were made", findings.len());
}

fn known(id: &str) -> Option<&'static Attack> {
    all().find(|attack| attack.id == id && attack.known.is_some())
}

#[test]
fn capture_and_apply() {
    holds(&TestEnv::with_binary(BINARY), Group::Apply);
}

#[test]
fn files_that_run_later() {
    holds(&TestEnv::with_binary(BINARY), Group::Handoff);
}

#[test]
fn escape_and_privileges() {
    holds(&TestEnv::with_binary(BINARY), Group::Escape);
}

/// Many of its calls are refused to an ordinary user anyway, and so show nothing.
#[test]
fn escape_of_an_ordinary_user() {
    holds(&TestEnv::with_binary(BINARY).unprivileged(), Group::Escape);
}

#[test]
fn network() {
    holds(&TestEnv::with_binary(BINARY), Group::Network);
}

#[test]
fn secrets() {
    holds(&TestEnv::with_binary(BINARY), Group::Secrets);
}

#[test]
fn resources() {
    holds(&TestEnv::with_binary(BINARY), Group::Resources);
}

#[test]
fn record_rules_and_server() {
    holds(&TestEnv::with_binary(BINARY), Group::Control);
}

mod native_only {
    use super::*;

    /// As at many a login, where everybody is in a group of their own.
    #[test]
    fn files_that_the_group_may_write_are_no_obstacle() {
        let env = TestEnv::with_binary(BINARY);
        let mut command = env.program("sh");
        let words = ["attack", "--sandbox", "native", "--id", "G-unknown-key", "--json"];
        command.args(["-c", r#"umask 002; exec "$@""#, "sh", BINARY]).args(words);
        let done = env.finish(command);
        done.assert_exit(0);
        assert_eq!(done.json()[0]["findings"][0]["verdict"], "held");
    }

    /// Without a sandbox the same acts succeed, and are seen to: the judge is not blind.
    #[test]
    fn where_nothing_stops_them_attacks_succeed() {
        let env = TestEnv::with_binary(BINARY);
        let done = attack(&env, &["--sandbox", "local", "--json"]);
        done.assert_exit(0);
        let report = done.json();
        let findings = report[0]["findings"].as_array().unwrap();
        let open: BTreeSet<&str> = findings
            .iter()
            .filter(|finding| finding["verdict"] == "open")
            .map(|finding| finding["id"].as_str().unwrap())
            .collect();
        assert!(findings.iter().all(|finding| finding["verdict"] != "held"));
        for (id, seen) in [
            ("C-write-outside", "the canary was changed"),
            ("C-kill-process", "a process of the host was killed"),
            ("D-tcp", "a TCP listener of the host was reached"),
            ("D-udp", "a datagram arrived at the host"),
            ("D-unix", "a socket of the host was reached"),
            ("D-datagram", "a datagram arrived at a socket of the host"),
            ("D-abstract", "a socket without a path was reached"),
            ("E-ssh-key", "it says so"),
        ] {
            assert!(open.contains(id), "{id} in {open:?}");
            let finding = findings.iter().find(|finding| finding["id"] == id).unwrap();
            assert!(finding["because"].as_str().unwrap().contains(seen), "{finding}");
        }
        assert!(open.len() > 40, "{open:?}");
    }

    #[test]
    fn what_is_not_there_is_not_counted_as_held() {
        let env = TestEnv::with_binary(BINARY);
        let done = attack(&env, &["--sandbox", "docker", "--id", "C-mount", "--json"]);
        done.assert_exit(1);
        let report = done.json();
        assert_eq!(report[0]["findings"][0]["verdict"], "not_run");
        assert!(report[0]["unusable"].as_str().unwrap().contains("docker"), "{report}");
        // Somebody else's is tried all the same.
        let words = ["--id", "C-mount", "--id", "C-kexec", "--junit", "report.xml"];
        let done = attack(&env, &words);
        done.assert_exit(0);
        assert!(done.stdout_text().contains("docker: nothing could be tried"), "{done:?}");
        let report = fs::read_to_string(env.workspace().join("report.xml")).unwrap();
        assert!(
            report.contains("<testsuite name=\"native\" tests=\"2\" failures=\"0\""),
            "{report}"
        );
    }

    #[test]
    fn wrong_words_are_wrong_usage() {
        let env = TestEnv::with_binary(BINARY);
        for words in [
            &["--group", "Z"][..],
            &["--id", "C-fly"],
            &["--sandbox", "chroot"],
            &["--id", "C-mount", "--group", "A"],
            &["somewhere"],
        ] {
            attack(&env, words).assert_exit(2);
        }
        let listed = attack(&env, &["--list", "--group", "d"]);
        listed.assert_exit(0);
        assert!(
            listed.stdout_text().contains("D-udp") && !listed.stdout_text().contains("C-mount")
        );
        let listed = attack(&env, &["--list", "--json"]).assert_exit(0).json();
        assert_eq!(listed.as_array().unwrap().len(), all().count());
    }

    fn page(name: &str) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
        fs::read_to_string(path).unwrap()
    }

    /// The first word in code of each row or item.
    fn ids(page: &str, start: &str) -> Vec<String> {
        let rows = page.lines().filter_map(|line| line.strip_prefix(start));
        rows.filter_map(|row| Some(row.split_once('`')?.0.to_owned())).collect()
    }

    #[test]
    fn the_page_of_attacks_has_all_of_them_and_none_that_broke() {
        let page = page("attacks.md");
        let listed: Vec<&str> = all().map(|attack| attack.id).collect();
        assert_eq!(ids(&page, "| `"), listed, "write it anew: see its first lines");
        assert!(!page.contains("broken** |"));
        for backend in [Backend::Native, Backend::Docker, Backend::Podman] {
            assert!(page.contains(&format!("- {backend}: ")), "{backend}");
        }
    }

    #[test]
    fn the_page_of_limits_has_those_of_the_list_and_no_others() {
        let mut listed: Vec<&str> =
            all().filter(|attack| attack.known.is_some()).map(|attack| attack.id).collect();
        let page = page("known-limits.md");
        let mut written = ids(&page, "- `");
        listed.sort_unstable();
        written.sort_unstable();
        assert_eq!(written, listed);
        for attack in all() {
            if let Some(known) = attack.known {
                assert!(page.contains(known.why), "{}: {}", attack.id, known.why);
            }
        }
    }
}
