//! One function per claim.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::time::{Duration, Instant};

use cofferdam_core::caps::Guarantee;
use cofferdam_core::mount::{Access, Mount};
use cofferdam_core::receipt::Held;
use cofferdam_core::spec::Mode;
use cofferdam_native::confined::{ConfineError, Preparation, bear};
use cofferdam_native::process::{StartError, StdinKind};
use cofferdam_native::signals::Signals;
use cofferdam_native::supervise::{
    Cause, Notice, Passage, Patience, Status, StreamName, Watch, supervise,
};
use rustix::process::{WaitId, WaitIdOptions, waitid};
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

use crate::sandbox::{Sandbox, chain, host_path, leaky_descriptor, open_up};
use crate::templates::{
    a_copied_root_is_like_one_of_its_own, a_root_is_copied_only_for_the_same_owner_and_places,
    what_is_shared_can_be_written_by_nobody,
};

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) who: Who,
    pub(crate) run: fn(),
}

/// Who is to run it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Both,
    Root,
    User,
    /// Nobody: another case starts it.
    Helper,
}

macro_rules! cases {
    ($($who:ident $name:ident),+ $(,)?) => {
        pub(crate) const CASES: &[Case] =
            &[$(Case { name: stringify!($name), who: Who::$who, run: $name }),+];
    };
}

cases! {
    Both a_copied_root_is_like_one_of_its_own,
    Both what_is_shared_can_be_written_by_nobody,
    Root a_root_is_copied_only_for_the_same_owner_and_places,
    Both the_program_has_no_privileges,
    Both writes_are_staged_and_the_host_tree_is_untouched,
    Both whole_trees_can_be_replaced,
    Both direct_mode_writes_to_the_host,
    Both readonly_mode_writes_nowhere,
    Both the_root_holds_nothing_of_the_host,
    Both the_root_cannot_be_written,
    Both exit_codes_and_signals_arrive,
    Both a_program_that_cannot_be_executed_is_told_apart,
    Both a_working_directory_that_is_not_there_is_an_error,
    Both a_timeout_ends_everything,
    Both a_background_process_does_not_outlive_the_command,
    Both all_are_dead_when_the_end_is_told,
    Both it_may_use_the_processors_that_we_may,
    Both we_keep_to_one_processor_only_while_a_start_lasts,
    Both the_environment_is_the_plans,
    Both no_descriptor_leaks,
    Both blocked_paths_cannot_be_seen_or_made,
    Both blocked_paths_in_direct_mode_are_told,
    Both mounts_are_shown_as_planned,
    Both a_workspace_that_was_replaced_is_refused,
    Both the_loopback_is_its_own,
    Both the_first_process_cannot_be_looked_into,
    Both the_receipt_says_what_was_read_back,
    Root what_root_owns_stays_roots,
    Root another_owners_workspace_is_worked_in_as_that_owner,
    Root memory_is_limited,
    Root processes_are_limited,
    User files_of_strangers_are_refused,
    Both threads_are_refused,
    Both a_killed_supervisor_takes_the_sandbox_along,
    Both one_whose_maker_is_gone_before_it_is_supplied_ends,
    Both a_caller_that_ignores_its_children_still_learns_how_they_ended,
    Root groups_of_a_dead_supervisor_are_swept,
    Root an_owner_in_roots_group_is_not_in_it_inside,
    Both what_cannot_be_given_is_refused,
    Helper sleeps_in_a_sandbox,
}

fn the_program_has_no_privileges() {
    let done = Sandbox::new("cat /proc/self/status; id -u; id -G; cat /proc/self/cgroup").run();
    assert_eq!(done.ended.status, Status::Exited(0), "{}", done.stderr);
    for set in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"] {
        assert!(done.stdout.contains(&format!("{set}:\t0000000000000000\n")), "{}", done.stdout);
    }
    assert!(done.stdout.contains("NoNewPrivs:\t1\n") && done.stdout.contains("Seccomp:\t2\n"));
    assert!(!done.stdout.contains("Uid:\t0"), "{}", done.stdout);
    assert!(!done.stdout.contains("cofferdam/"), "{}", done.stdout);
}

fn writes_are_staged_and_the_host_tree_is_untouched() {
    let sandbox = Sandbox::new("echo new > made && echo more >> file && rm dir/inner && cat file");
    let done = sandbox.run();
    assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("host\nmore\n", ""));
    let host = sandbox.workspace();
    assert_eq!(fs::read_to_string(host.join("file")).unwrap(), "host\n");
    assert!(host.join("dir/inner").exists() && !host.join("made").exists());
    let upper = sandbox.upper();
    assert_eq!(fs::read_to_string(upper.join("made")).unwrap(), "new\n");
    assert_eq!(fs::read_to_string(upper.join("file")).unwrap(), "host\nmore\n");
    // What was removed is a character device 0:0.
    assert_eq!(fs::symlink_metadata(upper.join("dir/inner")).unwrap().rdev(), 0);
    let owner = fs::metadata(&host).unwrap().uid();
    assert_eq!(fs::metadata(upper.join("made")).unwrap().uid(), owner);
}

fn whole_trees_can_be_replaced() {
    let sandbox =
        Sandbox::new("rm -r dir && mkdir dir && echo x > dir/x && mv dir moved && ls -A . moved");
    let done = sandbox.run();
    assert_eq!(done.ended.status, Status::Exited(0), "{}", done.stderr);
    assert_eq!(done.stdout, ".:\nfile\nmoved\n\nmoved:\nx\n");
    assert!(sandbox.workspace().join("dir/inner").exists());
}

fn direct_mode_writes_to_the_host() {
    let sandbox = Sandbox::new("echo new > made && rm file").mode(Mode::Direct);
    let done = sandbox.run();
    assert_eq!(done.ended.status, Status::Exited(0), "{}", done.stderr);
    let host = sandbox.workspace();
    assert_eq!(fs::read_to_string(host.join("made")).unwrap(), "new\n");
    assert!(!host.join("file").exists());
    let (made, top) = (fs::metadata(host.join("made")).unwrap(), fs::metadata(&host).unwrap());
    assert_eq!((made.uid(), made.gid()), (top.uid(), top.gid()));
}

fn readonly_mode_writes_nowhere() {
    let done = Sandbox::new("cat file; echo x > made; echo x > /tmp/ok && cat /tmp/ok")
        .mode(Mode::Readonly)
        .run();
    assert_eq!(done.stdout, "host\nx\n");
    assert!(
        done.stderr.contains("Read-only") || done.stderr.contains("Permission"),
        "{}",
        done.stderr
    );
}

fn the_root_holds_nothing_of_the_host() {
    let sandbox = Sandbox::new(
        "ls -A /; ls -A /home /root /var /run /mnt /opt /sys 2>&1; cat /etc/shadow; hostname; \
         ls /dev; cat /proc/kcore | wc -c; ls /proc | grep -c '^[0-9]'",
    );
    let done = sandbox.run();
    let first: Vec<&str> = done.stdout.lines().take_while(|line| *line != "/home:").collect();
    for absent in ["root", "boot", "srv", "media", "sys"] {
        assert!(!first.contains(&absent), "{first:?}");
    }
    assert!(first.contains(&"usr") && first.contains(&"workspace"), "{first:?}");
    assert!(done.stdout.contains("/home:\nsandbox\n"), "{}", done.stdout);
    assert!(done.stdout.contains("\nsandbox\n"), "{}", done.stdout);
    assert!(done.stderr.contains("/etc/shadow"), "{}", done.stderr);
    assert!(!done.stdout.contains("kmsg") && !done.stdout.contains("mem\n"), "{}", done.stdout);
    let top = sandbox.top().file_name().unwrap().to_str().unwrap().to_owned();
    assert!(!done.stdout.contains(&top), "{}", done.stdout);
}

fn the_root_cannot_be_written() {
    let done = Sandbox::new(
        "for p in /x /etc/x /usr/x /etc/passwd /proc/sys/kernel/hostname /run/x /home/x /dev/x; do \
         (echo x > $p) 2>/dev/null && echo wrote $p; done; \
         echo x > /home/sandbox/x && echo x > /dev/shm/x && echo x > /dev/null && echo fine",
    )
    .run();
    assert_eq!(done.stdout, "fine\n", "{}", done.stderr);
}

fn exit_codes_and_signals_arrive() {
    assert_eq!(Sandbox::new("exit 7").run().ended.status, Status::Exited(7));
    let done = Sandbox::new("kill -SEGV $$").run();
    assert_eq!(done.ended.status, Status::Signaled(libc::SIGSEGV));
    assert_eq!(done.ended.cause, Cause::Own);
}

fn a_program_that_cannot_be_executed_is_told_apart() {
    let missing = Sandbox::with_command(&["no-such-program"]);
    assert!(matches!(missing.try_run(), Err(StartError::NotFound { .. })));
    missing.assert_nothing_left();
    let missing = Sandbox::with_command(&["./none"]);
    assert!(matches!(missing.try_run(), Err(StartError::NotFound { .. })));
    for program in ["./file", "/workspace/dir"] {
        let denied = Sandbox::with_command(&[program]);
        let answer = denied.try_run();
        assert!(matches!(answer, Err(StartError::NotExecutable { .. })), "{program}");
        denied.assert_nothing_left();
    }
    assert_eq!(Sandbox::with_command(&["true"]).run().ended.status, Status::Exited(0));
}

fn a_working_directory_that_is_not_there_is_an_error() {
    let mut sandbox = Sandbox::new("pwd");
    sandbox.plan.workdir = "/workspace/none".into();
    assert!(matches!(sandbox.try_run(), Err(StartError::Workdir { .. })));
    let mut sandbox = Sandbox::new("pwd");
    sandbox.plan.workdir = "/workspace/dir".into();
    assert_eq!(sandbox.run().stdout, "/workspace/dir\n");
}

fn a_timeout_ends_everything() {
    let mut sandbox = Sandbox::new("trap '' TERM; setsid sleep 1000 & while :; do sleep 1; done");
    sandbox.wall = Duration::from_millis(200);
    let before = Instant::now();
    let done = sandbox.run();
    assert_eq!(done.ended.cause, Cause::WallTimeout);
    assert_eq!(done.ended.status, Status::Signaled(libc::SIGKILL));
    assert!(before.elapsed() < Duration::from_secs(5), "{:?}", before.elapsed());
    // One that listens ends by itself.
    let mut sandbox = Sandbox::new("trap 'echo bye; exit 3' TERM; while :; do sleep 0.05; done");
    sandbox.wall = Duration::from_millis(200);
    sandbox.grace = Duration::from_secs(10);
    let done = sandbox.run();
    assert_eq!((done.stdout.as_str(), done.ended.status), ("bye\n", Status::Exited(3)));
}

fn a_background_process_does_not_outlive_the_command() {
    let sandbox = Sandbox::new("setsid sh -c 'sleep 0.3; echo late > late' & echo started");
    let done = sandbox.run();
    assert_eq!(done.stdout, "started\n");
    std::thread::sleep(Duration::from_millis(500));
    assert!(!sandbox.upper().join("late").exists());
}

/// Before the sandbox is taken down, and whatever they do against it.
fn all_are_dead_when_the_end_is_told() {
    let stubborn = "for i in 1 2 3 4 5 6 7 8; do
        setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep 0.01 & wait; done' >/dev/null 2>&1 &
    done; echo started; exit 7";
    for _ in 0..5 {
        let done = Sandbox::new(stubborn).run();
        assert_eq!((done.stdout.as_str(), done.ended.status), ("started\n", Status::Exited(7)));
        assert_eq!(done.alive, Vec::<u32>::new());
    }
}

/// It is started on another than ours, and that is no limit.
fn it_may_use_the_processors_that_we_may() {
    let asking = || Sandbox::new("sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status");
    let theirs = || asking().run().stdout.trim().to_owned();
    let ours = our_processors();
    assert_eq!(theirs(), ours);

    // Nor for those that are begun while we stay where we are for another.
    let (older, younger) = (Sandbox::new("cat"), asking());
    let (older, handed) = older.start(StdinKind::Pipe).unwrap();
    assert_eq!(younger.run().stdout.trim(), ours);
    drop(older);
    assert!(handed.finish().is_empty());
    assert_eq!(our_processors(), ours);

    let all = sched_getaffinity(None).unwrap();
    let mut one = CpuSet::new();
    one.set(sched_getcpu());
    sched_setaffinity(None, &one).unwrap();
    assert_eq!(theirs(), our_processors());
    // Other cases follow in this process.
    sched_setaffinity(None, &all).unwrap();
}

fn we_keep_to_one_processor_only_while_a_start_lasts() {
    struct Lasting(Option<String>);
    impl Watch for Lasting {
        fn output(&mut self, _: StreamName, _: &[u8]) {}

        fn notice(&mut self, notice: &Notice) {
            if matches!(notice, Notice::Lasting) {
                self.0 = Some(our_processors());
            }
        }
    }

    let all = our_processors();
    let sandbox = Sandbox::new("sleep 0.3");
    let signals = Signals::take().unwrap();
    let (running, handed) = sandbox.start(StdinKind::Empty).unwrap();
    assert!(our_processors().parse::<u32>().is_ok(), "{}", our_processors());
    let passage = Passage { stdout: None, stderr: None, stdin: None };
    let patience = Patience { wall: sandbox.wall, idle: None, grace: sandbox.grace, disk: None };
    let mut lasting = Lasting(None);
    supervise(running.process, passage, patience, &signals, &mut lasting).unwrap();
    assert_eq!(lasting.0.as_ref(), Some(&all));
    assert!(handed.finish().is_empty());

    Sandbox::new("true").run();
    assert_eq!(our_processors(), all);
    // Nor where nothing was started.
    Sandbox::with_command(&["/nowhere"]).try_run().err().expect("no such program");
    assert_eq!(our_processors(), all);
}

fn our_processors() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:\t"));
    line.unwrap().to_owned()
}

fn the_environment_is_the_plans() {
    let mut sandbox = Sandbox::with_command(&["env"]);
    let name: cofferdam_core::env::EnvName = "GREETING".parse().unwrap();
    sandbox.plan.env.insert(name, cofferdam_core::env::EnvValue::Set("hello".into()));
    let done = sandbox.run();
    assert_eq!(done.stdout, format!("GREETING=hello\nCOFFERDAM_RUN={}\n", sandbox.run));
}

fn no_descriptor_leaks() {
    let leaky = leaky_descriptor();
    let done = Sandbox::with_command(&["ls", "/proc/self/fd"]).run();
    drop(leaky);
    // The fourth is the listing's own.
    assert_eq!(done.stdout, "0\n1\n2\n3\n");
}

fn blocked_paths_cannot_be_seen_or_made() {
    let script = "cat .env private/key secret-link 2>&1; ls -A hidden; \
         for p in .env new.key private/key made/deep hidden/x linked; do \
           (echo x > $p) 2>/dev/null && echo wrote $p; \
           rm $p 2>/dev/null && echo removed $p; \
           (echo y > other; mv -f other $p) 2>/dev/null && echo moved $p; \
           ln -sf /etc/passwd $p 2>/dev/null && echo linked $p; \
         done; \
         mv private elsewhere 2>/dev/null; test -e private/key || echo moved the directory; \
         rm -rf made 2>/dev/null; test -e made/deep || echo removed the directory; \
         mv made away 2>/dev/null && mkdir made && echo x > made/deep && echo remade; \
         echo fine > private/other && cat private/other; echo ok > .env.example; cat .env.example";
    let mut sandbox = Sandbox::new(script);
    let host = sandbox.workspace();
    fs::write(host.join(".env"), "SECRET=1\n").unwrap();
    fs::create_dir(host.join("private")).unwrap();
    fs::write(host.join("private/key"), "SECRET=2\n").unwrap();
    fs::create_dir(host.join("hidden")).unwrap();
    fs::write(host.join("hidden/x"), "SECRET=3\n").unwrap();
    fs::write(host.join("target"), "SECRET=4\n").unwrap();
    symlink("target", host.join("linked")).unwrap();
    symlink("/workspace/target", host.join("secret-link")).unwrap();
    sandbox.plan.blocked = [".env", "private/key", "hidden", "new.key", "made/deep", "linked"]
        .map(str::to_owned)
        .into();
    let done = sandbox.run();
    assert!(!done.stdout.contains("SECRET"), "{}", done.stdout);
    let unexpected: Vec<_> =
        done.stdout.lines().filter(|line| !["fine", "ok"].contains(line)).collect();
    assert!(unexpected.is_empty(), "{unexpected:?}\n{}", done.stderr);
    assert!(done.stdout.contains("fine\n") && done.stdout.contains("ok\n"), "{}", done.stdout);
    let placeholders = fs::read(sandbox.state().join("blocked-placeholders")).unwrap();
    assert_eq!(placeholders, b"linked\0new.key\0made\0made/deep\0");
    assert_eq!(fs::read_to_string(host.join(".env")).unwrap(), "SECRET=1\n");
}

fn blocked_paths_in_direct_mode_are_told() {
    let mut sandbox = Sandbox::new(
        "cat .env dir/inner; echo x > .env; echo x > .env.local; \
         mv dir away 2>/dev/null && mkdir dir && echo forged > dir/inner && echo remade",
    )
    .mode(Mode::Direct);
    fs::write(sandbox.workspace().join(".env"), "SECRET\n").unwrap();
    sandbox.plan.blocked = [".env", "missing", "dir/inner"].map(str::to_owned).into();
    let done = sandbox.run();
    assert_eq!(done.stdout, "");
    assert_eq!(fs::read_to_string(sandbox.workspace().join(".env")).unwrap(), "SECRET\n");
    assert!(!sandbox.workspace().join("missing").exists());
    let relaxed = done.receipt.iter().find(|holding| holding.state == Held::Relaxed).unwrap();
    assert_eq!(relaxed.guarantee, Guarantee::BlockedPaths);
    assert_eq!(relaxed.read_back.as_deref(), Some("missing"));
}

fn mounts_are_shown_as_planned() {
    let mut sandbox = Sandbox::new(
        "cat /data/ro/x /opt/tool/x; (echo y > /data/ro/y) 2>/dev/null && echo wrote; \
         (echo y > /opt/tool/y) 2>/dev/null && echo wrote; echo z > /data/rw/z && echo ok",
    );
    for name in ["ro", "rw", "tool"] {
        fs::create_dir(sandbox.top().join(name)).unwrap();
        fs::write(sandbox.top().join(name).join("x"), format!("{name}\n")).unwrap();
    }
    let mount = |name: &str, access| Mount {
        source: host_path(&sandbox.top().join(name)),
        target: format!("/data/{name}").into(),
        access,
    };
    sandbox.plan.mounts = vec![mount("ro", Access::Read), mount("rw", Access::Write)];
    let mut tool = host_path(&sandbox.top().join("tool"));
    tool.asked = "/opt/tool".into();
    sandbox.plan.toolchains = vec![tool];
    let done = sandbox.run();
    assert_eq!(done.stdout, "ro\ntool\nok\n", "{}", done.stderr);
    let made = fs::metadata(sandbox.top().join("rw/z")).unwrap();
    assert_eq!(made.uid(), fs::metadata(sandbox.top().join("rw")).unwrap().uid());
    assert!(!sandbox.top().join("ro/y").exists());
}

fn a_workspace_that_was_replaced_is_refused() {
    let sandbox = Sandbox::new("true");
    let host = sandbox.workspace();
    fs::rename(&host, sandbox.top().join("away")).unwrap();
    symlink(sandbox.top().join("away"), &host).unwrap();
    let error = sandbox.try_run().err().expect("a symlink is refused");
    assert!(chain(&error).contains("mount the workspace"), "{}", chain(&error));
    fs::remove_file(&host).unwrap();
    fs::remove_dir_all(sandbox.state()).unwrap();
    fs::create_dir(sandbox.state()).unwrap();
    fs::create_dir(&host).unwrap();
    let error = sandbox.try_run().err().expect("another directory is refused");
    let StartError::Confine(error) = error else { panic!("{error:?}") };
    assert!(error.remedy().contains("replaced"), "{}", error.remedy());
    sandbox.assert_nothing_left();
}

fn the_loopback_is_its_own() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let script = format!(
        "(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>&1 | grep -o refused | uniq; cat /proc/net/dev | grep -c :"
    );
    let done = Sandbox::with_command(&["/bin/bash", "-c", &script]).run();
    // Refused, not unreachable: the interface is up, and nobody listens there.
    assert_eq!(done.stdout, "refused\n1\n", "{}", done.stderr);
    assert!(listener.accept().is_err());
}

fn the_first_process_cannot_be_looked_into() {
    let done = Sandbox::new(
        "cat /proc/1/cmdline | tr '\\0' '\\n'; cat /proc/1/environ; ls /proc/1/fd; readlink /proc/1/cwd /proc/1/exe; kill -9 1; kill -TERM 1; \
         sleep 0.1; echo alive",
    )
    .run();
    let told = done.stdout.replace('\n', "");
    assert_eq!(
        told,
        "cofferdam: first process of a sandbox"[..told.len() - 5].to_owned() + "alive"
    );
    assert_eq!(done.ended.status, Status::Exited(0));
}

fn the_receipt_says_what_was_read_back() {
    let done = Sandbox::new("true").run();
    let read_back = |guarantee| {
        let holding = done.receipt.iter().find(|holding| holding.guarantee == guarantee);
        holding.and_then(|holding| holding.read_back.clone()).unwrap_or_default()
    };
    assert!(read_back(Guarantee::Privileges).contains("CapEff 0000000000000000"));
    assert_eq!(read_back(Guarantee::Seccomp), "Seccomp 2");
    assert_eq!(read_back(Guarantee::StagedWorkspace), "writable");
    assert_eq!(read_back(Guarantee::ReadonlyRoot), "/ read-only, /usr read-only");
    assert!(read_back(Guarantee::NetworkNone).starts_with("net:["));
    if crate::is_root() {
        assert_eq!(read_back(Guarantee::MemoryLimit), (256 << 20).to_string());
        assert_eq!(read_back(Guarantee::PidsLimit), "65");
    }
}

fn what_root_owns_stays_roots() {
    let sandbox = Sandbox::new(
        "id -u; cat secret && echo x > secret && chmod 600 file && mkdir -p a/b && echo y > a/b/c; \
         stat -c %u file other .; cat foreign && echo more >> foreign",
    );
    let host = sandbox.workspace();
    fs::write(host.join("secret"), "root's\n").unwrap();
    fs::set_permissions(host.join("secret"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::set_permissions(&host, fs::Permissions::from_mode(0o700)).unwrap();
    for (name, mode) in [("other", 0o644), ("foreign", 0o666)] {
        fs::write(host.join(name), "third\n").unwrap();
        std::os::unix::fs::chown(host.join(name), Some(777), Some(778)).unwrap();
        fs::set_permissions(host.join(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    let done = sandbox.run();
    assert_eq!(done.stdout, "64987\nroot's\n64987\n777\n64987\nthird\n", "{}", done.stderr);
    for path in ["", "secret", "file", "a", "a/b", "a/b/c"] {
        let meta = fs::metadata(sandbox.upper().join(path)).unwrap();
        assert_eq!((meta.uid(), meta.gid()), (0, 0), "{path}");
    }
    let foreign = fs::metadata(sandbox.upper().join("foreign")).unwrap();
    assert_eq!((foreign.uid(), foreign.gid()), (777, 778));
}

fn another_owners_workspace_is_worked_in_as_that_owner() {
    let sandbox = Sandbox::new("id -u; id -g; id -G; echo x > made; echo y >> file; rm -r dir");
    let host = sandbox.workspace();
    for path in ["", "file", "dir", "dir/inner"] {
        std::os::unix::fs::chown(host.join(path), Some(1234), Some(2345)).unwrap();
    }
    let done = sandbox.run();
    assert_eq!((done.stdout.as_str(), done.stderr.as_str()), ("1234\n2345\n2345\n", ""));
    let made = fs::metadata(sandbox.upper().join("made")).unwrap();
    assert_eq!((made.uid(), made.gid()), (1234, 2345));
}

fn memory_is_limited() {
    let mut sandbox = Sandbox::new("head -c 200m /dev/zero | tail > /dev/null; echo after");
    sandbox.plan.limits.memory = cofferdam_core::quantity::ByteSize::mib(48);
    let done = sandbox.run();
    assert!(done.ended.oom, "{} {}", done.stdout, done.stderr);
    assert!(!Sandbox::new("head -c 9m /dev/zero | tail > /dev/null").run().ended.oom);
}

fn processes_are_limited() {
    let script = "i=0; while [ $i -lt 40 ]; do sleep 2 & i=$((i+1)); done; echo all";
    let mut sandbox = Sandbox::new(script);
    sandbox.plan.limits.pids = 10;
    let done = sandbox.run();
    assert!(!done.stdout.contains("all") && done.stderr.contains("fork"), "{}", done.stderr);
    assert_eq!(Sandbox::new(script).run().stdout, "all\n");
}

/// Only root could make a stranger's file; where we are not root, one is there already.
fn files_of_strangers_are_refused() {
    let mut sandbox = Sandbox::new("true");
    sandbox.plan.workspace.source = host_path(std::path::Path::new("/usr"));
    let error = sandbox.try_run().err().expect("it is refused");
    let StartError::Confine(ConfineError::Strangers { paths }) = error else {
        panic!("{}", chain(&error))
    };
    assert!((1..=5).contains(&paths.len()), "{paths:?}");
    assert_eq!(sandbox.mode(Mode::Readonly).run().ended.status, Status::Exited(0));
}

fn threads_are_refused() {
    let sandbox = Sandbox::new("true");
    let (stop, wait) = std::sync::mpsc::channel::<()>();
    let thread = std::thread::spawn(move || wait.recv().is_err());
    let answer = sandbox.try_run();
    drop(stop);
    thread.join().unwrap();
    assert!(matches!(answer, Err(StartError::Confine(ConfineError::Threads { count: 2 }))));
}

/// Says where it is by a file in the workspace, which is the second argument after our own flag's.
fn sleeps_in_a_sandbox() {
    let told = std::env::var_os("TOLD").expect("where to tell the run");
    let sandbox = Sandbox::new("sleep 1000");
    let _running = sandbox.start(cofferdam_native::process::StdinKind::Empty).unwrap();
    fs::write(told, &sandbox.run).unwrap();
    std::thread::sleep(Duration::from_secs(1000));
}

/// Starts it in a process of its own, kills that, and returns the run's name.
fn kill_a_supervisor() -> String {
    let dir = tempfile::tempdir().unwrap();
    let told = dir.path().join("told");
    let mut child = std::process::Command::new(std::env::current_exe().unwrap())
        .args([crate::HERE, "sleeps_in_a_sandbox"])
        .env("TOLD", &told)
        // Its own temporary files stay: it is killed.
        .env("TMPDIR", dir.path())
        .spawn()
        .unwrap();
    let run = wait_for(|| fs::read_to_string(&told).ok().filter(|run| !run.is_empty()));
    assert!(!processes_of(&run).is_empty(), "nothing runs");
    child.kill().unwrap();
    child.wait().unwrap();
    wait_for(|| processes_of(&run).is_empty().then_some(()));
    for entry in fs::read_dir(dir.path()).unwrap().flatten() {
        open_up(&entry.path().join("state/work"));
    }
    run
}

fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "it does not happen");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn processes_of(run: &str) -> Vec<String> {
    let marker = format!("COFFERDAM_RUN={run}");
    let carries = |entry: &fs::DirEntry| {
        fs::read(entry.path().join("environ"))
            .is_ok_and(|env| env.split(|b| *b == 0).any(|var| var == marker.as_bytes()))
    };
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes.filter(carries).map(|entry| entry.path().display().to_string()).collect()
}

fn a_killed_supervisor_takes_the_sandbox_along() {
    let run = kill_a_supervisor();
    cofferdam_native::sweep(&run);
}

fn groups_of_a_dead_supervisor_are_swept() {
    let run = kill_a_supervisor();
    let groups = || -> Vec<_> {
        let hierarchies = ["", "unified", "memory", "cpu", "pids"];
        let dirs = hierarchies.map(|name| format!("/sys/fs/cgroup/{name}/cofferdam.{run}"));
        dirs.into_iter().filter(|dir| fs::metadata(dir).is_ok()).collect()
    };
    assert!(!groups().is_empty());
    assert_eq!(cofferdam_native::sweep(&run), Vec::<String>::new());
    assert_eq!(groups(), Vec::<String>::new());
}

fn a_caller_that_ignores_its_children_still_learns_how_they_ended() {
    let ignored = "trap '' CHLD; exec \"$0\" \"$@\"";
    let exe = std::env::current_exe().unwrap();
    let status = std::process::Command::new("/bin/sh")
        .args(["-c", ignored, exe.to_str().unwrap(), crate::HERE, "exit_codes_and_signals_arrive"])
        .status()
        .unwrap();
    assert!(status.success());
}

fn an_owner_in_roots_group_is_not_in_it_inside() {
    let sandbox = Sandbox::new("id -u; id -g; id -G; echo x > made; stat -c %g file");
    for path in ["", "file", "dir", "dir/inner"] {
        std::os::unix::fs::chown(sandbox.workspace().join(path), Some(1234), Some(0)).unwrap();
    }
    let done = sandbox.run();
    assert_eq!(done.stdout, "1234\n64987\n64987\n64987\n", "{}", done.stderr);
    let made = fs::metadata(sandbox.upper().join("made")).unwrap();
    assert_eq!((made.uid(), made.gid()), (1234, 0));
}

fn what_cannot_be_given_is_refused() {
    let refused = |change: fn(&mut cofferdam_core::plan::Plan)| {
        let mut sandbox = Sandbox::new("true");
        change(&mut sandbox.plan);
        let answer = sandbox.try_run().err();
        matches!(answer, Some(StartError::Confine(ConfineError::Unsupported { .. })))
    };
    assert!(refused(|plan| plan.network = cofferdam_core::spec::Network::Host));
    assert!(refused(|plan| plan.root = cofferdam_core::plan::Root::Bare));
    assert!(refused(|plan| plan.runtime = Some("runsc".into())));
    assert!(!refused(|_| {}));
}

/// It must see that nobody is left at the far end, although it was born with a copy of that end.
fn one_whose_maker_is_gone_before_it_is_supplied_ends() {
    let sandbox = Sandbox::new("true");
    let profile = cofferdam_core::plan::Profile::of(&sandbox.plan);
    let (name, state) = (&sandbox.run, sandbox.state());
    let preparation = Preparation { profile: &profile, name, state: &state, stock: None };
    // Let go of without a word, as by a maker that was killed.
    drop(bear(&preparation).unwrap());
    let deadline = Instant::now() + Duration::from_secs(10);
    let nobody_left = || match waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
        // With control groups of version 2 it is born into its group, which is part of what it is supplied with.
        Err(errno) => errno == rustix::io::Errno::CHILD,
        Ok(ended) => ended.is_some(),
    };
    while !nobody_left() {
        assert!(Instant::now() < deadline, "it waits for ever");
        std::thread::sleep(Duration::from_millis(5));
    }
}
