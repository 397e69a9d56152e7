//! Sandboxes whose roots are copies of one: no different from others, and nothing to each other.

use std::os::unix::fs::chown;
use std::rc::Rc;

use cofferdam_core::quantity::ByteSize;
use cofferdam_native::stock::Stock;

use crate::sandbox::{Done, Sandbox};

/// Everything that can be seen of a root.
const LOOK: &str = "\
    cat /proc/self/mountinfo; echo; \
    find / -xdev -path /proc -prune -o -printf '%p %y %m %U %G %l\\n' | sort; \
    find /dev /etc -printf '%p %y %m %U %G %s %l\\n' | sort; \
    cat /etc/passwd /etc/group /etc/hosts /etc/os-release; \
    stat -c '%n %t %T %a' /dev/*";
/// When a file was made that is made with each root.
const AGE: &str = "stat -c %y /etc/hostname";

fn looked(stock: Option<&Rc<Stock>>) -> (Vec<String>, String) {
    let mut sandbox = Sandbox::new(LOOK);
    sandbox.stock = stock.cloned();
    let Done { stdout, stderr, .. } = sandbox.run();
    let (mounts, rest) = stdout.split_once("\n\n").unwrap_or_else(|| panic!("{stdout}{stderr}"));
    // Numbers of mounts and devices, and what an overlay was made of, differ with every mount.
    let kind = |line: &str| {
        let words: Vec<_> = line.split(' ').collect();
        words[3..words.len() - 1].join(" ")
    };
    let mut mounts: Vec<_> = mounts.lines().map(kind).collect();
    mounts.sort();
    (mounts, rest.to_owned())
}

pub(crate) fn a_copied_root_is_like_one_of_its_own() {
    let stock = Rc::new(Stock::default());
    let own = looked(None);
    assert!(own.0.len() > 15 && own.1.contains("/etc/passwd"), "{own:?}");
    assert_eq!(looked(Some(&stock)), own, "the first copy");
    assert_eq!(looked(Some(&stock)), own, "another");
    // What the host mounts later must not come to any of them.
    assert!(!own.0.iter().any(|mount| mount.contains("shared:") || mount.contains("master:")));
}

fn run_with(stock: &Rc<Stock>, script: &str, change: impl FnOnce(&mut Sandbox)) -> String {
    let mut sandbox = Sandbox::new(script);
    sandbox.stock = Some(stock.clone());
    change(&mut sandbox);
    sandbox.run().stdout
}

pub(crate) fn what_is_shared_can_be_written_by_nobody() {
    let stock = Rc::new(Stock::default());
    let attempt = "\
        for place in / /etc /dev /run /run/hidden/directory /home /usr /workspace; do \
            touch $place/left 2>/dev/null && echo wrote $place; \
        done; \
        for file in /etc/passwd /run/hidden/file; do chmod 777 $file 2>/dev/null && echo changed $file; done; \
        touch /tmp/left /dev/shm/left /home/sandbox/left && echo and its own";
    let first = run_with(&stock, attempt, |_| ());
    assert_eq!(first, "wrote /workspace\nand its own\n");
    let look = "ls -A /tmp /dev/shm; ls /home/sandbox; ls -d /left /*/left 2>/dev/null";
    assert_eq!(run_with(&stock, look, |_| ()), "/dev/shm:\n\n/tmp:\n");
}

pub(crate) fn a_root_is_copied_only_for_the_same_owner_and_places() {
    let stock = Rc::new(Stock::default());
    let age = |change: fn(&mut Sandbox)| run_with(&stock, AGE, change);
    let (first, again) = (age(|_| ()), age(|_| ()));
    assert_eq!(first == again, kernel_mounts_into_detached_trees(), "{first}{again}");

    let scratch = |sandbox: &mut Sandbox| {
        sandbox.plan.tmpfs.insert("/scratch".into(), ByteSize::mib(1));
    };
    let script = "ls -d /scratch 2>/dev/null; grep sandbox /etc/passwd";
    let had = run_with(&stock, script, scratch);
    assert!(had.starts_with("/scratch\nsandbox:x:64987:"), "{had}");
    let has_not = run_with(&stock, script, |_| ());
    assert!(has_not.starts_with("sandbox:x:64987:"), "{has_not}");
    let other = run_with(&stock, script, |sandbox| {
        for path in ["", "file", "dir", "dir/inner"] {
            chown(sandbox.workspace().join(path), Some(1234), Some(1234)).unwrap();
        }
    });
    assert!(other.starts_with("sandbox:x:1234:1234:"), "{other}");
    // Those that were asked for meanwhile did not push the first one out.
    assert_eq!(age(|_| ()) == again, kernel_mounts_into_detached_trees());
}

fn kernel_mounts_into_detached_trees() -> bool {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse::<u32>());
    let mut next = || numbers.next().and_then(Result::ok).unwrap_or(0);
    (next(), next()) >= (6, 15)
}
