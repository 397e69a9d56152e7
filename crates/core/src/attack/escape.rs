//! C: out of the sandbox, or to more privileges in it.

use super::{Attack, EVERYWHERE, Group, Step, Way, harmful, inside, steps};
use crate::backend::Backend;

const G: Group = Group::Escape;
const ENGINES: &[Backend] = &[Backend::Docker, Backend::Podman];

const fn call(id: &'static str, name: &'static str, tried: &'static str) -> Attack {
    let holds = "the filter answers, not the kernel";
    Attack { id, group: G, tried, holds, way: Way::Call(name), on: EVERYWHERE, known: None }
}

/// A mount that policy never allows, and one that it does.
macro_rules! mount {
    ($id:literal, $source:literal, $tried:literal) => {
        steps(
            $id,
            G,
            $tried,
            "refused before anything starts, whatever paths are allowed",
            &[
                Step::Settings("policy: { allowed_paths: [\"/\"] }"),
                Step::Run(&["--mount", concat!($source, ":/shown")], "true", &[125]),
                Step::Class("refused"),
                Step::Twin(&[Step::Run(
                    &["--mount", "{outside}:/shown"],
                    "test -e /shown/canary",
                    &[0],
                )]),
            ],
        )
    };
}

/// Flags that would widen the sandbox.
macro_rules! refused {
    ($id:literal, $tried:literal, $flags:expr) => {
        steps(
            $id,
            G,
            $tried,
            "refused before anything starts",
            &[
                Step::Run($flags, "true", &[125]),
                Step::Class("refused"),
                Step::Twin(&[Step::Run(&[], "true", &[0])]),
            ],
        )
    };
}

const SOCKET: &str = "{try} unix-self && won";
const WRITE: &str = "( : >> made ) && won";
const READ: &str = "( : < /dev/null ) && won";

pub(super) const ATTACKS: &[Attack] = &[
    inside(
        "C-write-outside",
        G,
        "write to a directory of the host by its path",
        "the path leads nowhere",
        "echo x > {outside}/made && won",
    ),
    inside(
        "C-dot-dot",
        G,
        "climb out with ..",
        "above the root is the root",
        "cd ../../../../../../../..; echo x > .{outside}/made && won",
    ),
    inside(
        "C-symlink-out",
        G,
        "write through a link that leads out",
        "the link leads nowhere inside",
        "ln -s {outside} link; echo x > link/made && won",
    ),
    inside(
        "C-hard-link",
        G,
        "a hard link to a file of the host",
        "the file cannot be named",
        "ln {outside}/canary here && won",
    ),
    inside(
        "C-rename-out",
        G,
        "move a file out",
        "there is nowhere to move it to",
        "echo x > f; mv f {outside}/f && won",
    ),
    inside(
        "C-read-outside",
        G,
        "read a file of the host by its path",
        "the path leads nowhere",
        "cat {outside}/canary && won",
    ),
    inside(
        "C-host-workspace",
        G,
        "write to the workspace by the host's path to it",
        "only the staged view is there",
        "echo x > {workspace}/by-its-path && won",
    ),
    harmful(
        "C-write-system",
        G,
        "open files of the system for writing",
        "the system is shown read-only",
        ["for f in /usr/bin/env /etc/passwd /bin/sh /lib/x; do ( : >> $f ) && won; done", WRITE],
    ),
    harmful(
        "C-new-in-system",
        G,
        "make files in directories of the system",
        "the system is shown read-only",
        [
            "for d in / /usr /etc /usr/local/bin /opt /var /run; do ( : > $d/new ) && won; done",
            WRITE,
        ],
    ),
    harmful(
        "C-startup-files",
        G,
        "cron, preloading and profiles of the system",
        "none of them can be written",
        [
            "for f in /etc/crontab /etc/cron.d/x /var/spool/cron/root /etc/ld.so.preload /etc/profile \
             /etc/systemd/system/x.service; do ( : >> $f ) && won; done",
            WRITE,
        ],
    ),
    harmful(
        "C-proc-sys",
        G,
        "settings of the kernel in /proc/sys",
        "they cannot be opened for writing",
        [
            "for f in /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sys/vm/drop_caches \
             /proc/sys/kernel/randomize_va_space; do ( : >> $f ) && won; done",
            "cat /proc/sys/kernel/hostname && won",
        ],
    ),
    harmful(
        "C-sysrq",
        G,
        "the keys by which the kernel is told to do things",
        "they cannot be opened for writing",
        ["( : >> /proc/sysrq-trigger ) && won", WRITE],
    ),
    harmful(
        "C-kernel-memory",
        G,
        "the kernel's memory and log",
        "neither can be read",
        [
            "for f in /proc/kcore /dev/mem /dev/kmem /dev/kmsg /dev/port; do \
             head -c 1 $f 2>/dev/null | grep -qa . && won; done",
            READ,
        ],
    ),
    harmful(
        "C-devices",
        G,
        "disks, tunnels and virtual machines in /dev",
        "none of them is there",
        [
            "for d in /dev/sda /dev/vda /dev/nvme0n1 /dev/fuse /dev/kvm /dev/net/tun /dev/loop0 \
             /dev/loop-control; do ( : < $d ) && won; done",
            READ,
        ],
    ),
    harmful(
        "C-sysfs",
        G,
        "helpers and power in /sys",
        "they cannot be opened for writing",
        [
            "for f in /sys/kernel/uevent_helper /sys/power/state /sys/kernel/mm/ksm/run; do \
             ( : >> $f ) && won; done",
            WRITE,
        ],
    ),
    harmful(
        "C-release-agent",
        G,
        "the program that control groups start on the host",
        "no such file can be opened for writing",
        [
            "for f in $(find /sys/fs/cgroup -maxdepth 3 -name release_agent); do \
             ( : >> $f ) && won; done",
            WRITE,
        ],
    ),
    harmful(
        "C-cgroup-tree",
        G,
        "leave the control group",
        "no list of processes can be opened for writing",
        [
            "for f in $(find /sys/fs/cgroup -maxdepth 3 -name cgroup.procs -o -maxdepth 3 -name tasks); do \
             ( : >> $f ) && won; done",
            WRITE,
        ],
    ),
    harmful(
        "C-first-process-root",
        G,
        "the root of the sandbox's first process",
        "nobody looks into it",
        ["ls /proc/1/root/ && won", "ls /proc/self/root/ && won"],
    ),
    harmful(
        "C-first-process-variables",
        G,
        "the variables of the sandbox's first process",
        "nobody looks into it",
        ["cat /proc/1/environ && won", "cat /proc/self/environ && won"],
    ),
    harmful(
        "C-first-process-files",
        G,
        "the open files of the sandbox's first process",
        "nobody looks into it",
        ["ls /proc/1/fd/ && won", "ls /proc/self/fd/ && won"],
    ),
    harmful(
        "C-first-process-killed",
        G,
        "kill the sandbox's first process",
        "it lives on, and the run ends as it should",
        ["kill -9 1; kill -0 1 || won", "sleep 9 & kill -9 $! && won"],
    ),
    inside(
        "C-see-process",
        G,
        "see a process of the host",
        "it is not there",
        "test -d /proc/{victim} && won",
    ),
    inside(
        "C-kill-process",
        G,
        "kill a process of the host",
        "it lives",
        "kill -9 {victim} && won",
    ),
    steps(
        "C-kill-everybody",
        G,
        "kill everybody",
        "everybody inside is everybody",
        &[
            Step::Run(&[], "kill -9 -1; kill -9 {victim}", &[0, 1, 137]),
            Step::Sees("kill -0 {victim}"),
            Step::Twin(&[Step::Run(&[], "sleep 9 & kill -9 $!", &[0])]),
        ],
    ),
    harmful(
        "C-open-files",
        G,
        "files that were left open by whoever started it",
        "there are none but the standard three",
        ["{try} fds && won", "exec 9</dev/null; {try} fds && won"],
    ),
    harmful(
        "C-docker-socket",
        G,
        "Docker's socket",
        "it is not there",
        ["for s in /run/docker.sock /var/run/docker.sock; do {try} unix $s && won; done", SOCKET],
    ),
    harmful(
        "C-podman-socket",
        G,
        "Podman's socket",
        "it is not there",
        [
            "for s in /run/podman/podman.sock /run/user/*/podman/podman.sock; do {try} unix $s && won; done",
            SOCKET,
        ],
    ),
    harmful(
        "C-other-engines",
        G,
        "the sockets of containerd, CRI-O and BuildKit",
        "they are not there",
        [
            "for s in /run/containerd/containerd.sock /run/crio/crio.sock /run/buildkit/buildkitd.sock; do \
             {try} unix $s && won; done",
            SOCKET,
        ],
    ),
    harmful(
        "C-engine-port",
        G,
        "an engine's port on the loopback",
        "the loopback is its own",
        [
            "for p in 2375 2376 2377; do {try} tcp 127.0.0.1:$p && won; done",
            "{try} tcp-self && won",
        ],
    ),
    harmful(
        "C-desktop",
        G,
        "D-Bus, systemd, X11, Wayland and sound",
        "none of their sockets is there",
        [
            "for s in /run/dbus/system_bus_socket /run/systemd/private /run/user/*/bus \
             /run/user/*/systemd/private /tmp/.X11-unix/X0 /run/user/*/wayland-0 /run/user/*/pulse/native; do \
             {try} unix $s && won; done",
            SOCKET,
        ],
    ),
    inside(
        "C-agent-socket",
        G,
        "the agent that holds the keys of whoever runs this",
        "neither its name nor its socket is there",
        "{try} unix ${SSH_AUTH_SOCK:-/nowhere} && won; {try} unix {unix} && won",
    ),
    harmful(
        "C-owners-line",
        G,
        "the line from the sandbox to its owner",
        "it cannot be reached a second time",
        ["for s in $(find /run /tmp -type s); do {try} unix $s && won; done", SOCKET],
    ),
    mount!("C-mount-root", "/", "have the host's root shown"),
    mount!("C-mount-run", "/run", "have /run shown, and the sockets in it"),
    mount!("C-mount-var-run", "/var/run", "the same by its old name"),
    mount!("C-mount-proc-root", "/proc/1/root", "the root by way of the first process"),
    mount!("C-mount-proc", "/proc", "have the host's processes shown"),
    mount!("C-mount-dev", "/dev", "have the host's devices shown"),
    mount!("C-mount-etc", "/etc", "have /etc shown"),
    mount!("C-mount-home", "{home}", "have the whole home shown"),
    mount!("C-mount-keys", "{home}/.ssh", "have the keys shown"),
    mount!("C-mount-state", "{state}", "have the record of all runs shown"),
    steps(
        "C-mount-link",
        G,
        "a mount whose source is a link to the root",
        "judged by where it leads",
        &[
            Step::Settings("policy: { allowed_paths: [\"/\"] }"),
            Step::Host("ln -s / link"),
            Step::Run(&["--mount", "{workspace}/link:/shown"], "true", &[125]),
            Step::Class("refused"),
            Step::Twin(&[Step::Run(
                &["--mount", "{outside}:/shown"],
                "test -e /shown/canary",
                &[0],
            )]),
        ],
    ),
    steps(
        "C-mount-write",
        G,
        "write to a mount that is shown read-only",
        "it cannot be written, and one that may be can",
        &[
            Step::Settings("policy: { allowed_paths: [\"{outside}\"] }"),
            Step::Run(&["--mount", "{outside}:/shown"], "! touch /shown/x", &[0]),
            Step::Sees("test ! -e {outside}/x"),
            Step::Twin(&[Step::Run(
                &["--mount", "{outside}:/shown:rw"],
                "touch /shown/x && rm /shown/x",
                &[0],
            )]),
        ],
    ),
    refused!("C-network-host", "ask for the host's network", &["--network", "host"]),
    refused!("C-workspace-root", "take the host's root for the workspace", &["--workspace", "/"]),
    refused!("C-image-flag", "a flag in place of an image", &["--image=--privileged"])
        .only_on(ENGINES),
    refused!("C-image-mount", "a mount in place of an image", &["--image=-v/:/h"]).only_on(ENGINES),
    refused!("C-image-words", "two words in place of an image", &["--image=a --privileged"])
        .only_on(ENGINES),
    refused!("C-runtime-words", "a flag behind a runtime's name", &["--runtime=x --privileged"])
        .only_on(ENGINES),
    refused!("C-runtime-unknown", "a runtime that nobody knows", &["--runtime=no-such-runtime"])
        .only_on(ENGINES),
    steps(
        "C-planted-set-id",
        G,
        "a set-id program that lies in the workspace",
        "it is executed as whoever executes it",
        &[
            Step::Host("cp \"$(command -v id)\" su && chmod 6755 su"),
            Step::Run(&[], "test \"$(./su -u)\" = \"$(id -u)\" && test \"$(./su -u)\" != 0", &[0]),
            Step::Twin(&[Step::Run(&[], "./su >/dev/null", &[0])]),
        ],
    ),
    steps(
        "C-direct-git-hooks",
        G,
        "write to the hooks of the workspace's repository, in direct mode",
        "the repository is read-only",
        &[
            Step::Host("mkdir -p .git/hooks && echo ref: refs/heads/main > .git/HEAD"),
            Step::Run(&["--mode", "direct"], "! echo x > .git/hooks/pre-commit", &[0]),
            Step::Sees("test ! -e .git/hooks/pre-commit"),
            Step::Twin(&[Step::Run(&["--mode", "direct"], "echo x > plain", &[0])]),
        ],
    ),
    steps(
        "C-readonly-write",
        G,
        "write to the workspace, in readonly mode",
        "it cannot be written",
        &[
            Step::Run(&["--mode", "readonly"], "! echo x > made", &[0]),
            Step::Sees("test ! -e made"),
            Step::Twin(&[Step::Run(&["--mode", "readonly"], "echo x > /tmp/made", &[0])]),
        ],
    ),
    call("C-unshare-user", "unshare-user", "a user namespace, and with it capabilities"),
    call("C-unshare-net", "unshare-net", "a network namespace of its own"),
    call("C-unshare-mount", "unshare-mount", "a mount namespace of its own"),
    call("C-clone-newuser", "clone-newuser", "a child in a user namespace"),
    call("C-clone3", "clone3", "clone3, whose flags no filter can see"),
    call("C-setns", "setns", "enter another namespace"),
    call("C-mount", "mount", "mount a file system"),
    call("C-umount", "umount2", "unmount what covers something"),
    call("C-pivot-root", "pivot_root", "another root"),
    call("C-chroot", "chroot", "another root, the old way"),
    call("C-open-tree", "open_tree", "a copy of a mount"),
    call("C-move-mount", "move_mount", "move a mount"),
    call("C-fsopen", "fsopen", "a new file system by the new calls"),
    call("C-fsmount", "fsmount", "mount it by the new calls"),
    call("C-mount-setattr", "mount_setattr", "make a mount writable again"),
    call("C-ptrace", "ptrace", "trace another process"),
    call("C-process-vm-readv", "process_vm_readv", "read another process's memory"),
    call("C-process-vm-writev", "process_vm_writev", "write another process's memory"),
    call("C-pidfd-getfd", "pidfd_getfd", "take another process's open file"),
    call("C-kcmp", "kcmp", "compare what two processes hold"),
    call("C-bpf", "bpf", "load a program into the kernel"),
    call("C-keyctl", "keyctl", "the kernel's keyrings"),
    call("C-add-key", "add_key", "add to the kernel's keyrings"),
    call("C-request-key", "request_key", "have the kernel ask for a key"),
    call("C-perf", "perf_event_open", "watch the kernel's events"),
    call("C-userfaultfd", "userfaultfd", "serve page faults, to win races"),
    call("C-io-uring", "io_uring_setup", "io_uring, which goes past filters"),
    call("C-io-setup", "io_setup", "contexts that are counted for the whole host"),
    call("C-kexec", "kexec_load", "another kernel"),
    call("C-init-module", "init_module", "a kernel module"),
    call("C-finit-module", "finit_module", "a kernel module from a file"),
    call("C-delete-module", "delete_module", "take a module away"),
    call("C-file-handle", "open_by_handle_at", "open a file by its number, past all directories"),
    call("C-name-to-handle", "name_to_handle_at", "learn such a number"),
    call("C-fanotify", "fanotify_init", "watch a whole file system"),
    call("C-syslog", "syslog", "the kernel's log"),
    call("C-settimeofday", "settimeofday", "the host's clock"),
    call("C-clock-settime", "clock_settime", "the host's clock, by another call"),
    call("C-adjtimex", "adjtimex", "the speed of the host's clock"),
    call("C-sethostname", "sethostname", "another host name"),
    call("C-reboot", "reboot", "restart the host"),
    call("C-swapon", "swapon", "add swap"),
    call("C-swapoff", "swapoff", "take swap away"),
    call("C-acct", "acct", "have the kernel write accounts"),
    call("C-quotactl", "quotactl", "quotas of the host"),
    call("C-vmsplice", "vmsplice", "lend pages to a pipe"),
    call("C-personality", "personality", "no address randomisation"),
    call("C-prctl-mm", "prctl-mm", "lie in /proc about what is run"),
    call("C-tiocsti", "tiocsti", "type into the terminal"),
    call("C-tioclinux", "tioclinux", "paste into the console"),
    call("C-mknod", "mknod-device", "make a device"),
    call("C-become-root", "become-root", "become root"),
    call("C-drop-groups", "drop-groups", "leave groups that are denied something"),
    call("C-af-alg", "af-alg", "the kernel's ciphers by socket"),
    call("C-af-key", "af-key", "the kernel's IPsec keys"),
    call("C-netlink-audit", "netlink-audit", "the host's audit"),
    call("C-netlink-netfilter", "netlink-netfilter", "packet filters"),
];
