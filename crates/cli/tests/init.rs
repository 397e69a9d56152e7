//! `cofferdam init`: each project of the corpus is found to be what it is, its files are a snapshot, and nothing
//! hostile in a project reaches an instruction.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::process::Stdio;

use cofferdam_testkit::TestEnv;
use cofferdam_testkit::projects::{PROJECTS, Project};
use serde_json::Value;

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

fn laid_out(project: &Project) -> TestEnv {
    let env = TestEnv::with_binary(BINARY);
    project.lay_out(&env);
    env
}

fn found(env: &TestEnv) -> Value {
    let done = env.run(["init", "--print", "--json"]);
    done.assert_exit(0);
    serde_json::from_slice(&done.stdout).unwrap()
}

fn file(found: &Value, name: &str) -> String {
    let files = found["files"].as_array().unwrap();
    let file = files.iter().find(|file| file["name"] == name);
    file.unwrap_or_else(|| panic!("no {name}"))["text"].as_str().unwrap().to_owned()
}

#[test]
fn every_project_is_found_to_be_what_it_is() {
    for project in PROJECTS {
        let env = laid_out(project);
        let found = found(&env);
        let parts = found["parts"].as_array().unwrap();
        let is: Vec<Vec<&str>> = parts
            .iter()
            .map(|part| {
                let keys = ["language", "version", "tool", "system"];
                keys.iter().map(|key| part[key].as_str().unwrap()).collect()
            })
            .collect();
        assert_eq!(is, project.is, "{}", project.name);
        insta::assert_snapshot!(
            format!("init-{}", project.name),
            file(&found, "Dockerfile.cofferdam")
        );
    }
}

/// Whether or not it can be built here: it is read as we read any Dockerfile, and there is nothing to say about it but
/// that its base has no digest. Where there is no engine, that alone keeps it from being built.
#[test]
fn every_dockerfile_is_one_that_we_would_build() {
    for project in PROJECTS {
        let env = laid_out(project);
        env.run(["init"]).assert_exit(0);
        let scanned =
            env.run(["image", "scan", "--scanner", "none", "--fail-on", "medium", "--json"]);
        scanned.assert_exit(0);
        let findings = scanned.json()["findings"].as_array().unwrap().clone();
        assert!(!findings.is_empty(), "{}", project.name);
        assert!(findings.iter().all(|finding| finding["id"] == "CD011"), "{findings:?}");
        env.run(["image", "build"]).assert_exit(1).assert_stderr_has("no socket of Docker");
    }
}

/// The same files give the same bytes, wherever they lie and in whatever order they were made.
#[test]
fn the_same_files_give_the_same_bytes() {
    let project = Project::named("monorepo");
    let turned = TestEnv::with_binary(BINARY);
    for (path, text) in project.files.iter().rev() {
        turned.file(path, text);
    }
    assert_eq!(found(&laid_out(&project)), found(&turned));
}

#[test]
fn files_are_written_once_and_not_overwritten_unasked() {
    let env = laid_out(&Project::named("go"));
    env.run(["init"]).assert_exit(0).assert_stdout_has("wrote Dockerfile.cofferdam");
    let text = fs::read_to_string(env.workspace().join("Dockerfile.cofferdam")).unwrap();
    assert!(text.contains("\nFROM golang:1.19-alpine\n"), "{text}");
    env.run(["init"]).assert_exit(0).assert_stdout_has("unchanged: Dockerfile.cofferdam");
    env.file(".dockerignore", "mine\n");
    env.run(["init"]).assert_exit(3).assert_stderr_has("left as it was: .dockerignore");
    assert_eq!(fs::read_to_string(env.workspace().join(".dockerignore")).unwrap(), "mine\n");
    env.run(["init", "--force"]).assert_exit(0).assert_stdout_has("replaced .dockerignore");
    let outside = env.home().join("outside");
    fs::write(&outside, "theirs\n").unwrap();
    fs::remove_file(env.workspace().join("cofferdam.yaml")).unwrap();
    symlink(&outside, env.workspace().join("cofferdam.yaml")).unwrap();
    env.run(["init", "--force"]).assert_exit(1).assert_stderr_has("is not a plain file");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "theirs\n");
}

/// On a terminal, somebody is asked; anything but a yes is a no.
#[test]
fn whoever_sits_at_a_terminal_is_asked() {
    let answered = |typed: &str| {
        let env = laid_out(&Project::named("go"));
        env.run(["init"]).assert_exit(0);
        env.file(".dockerignore", "mine\n");
        let mut script = env.program("script");
        script.args(["-qec", &format!("{BINARY} init"), "/dev/null"]).stdin(Stdio::piped());
        script.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = script.spawn().unwrap();
        // Held open until the end: a terminal whose other side closes is gone.
        let mut input = child.stdin.take().unwrap();
        input.write_all(typed.as_bytes()).unwrap();
        let done = child.wait_with_output().unwrap();
        drop(input);
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        assert!(
            said.contains(".dockerignore is there and different: overwrite it? [y/N]"),
            "{said}"
        );
        (done.status.code(), fs::read_to_string(env.workspace().join(".dockerignore")).unwrap())
    };
    assert_eq!(answered("n\n"), (Some(3), "mine\n".to_owned()));
    assert_eq!(answered("\n").0, Some(3));
    let (code, text) = answered("y\n");
    assert_eq!(code, Some(0));
    assert!(text.contains("**/.env\n"), "{text}");
}

#[test]
fn a_project_of_no_known_kind_is_said_to_be_that() {
    let env = TestEnv::with_binary(BINARY);
    env.file("notes.txt", "nothing\n");
    env.run(["init"])
        .assert_exit(1)
        .assert_stderr_has("no file here that says what the project is");
    env.run(["init", "--from", "devcontainer"])
        .assert_exit(1)
        .assert_stderr_has("no devcontainer.json");
    env.run(["init", "--from", "what"]).assert_exit(2);
}

#[test]
fn what_a_project_has_is_offered() {
    let env = laid_out(&Project::named("go"));
    env.file("Dockerfile", "FROM scratch\n");
    let marker = env.home().join("ran");
    let text = format!(
        "{{ // a comment\n\"initializeCommand\": \"touch {}\", \"image\": \"debian:12\", \"mounts\": [],\n\
         \"features\": {{\"x.example.com/devcontainers/features/node:1\": {{\"version\": \"20\"}}}},\n\
         \"containerEnv\": {{\"A\": \"b\"}}, \"remoteUser\": \"vscode\"}}",
        marker.display()
    );
    env.file(".devcontainer/devcontainer.json", &text);
    let plain = env.run(["init", "--print"]);
    plain
        .assert_exit(0)
        .assert_stdout_has("--from devcontainer")
        .assert_stdout_has("--from dockerfile");
    let done = env.run(["init", "--print", "--from", "devcontainer"]);
    done.assert_exit(0)
        .assert_stdout_has("\nFROM debian:12\n")
        .assert_stdout_has("COPY --from=node:20.19-bookworm-slim")
        .assert_stdout_has("    A: \"b\"")
        .assert_stderr_has(
            "initializeCommand: ignored: it would run on the host, which is never done",
        )
        .assert_stderr_has("mounts: ignored");
    assert!(!marker.exists());
    let done = env.run(["init", "--print", "--from", "dockerfile"]);
    done.assert_exit(0).assert_stdout_has("dockerfile: \"Dockerfile\"");
}
