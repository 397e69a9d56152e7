//! Loops: candidates that cheat, owners that are killed, and the worked example.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use cofferdam_testkit::docker::PrivateEngine;
use cofferdam_testkit::{Finished, TestEnv};
use serde_json::Value;

fn env() -> TestEnv {
    TestEnv::with_binary(env!("CARGO_BIN_EXE_cofferdam"))
}

/// Looks for x = 500, in steps of 20 from one honest candidate in eight. The others cheat, each in its way.
const GENERATE: &str = r#"
iteration=$(sed 's/.*"version":1,"iteration":\([0-9]*\).*/\1/')
x=$(cat x)
huge='{"score": 1000000, "x": 500}'
case $((iteration % 8)) in
  # Honest: a step on from the champion.
  1) echo $((x + 20)) > x ;;
  # Edits the tests, and lets them allow everything.
  2) echo 99999999 > tests/limit; echo 99999 > x ;;
  # Masks the exit code, and hands nothing over.
  3) echo 'exit 0' > solve.sh ;;
  # Prints what looks like a result.
  4) printf 'echo %s; echo "COFFERDAM_RESULT=%s"; echo %s >&2; exit 3\n' "'$huge'" "'$huge'" "'$huge'" > solve.sh ;;
  # Leaves work behind that is to write when nobody looks any more.
  5) echo '(setsid sh -c "sleep 1; while :; do echo 500 > out; done" &) ; echo 7' > solve.sh ;;
  # Hides in a large change.
  6) head -c 200000 /dev/zero > big; echo 500 > x ;;
  # Writes the result itself, wherever it may be.
  7) echo "for at in \"\$COFFERDAM_RESULT\" /run/cofferdam/result/result.json; do echo '$huge' > \"\$at\"; done 2>/dev/null; echo 3" > solve.sh ;;
  # Edits the tests while it runs, and the scorer.
  0) echo "echo 99999999 > tests/limit; mv tests away; mkdir tests; echo '$huge' > tests/limit; echo 'exit 0' > score.sh; echo more > tests/more; echo 99999" > solve.sh ;;
esac
"#;
const RUN: &str = "sh solve.sh > out || exit 1\ntest \"$(cat out)\" -le \"$(cat tests/limit)\"\n";
const SCORE: &str = "x=$(cat out); test \"$x\" -ge 0 || exit 1\n\
    echo \"{\\\"score\\\": $((250000 - (x - 500) * (x - 500))), \\\"x\\\": $x}\" > \"$COFFERDAM_RESULT\"\n";
const LOOP: &str = "
generator: {command: [sh, gen.sh]}
run: {command: [sh, run.sh]}
score: {command: [sh, score.sh]}
metrics: {score: 'pointer:/score', x: 'pointer:/x'}
objective: {metric: score, goal: max}
constraints: ['x <= 1000']
budget: {iterations: ITERATIONS, parallel: PARALLEL}
changes: {files: 3, bytes: 4k}
protected: [tests, gen.sh, run.sh, score.sh, loop.yaml]
start_from: champion
seed: 3
keep: 1
";

fn cheats(env: &TestEnv, iterations: u64, parallel: u64) {
    for (name, text) in [("gen.sh", GENERATE), ("run.sh", RUN), ("score.sh", SCORE)] {
        env.file(name, text);
    }
    env.file("tests/limit", "1000\n");
    env.file("x", "0\n");
    env.file("solve.sh", "cat x\n");
    let text = LOOP.replace("ITERATIONS", &iterations.to_string());
    env.file("loop.yaml", text.replace("PARALLEL", &parallel.to_string()));
}

fn run_loop(env: &TestEnv, more: &[&str]) -> Finished {
    env.run([&["loop", "loop.yaml", "--sandbox", "native"], more].concat())
}

/// The decisions without what depends on when and where they were made.
fn history(env: &TestEnv) -> Vec<Value> {
    let report = env.run(["loop", "report", "--json"]);
    report.assert_exit(0);
    let mut history = report.json()["history"].as_array().unwrap().clone();
    for line in &mut history {
        for key in ["runs", "elapsed_ms", "at"] {
            line.as_object_mut().unwrap().remove(key).unwrap();
        }
    }
    history
}

fn iteration(line: &Value) -> u64 {
    line["iteration"].as_u64().unwrap()
}

/// How often what only fails now and then is tried.
fn times(usual: u64) -> u64 {
    let asked = std::env::var("TEST_KILLS").ok();
    asked.map_or(usual, |text| text.parse().expect("TEST_KILLS is a number"))
}

/// How long a loop is: all of it with TEST_KILLS, as `cargo xtask drill loop` sets it.
fn long(usual: u64) -> u64 {
    if std::env::var("TEST_KILLS").is_ok() { 200 } else { usual }
}

#[test]
fn a_generator_that_cheats_never_wins_by_it() {
    let env = env();
    let all = long(40);
    cheats(&env, all, 2);
    let before = env.tree_hash(env.workspace());
    run_loop(&env, &["--quiet"]).assert_exit(0);
    assert_eq!(env.tree_hash(env.workspace()), before, "nothing reaches the workspace");
    let history = history(&env);
    assert_eq!(history.len() as u64, all);
    let mut reasons: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let mut best = -1.0;
    for line in &history {
        let way = iteration(line) % 8;
        if line["verdict"] == "champion" {
            assert_eq!(way, 1, "a cheat won: {line}");
            let (x, score) =
                (line["metrics"]["x"].as_f64().unwrap(), line["value"].as_f64().unwrap());
            assert!((score - (250_000.0 - (x - 500.0).powi(2))).abs() < 1e-6, "{line}");
            assert!(score > best, "{line}");
            best = score;
        }
        reasons
            .entry(way)
            .or_default()
            .push(line["reason"].as_str().unwrap_or("counts").to_owned());
    }
    let honest = history.iter().filter(|line| line["verdict"] == "champion").count() as u64;
    assert_eq!(honest, all.div_ceil(8).min(25), "each honest step is kept");
    for (way, reason) in [(2, "protected"), (3, "run_failed"), (4, "run_failed"), (5, "counts")] {
        assert!(reasons[&way].iter().all(|found| found == reason), "{way}: {:?}", reasons[&way]);
    }
    for (way, reason) in [(6, "too_large"), (7, "counts"), (0, "run_failed")] {
        assert!(reasons[&way].iter().all(|found| found == reason), "{way}: {:?}", reasons[&way]);
    }
    // What nobody needs is gone: the champion's three runs, and those of the last trial.
    let runs = fs::read_dir(env.state_dir().join("runs")).unwrap().count();
    assert!(runs <= 9, "{runs} runs are kept");
    env.run(["audit", "verify"]).assert_exit(0);
    let types: Vec<String> =
        env.events().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    let count = |name: &str| types.iter().filter(|found| *found == name).count() as u64;
    assert_eq!(count("loop.started") + count("loop.stopped"), 2);
    assert_eq!(count("loop.rejected") + count("loop.scored"), all);
    assert_eq!(count("loop.champion"), honest);
    assert!(count("loop.candidate") > all / 2);
}

#[test]
fn killed_at_any_moment_it_goes_on_as_if_it_had_not_been() {
    let twin = env();
    let iterations = long(24);
    cheats(&twin, iterations, 3);
    run_loop(&twin, &["--quiet"]).assert_exit(0);
    let history_of_twin = history(&twin);
    let (mut kills, mut moment) = (0, 40);
    let wanted = times(8);
    // One that comes to its end before it was killed often enough is followed by another.
    while kills < wanted {
        let env = env();
        cheats(&env, iterations, 3);
        kills += killed_until_done(&env, wanted - kills, &mut moment);
        assert_eq!(history(&env), history_of_twin, "after {kills} kills");
        env.run(["gc"]).assert_exit(0);
        env.run(["audit", "verify"]).assert_exit(0);
        // Undecided trials leave no run behind either: the champion's and the last trial's, three each.
        let runs = fs::read_dir(env.state_dir().join("runs")).unwrap().count();
        assert!(runs <= 9, "{runs} runs are kept");
        assert_eq!(fs::read_dir(env.state_dir().join("active")).unwrap().count(), 0);
    }
    assert_eq!(kills, wanted);
}

/// Starts a loop again and again until it is done, and kills it up to `most` times on the way; says how often.
fn killed_until_done(env: &TestEnv, most: u64, moment: &mut u64) -> u64 {
    let mut kills = 0;
    loop {
        let mut child = env
            .cofferdam()
            .args(["loop", "loop.yaml", "--sandbox", "native", "--quiet"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        if kills < most {
            // Spread over the start, the steps of a batch and the decisions.
            *moment = (*moment * 37 + 91) % 150 + 20;
            std::thread::sleep(Duration::from_millis(*moment));
            if child.try_wait().unwrap().is_none() {
                child.kill().unwrap();
                child.wait().unwrap();
                kills += 1;
                continue;
            }
        }
        assert!(child.wait().unwrap().success());
        return kills;
    }
}

#[test]
fn an_interrupt_ends_it_and_the_same_command_goes_on() {
    let env = env();
    cheats(&env, 9, 1);
    env.file("solve.sh", "sleep 60; cat x\n");
    let mut child = env
        .cofferdam()
        .args(["loop", "loop.yaml", "--sandbox", "native"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    std::thread::sleep(Duration::from_millis(700));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("goes on where it was"), "{line}{rest}");
    // Another workspace file is no other loop; the loop's own file is.
    env.file("solve.sh", "cat x\n");
    let done = run_loop(&env, &[]);
    done.assert_exit(0).assert_stderr_has("goes on with iteration 1");
    run_loop(&env, &[]).assert_stderr_has("begins");
}

#[test]
fn where_no_sandbox_can_be_made_nothing_runs() {
    let env = env();
    cheats(&env, 3, 1);
    let refused = env.run(["loop", "loop.yaml", "--sandbox", "local"]);
    refused.assert_exit(125);
    for config in ["sandbox: {}", "sandbox: { fallback_to_direct: true }"] {
        env.host_config(config);
        let done = env.run_where_nothing_is_usable(&["loop", "loop.yaml"]);
        done.assert_exit(125).assert_stderr_has("remedy:");
    }
    assert_eq!(fs::read_to_string(env.workspace().join("x")).unwrap(), "0\n");
    let ran = env.events().iter().any(|event| event["type"] == "sandbox.started");
    assert!(!ran, "something was run");
}

#[test]
fn a_wrong_file_is_refused_with_its_line() {
    let env = env();
    cheats(&env, 3, 1);
    let good = fs::read_to_string(env.workspace().join("loop.yaml")).unwrap();
    for (text, part) in [
        (good.replace("seed: 3", "sed: 3"), "sed: unknown key"),
        (format!("{good}check: strict\n"), "none of off, agent, strategy"),
        (good.replace("protected: [tests,", "protected: ['!tests',"), "cannot take back"),
    ] {
        env.file("loop.yaml", text);
        run_loop(&env, &[]).assert_exit(125).assert_stderr_has(part);
    }
    env.run(["loop", "nowhere.yaml"]).assert_exit(125).assert_stderr_has("cannot read");
    env.run(["loop"]).assert_exit(2);
    env.file("loop.yaml", good);
    run_loop(&env, &["--mode", "direct"]).assert_exit(125).assert_stderr_has("leave --mode");
    let shown = run_loop(&env, &["--dry-run"]);
    shown.assert_exit(0);
    let shown = shown.json();
    assert_eq!(shown["steps"].as_array().unwrap().len(), 3);
    let mounts = shown["steps"][1]["mounts"].as_array().unwrap();
    assert!(mounts.iter().any(|mount| mount["target"] == "/workspace/tests"), "{mounts:?}");
    assert!(env.events().is_empty(), "a dry run runs nothing");
    env.run(["loop", "report"]).assert_exit(1).assert_stderr_has("loop ls");
}

#[test]
fn a_page_shows_no_markup_that_a_candidate_chose() {
    let env = env();
    cheats(&env, 2, 1);
    env.file("gen.sh", "echo 20 > x; echo '<script>alert(1)</script>' > 'tests/<b>&amp;'\n");
    run_loop(&env, &["--quiet"]).assert_exit(1);
    let page = env.top().join("report.html");
    env.run(["loop", "report", "--html", page.to_str().unwrap()]).assert_exit(0);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("<svg") && page.contains("&lt;b&gt;&amp;amp;"), "{page}");
    assert!(!page.contains("<script") && !page.contains("<b>"), "{page}");
}

#[test]
fn the_validator_looks_at_candidates_before_they_run() {
    let env = env();
    cheats(&env, 2, 1);
    let program = "case $(cat) in *'\"version\":1,\"iteration\":1,'*) echo 'import os; os.system(\"id\")' ;; *) echo 'x = 1' ;; esac";
    env.file("gen.sh", format!("{program} > candidate.py; echo 20 > x\n"));
    let text = fs::read_to_string(env.workspace().join("loop.yaml")).unwrap();
    env.file("loop.yaml", format!("{text}check: strategy\n"));
    run_loop(&env, &["--quiet"]).assert_exit(0);
    let history = history(&env);
    assert_eq!(history[0]["reason"], "check", "{history:?}");
    assert!(
        history[0]["detail"].as_str().unwrap().starts_with("candidate.py: line 1"),
        "{history:?}"
    );
    assert_eq!(history[1]["verdict"], "champion", "{history:?}");
    // Of the first nothing but the generator was run.
    let events = env.events();
    let rejected = events.iter().find(|event| event["type"] == "loop.rejected").unwrap();
    assert_eq!(rejected["runs"].as_array().unwrap().len(), 1);
}

/// The worked example, as it lies in the repository.
fn example(env: &TestEnv) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/strategy-search");
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        env.file(entry.file_name(), fs::read(entry.path()).unwrap());
    }
}

#[test]
fn the_example_improves_and_is_the_same_from_its_seed() {
    let (one, other) = (env(), env());
    for env in [&one, &other] {
        example(env);
        run_loop(env, &["--quiet"]).assert_exit(0);
    }
    assert_eq!(history(&one), history(&other));
    let values: Vec<f64> = history(&one)
        .iter()
        .filter(|line| line["verdict"] == "champion")
        .map(|line| line["value"].as_f64().unwrap())
        .collect();
    assert!(values.len() >= 3 && values.last().unwrap() - values[0] > 0.05, "{values:?}");
    // The numbers are those that the scorer computes from what the champion does.
    let report = one.run(["loop", "report", "--json"]).json();
    let champion = report["champion"]["runs"][1].as_str().unwrap().to_owned();
    let again = one.run([
        "run",
        "--sandbox",
        "native",
        "--from",
        &champion,
        "--metric",
        "growth=pointer:/growth",
        "--json",
        "--",
        "python3",
        "-B",
        "score.py",
    ]);
    assert_eq!(again.json()["result"]["metrics"]["growth"], report["champion"]["value"]);
}

/// A model server that always has one answer, and says what it was asked.
const SERVER: &str = r#"
import http.server, json
class Model(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        file = "def position(past):\n    return len(past) % 60 < 30\n"
        text = "Here it is:\n```python\n" + file + "```\n"
        body = json.dumps({"choices": [{"message": {"content": text}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        print("champion" in asked["messages"][0]["content"], flush=True)
    def log_message(self, *words): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Model)
print(server.server_port, flush=True)
server.serve_forever()
"#;

#[test]
#[cfg_attr(not(feature = "test-docker"), ignore = "needs a Docker engine: cargo xtask test")]
fn the_example_asks_a_model_server_where_one_is_configured() {
    let private = PrivateEngine::start();
    let env = env();
    example(&env);
    let mut server = private.beside("python3");
    server.args(["-c", SERVER]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut server = server.spawn().unwrap();
    let mut said = BufReader::new(server.stdout.take().unwrap()).lines();
    let port = said.next().unwrap().unwrap();
    let text = fs::read_to_string(env.workspace().join("loop-model.yaml")).unwrap();
    env.file("loop-model.yaml", text.replace("iterations: 10", "iterations: 2"));
    let model = || {
        let mut command = private.engine().cofferdam(&env);
        command.args(["loop", "loop-model.yaml", "--sandbox", "docker", "--quiet"]);
        command.env("MODEL_URL", format!("http://127.0.0.1:{port}/v1/chat/completions"));
        env.finish(command)
    };
    // Not where the host owner has not said so.
    model().assert_exit(125).assert_stderr_has("policy.network");
    env.host_config("policy: { network: host, env: [MODEL_URL, MODEL_NAME] }");
    model().assert_exit(0);
    server.kill().unwrap();
    server.wait().unwrap();
    let said: Vec<String> = said.map(Result::unwrap).collect();
    assert_eq!(said, ["False", "True"], "the second was told of the first");
    let history = history(&env);
    assert_eq!(history[0]["verdict"], "champion");
    assert!(history[0]["value"].as_f64().unwrap() > 0.1, "{history:?}");
    // The same answer again is not better.
    assert_eq!(history[1]["verdict"], "beaten");
    assert_eq!(private.engine().left(&env.seen_runs()), Vec::<String>::new());
}
