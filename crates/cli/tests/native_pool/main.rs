//! Sandboxes that were prepared ahead: no different from those made when asked for, used once, and gone
//! with whoever asked for them.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

mod driver;

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use cofferdam_testkit::{TestEnv, claim, wait_until};
use driver::{Blow, Driver, has_group, kill, pools, send};
use serde_json::Value;

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");
const RELAX: &[&str] = &["--relax", "limits"];

/// Says as much about its sandbox as a program can see.
const LOOK: &str = "id; pwd; ls -A . / /etc /dev /home/sandbox; grep -v -e ctxt -e Vm -e Rss -e Hugetlb \
    -e THP -e allowed: -e Speculation /proc/self/status; cat .env .env.local; \
    cut -d' ' -f4- /proc/self/mountinfo | sed 's/[0-9][0-9]*//g'; cat /proc/self/cgroup; \
    cat /proc/net/dev; env | grep -v COFFERDAM_RUN | sort; umask; ulimit -a; ls -l /proc/self/fd; \
    touch /usr/x /x made; touch .env; rm file; ps -e -o pid,ppid,args; exit 7";

/// A record without what differs between any two runs.
fn lasting(record: &Value) -> Value {
    let mut record = record.clone();
    for name in ["run", "started_at", "finished_at", "owner", "anchor", "usage"] {
        assert!(!record[name].is_null(), "{name} in {record:#}");
        record[name] = Value::Null;
    }
    // How much was printed hangs on how long the numbers in it are; what was printed is compared apart.
    record["output"] = Value::Null;
    // A manifest names its run.
    record["changes"]["manifest"] = Value::Null;
    // Numbers of network namespaces.
    assert!(record["effective"]["network"].as_str().unwrap().starts_with("none, net:["));
    record["effective"]["network"] = Value::Null;
    for held in record["receipt"].as_array_mut().unwrap() {
        if held["read_back"].as_str().is_some_and(|text| text.starts_with("net:[")) {
            held["read_back"] = Value::Null;
        }
    }
    record
}

fn events_of(env: &TestEnv, record: &Value) -> Vec<Value> {
    let mut events = env.events();
    events.retain(|event| event["run"] == record["run"]);
    for event in &mut events {
        for name in ["seq", "ts", "run", "prev", "hash", "manifest"] {
            event[name] = Value::Null;
        }
        // Of records and outputs that hold other numbers.
        if event["evidence"].is_object() {
            event["evidence"] = Value::Null;
        }
        if event["effective"].is_object() {
            event["effective"]["network"] = Value::Null;
            // The hash of a receipt that has the number of the network in it.
            assert!(event["receipt"].is_string(), "{event}");
            event["receipt"] = Value::Null;
        }
    }
    events
}

fn indistinguishable(env: &TestEnv, flags: &[&str]) {
    indistinguishable_by(env, flags, Driver::start(env));
}

fn indistinguishable_by(env: &TestEnv, flags: &[&str], mut driver: Driver<'_>) {
    env.file("file", "host\n");
    env.file(".env", "SECRET");
    let head = ["run", "--quiet", "--sandbox", "native"];
    env.run(head.iter().chain(flags).chain(&["--", "sh", "-c", LOOK])).assert_exit(7);
    let cold = env.latest_record();
    // Two are made at once, and the second is no worse.
    let pooled = [driver.run_pooled(flags, LOOK), driver.run(flags, LOOK)];
    pooled.iter().for_each(|pooled| is_like(env, &driver, pooled, &cold));
}

fn is_like(env: &TestEnv, driver: &Driver, pooled: &Value, cold: &Value) {
    assert_eq!(lasting(pooled), lasting(cold));
    assert_eq!(events_of(env, pooled), events_of(env, cold));
    let (seen, wanted) = (driver.stdout_of(pooled), driver.stdout_of(cold));
    // Numbers of pipes and of the program's own processes.
    let plain = |text: &str| text.replace(|c: char| c.is_ascii_digit(), "");
    assert_eq!(plain(&seen), plain(&wanted));
    assert!(!seen.contains("SECRET") && seen.contains("uid="), "{seen}");
    let files = |record: &Value| {
        let mut names: Vec<_> = fs::read_dir(driver.run_dir(record))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    assert_eq!(files(pooled), files(cold));
    assert_eq!(fs::read_to_string(env.workspace().join("file")).unwrap(), "host\n");
    assert!(!env.workspace().join("made").exists());
    let run = pooled["run"].as_str().unwrap();
    assert!(env.manifest(run).list().contains(&"created made".to_owned()));
}

#[test]
fn a_prepared_sandbox_is_like_any_other() {
    claim::as_root_and_as_user(BINARY, |env| indistinguishable(env, RELAX));
    // With limits, which an ordinary user may not have.
    indistinguishable(&TestEnv::with_binary(BINARY), &["--memory", "256m", "--pids", "50"]);
}

/// Services are often started with a mask that leaves others nothing; what all sandboxes share is made by whoever was.
#[test]
fn one_that_was_prepared_under_another_mask_is_like_any_other() {
    let env = TestEnv::with_binary(BINARY);
    let mut strict = env.program("sh");
    strict.args(["-c", "umask 077; exec \"$0\" \"$@\"", BINARY]);
    indistinguishable_by(&env, RELAX, Driver::start_as(&env, strict));
}

#[test]
fn its_limits_bite() {
    let env = TestEnv::with_binary(BINARY);
    let mut driver = Driver::start(&env);
    let flags = ["--memory", "64m", "--timeout", "5s"];
    let hog = "python3 -c 'x = bytearray(400 << 20)'";
    let record = driver.run_pooled(&flags, hog);
    assert_eq!(record["outcome"]["class"], "oom", "{record:#}");
    // The next one is not touched by it.
    assert_eq!(driver.run(&flags, "exit 3")["outcome"]["exit_code"], 3);
    let record = driver.run_pooled(&["--timeout", "1s"], "sleep 60");
    assert_eq!(record["outcome"]["class"], "timed_out", "{record:#}");
    assert_eq!(record["cleanup"]["receipt"], "terminated", "{record:#}");
}

#[test]
fn failures_are_told_in_the_same_words() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.host_config("policy: { allowed_paths: [/usr/share] }");
        let mut driver = Driver::start(env);
        for flags in [&["--workdir", "missing"][..], &["--mount", "/usr/share:/workspace/no/point"]]
        {
            let flags = [RELAX, flags].concat();
            let pooled = driver.run(&flags, "true");
            let head = ["run", "--quiet", "--sandbox", "native"];
            env.run(head.iter().chain(&flags).chain(&["--", "sh", "-c", "true"])).assert_exit(125);
            let cold = env.latest_record();
            assert_eq!(pooled["outcome"], cold["outcome"]);
            assert!(pooled["outcome"]["message"].as_str().is_some_and(|text| !text.is_empty()));
        }
        assert_eq!(driver.run(RELAX, "no-such-program")["outcome"]["exit_code"], 127);
    });
}

#[test]
fn each_is_used_once() {
    claim::as_root_and_as_user(BINARY, |env| {
        let mut driver = Driver::start(env);
        let leave = "ls -A /tmp /dev/shm $HOME; ls -A; \
                     touch /tmp/left /dev/shm/left ~/left left; (setsid sleep 60 &); ps -e | wc -l";
        let first = driver.run_pooled(RELAX, leave);
        let second = driver.run_pooled(RELAX, leave);
        assert_eq!(driver.stdout_of(&first), driver.stdout_of(&second));
        assert!(!driver.stdout_of(&second).contains("left"));
    });
}

/// What a program finds of its network: what went over the loopback, labels of flows, and how often a way was asked for.
const LOOK_AROUND: &str = "\
    awk '$1 == \"lo:\" { print $2 + $10 }' /proc/net/dev; \
    awk 'NR > 1' /proc/net/ip6_flowlabel; \
    awk '$1 == \"Ip:\" && n++ { print \"asked \" $13 }' /proc/net/snmp";

/// A label, which stays for a minute after its socket, and a connection, which lingers as long.
const LEAVE: &str = "\
import socket, struct
label = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
request = struct.pack('!15xBI', 1, 0x12345) + struct.pack('BBHHHI', 0, 1, 1, 60, 60, 0)
label.setsockopt(socket.IPPROTO_IPV6, 32, request)
listener = socket.create_server(('127.0.0.1', 7777))
socket.create_connection(('127.0.0.1', 7777)).close()
";

#[test]
fn a_network_is_used_once() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file("leave.py", LEAVE);
        let mut driver = Driver::start(env);
        let mut said = |script: &str| {
            let record = driver.run(RELAX, script);
            driver.stdout_of(&record)
        };
        for round in 0..12 {
            if round % 4 == 0 {
                let left = said(&format!("python3 leave.py; {LOOK_AROUND}"));
                assert!(left.contains("12345") && !left.starts_with("0\n"), "{left}");
            }
            // Each sandbox asks for a way once itself: nobody was in its network before.
            assert_eq!(said(LOOK_AROUND), "0\nasked 1\n");
        }
    });
}

#[test]
fn many_in_a_row() {
    let env = TestEnv::with_binary(BINARY);
    let mut driver = Driver::start(&env);
    for number in 0..50 {
        let record = driver
            .run(&[], &format!("cat count 2>/dev/null; echo {number} > count; exit {number}"));
        assert_eq!(record["outcome"]["exit_code"], number, "{record:#}");
        assert_eq!(record["cleanup"]["receipt"], "terminated");
        assert_eq!(driver.stdout_of(&record), "");
        let changes = env.manifest(record["run"].as_str().unwrap());
        assert_eq!(changes.bytes("after", "count"), format!("{number}\n").as_bytes());
    }
    let made = driver.made();
    drop(driver);
    made.assert_gone();
    assert!(pools(&env).is_empty(), "{:?}", pools(&env));
}

/// With the launcher stopped a run still starts, in the sandbox that came with the end of the one before.
#[test]
fn whoever_has_one_in_hand_need_not_ask() {
    let env = TestEnv::with_binary(BINARY);
    let mut driver = Driver::start(&env);
    let said = |env: &TestEnv| {
        let stdout = |run: &String| env.state_dir().join("runs").join(run).join("stdout");
        env.runs().iter().any(|run| fs::read(stdout(run)).is_ok_and(|text| text == b"said\n"))
    };
    // Where somebody has changed this host meanwhile, it has to ask.
    let need_not_ask = (0..8).any(|_| {
        driver.run_pooled(&[], "true");
        let ready = driver.wait_until_ready();
        let launcher = driver.launcher().unwrap();
        send("-STOP", launcher);
        driver.ask(&[], "echo said");
        let has_said = wait_until(Duration::from_secs(3), || said(&env));
        send("-CONT", launcher);
        let record = driver.answer();
        assert_eq!(record["outcome"]["exit_code"], 0, "{record:#}");
        has_said && driver.came_from(&ready, &record)
    });
    assert!(need_not_ask);
}

#[test]
fn another_profile_is_never_served() {
    let env = TestEnv::with_binary(BINARY);
    let mut driver = Driver::start(&env);
    driver.run_pooled(&["--pids", "40"], "true");
    let ready = driver.wait_until_ready();
    for flags in [&["--pids", "41"][..], &["--mode", "readonly", "--pids", "40"]] {
        let record = driver.run(flags, "touch x && echo wrote");
        assert_eq!(record["plan"]["limits"]["pids"].to_string(), flags[flags.len() - 1]);
        let staged = record["plan"]["workspace"]["mode"] == "stage";
        assert_eq!(driver.stdout_of(&record) == "wrote\n", staged);
        assert!(!staged || !driver.came_from(&ready, &record));
    }
    // Another command, environment and directory are no other profile.
    fs::create_dir(env.workspace().join("sub")).unwrap();
    let flags = ["--pids", "40", "--env", "A=b", "--workdir", "sub"];
    driver.run_pooled(&["--pids", "40"], "true");
    driver.wait_until_ready();
    let record = driver.run_pooled(&flags, "pwd; echo $A");
    assert_eq!(driver.stdout_of(&record), "/workspace/sub\nb\n");
}

#[test]
fn one_that_the_host_has_outrun_is_not_used() {
    claim::as_root_and_as_user(BINARY, |env| {
        let mut driver = Driver::start(env);
        driver.run_pooled(RELAX, "true");
        let ready = driver.wait_until_ready();
        // A file that is to be hidden, made after the sandboxes were.
        env.file(".env.local", "SECRET");
        let record = driver.run(RELAX, "cat .env.local; ls -A");
        assert_eq!(driver.stdout_of(&record), ".env\n.env.local\n");
        assert!(!driver.came_from(&ready, &record));
        // A file like any other does no harm, and is seen.
        let count = std::cell::Cell::new(0);
        let record = driver.run_pooled_after(RELAX, "cat late-*", || {
            count.set(count.get() + 1);
            env.file(format!("late-{}", count.get()), "seen\n");
        });
        assert_eq!(driver.stdout_of(&record), "seen\n".repeat(count.get()));
        // One that was killed while it waited is passed over.
        driver.wait_until_ready();
        let made = driver.made();
        for pid in made.processes() {
            kill(*pid);
        }
        made.wait_until_dead();
        assert_eq!(driver.run(RELAX, "exit 5")["outcome"]["exit_code"], 5);
    });
}

/// A sandbox that leaves no layers on disk cannot be seen from outside to be ready; it is by then.
const PREPARED: Duration = Duration::from_millis(300);

/// In direct mode nothing but `.git` is kept from the program, as it was when the sandbox was made.
#[test]
fn a_repository_that_came_later_cannot_be_written_to() {
    claim::as_root_and_as_user(BINARY, |env| {
        let hook = env.workspace().join(".git/hooks/hook");
        let flags = ["--relax", "limits", "--mode", "direct"];
        let script = "echo planted > .git/hooks/hook || exit 9; exit 0";
        let mut driver = Driver::start(env);
        driver.run(&flags, "true");
        for _ in 0..3 {
            sleep(PREPARED);
            env.file(".git/hooks/README", "made after the sandbox");
            let record = driver.run(&flags, script);
            assert_eq!(record["outcome"]["exit_code"], 9, "{record:#}");
            assert!(!hook.exists(), "it is on the host");
            // Another one, perhaps of the same number.
            sleep(PREPARED);
            fs::remove_dir_all(env.workspace().join(".git")).unwrap();
            env.file(".git/hooks/README", "another");
            let record = driver.run(&flags, script);
            assert_eq!(record["outcome"]["exit_code"], 9, "{record:#}");
            assert!(!hook.exists(), "it is on the host");
            fs::remove_dir_all(env.workspace().join(".git")).unwrap();
            driver.run(&flags, "true");
        }
    });
}

/// An editor saves by putting another file in the place of the old one, and that may have the old one's number.
#[test]
fn a_hidden_file_that_was_saved_again_is_still_hidden() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file(".env", "SECRET 0");
        for mode in ["readonly", "direct"] {
            let flags = ["--relax", "limits", "--mode", mode];
            let mut driver = Driver::start(env);
            driver.run(&flags, "true");
            for number in 1..6 {
                sleep(PREPARED);
                for save in 0..number {
                    let new = env.file(".saved", format!("SECRET {number}.{save}"));
                    fs::rename(new, env.workspace().join(".env")).unwrap();
                }
                let record = driver.run(&flags, "cat .env");
                assert_eq!(driver.stdout_of(&record), "", "{mode}, saved {number} times");
                fs::remove_file(env.workspace().join(".env")).unwrap();
                env.file(".env", "SECRET again");
                let record = driver.run(&flags, "cat .env");
                assert_eq!(driver.stdout_of(&record), "", "{mode}, made anew");
            }
        }
    });
}

#[test]
fn a_killed_launcher_takes_everything_along() {
    let env = TestEnv::with_binary(BINARY);
    let mut driver = Driver::start(&env);
    driver.run_pooled(&[], "true");
    driver.wait_until_ready();
    driver.ask(&[], "(setsid sleep 60 &) ; sleep 60");
    assert!(wait_until(Duration::from_secs(5), || env.runs().len() == 3));
    std::thread::sleep(Duration::from_millis(300));
    let made = driver.made();
    kill(driver.launcher().unwrap());
    let record = driver.answer();
    assert_eq!(record["outcome"]["class"], "sandbox_failure", "{record:#}");
    assert_eq!(record["cleanup"]["receipt"], "terminated", "{record:#}");
    // There is no going on without it, and that is said.
    let record = driver.run(&[], "true");
    assert_eq!(record["outcome"]["class"], "sandbox_failure", "{record:#}");
    env.run(["gc"]).assert_exit(0);
    made.assert_gone();
    env.run(["audit", "verify"]).assert_exit(0);
    drop(driver);
    env.run(["gc"]).assert_exit(0).assert_stdout("nothing to clean up\n");
    assert!(pools(&env).is_empty(), "{:?}", pools(&env));
}

/// Killed over the very sandbox that was asked for: nobody has heard of it yet, and its groups carry the run's name.
#[test]
fn a_launcher_that_dies_over_a_sandbox_leaves_nothing_of_it() {
    let mut over_it = 0;
    for _ in 0..30 {
        let env = TestEnv::with_binary(BINARY);
        let mut driver = Driver::start(&env);
        assert!(wait_until(Duration::from_secs(10), || driver.launcher().is_some()));
        // Nothing has to be started to strike.
        let mut blow = Blow::at(driver.launcher().unwrap());
        driver.ask(&[], "sleep 60");
        let began = std::time::Instant::now();
        while !env.runs().iter().any(|run| has_group(run)) {
            assert!(began.elapsed() < Duration::from_secs(20), "no group was made");
        }
        blow.strike();
        let record = driver.answer();
        assert_eq!(record["outcome"]["class"], "sandbox_failure", "{record:#}");
        assert_eq!(record["cleanup"]["receipt"], "terminated", "{record:#}");
        let left: Vec<_> = env.runs().into_iter().filter(|run| has_group(run)).collect();
        assert!(left.is_empty(), "{left:?}");
        let message = record["outcome"]["message"].as_str().unwrap();
        over_it += usize::from(message.contains("launcher of sandboxes is gone"));
        drop(driver);
        env.run(["gc"]).assert_exit(0);
        if over_it == 3 {
            return;
        }
    }
    assert!(over_it > 0, "it never died over a sandbox");
}

#[test]
fn a_killed_client_takes_everything_along() {
    let env = TestEnv::with_binary(BINARY);
    let mut driver = Driver::start(&env);
    driver.run_pooled(&[], "true");
    driver.ask(&[], "(setsid sleep 60 &) ; sleep 60");
    assert!(wait_until(Duration::from_secs(5), || env.runs().len() == 3));
    std::thread::sleep(Duration::from_millis(300));
    let made = driver.made();
    driver.child.kill().unwrap();
    made.assert_gone();
    drop(driver);
    env.run(["gc"]).assert_exit(0);
    let last = env.latest_record();
    assert_eq!(last["outcome"]["class"], "sandbox_failure", "{last:#}");
    assert!(pools(&env).is_empty(), "{:?}", pools(&env));
}

#[test]
fn one_that_was_made_for_a_run_is_found_by_its_place() {
    let env = TestEnv::with_binary(BINARY);
    let mut driver = Driver::start(&env);
    // The first is never from the pool.
    driver.ask(&[], "sleep 60");
    assert!(wait_until(Duration::from_secs(10), || driver.has_groups_of(&env.runs())));
    let made = driver.made();
    // Neither is to clean up after the other.
    send("-STOP", driver.child.id());
    kill(driver.launcher().unwrap());
    driver.child.kill().unwrap();
    made.wait_until_dead();
    // As one who cleaned up while the launcher was still at it would have left it.
    let active = env.state_dir().join("active");
    std::fs::remove_dir_all(&active).unwrap();
    std::fs::create_dir(&active).unwrap();
    drop(driver);
    env.run(["gc"]).assert_exit(0);
    made.assert_gone();
    assert!(pools(&env).is_empty(), "{:?}", pools(&env));
}
