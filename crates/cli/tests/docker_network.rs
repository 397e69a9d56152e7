//! A network for one command, where the host owner lets it have one; none for the next.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};

use cofferdam_testkit::TestEnv;
use cofferdam_testkit::docker::PrivateEngine;

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

/// Listens where a container's bridge leads to, and says who came.
const LISTENER: &str = r#"
import socket, sys
server = socket.create_server(("172.17.0.1", 0))
print(server.getsockname()[1], flush=True)
while True:
    peer, _ = server.accept()
    print("reached", flush=True)
    peer.sendall(b"hello\n")
    peer.close()
"#;

struct Listener {
    process: Child,
    said: BufReader<std::process::ChildStdout>,
    port: String,
}

impl Listener {
    fn beside(private: &PrivateEngine) -> Self {
        let mut command = private.beside("python3");
        command.args(["-c", LISTENER]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut said = BufReader::new(process.stdout.take().unwrap());
        let mut port = String::new();
        said.read_line(&mut port).unwrap();
        Self { process, said, port: port.trim().to_owned() }
    }

    /// Everything it said since.
    fn end(mut self) -> String {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        let mut all = String::new();
        std::io::Read::read_to_string(&mut self.said, &mut all).unwrap();
        all
    }
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn a_bridge_is_had_by_the_run_that_asks_and_only_with_leave() {
    let private = PrivateEngine::with_bridge();
    let engine = private.engine();
    for env in [TestEnv::with_binary(BINARY), TestEnv::with_binary(BINARY).unprivileged()] {
        let listener = Listener::beside(&private);
        let visit = format!(
            "python3 -c 'import socket; s = socket.create_connection((\"172.17.0.1\", {}), 3); \
             print(s.recv(9).decode(), end=\"\")'",
            listener.port
        );
        // Nobody gave leave: refused, and nothing is tried.
        engine.run(&env, &["--network", "bridge"], &visit).assert_exit(125);
        assert_eq!(env.latest_record()["outcome"]["class"], "refused");
        env.host_config("policy: { network: bridge }");
        // With leave, the run that asks has it …
        let done = engine.run(&env, &["--network", "bridge"], &visit);
        done.assert_exit(0).assert_stdout("hello\n");
        let record = env.latest_record();
        assert_eq!(record["effective"]["network_mode"], "bridge");
        assert!(record["receipt"].to_string().contains("network_bridge"), "{}", record["receipt"]);
        // … its names are looked up where the engine says …
        let names = engine.run(&env, &["--network", "bridge"], "cat /etc/hosts /etc/hostname");
        names.assert_exit(0);
        assert!(names.stdout_text().contains("172.17.0."), "{}", names.stdout_text());
        // … and the next one does not, nor one that asks for more than there is leave for.
        engine.run(&env, &[], &visit).assert_exit(1);
        engine.run(&env, &["--network", "host"], &visit).assert_exit(125);
        assert_eq!(listener.end(), "reached\n", "once, by the one that had it");
        assert_eq!(engine.left(&env.seen_runs()), Vec::<String>::new());
    }
}

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn an_engine_without_a_bridge_says_so() {
    let private = PrivateEngine::start();
    let env = TestEnv::with_binary(BINARY);
    env.host_config("policy: { network: bridge }");
    private
        .engine()
        .run(&env, &["--network", "bridge"], "true")
        .assert_exit(125)
        .assert_stderr_has("no network named bridge");
}
