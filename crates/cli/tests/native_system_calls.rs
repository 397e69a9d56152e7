//! System calls that would widen the sandbox fail, from inside, with the documented error.

use cofferdam_testkit::claim;

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

/// Makes each call as it is, by its number on x86-64 or on ARM64.
const PROBE: &str = r#"
import ctypes, errno, fcntl, os, socket
libc = ctypes.CDLL(None, use_errno=True)
machine = ["x86_64", "aarch64"].index(os.uname().machine)
def call(name, numbers, *args):
    answer = libc.syscall(numbers[machine], *args)
    code = ctypes.get_errno() if answer == -1 else 0
    print(name, errno.errorcode.get(code, "WORKED"))
call("unshare-user", (272, 97), 0x10000000)
call("unshare-net", (272, 97), 0x40000000)
call("setns", (308, 268), 0, 0)
call("mount", (165, 40), b"none", b"/tmp", b"tmpfs", 0, 0)
call("umount2", (166, 39), b"/tmp", 2)
call("pivot_root", (155, 41), b"/", b"/")
call("chroot", (161, 51), b"/tmp")
call("ptrace", (101, 117), 0, 0, 0, 0)
call("process_vm_readv", (310, 270), os.getppid(), 0, 0, 0, 0, 0)
call("bpf", (321, 280), 0, 0, 0)
call("keyctl", (250, 219), 0, 0)
call("add_key", (248, 217), 0, 0, 0, 0, 0)
call("perf_event_open", (298, 241), 0, 0, 0, 0, 0)
call("userfaultfd", (323, 282), 0)
call("io_uring_setup", (425, 425), 1, 0)
call("io_setup", (206, 0), 1, ctypes.byref(ctypes.c_ulong(0)))
call("kexec_load", (246, 104), 0, 0, 0, 0)
call("init_module", (175, 105), 0, 0, 0)
call("open_by_handle_at", (304, 265), 0, 0, 0)
call("fsopen", (430, 430), b"tmpfs", 0)
call("open_tree", (428, 428), -100, b"/", 1)
call("clone-newuser", (56, 220), 0x10000000 | 17, 0, 0, 0, 0)
call("clone3", (435, 435), 0, 0)
# ARM64 has only the form that begins at a directory.
call("mknod-char", (133, 33), *[-100] * machine, b"/tmp/dev", 0o20666, 0x103)
call("sethostname", (170, 161), b"x", 1)
call("reboot", (169, 142), 0, 0, 0, 0)
def family(name, *args):
    try:
        socket.socket(*args)
        print(name, "WORKED")
    except OSError as e:
        print(name, errno.errorcode[e.errno])
family("alg", 38, socket.SOCK_SEQPACKET)
family("vsock", 40, socket.SOCK_STREAM)
family("packet", 17, socket.SOCK_RAW)
family("raw", socket.AF_INET, socket.SOCK_RAW, 1)
try:
    fcntl.ioctl(0, 0x5412, b"x")
    print("tiocsti WORKED")
except OSError as e:
    print("tiocsti", errno.errorcode[e.errno])
# The allowed twins.
os.mkfifo("/tmp/fifo")
socket.socketpair()
os.fork() or os._exit(0)
os.wait()
print("allowed")
"#;

#[test]
fn forbidden_calls_fail() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file("probe.py", PROBE);
        let done = claim::run(env, &[], "python3 probe.py");
        done.assert_exit(0);
        let text = done.stdout_text().into_owned();
        let (tried, twins) = text.rsplit_once("allowed\n").expect("the allowed twins work");
        assert!(twins.is_empty() && tried.lines().count() == 31, "{text}");
        for line in tried.lines() {
            let code = line.split(' ').nth(1).unwrap();
            let documented = ["EPERM", "ENOSYS", "EAFNOSUPPORT"];
            assert!(documented.contains(&code), "{line}");
        }
    });
}
