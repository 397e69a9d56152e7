//! The MCP server, as a client sees it: by hand here, and by the official Python SDK in `client.py`.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

mod bounds;
mod files;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use cofferdam_testkit::{TestEnv, claim, wait_until};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

/// A client that speaks the protocol itself.
struct Client {
    server: Child,
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
    last: u64,
}

impl Client {
    fn connect(env: &TestEnv) -> Self {
        Self::connect_with(env, &[], &[])
    }

    fn connect_with(env: &TestEnv, options: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = env.cofferdam();
        command.args(["mcp", "--sandbox", "native", "--relax", "limits"]).args(options);
        command.envs(variables.iter().copied());
        let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, from) = (server.stdin.take(), BufReader::new(server.stdout.take().unwrap()));
        let mut client = Self { server, to, from, last: 0 };
        let who = json!({ "name": "test", "version": "1" });
        let hello =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who });
        let info = client.ask("initialize", hello);
        assert_eq!(info["result"]["serverInfo"]["name"], "cofferdam", "{info}");
        client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.to.as_mut().unwrap(), "{message}").unwrap();
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let mut line = String::new();
            assert_ne!(self.from.read_line(&mut line).unwrap(), 0, "the server is gone");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == id {
                return message;
            }
        }
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments }))["result"].clone()
    }

    /// What a command in the sandbox prints, where it ends well.
    fn prints(&mut self, command: &str) -> String {
        let done = self.call("shell", json!({ "command": command }))["structuredContent"].clone();
        assert_eq!(done["exit_code"], 0, "{done}");
        done["stdout"].as_str().unwrap().to_owned()
    }

    fn end(mut self, env: &TestEnv) {
        self.to = None;
        assert!(self.server.wait().unwrap().success());
        assert!(wait_until(Duration::from_secs(10), || sessions(env) == 0));
    }
}

fn sessions(env: &TestEnv) -> usize {
    env.run(["session", "ls", "--json"]).assert_exit(0).json().as_array().unwrap().len()
}

#[test]
fn a_connection_has_a_session_that_ends_with_it() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file("kept", "host\n");
        let before = env.tree_hash("");
        let mut client = Client::connect(env);
        let done = client.call("shell", json!({ "command": "echo new > kept; echo $$; exit 3" }));
        assert_eq!(done["structuredContent"]["exit_code"], 3, "{done}");
        assert_eq!(done["isError"], false, "a command that fails is no error of the tool");
        let read = client.call("read_file", json!({ "path": "kept" }));
        assert_eq!(read["content"][0]["text"], "new\n");
        let out = client.call("read_file", json!({ "path": "../etc/passwd" }));
        assert_eq!(out["isError"], true, "{out}");
        let unknown = client.call("read_file", json!({ "path": "kept", "as_root": true }));
        assert_eq!(unknown["isError"], true, "{unknown}");
        assert_eq!((env.tree_hash(""), sessions(env)), (before, 1));
        client.to = None;
        assert!(client.server.wait().unwrap().success());
        assert!(wait_until(Duration::from_secs(10), || sessions(env) == 0));
        assert_eq!(env.run(["diff", "--name-only"]).stdout_text(), "kept\n");
    });
}

#[test]
fn a_server_that_is_killed_leaves_nothing() {
    let env = TestEnv::with_binary(BINARY);
    let mut client = Client::connect(&env);
    client.call("shell", json!({ "command": "echo x > made" }));
    client.call("shell", json!({ "command": "sleep 600", "background": true }));
    client.server.kill().unwrap();
    client.server.wait().unwrap();
    assert!(wait_until(Duration::from_secs(20), || sessions(&env) == 0));
    assert_eq!(env.run(["diff", "--name-only"]).stdout_text(), "made\n", "what it did is kept");
    env.run(["audit", "verify"]).assert_exit(0);
}

#[test]
fn a_refused_sandbox_is_no_server() {
    let env = TestEnv::with_binary(BINARY);
    env.run(["mcp", "--sandbox", "local"])
        .assert_exit(1)
        .assert_stderr_has("cannot be held on local");
}

/// A script of the official client, which says at its end that all is well.
fn official(env: &TestEnv, script: &str, words: &[&str], end: &str) {
    let python = std::env::var("TEST_MCP_PYTHON").expect("cargo xtask test makes one");
    let mut command = env.program(python);
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp").join(script);
    command.arg("-B").arg(script).args([BINARY, env.workspace().to_str().unwrap()]).args(words);
    let done = env.finish(command);
    let (out, err) = (done.stdout_text(), done.stderr_text());
    assert!(out.ends_with(end), "{out}{err}");
    assert!(wait_until(Duration::from_secs(20), || sessions(env) == 0));
}

const NATIVE: [&str; 4] = ["--sandbox", "native", "--relax", "limits"];

/// All tools, cancellation, progress, large output, bad arguments, path escapes, two connections, a killed server.
#[test]
#[cfg_attr(not(feature = "test-mcp"), ignore = "needs the Python SDK for MCP: cargo xtask test")]
fn the_official_client_is_served() {
    let env = TestEnv::with_binary(BINARY);
    official(&env, "client.py", &NATIVE, "all is well\n");
}

#[test]
#[cfg_attr(not(feature = "test-mcp"), ignore = "needs the Python SDK for MCP: cargo xtask test")]
fn an_agent_applies_only_where_the_host_owner_says_so_and_only_what_needs_no_yes() {
    let env = TestEnv::with_binary(BINARY);
    let rules = "changes: {auto: ['src/**', 'secret/**'], deny: ['secret/**']}\n";
    env.host_config(rules);
    official(&env, "applying.py", &NATIVE, "absent\n");
    env.host_config(&format!("{rules}mcp: {{apply: true}}\n"));
    official(&env, "applying.py", &NATIVE, "offered\n");
    env.run(["audit", "verify"]).assert_exit(0);
    // A project cannot say it, trusted or not.
    env.host_config(rules);
    env.project_config("mcp: {apply: true}\n");
    env.run(["trust"]).assert_exit(1).assert_stderr_has("rule host-file-only");
    env.run(["mcp", "--sandbox", "native"]).assert_exit(1).assert_stderr_has("rule host-file-only");
}

/// A server that listens; whoever drops it ends it.
struct Listening {
    server: Child,
    address: String,
    token: String,
}

impl Listening {
    fn start(env: &TestEnv, words: &[&str]) -> Self {
        let mut command = env.cofferdam();
        command.args(["mcp", "--http", "127.0.0.1:0"]).args(NATIVE).args(words);
        let mut server = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).unwrap();
        let address = said["url"].as_str().unwrap().strip_prefix("http://").unwrap();
        let address = address.strip_suffix("/mcp").unwrap().to_owned();
        Self { server, address, token: said["token"].as_str().unwrap().to_owned() }
    }

    fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }
}

#[test]
#[cfg_attr(not(feature = "test-mcp"), ignore = "needs the Python SDK for MCP: cargo xtask test")]
fn over_http_each_client_has_a_session_that_ends_with_it() {
    let env = TestEnv::with_binary(BINARY);
    let server = Listening::start(&env, &[]);
    official(&env, "two_clients.py", &[&server.url(), &server.token], "all is well\n");
}

fn hello() -> Value {
    let who = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

/// Another client, which knows nothing of the first.
#[test]
#[cfg_attr(not(feature = "test-mcp"), ignore = "needs the MCP inspector: cargo xtask test")]
fn the_inspector_is_served() {
    let env = TestEnv::with_binary(BINARY);
    let programs = std::env::var("TEST_MCP_INSPECTOR").expect("cargo xtask test makes one");
    let programs = std::path::Path::new(&programs);
    let ask = |server: &[&str], method: &[&str]| {
        let mut command = env.program(programs.join("node"));
        command.arg(programs.join("mcp-inspector")).arg("--cli").args(server).args(method);
        env.finish(command)
    };
    let http = Listening::start(&env, &[]);
    let (url, bearer) = (http.url(), format!("Authorization: Bearer {}", http.token));
    let stdio = [&[BINARY, "mcp"][..], &NATIVE].concat();
    let over_http = [url.as_str(), "--transport", "http", "--header", &bearer];
    for server in [stdio.as_slice(), &over_http] {
        let tools = ask(server, &["--method", "tools/list"]).assert_exit(0).json();
        let names: Vec<_> = tools["tools"].as_array().unwrap().iter().map(|t| &t["name"]).collect();
        assert!(names.contains(&&json!("shell")) && !names.contains(&&json!("apply")), "{names:?}");
        let call = [
            "--method",
            "tools/call",
            "--tool-name",
            "shell",
            "--tool-arg",
            "command=echo x; exit 3",
        ];
        let done = ask(server, &call).assert_exit(0).json()["structuredContent"].clone();
        assert_eq!((&done["exit_code"], &done["stdout"]), (&json!(3), &json!("x\n")), "{done}");
        let plan = ["--method", "resources/read", "--uri", "cofferdam://session/plan"];
        let read = ask(server, &plan).assert_exit(0).json()["contents"][0].clone();
        assert_eq!(read["mimeType"], "application/json", "{read}");
        assert!(read["text"].as_str().unwrap().contains("\"purpose\": \"session\""), "{read}");
        let bad = ["--method", "tools/call", "--tool-name", "shell", "--tool-arg", "line=true"];
        let bad = ask(server, &bad);
        assert!(bad.code() != Some(0) || bad.json()["isError"] == true, "{}", bad.stdout_text());
    }
    let stranger = ask(&[&url, "--transport", "http"], &["--method", "tools/list"]);
    assert!(!stranger.stdout_text().contains("shell"), "{}", stranger.stdout_text());
    drop(http);
    assert!(wait_until(Duration::from_secs(20), || sessions(&env) == 0));
}

/// One request, and all that comes back until the server is done or silent.
fn post(address: &str, headers: &str, body: &Value) -> String {
    let body = body.to_string();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\n{headers}\r\n{body}"
    )
    .unwrap();
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(count @ 1..) = std::io::Read::read(&mut stream, &mut piece) {
        answer.extend_from_slice(&piece[..count]);
    }
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn over_http_only_who_has_the_token_is_served_and_no_browser() {
    let env = TestEnv::with_binary(BINARY);
    let server = Listening::start(&env, &[]);
    let (address, token) = (server.address.as_str(), server.token.as_str());
    let host = format!("Host: {address}\r\n");
    let bearer = format!("Authorization: Bearer {token}\r\n");
    let good = post(address, &format!("{host}{bearer}"), &hello());
    assert!(good.starts_with("HTTP/1.1 200") && good.contains("cofferdam"), "{good}");
    for (headers, status) in [
        (host.clone(), "401"),
        (format!("{host}Authorization: Bearer {}\r\n", "0".repeat(token.len())), "401"),
        (format!("{host}{bearer}Origin: https://evil.example\r\n"), "403"),
        (format!("{host}{bearer}Origin: http://{address}\r\n"), "403"),
        (format!("Host: evil.example\r\n{bearer}"), "403"),
    ] {
        let answer = post(address, &headers, &hello());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{headers}{answer}");
        assert!(!answer.contains("serverInfo"), "{answer}");
    }
    drop(server);
    assert!(wait_until(Duration::from_secs(20), || sessions(&env) == 0));
    env.run(["mcp", "--http", "0.0.0.0:0", "--sandbox", "native"])
        .assert_exit(1)
        .assert_stderr_has("not on the loopback");
    env.run(["mcp", "--http", "127.0.0.1:0", "--sandbox", "local"])
        .assert_exit(125)
        .assert_stderr_has("cannot be held on local");
}

/// Whoever vanishes without a word is forgotten, and a server that is killed takes all sessions along.
#[test]
fn over_http_a_silent_client_is_forgotten() {
    let env = TestEnv::with_binary(BINARY);
    let server = Listening::start(&env, &["--idle-stop", "3s"]);
    let headers = format!("Host: {}\r\nAuthorization: Bearer {}\r\n", server.address, server.token);
    let begin = || {
        let answer = post(&server.address, &headers, &hello());
        let line = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        let headers = format!("{headers}Mcp-Session-Id: {}\r\n", line.unwrap().trim());
        post(
            &server.address,
            &headers,
            &json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        );
        let call = json!({ "name": "shell", "arguments": { "command": "sleep 60 & echo up" } });
        let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call });
        let answer = post(&server.address, &headers, &call);
        assert!(answer.contains("up"), "{answer}");
        (headers, call)
    };
    let (headers, call) = begin();
    assert_eq!(sessions(&env), 1);
    assert!(wait_until(Duration::from_secs(20), || sessions(&env) == 0));
    let late = post(&server.address, &headers, &call);
    assert!(late.starts_with("HTTP/1.1 404"), "{late}");
    begin();
    drop(server);
    assert!(wait_until(Duration::from_secs(20), || sessions(&env) == 0));
}

/// The rules for commands hold for what an agent asks for, and not for what the server does itself.
#[test]
fn rules_for_commands_hold_for_the_agent() {
    let env = TestEnv::with_binary(BINARY);
    env.file("kept", "host\n");
    env.host_config(
        "policy: {commands: {default: deny, review: ['ls *'], allow: ['echo *', 'sh *']}}\n",
    );
    let mut client = Client::connect(&env);
    let fine = client.call("shell", json!({ "command": "echo hi" }));
    assert_eq!(fine["structuredContent"]["exit_code"], 0, "{fine}");
    for command in ["touch x", "ls"] {
        let refused = client.call("shell", json!({ "command": command }));
        assert_eq!(refused["isError"], true, "{refused}");
        assert!(refused.to_string().contains("policy.commands"), "{refused}");
    }
    let read = client.call("read_file", json!({ "path": "kept" }));
    assert_eq!(read["content"][0]["text"], "host\n", "{read}");
    client.to = None;
    assert!(client.server.wait().unwrap().success());
    assert!(wait_until(Duration::from_secs(10), || sessions(&env) == 0));
}
