//! The state directory on an overlay of the test's own, which cannot hold another: then the program works in
//! a copy of the workspace, and everything else is the same.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use cofferdam_testkit::wait_until;
use serde_json::Value;

use super::round_trip::{CHANGE, OLD, Random, expected, furnish};
use super::*;

/// An overlay over a directory of the test.
pub(crate) struct OnOverlay(PathBuf);

impl OnOverlay {
    /// At the place of the state directory.
    pub(crate) fn at(env: &TestEnv) -> Self {
        Self::over(env, env.state_dir().parent().unwrap())
    }

    fn over(env: &TestEnv, place: &Path) -> Self {
        let part = |name: &str| {
            let dir = env.top().join(name);
            fs::create_dir(&dir).unwrap();
            let like = fs::metadata(place).unwrap();
            std::os::unix::fs::chown(&dir, Some(like.uid()), Some(like.gid())).unwrap();
            dir.display().to_string()
        };
        let (lower, upper, work) = (part("lower"), part("upper"), part("work"));
        let options = format!("lowerdir={lower},upperdir={upper},workdir={work}");
        let mut mount = Command::new("mount");
        let done = mount.args(["-t", "overlay", "-o", &options, "none"]).arg(place).output();
        let done = done.unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        Self(place.to_owned())
    }
}

impl Drop for OnOverlay {
    fn drop(&mut self) {
        let done = Command::new("umount").arg(&self.0).status().unwrap();
        assert!(done.success() || std::thread::panicking());
    }
}

fn entries(env: &TestEnv) -> Vec<Value> {
    env.manifest("last").entries
}

/// The names in the directory of the newest run.
fn kept(env: &TestEnv) -> Vec<String> {
    let names = fs::read_dir(run_dir(env)).unwrap();
    let mut names: Vec<_> =
        names.map(|name| name.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "mounts, which needs root: cargo xtask test")]
fn every_kind_of_change_is_the_same_there_and_back() {
    let sets = std::cell::RefCell::new(Vec::new());
    both(|env| {
        furnish(env, OLD);
        stage(env, CHANGE);
        sets.borrow_mut().push(entries(env));
    });
    both(|env| {
        let _state = OnOverlay::at(env);
        furnish(env, OLD);
        let (old, new) = (tree(env), expected(env, CHANGE));
        stage(env, CHANGE);
        assert_eq!(entries(env), sets.borrow_mut().remove(0), "an overlay tells it otherwise");
        let kept = kept(env);
        assert!(!kept.iter().any(|name| name == "copy" || name == "copied"), "{kept:?}");
        apply(env).assert_exit(0);
        assert_eq!(tree(env), new, "not what the program left");
        let owner = fs::metadata(env.workspace()).unwrap().uid();
        let made = fs::metadata(env.workspace().join("made/very/deep/d")).unwrap();
        assert_eq!(made.uid(), owner);
        env.run(["undo"]).assert_exit(0);
        assert_eq!(tree(env), old, "not what was there");
        assert_settled(env);
    });
}

/// Owners of what lies on an overlay cannot be mapped, as they have to be where root owns it. That is found
/// out by trying, and the trial leaves nothing.
#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "mounts, which needs root: cargo xtask test")]
fn a_workspace_that_the_kernel_makes_no_overlay_of_is_copied() {
    let env = env();
    let _workspace = OnOverlay::over(&env, &env.workspace());
    furnish(&env, OLD);
    let (old, new) = (tree(&env), expected(&env, CHANGE));
    let plan = env.run(["run", "--dry-run", "--", "true"]).json();
    let reason = plan["workspace"]["staging"]["copy"]["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains("mount_setattr"), "{reason}");
    stage(&env, CHANGE);
    apply(&env).assert_exit(0);
    assert_eq!(tree(&env), new, "not what the program left");
    env.run(["undo"]).assert_exit(0);
    assert_eq!(tree(&env), old, "not what was there");
    assert_no_trial_left(&env);
}

fn assert_no_trial_left(env: &TestEnv) {
    for dir in [env.state_dir(), env.state_dir().parent().unwrap().to_owned()] {
        let names = fs::read_dir(dir).unwrap();
        let names: Vec<_> = names.map(|n| n.unwrap().file_name().into_string().unwrap()).collect();
        assert!(!names.iter().any(|name| name.contains("trial")), "{names:?}");
    }
}

/// An overlay as the workspace of an ordinary user can have another above it, which is found out by trying;
/// of that, too, nothing is left.
#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "mounts, which needs root: cargo xtask test")]
fn a_trial_that_goes_well_leaves_nothing() {
    let env = env().unprivileged();
    let _workspace = OnOverlay::over(&env, &env.workspace());
    furnish(&env, OLD);
    let plan = env.run(["run", "--dry-run", "--relax", "limits", "--", "true"]).json();
    assert!(plan["workspace"]["staging"].is_null(), "{plan}");
    stage(&env, CHANGE);
    assert_no_trial_left(&env);
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "mounts, which needs root: cargo xtask test")]
fn random_histories_are_the_same_from_an_overlay_and_from_a_copy() {
    let (overlay, copy) = (env(), env());
    let _state = OnOverlay::at(&copy);
    for seed in 0..12_u64 {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 77);
        let (before, during) = (random.script(20), random.script(25));
        // Whole directories that were there before, under the names of others.
        let during = format!("{during} for n in 0 1 2 3; do t mv -T n$n m$n; done; t mv -T m0 n1");
        let mut told = Vec::new();
        for env in [&overlay, &copy] {
            furnish(env, &format!("rm -rf -- *; {before}"));
            let old = tree(env);
            let new = expected(env, &during);
            stage(env, &during);
            told.push(entries(env));
            apply(env).assert_exit(0);
            assert_eq!(tree(env), new, "seed {seed}: {during}");
            if old != new {
                env.run(["undo"]).assert_exit(0);
            }
            assert_eq!(tree(env), old, "seed {seed}: {during}");
        }
        assert_eq!(told[0], told[1], "seed {seed}: {during}");
    }
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "mounts, which needs root: cargo xtask test")]
fn it_is_said_in_the_plan_the_receipt_the_event_and_the_summary() {
    both(|env| {
        let _state = OnOverlay::at(env);
        env.file("f", "old");
        let mut command = env.cofferdam();
        command.args(["run", "--sandbox", "native", "--relax", "limits", "--report", "r.json"]);
        command.args(["--", "sh", "-c", "echo new > f"]);
        env.finish(command).assert_exit(0).assert_stderr_has("a copy of the workspace");
        let report: Value = serde_json::from_str(&text(env, "r.json")).unwrap();
        let reason = report["plan"]["workspace"]["staging"]["copy"]["reason"].as_str().unwrap();
        assert!(reason.contains("overlayfs"), "{reason}");
        assert!(report["receipt"].to_string().contains("a copy of the host tree"), "{report}");
        let started = env.run(["events", "--json"]).stdout_text().into_owned();
        assert!(started.contains("by a copy"), "{started}");
        let plan = env.run(["run", "--dry-run", "--relax", "limits", "--", "true"]);
        assert!(plan.stdout_text().contains("\"copy\""), "{plan:?}");
        let doctor = env.run(["doctor"]);
        assert!(doctor.stdout_text().contains("worked on in a copy"), "{doctor:?}");
    });
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "mounts, which needs root: cargo xtask test")]
fn a_run_goes_on_from_a_copy() {
    both(|env| {
        let _state = OnOverlay::at(env);
        furnish(env, OLD);
        let both = format!("{CHANGE}; echo on > on; rm -r made; echo again > swap; mkdir gone");
        let new = expected(env, &both);
        stage(env, CHANGE);
        let first = entries(env);
        claim::run(env, &["--from", "last"], "true").assert_exit(0);
        assert_eq!(entries(env), first, "nothing more was done");
        let more = "echo on > on; rm -r made; echo again > swap; mkdir gone";
        claim::run(env, &["--from", "last"], &format!("set -e; {more}")).assert_exit(0);
        apply(env).assert_exit(0);
        assert_eq!(tree(env), new);
        assert_settled(env);
    });
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "mounts, which needs root: cargo xtask test")]
fn killed_while_it_runs_it_is_sealed_by_the_next_command() {
    both(|env| {
        let _state = OnOverlay::at(env);
        env.file("f", "old");
        let mut child = claim::spawn(env, &[], "echo new > f; echo n > n; sync; sleep 60");
        let copied = || {
            let runs = env.runs();
            let run = runs.first().map(|run| env.run_dir(run).join("copy/n"));
            run.is_some_and(|path| path.exists())
        };
        assert!(wait_until(Duration::from_secs(20), copied));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(text(env, "f"), "old");
        env.run(["gc"]).assert_exit(0);
        assert_eq!(env.manifest("last").list(), ["modified f", "created n"]);
        apply(env).assert_exit(0);
        assert_eq!((text(env, "f"), text(env, "n")), ("new\n".into(), "n\n".into()));
        assert_settled(env);
    });
}

/// Killed while it copies, nothing was started; canceled, it says so.
#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "mounts, which needs root: cargo xtask test")]
fn ended_while_it_copies_nothing_is_left() {
    let env = env();
    let _state = OnOverlay::at(&env);
    furnish(
        &env,
        "i=0; while [ $i -lt 60 ]; do mkdir d$i; i=$((i+1)); done; \
         for d in d*; do for n in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do echo $n > $d/$n; \
         head -c 300000 /dev/zero > $d/big$n; done; done",
    );
    let copying = || env.runs().first().is_some_and(|run| env.run_dir(run).join("copy").exists());
    let mut child = claim::spawn(&env, &[], "touch /workspace/started");
    assert!(wait_until(Duration::from_secs(20), copying));
    child.kill().unwrap();
    child.wait().unwrap();
    env.run(["gc"]).assert_exit(0);
    assert!(env.runs().is_empty(), "{:?}", env.runs());
    let mut command = env.cofferdam();
    command.args(claim::words(&env)).args(["--", "sh", "-c", "touch started"]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(wait_until(Duration::from_secs(20), copying));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let status = child.wait().unwrap();
    let mut said = String::new();
    std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said).unwrap();
    assert_eq!(status.code(), Some(143), "{said}");
    assert!(said.contains("canceled"), "{said}");
    let record = env.latest_record();
    assert_eq!(record["outcome"]["class"], "canceled", "{record}");
    assert!(!run_dir(&env).join("copy").exists(), "{:?}", kept(&env));
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "mounts, which needs root: cargo xtask test")]
fn what_the_host_changed_meanwhile_is_a_conflict() {
    let env = env();
    let _state = OnOverlay::at(&env);
    for name in ["both", "theirs", "ours"] {
        env.file(name, "old");
    }
    let flag = env.file("flag", "");
    let mut child = claim::spawn(
        &env,
        &[],
        "echo in > both; echo in > theirs; rm flag; echo there > there; sleep 1; exit 0",
    );
    let seen = || {
        let runs = env.runs();
        runs.first().is_some_and(|run| env.run_dir(run).join("copy/there").exists())
    };
    assert!(wait_until(Duration::from_secs(20), seen));
    for name in ["both", "ours", "new-on-host"] {
        env.file(name, "host");
    }
    child.wait().unwrap();
    let list = env.manifest("last").list();
    assert_eq!(list, ["modified both", "deleted flag", "modified theirs", "created there"]);
    assert!(flag.exists());
    apply(&env).assert_exit(3).assert_stderr_has("both");
    assert_eq!(text(&env, "both"), "host");
    env.run(["apply", "--rest"]).assert_exit(0);
    assert_eq!((text(&env, "theirs"), text(&env, "ours")), ("in\n".into(), "host".into()));
    assert!(!flag.exists() && env.workspace().join("new-on-host").exists());
}

#[test]
#[cfg_attr(not(feature = "fault-injection"), ignore = "mounts, which needs root: cargo xtask test")]
fn a_linked_worktree_is_copied_with_its_repository() {
    let env = env();
    let _state = OnOverlay::at(&env);
    let git = "git -c user.name=a -c user.email=a@b";
    furnish(
        &env,
        &format!(
            "export HOME=/nowhere; git init -q ../main; cd ../main; echo 1 > f; git add f; \
             {git} commit -qm one; rmdir ../workspace; git worktree add -q ../workspace -b side"
        ),
    );
    let main = env.tree_hash(env.top().join("main"));
    claim::run(&env, &[], &format!("set -e; echo 2 > f; {git} commit -qam two; git status -s"))
        .assert_exit(0);
    assert_eq!(env.tree_hash(env.top().join("main")), main);
    let log = env.run(["diff", "--log"]);
    assert!(log.stdout_text().contains("two"), "{log:?}");
    assert_eq!(env.manifest("last").list(), ["modified f"]);
}
