//! `TestEnv` seen from outside, with a shell in the place of the binary.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use cofferdam_testkit::{TestEnv, wait_until};

/// A run id that no test running beside this one has.
fn new_id() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("01jd{:011}{:011}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

fn shell() -> TestEnv {
    TestEnv::with_binary("/bin/sh")
}

/// What dropping `env` complains about.
fn complaint(env: TestEnv) -> Option<String> {
    let panic = catch_unwind(AssertUnwindSafe(|| drop(env))).err()?;
    Some(panic.downcast_ref::<String>().expect("a formatted panic").clone())
}

fn make_run(env: &TestEnv, id: &str, record: &str) {
    let dir = env.state_dir().join("runs").join(id);
    fs::create_dir_all(&dir).expect("a run directory can be made");
    fs::write(dir.join("record.json"), record).expect("a record can be written");
}

/// A process in `run`. The kernel lets the parent go on before the new program's environment can be
/// read, so this waits for that.
fn sleeper(run: &str, seconds: &str) -> Child {
    let child = Command::new("sleep").arg(seconds).env("COFFERDAM_RUN", run).spawn();
    let child = child.expect("sleep starts");
    let environ = format!("/proc/{}/environ", child.id());
    assert!(wait_until(Duration::from_secs(10), || {
        fs::read(&environ).is_ok_and(|text| !text.is_empty())
    }));
    child
}

#[test]
fn the_environment_is_only_what_was_given() {
    let env = shell();
    let done =
        env.run(["-c", "pwd; env | sed 's/=.*//' | sort | tr '\\n' ' '; read x || echo eof"]);
    done.assert_exit(0);
    let text = done.stdout_text().into_owned();
    let (cwd, rest) = text.split_once('\n').unwrap();
    assert_eq!(cwd, env.workspace().to_str().unwrap());
    assert_eq!(
        rest,
        "CONTAINER_HOST DOCKER_HOST HOME PATH PWD XDG_CONFIG_HOME XDG_STATE_HOME eof\n"
    );
}

#[test]
fn configs_stand_where_they_are_looked_for() {
    let env = shell();
    env.host_config("host: 1\n");
    env.project_config("project: 1\n");
    env.run(["-c", "cat $XDG_CONFIG_HOME/cofferdam/config.yaml cofferdam.yaml"])
        .assert_stdout("host: 1\nproject: 1\n");
}

#[test]
fn records_and_events_are_read_back_newest_last() {
    let env = shell();
    assert!(env.events().is_empty() && env.runs().is_empty());
    let run = new_id();
    make_run(&env, &run, r#"{"run": "old"}"#);
    make_run(&env, &new_id(), r#"{"run": "new"}"#);
    fs::write(env.state_dir().join("audit.jsonl"), "{\"seq\":0}\n{\"seq\":1}\n").unwrap();
    assert_eq!(env.latest_record()["run"], "new");
    assert_eq!(env.events()[1]["seq"], 1);
    fs::write(env.state_dir().join("audit.jsonl"), "{\"seq\":0\n").unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| env.events())).is_err(), "a torn line is no event");
}

#[test]
fn a_secret_is_found_in_content_name_and_link_target_and_nowhere_else() {
    let env = shell();
    assert!(env.grep_state("hunter2").is_empty());
    let run = new_id();
    make_run(&env, &run, "{}");
    let dir = env.state_dir().join("runs").join(&run);
    fs::write(dir.join("clean"), "hunter3").unwrap();
    assert!(env.grep_state("hunter2").is_empty());
    fs::write(dir.join("content"), b"\xff\0hunter2\0").unwrap();
    fs::write(dir.join("name-hunter2"), "").unwrap();
    std::os::unix::fs::symlink("/hunter2", dir.join("link")).unwrap();
    assert_eq!(
        env.grep_state("hunter2"),
        [dir.join("content"), dir.join("link"), dir.join("name-hunter2")]
    );
}

#[test]
fn the_tree_hash_sees_a_change_in_the_workspace() {
    let env = shell();
    env.file("a/b", "1");
    let before = env.tree_hash(".");
    assert_eq!(before, env.tree_hash("."));
    env.run(["-c", "echo 2 > a/b"]).assert_exit(0);
    assert_ne!(before, env.tree_hash("."));
}

#[test]
fn dropping_a_clean_place_is_silent_and_removes_it() {
    let env = shell();
    let run = new_id();
    make_run(&env, &run, "{}");
    let top = env.top().to_owned();
    assert_eq!(complaint(env), None);
    assert!(!top.exists());
}

#[test]
fn a_process_left_in_a_run_fails_the_test() {
    let env = shell();
    let run = new_id();
    make_run(&env, &run, "{}");
    let mut sleeper = sleeper(&run, "1000");
    let said = complaint(env);
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    let said = said.expect("the leak is noticed");
    assert!(said.contains(&format!("process: {} sleep 1000", sleeper.id())), "{said}");
}

#[test]
fn a_process_of_a_run_that_was_discarded_meanwhile_fails_the_test_too() {
    let env = shell();
    let run = new_id();
    make_run(&env, &run, "{}");
    env.run(["-c", "true"]).assert_exit(0);
    fs::remove_dir_all(env.state_dir()).unwrap();
    let mut sleeper = sleeper(&run, "1000");
    let said = complaint(env);
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    assert!(said.is_some());
}

#[test]
fn a_process_of_another_run_is_not_ours() {
    let env = shell();
    let run = new_id();
    make_run(&env, &run, "{}");
    let mut sleeper = sleeper(&new_id(), "1000");
    let said = complaint(env);
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    assert_eq!(said, None);
}

#[test]
fn a_process_that_is_just_ending_is_waited_for() {
    let env = shell();
    let run = new_id();
    make_run(&env, &run, "{}");
    let mut sleeper = sleeper(&run, "0.3");
    let said = complaint(env);
    sleeper.wait().unwrap();
    assert_eq!(said, None);
}

/// Runs itself again in a mount namespace of its own, where anybody may mount.
#[test]
fn a_mount_left_fails_the_test_and_nothing_is_removed_through_it() {
    const INSIDE: &str = "COFFERDAM_TESTKIT_INSIDE";
    if std::env::var_os(INSIDE).is_some() {
        return leave_a_mount();
    }
    let name = "a_mount_left_fails_the_test_and_nothing_is_removed_through_it";
    let done = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "--"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success() && said.contains("1 passed"), "{done:?}");
}

fn leave_a_mount() {
    let precious = tempfile::tempdir().expect("a directory");
    let kept = precious.path().join("kept");
    fs::write(&kept, "").expect("a file");
    let env = shell();
    let top = env.top().to_owned();
    let shell = |script: &str, path: &std::path::Path| {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script, "sh"]).arg(precious.path()).arg(path);
        assert!(command.status().expect("a shell").success(), "{script}");
    };
    shell("mount --bind \"$1\" \"$2\"", &env.workspace());
    let said = complaint(env).expect("the mount is noticed");
    assert!(said.contains("mount:") && said.contains("/workspace"), "{said}");
    assert!(kept.exists() && top.exists());
    shell("umount \"$2\"", &top.join("workspace"));
    fs::remove_dir_all(top).expect("the rest can be removed");
}

#[test]
fn without_privileges_everything_belongs_to_who_runs_it() {
    let env = shell().unprivileged();
    env.file("deep/er/file", "x");
    env.host_config("host: 1\n");
    let done = env.run(["-c", "id -u; id -G; echo y >> deep/er/file && mkdir deep/er/new"]);
    done.assert_exit(0);
    let text = done.stdout_text().into_owned();
    let uid: u32 = text.lines().next().unwrap().parse().unwrap();
    assert_ne!(uid, 0);
    for path in [env.home(), env.workspace().join("deep"), env.config_dir().join("config.yaml")] {
        assert_eq!(fs::metadata(&path).unwrap().uid(), uid, "{}", path.display());
    }
    let groups = text.lines().nth(1).unwrap();
    assert!(!groups.split(' ').any(|group| group == "0"), "still in root's group: {groups}");
    env.run(["-c", "echo > /etc/cofferdam-test"]).assert_exit(2);
}

#[test]
fn a_binary_that_others_cannot_reach_still_runs() {
    let closed = tempfile::tempdir().unwrap();
    fs::set_permissions(closed.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let binary = closed.path().join("sh");
    fs::copy("/bin/sh", &binary).unwrap();
    let env = TestEnv::with_binary(&binary).unprivileged();
    env.run(["-c", "echo fine"]).assert_exit(0).assert_stdout("fine\n");
}
