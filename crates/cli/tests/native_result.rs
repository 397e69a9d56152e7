//! What a command hands over in the file that is made for it, in every mode, and what it cannot pass off as that.

use cofferdam_testkit::{TestEnv, claim};
use serde_json::Value;

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

fn result(env: &TestEnv) -> Value {
    env.latest_record()["result"].clone()
}

fn asked(env: &TestEnv, flags: &[&str], script: &str) -> Value {
    claim::run(env, &[&["--result"], flags].concat(), script).assert_exit(0);
    result(env)
}

#[test]
fn a_result_is_read_when_the_command_is_dead() {
    claim::as_root_and_as_user(BINARY, |env| {
        for mode in ["stage", "readonly", "direct"] {
            let script = "echo '{\"score\": 0.5, \"text\": \"\u{9b}31m\"}' > $COFFERDAM_RESULT";
            let flags = ["--mode", mode, "--metric", "score=pointer:/score"];
            let result = asked(env, &flags, script);
            assert_eq!(result["state"], "good", "{mode}: {result}");
            assert_eq!(result["metrics"]["score"], 0.5);
            let kept = std::fs::read(env.run_dir("last").join("result.json")).unwrap();
            assert_eq!(result["hash"], blake3::hash(&kept).to_hex().as_str());
            assert!(!env.run_dir("last").join("result").exists(), "only what was read is kept");
        }
        let shown = env.run(["show", "--result"]);
        let shown = shown.assert_exit(0).stdout_text();
        assert!(shown.contains("\"score\": 0.5") && !shown.contains('\u{9b}'), "{shown:?}");
        assert!(env.run(["show"]).assert_exit(0).stdout_text().contains("score = 0.5"));
        // It is no change of the workspace's.
        assert!(env.run(["diff", "--name-only"]).stdout_text().is_empty());
    });
}

/// What is printed is output, whatever it looks like; and what was written by somebody who is still there when
/// the command ends is read as he left it, for he is dead by then.
#[test]
fn nothing_else_passes_for_a_result() {
    claim::as_root_and_as_user(BINARY, |env| {
        let script = "echo '{\"score\": 9}'; echo COFFERDAM_RESULT={\\\"score\\\":9} >&2; \
                      echo '{\"score\": 9}' > result.json";
        let result = asked(env, &["--metric", "score=pointer:/score"], script);
        assert_eq!((&result["state"], &result["metrics"]), (&"missing".into(), &Value::Null));
        for (make, state) in [
            ("ln -s /etc/passwd $COFFERDAM_RESULT", "not_a_file"),
            ("mkfifo $COFFERDAM_RESULT", "not_a_file"),
            ("mkdir $COFFERDAM_RESULT", "not_a_file"),
            ("truncate -s 10G $COFFERDAM_RESULT", "too_large"),
            ("printf 'no json' > $COFFERDAM_RESULT", "not_json"),
            ("rm -r ${COFFERDAM_RESULT%/*}/* 2>/dev/null; true", "missing"),
        ] {
            assert_eq!(asked(env, &[], make)["state"], state, "{make}");
        }
        let script = "echo '{\"score\": 1}' > $COFFERDAM_RESULT; \
                      (setsid sh -c 'sleep 1; echo {\\\"score\\\": 9} > $COFFERDAM_RESULT' &) ; exit 0";
        let result = asked(env, &["--metric", "score=pointer:/score"], script);
        assert_eq!(result["metrics"]["score"], 1.0, "{result}");
    });
}

#[test]
fn a_report_beside_it_is_counted_and_a_schema_is_held_to() {
    claim::as_root_and_as_user(BINARY, |env| {
        let schema = env.file("schema.json", r#"{"type": "object", "required": ["score"]}"#);
        let schema = schema.to_str().unwrap();
        let script = "echo '{}' > $COFFERDAM_RESULT; \
                      echo '<testsuite><testcase/><testcase><failure/></testcase></testsuite>' \
                      > ${COFFERDAM_RESULT%/*}/report.xml; echo loss=3 loss=0.125";
        let flags = [
            "--result-schema",
            schema,
            "--metric",
            "failed=junit:report.xml:failures",
            "--metric",
            "loss=stdout:loss=([0-9.]+)",
            "--metric",
            "score=pointer:/score",
        ];
        let result = asked(env, &flags, script);
        assert_eq!(result["state"], "unfit", "{result}");
        assert_eq!(result["metrics"]["failed"], 1.0);
        assert_eq!(result["metrics"]["loss"], 0.125);
        assert!(result["missing"]["score"].is_string(), "an unfit result gives no numbers");
    });
}

#[test]
fn without_asking_there_is_no_place_for_it() {
    claim::as_root_and_as_user(BINARY, |env| {
        let script = "[ -z \"$COFFERDAM_RESULT\" ] && [ ! -e /run/cofferdam/result ]";
        claim::run(env, &[], script).assert_exit(0);
        assert!(result(env).is_null());
        env.run(["show", "--result"]).assert_exit(1).assert_stderr_has("--result");
    });
}

#[test]
fn what_cannot_be_asked_for_is_refused_before_anything_runs() {
    let env = TestEnv::with_binary(BINARY);
    env.file("bad.json", r#"{"type": "nonsense"}"#);
    for (flags, part) in [
        (&["--metric", "score"][..], "has no name"),
        (&["--metric", "a b=pointer:/x"], "no name for a number"),
        (&["--metric", "x=pointer:x"], "begins with /"),
        (&["--metric", "x=pointer:/x", "--metric", "x=pointer:/y"], "given twice"),
        (&["--result-limit", "1g"], "out of range"),
        (&["--result-schema", "missing.json"], "missing.json"),
        (&["--result-schema", "bad.json"], "nonsense"),
        (&["--result", "--mount", "/usr/share:/run/cofferdam/result"], "in the way"),
    ] {
        claim::run(&env, flags, "touch ran").assert_exit(125).assert_stderr_has(part);
    }
    assert!(!env.workspace().join("ran").exists());
}

#[test]
fn what_became_of_a_result_is_said_at_once() {
    claim::as_root_and_as_user(BINARY, |env| {
        let schema = env.file("schema.json", r#"{"properties": {"score": {"type": "number"}}}"#);
        let asked =
            ["--metric", "score=pointer:/score", "--result-schema", schema.to_str().unwrap()];
        let told = |flags: &[&str], script: &str| {
            let words = [&["run"], claim::sandbox(env).as_slice(), flags].concat();
            let run = env.run(words.iter().chain(&["--", "sh", "-c", script]));
            run.assert_exit(0).stderr_text().into_owned()
        };
        let wrong = ["warning: the result is", "warning: there is no number"];
        let good = told(&asked, "echo '{\"score\": 0.5}' > $COFFERDAM_RESULT");
        assert!(good.contains("result: score = 0.5"), "{good}");
        assert!(!wrong.iter().any(|words| good.contains(words)), "{good}");
        // A number from elsewhere is enough.
        let printed = told(&["--metric", "loss=stdout:loss=([0-9.]+)"], "echo loss=2");
        assert!(printed.contains("result: loss = 2"), "{printed}");
        assert!(!wrong.iter().any(|words| printed.contains(words)), "{printed}");
        // What is wrong is said to those who want few words, too.
        let quiet = claim::run(env, &asked, "echo '{\"score\": \"\u{9b}\"}' > $COFFERDAM_RESULT");
        let quiet = quiet.assert_exit(0).stderr_text();
        assert!(quiet.contains("warning: the result is not what the schema asks for"), "{quiet}");
        assert!(quiet.contains("warning: there is no number for score"), "{quiet}");
        assert!(!quiet.contains('\u{9b}'), "{quiet:?}");
        let missing = claim::run(env, &asked, "true");
        let missing = missing.assert_exit(0).stderr_text();
        assert!(missing.contains("warning: the result is missing"), "{missing}");
    });
}
