//! `cofferdam serve` as its owner meets it, and its API by programs that only know its description.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use cofferdam_testkit::{TestEnv, wait_until};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

/// A server that listens; whoever drops it ends it.
struct Serving {
    server: Child,
    said: Value,
    log: PathBuf,
}

impl Serving {
    fn start(env: &TestEnv, words: &[&str]) -> Self {
        let log = env.home().join("log");
        let mut command = env.cofferdam();
        command.args(["serve", "--listen", "127.0.0.1:0", "--json"]).args(words);
        command
            .stdout(Stdio::piped())
            .stderr(fs::File::options().create(true).append(true).open(&log).unwrap());
        let mut server = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said = serde_json::from_str(&line)
            .unwrap_or_else(|_| panic!("{line}{}", fs::read_to_string(&log).unwrap()));
        Self { server, said, log }
    }

    fn address(&self) -> &str {
        self.said["url"].as_str().unwrap().strip_prefix("http://").unwrap()
    }

    /// Status and body.
    fn get(&self, target: &str, token: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        let host = self.address();
        write!(stream, "GET {target} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// Sends a body, and gives what is answered, which is no refusal.
    #[track_caller]
    fn post(&self, target: &str, token: &str, headers: &str, body: &str) -> Value {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        let (host, length) = (self.address(), body.len());
        write!(stream, "POST {target} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n{headers}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.split(' ').nth(1).unwrap().starts_with('2'), "{target}: {text}");
        serde_json::from_str(body).unwrap_or(Value::Null)
    }

    fn signal(&self, name: &str) {
        let sent =
            std::process::Command::new("kill").args([name, &self.server.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    fn end(mut self) -> Duration {
        let begun = Instant::now();
        self.signal("-TERM");
        assert!(self.server.wait().unwrap().success());
        begun.elapsed()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.server.kill().ok();
        self.server.wait().ok();
    }
}

fn token_file(env: &TestEnv) -> PathBuf {
    env.state_dir().join("server/admin-token")
}

#[test]
fn the_first_start_makes_a_token_and_later_ones_do_not() {
    let env = TestEnv::with_binary(BINARY).unprivileged();
    let first = Serving::start(&env, &[]);
    let token = first.said["token"].as_str().unwrap().to_owned();
    assert_eq!(fs::read_to_string(token_file(&env)).unwrap().trim(), token);
    for (path, mode) in [(token_file(&env), 0o600), (env.state_dir().join("server"), 0o700)] {
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            mode,
            "{}",
            path.display()
        );
    }
    let database = env.state_dir().join("server/plane.db");
    assert_eq!(
        fs::metadata(&database).unwrap().permissions().mode() & 0o077,
        0,
        "of its owner alone"
    );
    assert_eq!(first.get("/v1/me", &token).0, 200);
    assert_eq!(first.get("/v1/me", "wrong").0, 401);
    assert!(first.end() < Duration::from_secs(5));
    let second = Serving::start(&env, &[]);
    assert_eq!(second.said.get("token"), None);
    assert_eq!(second.get("/v1/me", &token).0, 200, "it is still known");
    let log = fs::read_to_string(&second.log).unwrap();
    assert!(!log.contains(&token), "a token is in no log");
}

#[test]
fn a_log_line_is_one_line_whatever_was_asked_for() {
    let env = TestEnv::with_binary(BINARY);
    let serving = Serving::start(&env, &["--log", "json"]);
    let token = serving.said["token"].as_str().unwrap();
    serving.get("/%0aforged%1b%5b2J%e2%80%ae", token);
    let logged = || fs::read_to_string(&serving.log).unwrap().contains("forged");
    assert!(wait_until(Duration::from_secs(5), logged));
    let text = fs::read_to_string(&serving.log).unwrap();
    for line in text.lines() {
        let line: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
        assert!(line["ts"].is_string() && line["level"].is_string(), "{line}");
    }
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text:?}");
    let line = text.lines().find(|line| line.contains("forged")).unwrap();
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!((&line["message"], &line["method"]), (&"request".into(), &"GET".into()), "{line}");
    assert!(line["request"].as_str().is_some_and(|id| id.len() == 16), "{line}");
}

#[test]
fn what_stands_in_the_way_is_said_with_a_remedy() {
    let env = TestEnv::with_binary(BINARY);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let failed = env.run(["serve", "--listen", &address]);
    failed
        .assert_exit(1)
        .assert_stderr_has("cannot listen on")
        .assert_stderr_has("remedy: stop what listens there");
    assert!(!token_file(&env).exists(), "nothing was made for a server that did not start");
    let listen = ["serve", "--listen", "127.0.0.1:0"];
    let run = |words: &[&str]| env.run(listen.iter().chain(words));
    run(&["--database", "mysql://x"]).assert_exit(2).assert_stderr_has("is not a database");
    run(&["--database", "/nonexistent/dir/a.db"])
        .assert_exit(1)
        .assert_stderr_has("remedy: see that --database");
    let broken = env.file("broken.db", "this is no database, and never was one\n".repeat(100));
    run(&["--database", broken.to_str().unwrap()]).assert_exit(1).assert_stderr_has("remedy: ");
    let away = run(&["--database", "postgres://nobody:hunter2@127.0.0.1:1/none"]);
    away.assert_exit(1).assert_stderr_has("remedy: ");
    assert!(!away.stderr_text().contains("hunter2"), "{}", away.stderr_text());
    run(&["--tls-cert", "a.pem"]).assert_exit(2);
    run(&["--rate-limit", "-1"]).assert_exit(2);
    run(&["--max-running", "0"]).assert_exit(2);
    env.run(["serve", "--listen", "nonsense"]).assert_exit(2);
    let first = Serving::start(&env, &[]);
    run(&[]).assert_exit(1).assert_stderr_has("remedy: stop the other server");
    first.end();
}

#[test]
fn a_second_signal_does_not_wait() {
    let env = TestEnv::with_binary(BINARY);
    let mut serving = Serving::start(&env, &[]);
    let token = serving.said["token"].as_str().unwrap();
    let mut hanging = TcpStream::connect(serving.address()).unwrap();
    write!(
        hanging,
        "POST /v1/tokens HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: 10\r\n\r\n"
    )
    .unwrap();
    std::thread::sleep(Duration::from_millis(300));
    serving.signal("-INT");
    std::thread::sleep(Duration::from_millis(500));
    assert!(serving.server.try_wait().unwrap().is_none(), "what was begun may be finished");
    serving.signal("-INT");
    assert!(wait_until(Duration::from_secs(3), || serving.server.try_wait().unwrap().is_some()));
}

fn python() -> PathBuf {
    std::env::var_os("TEST_API_PYTHON").expect("cargo xtask test makes one").into()
}

/// One of everything that a server shows: an empty list fits any description of what would be in it.
fn fill(serving: &Serving, token: &str, root: &Path) {
    let post = |target: &str, body: Value| {
        serving.post(target, token, "Content-Type: application/json", &body.to_string())
    };
    let project = &post("/v1/projects", json!({"name": "shop", "root_path": root}))["id"];
    post("/v1/roles", json!({"name": "dev", "settings": {"sandbox.network": "none"}}));
    let step = json!({"execution_mode": "no-workspace", "command": ["true"], "labels": ["nobody"]});
    let steps =
        json!([{"name": "a", "task": step}, {"name": "b", "depends_on": ["a"], "task": step}]);
    let template = json!({"project": project, "name": "build", "steps": steps});
    let template = &post("/v1/workflow-templates", template)["id"];
    post("/v1/workflow-runs", json!({"template": template}));
    let mut asked = step.clone();
    asked["requires_approval"] = true.into();
    post("/v1/tasks", asked);
    // A task that a runner of ours takes, reports on and leaves a file of.
    let runner =
        post("/v1/runner/register", json!({"name": "seed", "labels": ["seed"], "capacity": 1}));
    let asked = json!({
        "project": project, "execution_mode": "isolated-worktree", "command": ["true"],
        "labels": ["seed"], "artifacts": ["rep.xml"], "settings": {"sandbox.backend": "native"},
    });
    let task = post("/v1/tasks", asked);
    let claim = json!({"runner": runner["runner"], "room": 1, "wait_ms": 5000});
    let claim = &post("/v1/runner/claim", claim)["claims"][0];
    assert_eq!(claim["task"]["id"], task["id"]);
    let (task, fence) = (task["id"].as_str().unwrap(), claim["fence"].as_str().unwrap());
    let report = |seq: u32, status: &str| json!({"attempt": 1, "fence": fence, "seq": seq, "status": status, "run": "01jrun"});
    post(&format!("/v1/runner/tasks/{task}/status"), report(1, "running"));
    let piece = json!({"attempt": 1, "fence": fence, "seq": 0, "stream": "stdout", "data": "aGkK"});
    post(&format!("/v1/runner/tasks/{task}/logs"), piece);
    let target = format!(
        "/v1/runner/tasks/{task}/artifacts?attempt=1&name=rep.xml&media_type=application/xml"
    );
    let headers = format!("Content-Type: application/octet-stream\r\nCofferdam-Fence: {fence}");
    serving.post(&target, token, &headers, "<x/>");
    post(&format!("/v1/runner/tasks/{task}/status"), report(2, "succeeded"));
}

/// Whatever the description allows is sent, and much that it forbids: the server never fails, and answers as it says.
#[test]
#[cfg_attr(not(feature = "test-api"), ignore = "needs schemathesis from PyPI: cargo xtask test")]
fn the_api_is_what_its_description_says() {
    let env = TestEnv::with_binary(BINARY);
    let serving = Serving::start(&env, &["--rate-limit", "0"]);
    let token = serving.said["token"].as_str().unwrap();
    fill(&serving, token, &env.workspace());
    let config = env.top().join("schemathesis.toml");
    // What was seen in another version is refused before its body is looked at.
    fs::write(&config, "[checks]\nnegative_data_rejection.expected-statuses = [\"4xx\"]\n")
        .unwrap();
    let mut command = env.program(python().with_file_name("schemathesis"));
    command
        .arg("--config-file")
        .arg(config)
        .arg("run")
        .arg(format!("{}/openapi.json", serving.said["url"].as_str().unwrap()));
    command.args(["--header", &format!("Authorization: Bearer {token}")]);
    // Not among the checks: that all which fits the description is accepted. A task may name a project that is not there.
    command.args(["--checks", "all", "--exclude-checks", "positive_data_acceptance"]);
    command.args([
        "--phases",
        "examples,coverage,fuzzing",
        "--max-examples",
        "15",
        "--seed",
        "7",
        "--workers",
        "2",
    ]);
    command.args(["--request-timeout", "20", "--suppress-health-check", "all", "--no-color"]);
    let done = env.finish(command);
    let text = done.stdout_text();
    assert!(done.code() == Some(0), "{text}{}", done.stderr_text());
    let counts = text.lines().find(|line| line.contains(" generated, ")).unwrap_or_default();
    let numbers: Vec<u32> = counts.split(' ').filter_map(|word| word.parse().ok()).collect();
    assert!(
        numbers.len() >= 2 && numbers[0] > 1000 && numbers[0] == numbers[1],
        "all passed: {counts}"
    );
}

#[test]
#[cfg_attr(not(feature = "test-api"), ignore = "needs a generator from PyPI: cargo xtask test")]
fn a_client_made_of_the_description_works() {
    let env = TestEnv::with_binary(BINARY);
    let serving = Serving::start(&env, &[]);
    let made = env.top().join("made/cofferdam_api");
    fs::create_dir_all(made.parent().unwrap()).unwrap();
    let description = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    let mut generate = env.program(python().with_file_name("openapi-python-client"));
    generate.args(["generate", "--meta", "none", "--fail-on-warning", "--path"]).arg(description);
    generate.arg("--output-path").arg(&made);
    // It has what it made put into form by a program beside it.
    generate.env("PATH", python().parent().unwrap());
    let done = env.finish(generate);
    assert!(done.code() == Some(0), "{}{}", done.stdout_text(), done.stderr_text());
    let mut client = env.program(python());
    client.arg("-B").arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/serve/client.py"));
    client.args([serving.said["url"].as_str().unwrap(), serving.said["token"].as_str().unwrap()]);
    client.arg(env.workspace()).env("PYTHONPATH", made.parent().unwrap());
    let done = env.finish(client);
    assert_eq!(done.stdout_text(), "all is well\n", "{}", done.stderr_text());
}
