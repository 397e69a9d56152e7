//! The gate: what is blocked is named with its reason and needs its own yes; what is allowed passes.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

use std::fs;
use std::path::{Path, PathBuf};

use cofferdam_testkit::{Finished, TestEnv, claim};
use serde_json::Value;

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

fn env() -> TestEnv {
    TestEnv::with_binary(BINARY)
}

/// A staged run of a script that must succeed.
#[track_caller]
fn staged(env: &TestEnv, script: &str) {
    claim::run(env, &[], &format!("set -e; {script}")).assert_exit(0);
}

fn gate(env: &TestEnv, args: &[&str]) -> Finished {
    env.run(["gate"].iter().chain(args))
}

/// The entry of a path in the JSON form.
#[track_caller]
fn entry(env: &TestEnv, path: &str) -> Value {
    let judged = gate(env, &["--json"]).json();
    let entries = judged["entries"].as_array().unwrap();
    let found = entries.iter().find(|entry| entry["path"] == path);
    found.unwrap_or_else(|| panic!("{path} in {judged:#}")).clone()
}

fn run_dir(env: &TestEnv) -> PathBuf {
    env.state_dir().join("runs").join(env.latest_record()["run"].as_str().unwrap())
}

const WORKFLOW: &str = "mkdir -p .github/workflows; echo x > .github/workflows/ci.yml";

#[test]
fn ordinary_changes_pass() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file("a.txt", "a");
        staged(env, "echo b > a.txt; mkdir src; echo c > src/c.rs");
        let judged = gate(env, &[]);
        judged.assert_exit(0);
        assert!(judged.stdout_text().contains("3 changes: 0 auto, 3 review, 0 deny; 0 blocked"));
        assert_eq!(entry(env, "a.txt")["verdict"], "review");
    });
}

#[test]
fn what_is_executed_later_needs_its_own_yes() {
    let env = env();
    staged(&env, &format!("{WORKFLOW}; echo a > a.txt; echo t > tool; chmod 755 tool"));
    let judged = gate(&env, &[]);
    judged.assert_exit(3);
    let said = judged.stdout_text();
    assert!(said.contains("ci: is a workflow that GitHub runs"), "{said}");
    assert!(said.contains("--allow-class ci --allow-class executable"), "{said}");
    gate(&env, &["--allow-class", "ci"]).assert_exit(3);
    gate(&env, &["--allow-class", "editor", "--allow-class", "executable"]).assert_exit(3);
    gate(&env, &["--allow-class", "ci", "--allow-class", "executable"]).assert_exit(0);
    gate(&env, &["--allow-path", ".github", "--allow-path", "tool"]).assert_exit(0);
    gate(&env, &["--allow-path", ".git", "--allow-path", "tools"]).assert_exit(3);
    // Only what is named is judged.
    gate(&env, &["a.txt"]).assert_exit(0);
    gate(&env, &["last", ".github"]).assert_exit(3);
}

#[test]
fn the_host_owner_may_allow_a_class_for_good() {
    let env = env();
    env.host_config("changes: {auto: ['**'], allow_classes: [ci]}\n");
    staged(&env, &format!("{WORKFLOW}; echo m > Makefile"));
    assert_eq!(entry(&env, ".github/workflows/ci.yml")["verdict"], "auto");
    let makefile = entry(&env, "Makefile");
    assert_eq!(makefile["verdict"], "review");
    assert_eq!(makefile["classes"], serde_json::json!(["build-scripts"]));
    assert_eq!(makefile["blocks"].as_array().unwrap().len(), 1);
}

#[test]
fn what_is_denied_no_flag_allows() {
    let env = env();
    env.host_config("changes: {auto: ['**'], deny: [secrets/]}\n");
    staged(&env, "mkdir secrets; echo a > secrets/a; echo b > b; mkfifo pipe");
    let all = ["--allow-path", "secrets", "--allow-path", "pipe", "--allow-budget"];
    let judged = gate(&env, &all);
    judged.assert_exit(3);
    let said = judged.stdout_text();
    assert!(said.contains("changes.deny: secrets/"), "{said}");
    assert!(said.contains("a named pipe, which is never applied"), "{said}");
    assert_eq!(entry(&env, "secrets/a")["verdict"], "deny");
    gate(&env, &["b"]).assert_exit(0);
}

#[test]
fn links_that_lead_out_are_held() {
    let env = env();
    staged(&env, "mkdir d; ln -s /etc out; ln -s ../../x d/up; ln -s d in; ln -s ../in d/back");
    let blocked =
        |path: &str| entry(&env, path)["classes"] == serde_json::json!(["escaping-symlink"]);
    assert!(blocked("out") && blocked("d/up"));
    assert!(!blocked("in") && !blocked("d/back"));
}

/// What the host reads under another name has the class of that name.
#[test]
fn links_of_the_host_lend_their_names() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.host_config("changes: {deny: [locked/]}\n");
        env.file("tools/readme", "r");
        env.file("shared/readme", "r");
        env.symlink("tools", ".vscode");
        env.symlink("build/main.mk", "Makefile");
        env.symlink("shared", "locked");
        staged(
            env,
            "echo '{}' > tools/tasks.json; mkdir build; echo all: > build/main.mk; echo s > shared/s; \
             echo o > other",
        );
        let task = entry(env, "tools/tasks.json");
        assert_eq!(task["classes"], serde_json::json!(["editor"]), "{task}");
        assert!(task["blocks"][0].as_str().unwrap().contains(".vscode/tasks.json"), "{task}");
        assert_eq!(entry(env, "build/main.mk")["classes"], serde_json::json!(["build-scripts"]));
        assert_eq!(entry(env, "shared/s")["verdict"], "deny");
        assert_eq!(entry(env, "other")["blocks"], serde_json::json!([]));
        let before = env.tree_hash(env.workspace());
        env.run(["apply", "tools"]).assert_exit(3);
        assert_eq!(env.tree_hash(env.workspace()), before);
        env.run(["apply", "--allow-class", "editor", "tools", "other"]).assert_exit(0);
    });
}

/// What can never come home takes no room, for the gate as for apply; and what is proposed does work.
#[test]
fn what_is_denied_takes_no_room_and_what_is_proposed_works() {
    let env = env();
    env.host_config("changes: {deny: [big/], budget: {files: 5}}\n");
    staged(
        &env,
        &format!("{WORKFLOW}; mkdir big; for i in 1 2 3 4 5 6 7 8; do echo $i > big/$i; done"),
    );
    let judged = gate(&env, &["--json"]).json();
    assert_eq!(judged["budget"]["breaches"], serde_json::json!([]), "{judged:#}");
    let refused = env.run(["apply"]);
    refused.assert_exit(3);
    let said = refused.stderr_text().into_owned();
    let hint = said.lines().find(|line| line.contains("to allow it")).unwrap();
    assert!(hint.contains("and leave what is denied"), "{said}");
    let words = hint.split(" apply ").nth(1).unwrap().split(' ');
    env.run(["apply"].into_iter().chain(words)).assert_exit(0);
    assert!(env.workspace().join(".github/workflows/ci.yml").exists());
    assert!(!env.workspace().join("big").exists());
}

#[test]
fn a_secret_is_named_by_rule_and_line_and_never_shown() {
    let env = env();
    let old = "password = \"k7Qz2mB9vT4kL8nR\"\n";
    env.file("old.py", old);
    staged(
        &env,
        "printf 'one\\ntoken = \"Zx8Qz2mB9vT4kL8n\"\\n' > new.py; echo 'more = 1' >> old.py",
    );
    let judged = gate(&env, &["--json"]);
    judged.assert_exit(3);
    assert!(!judged.stdout_text().contains("Zx8Qz2mB9vT4kL8n"));
    let new = entry(&env, "new.py");
    assert_eq!(new["blocks"][0], "secret: a quoted password or token in line 2");
    // It was there before: applying adds nothing to it.
    assert_eq!(entry(&env, "old.py")["blocks"], serde_json::json!([]));
    gate(&env, &["--allow-class", "secret"]).assert_exit(0);
    gate(&env, &["--allow-path", "new.py"]).assert_exit(0);
}

#[test]
fn too_much_at_once_needs_a_yes() {
    let env = env();
    env.host_config("changes: {budget: {files: 50, deletions: 25}}\n");
    (0..60).for_each(|n| drop(env.file(format!("d/{n}"), "x")));
    staged(&env, "rm d/1?; echo a > a");
    gate(&env, &[]).assert_exit(0);
    staged(&env, "rm d/1? d/2?");
    gate(&env, &[]).assert_exit(0);
    staged(&env, "rm d/1? d/2? d/3? d/4?");
    let judged = gate(&env, &[]);
    judged.assert_exit(3);
    let said = judged.stdout_text();
    assert!(said.contains("40 paths are deleted, and 25 is the most"), "{said}");
    assert!(said.contains("40 of 61 paths in the tree"), "{said}");
    assert!(said.contains("--allow-budget"), "{said}");
    gate(&env, &["--allow-budget"]).assert_exit(0);
    let json = gate(&env, &["--json"]).json();
    assert_eq!(json["blocked"], 0);
    assert_eq!(json["budget"]["breaches"][0]["key"], "changes.budget.deletions");
    assert_eq!(json["passes"], false);
}

/// A run that writes the project's settings decides nothing by them.
#[test]
fn a_run_cannot_let_its_own_changes_through() {
    let env = env();
    env.project_config("changes: {deny: [locked/]}\n");
    let loose = "changes: {auto: [\"**\"], allow_classes: [ci, cofferdam-config]}";
    staged(
        &env,
        &format!("{WORKFLOW}; echo '{loose}' > cofferdam.yaml; mkdir locked; echo x > locked/x"),
    );
    assert_eq!(entry(&env, "cofferdam.yaml")["classes"], serde_json::json!(["cofferdam-config"]));
    assert_eq!(entry(&env, "locked/x")["verdict"], "deny");
    assert_eq!(entry(&env, ".github/workflows/ci.yml")["verdict"], "review");
    gate(&env, &["cofferdam.yaml"]).assert_exit(3);
    staged(&env, "rm cofferdam.yaml");
    gate(&env, &[]).assert_exit(3);
}

#[test]
fn what_was_decided_is_not_judged_again() {
    let env = env();
    staged(&env, &format!("{WORKFLOW}; echo a > a.txt; echo b > b.txt"));
    env.run(["apply", "last", "a.txt"]).assert_exit(0);
    let left = gate(&env, &[]);
    left.assert_exit(3);
    let said = left.stdout_text();
    assert!(!said.contains("a.txt") && said.contains("b.txt"), "{said}");
    env.run(["discard", "last", ".github"]).assert_exit(0);
    gate(&env, &[]).assert_exit(0);
    env.run(["apply"]).assert_exit(0);
    gate(&env, &[]).assert_exit(0).assert_stdout("nothing is left to apply\n");
}

#[test]
fn names_are_inert_and_exact() {
    let env = env();
    staged(&env, "printf x > \"$(printf 'a\\377\\033]52;c;x\\007')\"; echo y > 'b\u{202e}c'");
    let words = gate(&env, &[]);
    let json = gate(&env, &["--json"]);
    for bytes in [&words.stdout, &json.stdout] {
        assert!(!bytes.contains(&0x1b) && !String::from_utf8_lossy(bytes).contains('\u{202e}'));
    }
    let first = &json.json()["entries"][0];
    assert_eq!(first["path_b64"], "Yf8bXTUyO2M7eAc=");
    assert_eq!(json.json()["entries"][1]["path"], "b\u{202e}c");
}

#[test]
fn a_set_that_was_tampered_with_is_not_judged() {
    let env = env();
    staged(&env, "echo a > a.txt");
    let dir = run_dir(&env);
    let objects: Vec<PathBuf> =
        fs::read_dir(dir.join("objects")).unwrap().map(|object| object.unwrap().path()).collect();
    gate(&env, &[]).assert_exit(0);
    let sealed = fs::read(&objects[0]).unwrap();
    replace(&objects[0], b"b\n");
    gate(&env, &[]).assert_exit(1);
    replace(&objects[0], &sealed);
    gate(&env, &[]).assert_exit(0);
    let manifest = fs::read_to_string(dir.join("manifest")).unwrap();
    replace(&dir.join("manifest"), manifest.replace("a.txt", "b.txt").as_bytes());
    let judged = gate(&env, &[]);
    judged.assert_exit(1);
    assert!(judged.stderr_text().contains("not the manifest that was sealed"));
}

fn replace(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn wrong_words_are_said_so() {
    let env = env();
    staged(&env, "echo a > a.txt");
    let unknown = gate(&env, &["--allow-class", "cii"]);
    unknown.assert_exit(2);
    assert!(unknown.stderr_text().contains("'ci'"), "{}", unknown.stderr_text());
    gate(&env, &["--allow-path", "../x"]).assert_exit(2);
    gate(&env, &["--allow-path", "."]).assert_exit(2);
    gate(&env, &["never-changed"]).assert_exit(1);
    env.host_config("changes:\n  deny:\n    - '[a'\n");
    let broken = gate(&env, &[]);
    broken.assert_exit(1);
    assert!(
        broken.stderr_text().contains("config.yaml:3: changes.deny"),
        "{}",
        broken.stderr_text()
    );
}

#[test]
fn shells_complete_the_classes() {
    let script = env().run(["completions", "bash"]);
    assert!(script.stdout_text().contains("git-internals git-attributes ci commit-hooks"));
}

#[test]
fn shells_complete_words_of_settings() {
    for shell in ["bash", "zsh", "fish"] {
        let script = env().run(["completions", shell]);
        let text = script.stdout_text();
        for words in [["stage", "direct", "readonly"], ["docker", "podman", "native"]] {
            assert!(words.iter().all(|word| text.contains(word)), "{shell}");
        }
    }
    let bash = env().run(["completions", "bash"]);
    bash.assert_stdout_has("\"stage direct readonly\"").assert_stdout_has("\"auto docker podman");
}

/// `docs/handoff-classes.md` is what the table says. `COFFERDAM_BLESS=1` writes it anew.
#[test]
fn handoff_classes_reference_is_up_to_date() {
    let made = env().run(["gate", "--classes"]);
    made.assert_exit(0);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/handoff-classes.md");
    if std::env::var_os("COFFERDAM_BLESS").is_some() {
        fs::write(&page, &made.stdout).unwrap();
    }
    let stands = fs::read(&page).unwrap_or_default();
    assert!(stands == made.stdout, "docs/handoff-classes.md is old: run `cargo xtask bless`");
}
