//! Bytes that a program controls are inert wherever they are shown.

use std::io::Read as _;
use std::process::Stdio;

use cofferdam_testkit::TestEnv;

fn env() -> TestEnv {
    TestEnv::with_binary(env!("CARGO_BIN_EXE_cofferdam"))
}

const EVIL: &str = "\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}[2J\u{202e}";

fn is_inert(bytes: &[u8]) -> bool {
    !bytes.iter().any(|b| matches!(b, 0x1b | 0x07))
        && !String::from_utf8_lossy(bytes).contains('\u{202e}')
}

#[test]
fn a_command_line_in_listings_and_errors() {
    let env = env();
    let missing = env.run(["run", "--sandbox", "local", "--", EVIL]);
    missing.assert_exit(127);
    assert!(is_inert(&missing.stderr), "{:?}", missing.stderr_text());
    for command in
        [&["runs"][..], &["show"], &["events"], &["runs", "--json"], &["events", "--json"]]
    {
        let shown = env.run(command);
        shown.assert_exit(0);
        assert!(is_inert(&shown.stdout), "{command:?}: {:?}", shown.stdout_text());
    }
}

#[test]
fn a_refused_value_in_its_error() {
    let env = env();
    let refused = env.run(["run", "--sandbox", "local", "--image", EVIL, "--", "true"]);
    refused.assert_exit(125);
    assert!(is_inert(&refused.stderr), "{:?}", refused.stderr_text());
    let unknown = env.run(["show", EVIL]);
    unknown.assert_exit(1);
    assert!(is_inert(&unknown.stderr), "{:?}", unknown.stderr_text());
}

/// On a terminal the kept output is shown and not obeyed; into a pipe it goes as it is.
#[test]
fn kept_output_on_a_terminal() {
    let env = env();
    env.run(["run", "--sandbox", "local", "--", "printf", "%s", EVIL]).assert_exit(0);
    assert_eq!(env.run(["logs", "--stdout"]).stdout, EVIL.as_bytes());
    // `script` gives the command a terminal of its own.
    let line = format!("{} logs --stdout", env!("CARGO_BIN_EXE_cofferdam"));
    let mut script = env.program("script");
    script.args(["-qec", &line, "/dev/null"]);
    let mut child = script.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut seen = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut seen).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(is_inert(&seen), "{:?}", String::from_utf8_lossy(&seen));
    assert!(String::from_utf8_lossy(&seen).contains("\\x1b]52"));
}

/// Escaped once: twice would show another name than the one that it has.
#[test]
fn a_name_is_escaped_once() {
    let env = env();
    let script = "touch \"$(printf 'n\\376')\" \"$(printf 'a\\nb')\" 'c\\d'";
    let flags = ["run", "--sandbox", "native", "--relax", "limits", "--", "sh", "-c"];
    let done = env.run(flags.iter().chain(&[script, "x\ny"]));
    done.assert_exit(0);
    for line in ["+ n\\xfe\n", "+ a\\nb\n", "+ c\\\\d\n"] {
        done.assert_stderr_has(line);
    }
    env.run(flags.iter().chain(&["exit", "x\ny"])).assert_exit(0);
    env.run(["runs"]).assert_stdout_has("exit x\\ny\n");
    env.run(["show"]).assert_stdout_has("exit x\\ny\n");
}
