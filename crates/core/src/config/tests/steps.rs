use std::ffi::OsString;

use super::*;

fn step(layers: &Layers, name: &str) -> (Step, Resolved) {
    let (step, layers) = layers.for_step(name).unwrap();
    (step, resolve(layers).unwrap())
}

fn words(step: &Step, added: &[&str]) -> Vec<String> {
    let added: Vec<OsString> = added.iter().map(Into::into).collect();
    step.command.words(&added).iter().map(|arg| arg.0.to_str().unwrap().to_owned()).collect()
}

#[test]
fn a_step_is_a_line_or_words_or_more() {
    let text = "steps:\n  line: make test\n  words: [cargo, test, '--', a b]\n  \
                more: {command: make lint, workdir: sub, timeout: 1m}\n  all: run \"$@\" quick\n";
    let layers = Layers { project: project(text), ..Layers::default() };
    let (line, _) = step(&layers, "line");
    assert_eq!(words(&line, &[]), ["sh", "-e", "-c", "make test", "sh"]);
    assert_eq!(
        words(&line, &["a b", "$x"]),
        ["sh", "-e", "-c", "make test \"$@\"", "sh", "a b", "$x"]
    );
    let (all, _) = step(&layers, "all");
    assert_eq!(words(&all, &["x"]), ["sh", "-e", "-c", "run \"$@\" quick", "sh", "x"]);
    let (listed, _) = step(&layers, "words");
    assert_eq!(words(&listed, &["x"]), ["cargo", "test", "--", "a b", "x"]);
    let (more, resolved) = step(&layers, "more");
    assert_eq!(more.workdir, Some("sub".into()));
    assert_eq!(shown(&resolved, Key::SandboxTimeout), "1m (cofferdam.yaml:4)");
    assert!(layers.for_step("none").is_none());
    let (_, other) = step(&layers, "line");
    assert_eq!(shown(&other, Key::SandboxTimeout), "10m (built-in default)", "of that step alone");
}

#[test]
fn a_step_loosens_only_what_its_file_may() {
    let text = "sandbox: {env: {A: a}}\nsteps: {slow: {command: x, timeout: 2h, network: bridge, env: {B: b}}}";
    let mut layers = Layers { project: project(text), ..Layers::default() };
    let (_, untrusted) = step(&layers, "slow");
    assert_eq!(shown(&untrusted, Key::SandboxTimeout), "10m (built-in default)");
    assert_eq!(shown(&untrusted, Key::SandboxNetwork), "none (built-in default)");
    assert_eq!(shown(&untrusted, Key::SandboxEnv), "{} (built-in default)");
    assert_eq!(untrusted.warnings().len(), 3, "{:?}", untrusted.warnings());
    layers.trust = Trust::Trusted;
    let (_, trusted) = step(&layers, "slow");
    assert_eq!(shown(&trusted, Key::SandboxTimeout), "2h (cofferdam.yaml:2)");
    assert_eq!(shown(&trusted, Key::SandboxEnv), "{A: a, B: b} (cofferdam.yaml:2)");
    layers.host = host("sandbox: {timeout: 5m, network: none}");
    let (_, bounded) = step(&layers, "slow");
    assert_eq!(shown(&bounded, Key::SandboxTimeout), "5m (/host/config.yaml:1)");
    assert_eq!(shown(&bounded, Key::SandboxNetwork), "none (/host/config.yaml:1)");
}

#[test]
fn a_name_of_the_host_file_stays_its_own() {
    let layers = Layers {
        host: host("steps: {test: {command: own, timeout: 2h}}"),
        project: project("steps: {test: other, lint: more}"),
        ..Layers::default()
    };
    let (own, resolved) = step(&layers, "test");
    assert_eq!(own.command, StepCommand::Line("own".to_owned()));
    assert_eq!(shown(&resolved, Key::SandboxTimeout), "2h (/host/config.yaml:1)");
    assert_eq!(
        resolved.warnings()[0].to_string(),
        "cofferdam.yaml:1: steps: test stays as /host/config.yaml:1 has it"
    );
    let (more, _) = step(&layers, "lint");
    assert_eq!(more.command, StepCommand::Line("more".to_owned()));
    let listed = resolve(layers).unwrap();
    assert_eq!(
        listed.get(Key::Steps).0.to_string(),
        "{lint: more, test: {command: own, timeout: 2h}}"
    );
}

#[test]
fn what_is_wrong_with_a_step_is_said_with_its_line() {
    let said = errors(
        "steps:\n  a: ''\n  b: []\n  c: {workdir: x}\n  d: {command: x, relax: [limits]}\n  \
         e: {command: x, timeot: 1s}\n  f: {command: x, timeout: fast}\n  'g h': x\n  i: [x, [y]]\n  j:\n",
    );
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 9, "{said}");
    for (line, words) in lines.iter().zip([
        "cofferdam.yaml:2: steps.a: write a command line",
        "cofferdam.yaml:3: steps.b: write a command line",
        "cofferdam.yaml:4: steps.c: `command` is missing",
        "cofferdam.yaml:5: relax: unknown key",
        "cofferdam.yaml:6: timeot: unknown key (did you mean `timeout`?)",
        "cofferdam.yaml:7: steps.f.timeout: ",
        "cofferdam.yaml:8: steps: \"g h\" is not the name of a step",
        "cofferdam.yaml:9: steps.i: write a command line",
        "cofferdam.yaml:10: steps.j: write a command line",
    ]) {
        assert!(line.starts_with(words), "{line} / {words}");
    }
}

#[test]
fn what_is_the_owners_alone_is_wrong_in_a_project_file() {
    let said = errors("mcp: {apply: true}");
    assert!(
        said.contains("mcp.apply: only the host owner says this (rule host-file-only)"),
        "{said}"
    );
    let layers = Layers { host: host("mcp: {apply: true}"), ..Layers::default() };
    assert!(resolve(layers).unwrap().settings().mcp.apply);
    assert!(!resolve(Layers::default()).unwrap().settings().mcp.apply);
}
