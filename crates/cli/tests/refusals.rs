//! Bad input: one clear error, exit 125, nothing was run, and the refusal is on record.

use cofferdam_testkit::{Finished, SmallDisk, TestEnv};

fn env() -> TestEnv {
    TestEnv::with_binary(env!("CARGO_BIN_EXE_cofferdam"))
}

/// Runs something that would leave a trace, and shows that it did not run.
fn refused(env: &TestEnv, flags: &[&str]) -> Finished {
    let trace = env.workspace().join("it-ran");
    let done = env.run(["run"].iter().chain(flags).chain(&["--", "touch", "it-ran"]));
    done.assert_exit(125);
    assert!(!trace.exists(), "something was run");
    let errors: Vec<_> =
        done.stderr_text().lines().filter(|l| l.starts_with("error:")).map(str::to_owned).collect();
    assert_eq!(errors.len(), 1, "one clear error: {}", done.stderr_text());
    let events = env.events();
    let last = events.last().expect("the refusal is on record");
    assert_eq!(last["type"], "sandbox.rejected", "{last}");
    assert_eq!(env.latest_record()["outcome"]["class"], "refused");
    done
}

#[test]
fn an_unknown_key() {
    let env = env();
    env.host_config("sandbox:\n  memroy_limit: 1g\n");
    refused(&env, &["--sandbox", "local"])
        .assert_stderr_has("config.yaml:2")
        .assert_stderr_has("memory_limit");
}

#[test]
fn a_value_of_the_wrong_form() {
    let env = env();
    env.host_config("sandbox: { memory_limit: 1q }");
    refused(&env, &["--sandbox", "local"]).assert_stderr_has("1q");
    env.host_config("");
    for (flag, value) in [
        ("--memory", "1q"),
        ("--cpus", "0"),
        ("--cpus", "65"),
        ("--pids", "many"),
        ("--timeout", "0s"),
        ("--timeout", "25h"),
        ("--mode", "loose"),
        ("--network", "everything"),
        ("--sandbox", "vm"),
        ("--env", "NO_VALUE"),
        ("--pass-env", "A B"),
        ("--relax", "everything"),
        ("--mount", "/tmp"),
        ("--mount", "-v/:/h"),
        ("--runtime", "--privileged"),
    ] {
        refused(&env, &[flag, value]);
    }
}

#[test]
fn an_image_that_looks_like_a_flag() {
    let env = env();
    for image in ["--image=--privileged", "--image=-v/:/h", "--image=a b", "--image=A"] {
        refused(&env, &[image]).assert_stderr_has("not an image reference");
    }
}

#[test]
fn a_mount_of_an_engines_socket_through_a_symlink() {
    let env = env();
    // A real socket, and one that only has the name.
    let socket = env.workspace().join("engine.sock");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let link = env.workspace().join("harmless");
    std::os::unix::fs::symlink(&socket, &link).unwrap();
    refused(&env, &["--mount", "harmless:/data"]).assert_stderr_has("cannot be mounted");
    let to_run = env.workspace().join("dir");
    std::os::unix::fs::symlink("/run", &to_run).unwrap();
    refused(&env, &["--mount", "dir:/data"]).assert_stderr_has("sockets");
}

#[test]
fn mounts_outside_missing_and_forbidden() {
    let env = env();
    let outside = env.top().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let mount = format!("{}:/data", outside.display());
    refused(&env, &["--mount", &mount]).assert_stderr_has("outside the project root");
    refused(&env, &["--mount", "missing:/data"]).assert_stderr_has("missing");
    let forbidden = ["/:/h", "/proc:/h", "/etc:/h", "/sys:/h"];
    for mount in forbidden {
        refused(&env, &["--mount", mount]).assert_stderr_has("cannot be mounted");
    }
    // No allowed path changes that.
    env.host_config("policy: { allowed_paths: [\"/\"] }");
    for mount in forbidden {
        refused(&env, &["--mount", mount]).assert_stderr_has("no setting allows this one");
    }
}

#[test]
fn a_workspace_that_the_host_file_is_kept_in() {
    let env = env();
    let kept = env.file("dotfiles/cofferdam.conf", "sandbox: {}\n");
    let (way, config) = (env.top().join("way"), env.config_dir().join("config.yaml"));
    std::fs::create_dir_all(env.config_dir()).unwrap();
    std::os::unix::fs::symlink(&kept, &way).unwrap();
    std::os::unix::fs::symlink(&way, &config).unwrap();
    for mode in ["direct", "stage", "readonly"] {
        refused(&env, &["--mode", mode])
            .assert_stderr_has("dotfiles/cofferdam.conf")
            .assert_stderr_has("own configuration");
    }
    // A link on the way can be replaced as well as the file.
    let (inside, outside) = (env.workspace().join("way"), env.top().join("kept.yaml"));
    std::fs::rename(&kept, &outside).unwrap();
    std::os::unix::fs::symlink(&outside, &inside).unwrap();
    std::fs::remove_file(&config).unwrap();
    std::os::unix::fs::symlink(&inside, &config).unwrap();
    refused(&env, &["--mode", "direct"]).assert_stderr_has("own configuration");
    // Kept elsewhere, it is read and stands in nobody's way.
    std::fs::remove_file(&config).unwrap();
    std::os::unix::fs::symlink(&outside, &config).unwrap();
    env.run(["run", "--sandbox", "local", "--", "true"]).assert_exit(0);
}

#[test]
fn a_limit_beyond_what_the_host_has() {
    refused(&env(), &["--sandbox", "local", "--memory", "900t"])
        .assert_stderr_has("is not between");
}

#[test]
fn what_the_bare_host_cannot_hold_is_refused_by_name() {
    let env = env();
    for flags in [
        &["--memory", "1g"][..],
        &["--mode", "stage"],
        &["--network", "none"],
        &["--tty"],
        &["--image", "debian:12"],
    ] {
        let flags: Vec<&str> = ["--sandbox", "local"].iter().chain(flags).copied().collect();
        refused(&env, &flags).assert_stderr_has("cannot hold");
    }
    env.run(["run", "--sandbox", "local", "--memory", "1g", "--relax", "limits", "--", "true"])
        .assert_exit(0);
}

#[test]
fn a_report_is_written_for_a_refusal_too() {
    let env = env();
    let report = env.top().join("r.json");
    refused(&env, &["--network", "host", "--report", report.to_str().unwrap()]);
    let record: serde_json::Value =
        serde_json::from_slice(&std::fs::read(report).unwrap()).unwrap();
    assert_eq!(record["outcome"]["class"], "refused");
}

/// A home behind a link is the same home: its keys stay out of reach, by either name.
#[test]
fn a_home_that_is_reached_through_a_link() {
    let env = env();
    let (real, link) = (env.top().join("real"), env.top().join("link"));
    std::fs::create_dir_all(real.join("ada/.ssh")).unwrap();
    std::os::unix::fs::symlink("real", &link).unwrap();
    for home in [link.join("ada"), real.join("../real/ada"), real.join("ada")] {
        for workspace in ["ada", "ada/.ssh"] {
            let mut cofferdam = env.cofferdam();
            cofferdam.env("HOME", &home).current_dir(real.join(workspace));
            cofferdam.args(["run", "--", "ls", "-A"]);
            env.finish(cofferdam).assert_exit(125).assert_stderr_has("cannot be a workspace");
        }
    }
}

/// Links planted where a report goes are replaced, not followed.
#[test]
fn a_report_is_not_written_through_a_link() {
    let env = env();
    let victim = env.file("../victim", "untouched");
    std::os::unix::fs::symlink(&victim, env.workspace().join("run.json")).unwrap();
    env.run(["run", "--sandbox", "local", "--report", "run.json", "--", "true"]).assert_exit(0);
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "untouched");
    // The directory is swapped by the command itself: the report stays in the one that was there.
    std::fs::create_dir(env.workspace().join("out")).unwrap();
    std::fs::create_dir(env.top().join("elsewhere")).unwrap();
    let swap = "mv out kept; ln -s ../elsewhere out";
    env.run(["run", "--sandbox", "local", "--report", "out/r.json", "--", "sh", "-c", swap])
        .assert_exit(0);
    assert!(env.workspace().join("kept/r.json").exists());
    assert_eq!(std::fs::read_dir(env.top().join("elsewhere")).unwrap().count(), 0);
}

/// Whoever can write the host file decides what is enforced: one that others can write is not the owner's.
#[test]
fn a_host_file_that_others_can_write() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = env();
    env.host_config("sandbox: { enabled: false }");
    let file = env.config_dir().join("config.yaml");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
    refused(&env, &[]).assert_stderr_has("can be written by others");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    env.run(["run", "--", "true"]).assert_exit(0);
}

/// What is not staged cannot be applied later: a flag that could do nothing is not taken.
#[test]
fn an_apply_of_what_is_not_staged() {
    let env = env();
    for mode in ["readonly", "direct"] {
        refused(&env, &["--apply", "--mode", mode, "--relax", "limits"])
            .assert_stderr_has("--apply")
            .assert_stderr_has(&format!("--mode {mode}"));
    }
    env.host_config("sandbox: { mode: readonly }");
    refused(&env, &["--apply", "--relax", "limits"]).assert_stderr_has("--mode readonly");
}

/// It is no fault of the host that nothing can be written there.
#[test]
fn direct_writes_to_a_file_system_that_takes_none() {
    let env = env();
    let disk = SmallDisk::at(env.top().join("disk"), "1m");
    let remounted =
        std::process::Command::new("mount").args(["-o", "remount,ro"]).arg(disk.dir()).status();
    assert!(remounted.unwrap().success());
    let place = disk.dir().to_str().unwrap();
    refused(&env, &["--relax", "limits", "--workspace", place, "--mode", "direct"])
        .assert_stderr_has("is on a read-only file system")
        .assert_stderr_has("--mode stage");
    let words = ["run", "--relax", "limits", "--workspace", place, "--", "touch", "made"];
    env.run(words).assert_exit(0);
}

/// Ceilings in a file that nobody reads would hold nothing.
#[test]
fn a_host_file_by_another_name() {
    let env = env();
    for name in ["config.yml", "cofferdam.yaml", "cofferdam.yml"] {
        std::fs::create_dir_all(env.config_dir()).unwrap();
        let file = env.config_dir().join(name);
        std::fs::write(&file, "sandbox: { network: none }").unwrap();
        refused(&env, &[]).assert_stderr_has(name).assert_stderr_has("config.yaml");
        env.run(["config", "show"]).assert_exit(1).assert_stderr_has("config.yaml");
        std::fs::remove_file(&file).unwrap();
    }
}

#[test]
fn a_workspace_that_is_not_there() {
    let env = env();
    let nowhere = env.top().join("nowhere");
    refused(&env, &["--workspace", nowhere.to_str().unwrap()])
        .assert_stderr_has("remedy: ")
        .assert_stderr_has("--workspace");
}

#[test]
fn a_run_that_is_not_there() {
    let env = env();
    for command in ["show", "logs", "events"] {
        let asked = env.run([command, "nope"]);
        asked.assert_exit(1).assert_stderr_has("remedy: ").assert_stderr_has("`cofferdam runs`");
    }
    env.run(["show"]).assert_exit(1).assert_stderr_has("remedy: ");
}

/// No other backend has it either, so that none is named as a remedy.
#[test]
fn a_network_by_name_is_refused_without_a_detour() {
    let env = env();
    env.host_config("policy: { network: allow }");
    let done = env.run(["run", "--sandbox", "native", "--network", "allow", "--", "true"]);
    done.assert_exit(125).assert_stderr_has("remedy: use network none");
    assert!(!done.stderr_text().contains("docker"), "{}", done.stderr_text());
}
