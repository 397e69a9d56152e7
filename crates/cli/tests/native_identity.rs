//! Inside a native sandbox nobody is root on the host, and nobody can become more than they are.

use std::os::unix::fs::MetadataExt as _;

use cofferdam_testkit::{claim, wait_until};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

#[test]
fn no_privileges_inside() {
    claim::as_root_and_as_user(BINARY, |env| {
        let done = claim::run(env, &[], "id -u; cat /proc/self/status");
        done.assert_exit(0);
        let text = done.stdout_text().into_owned();
        assert_ne!(text.lines().next(), Some("0"), "not root");
        for line in [
            "CapInh:\t0000000000000000",
            "CapPrm:\t0000000000000000",
            "CapEff:\t0000000000000000",
            "CapBnd:\t0000000000000000",
            "CapAmb:\t0000000000000000",
            "NoNewPrivs:\t1",
            "Seccomp:\t2",
        ] {
            assert!(text.lines().any(|l| l == line), "no {line:?} in:\n{text}");
        }
        // The receipt says the same, read back and not assumed.
        let receipt = env.latest_record()["receipt"].to_string();
        assert!(receipt.contains("privileges") && receipt.contains("seccomp"), "{receipt}");
    });
}

/// The process is seen from the host: its uid there is not 0 either.
#[test]
fn not_root_on_the_host_side() {
    claim::as_root_and_as_user(BINARY, |env| {
        let mut child = claim::spawn(env, &[], "exec sleep 5");
        let marker = || {
            std::fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
                let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
                let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
                let environ = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
                let ours = env.runs().iter().any(|run| {
                    String::from_utf8_lossy(&environ).contains(&format!("COFFERDAM_RUN={run}"))
                });
                (line == b"sleep\x005\x00" && ours).then_some(pid)
            })
        };
        assert!(wait_until(std::time::Duration::from_secs(10), || marker().is_some()));
        let pid = marker().unwrap();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let uids = status.lines().find(|l| l.starts_with("Uid:")).unwrap().to_owned();
        assert!(uids.split_whitespace().skip(1).all(|uid| uid != "0"), "{uids}");
        assert_eq!(child.wait().unwrap().code(), Some(0));
    });
}

#[test]
fn what_it_creates_belongs_to_the_workspaces_owner() {
    claim::as_root_and_as_user(BINARY, |env| {
        let owner = std::fs::metadata(env.workspace()).unwrap();
        claim::run(env, &["--mode", "direct"], "mkdir d; echo x > d/made; chmod 640 d/made")
            .assert_exit(0);
        let made = std::fs::metadata(env.workspace().join("d/made")).unwrap();
        assert_eq!((made.uid(), made.gid()), (owner.uid(), owner.gid()));
        assert_eq!(made.mode() & 0o7777, 0o640);
    });
}

#[test]
fn set_id_programs_gain_nothing() {
    claim::as_root_and_as_user(BINARY, |env| {
        let script = "cp /bin/sh planted && chmod 4755 planted; \
                      stat -c %a planted; ./planted -p -c 'id -u; grep CapEff /proc/self/status'; id -u; find / -xdev -perm -4000 -exec {} --help \\; 2>/dev/null | head -c 0; \
                      grep CapEff /proc/self/status";
        let done = claim::run(env, &[], script);
        let text = done.stdout_text().into_owned();
        let lines: Vec<&str> = text.lines().collect();
        if env.backend().name() == "native" {
            assert_eq!(lines[0], "755", "the bit cannot be set: {text}");
        }
        assert_eq!(lines[1], lines[3], "nobody else with it than without: {text}");
        assert_ne!(lines[1], "0");
        assert_eq!(text.matches("CapEff:\t0000000000000000").count(), 2, "{text}");
    });
}
