//! A command with a terminal: keys reach it, it knows its size, and the caller's own terminal is as before.

use std::process::Command;

use cofferdam_testkit::docker::{Which, as_root_and_as_user};
use cofferdam_testkit::{Finished, TestEnv};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

/// Runs a command on a terminal of 40 by 100 as somebody at the keyboard would: waits for words, types, changes the size.
const DRIVER: &str = r#"
import fcntl, os, pty, select, struct, sys, termios, time

def set_size(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

fd, slave = pty.openpty()
before = termios.tcgetattr(slave)
set_size(fd, 40, 100)
pid = os.fork()
if pid == 0:
    os.close(fd)
    os.login_tty(slave)
    os.execv(sys.argv[1], sys.argv[1:])
seen = b""
def until(word, seconds=30):
    global seen
    end = time.time() + seconds
    while word not in seen:
        if not select.select([fd], [], [], max(0, end - time.time()))[0]:
            sys.exit("no %r in %r" % (word, seen))
        try:
            got = os.read(fd, 4096)
        except OSError:
            got = b""
        if not got:
            sys.exit("end before %r in %r" % (word, seen))
        seen += got
    seen = seen.split(word, 1)[1]
until(b"ready")
assert not termios.tcgetattr(slave)[3] & (termios.ICANON | termios.ECHO), "ours is raw"
os.write(fd, b"tty >/dev/null && echo it-is-$((1+1))-a-terminal\r")
until(b"it-is-2-a-terminal")
# An engine is told the size when the container runs already.
os.write(fd, b"while [ \"$(stty size)\" = '0 0' ]; do sleep 0.1; done; stty size\r")
until(b"40 100")
set_size(fd, 33, 77)
os.write(fd, b"sleep 0.5; stty size\r")
until(b"33 77")
os.write(fd, b"sleep 100\r")
time.sleep(0.5)
os.write(fd, b"\x03")
os.write(fd, b"echo after-$((2+2))\r")
until(b"after-4")
os.write(fd, b"\x10\x11echo still-$((3+3))\r")
until(b"still-6")
os.write(fd, b"exit 7\r")
while True:
    if select.select([fd], [], [], 0.05)[0]:
        os.read(fd, 4096)
    done, status = os.waitpid(pid, os.WNOHANG)
    if done:
        break
assert termios.tcgetattr(slave) == before, "the terminal is not as it was"
sys.exit(os.waitstatus_to_exitcode(status))
"#;

fn drive(env: &TestEnv, cofferdam: &Command, words: &[&str]) -> Finished {
    env.file("../driver.py", DRIVER);
    let mut command = env.program("python3");
    command.arg(env.top().join("driver.py")).arg(cofferdam.get_program()).args(words);
    for (name, value) in cofferdam.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    env.finish(command)
}

#[track_caller]
fn claim(which: Which, backend: &str) {
    as_root_and_as_user(BINARY, which, |engine, env| {
        let words = ["run", "--quiet", "--sandbox", backend, "--tty", "--"];
        let shell = ["sh", "-c", "echo ready; exec bash --norc -i"];
        let words: Vec<&str> = words.into_iter().chain(shell).collect();
        drive(env, &engine.cofferdam(env), &words).assert_exit(7);
        assert_eq!(env.latest_record()["outcome"]["exit_code"], 7);
        // Without a terminal of ours it has one all the same, and its input ends.
        let mut command = engine.cofferdam(env);
        command.args(["run", "--quiet", "--sandbox", backend, "--tty", "--", "tty"]);
        let done = env.finish(command);
        done.assert_exit(0);
        assert!(done.stdout_text().starts_with("/dev/pts/"), "{}", done.stdout_text());
        let piped = env.file("input", "echo $((40+2))\nexit 5\n");
        let mut command = engine.cofferdam(env);
        command.args(["run", "--quiet", "--sandbox", backend, "--tty", "--", "sh"]);
        command.stdin(std::fs::File::open(piped).expect("it was just written"));
        let done = env.finish(command);
        done.assert_exit(5);
        assert!(done.stdout_text().contains("42\r\n"), "{}", done.stdout_text());
        // And without asking there is none.
        engine.run(env, &[], "tty").assert_exit(1);
    });
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn on_docker() {
    claim(Which::Docker, "docker");
}

#[test]
#[cfg_attr(not(feature = "test-podman"), ignore = "needs a Podman service: cargo xtask test")]
fn on_podman() {
    claim(Which::Podman, "podman");
}
