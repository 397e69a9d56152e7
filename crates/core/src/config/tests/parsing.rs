use super::*;

#[test]
fn a_whole_file() {
    let entries = host(
        "\
sandbox:
  enabled: true
  backend: native
  image: debian:12
  cpu_limit: 1.5
  pids_limit: 128
  timeout: 600
  idle_timeout: off
  tmpfs: {/tmp: 64m, /var/cache: 1g}
  mounts:
    - {source: ~/data, target: /data}
    - {source: /w, target: /w/, readonly: false}
  env: {A: true, B: 0x10, C: ''}
  env_passthrough: [GITHUB_TOKEN]
changes: {budget: {files: 10, share: 5}}
policy:
  exceptions: [{path: /models, reason: weights}]
  roles: {reviewer: {mode: readonly, memory_limit: 1g, allowed_paths: [/srv]}}
",
    );
    let resolved = resolve(Layers { host: entries, ..Layers::default() }).unwrap();
    assert_eq!(shown(&resolved, Key::SandboxCpuLimit), "1.5 (/host/config.yaml:5)");
    assert_eq!(shown(&resolved, Key::SandboxTimeout), "10m (/host/config.yaml:7)");
    assert_eq!(
        shown(&resolved, Key::SandboxMounts),
        "[{source: \"~/data\", target: /data, readonly: true}, \
         {source: /w, target: /w, readonly: false}] (/host/config.yaml:10)"
    );
    // Scalars are text: nothing turns into a number or a boolean on the way.
    assert_eq!(resolved.get(Key::SandboxEnv).0.to_string(), "{A: true, B: 0x10, C: \"\"}");
    let settings = resolved.settings();
    assert_eq!(settings.changes.budget.files, 10);
    assert_eq!(settings.changes.budget.deletions, 200);
    let role = &settings.policy.roles["reviewer"];
    assert_eq!((role.mode, role.pids_limit), (Some(crate::spec::Mode::Readonly), None));
    assert_eq!(settings.policy.exceptions[0].access, crate::mount::Access::Read);
}

#[test]
fn nothing_is_an_empty_layer() {
    for empty in ["", "# only words\n", "---\n", "null\n", "{}", "sandbox:\n", "sandbox: {}\n"] {
        assert!(project(empty).is_empty(), "{empty:?}");
    }
}

#[test]
fn json_is_yaml() {
    let entries = project(r#"{"sandbox": {"memory_limit": "1g", "mounts": [], "pids_limit": 7}}"#);
    assert_eq!(entries.get(Key::SandboxPidsLimit).unwrap().0, &Value::Count(7));
}

#[test]
fn an_empty_list_is_not_a_missing_one() {
    let entries = project("sandbox: {blocked: []}");
    assert_eq!(entries.get(Key::SandboxBlocked).unwrap().0, &Value::Texts(vec![]));
    assert_eq!(entries.get(Key::SandboxMounts), None);
    assert!(errors("sandbox:\n  blocked:\n").contains("2: sandbox.blocked: it has no value"));
}

#[test]
fn unknown_keys_name_the_nearest() {
    assert_eq!(
        errors("sandbox:\n  memroy_limit: 1g\n"),
        "cofferdam.yaml:2: sandbox.memroy_limit: unknown key \
         (did you mean `sandbox.memory_limit`?)\n"
    );
    assert!(errors("memory_limit: 1g").contains("did you mean `sandbox.memory_limit`?"));
    assert!(errors("sandbx: {}").contains("did you mean `sandbox`?"));
    assert!(errors("sandbox.mode: stage").contains("write `sandbox: {mode: …}`"));
    assert!(errors("changes: {budget: {fils: 1}}").contains("`changes.budget.files`"));
    let nothing_near = errors("frobnicate: 1");
    assert!(nothing_near.contains("unknown key") && !nothing_near.contains("did you mean"));
    let inside = errors("sandbox: {mounts: [{source: /a, target: /b, readnly: true}]}");
    assert!(inside.contains("did you mean `readonly`?"), "{inside}");
}

#[test]
fn all_errors_are_said_at_once() {
    let said = errors("sandbox:\n  memory_limit: 1q\n  mode: staged\n  tmpsf: {}\nextra: 1\n");
    let lines: Vec<_> = said.lines().map(|l| l.split(' ').next().unwrap()).collect();
    assert_eq!(
        lines,
        ["cofferdam.yaml:2:", "cofferdam.yaml:3:", "cofferdam.yaml:4:", "cofferdam.yaml:5:"]
    );
    assert!(said.contains("\"1q\" is not a size"), "{said}");
    assert!(said.contains("\"staged\" is not one of stage, direct, readonly"), "{said}");
}

#[test]
fn values_have_their_form() {
    for bad in [
        "memory_limit: 1k",
        "memory_limit: 1.5g",
        "cpu_limit: 0",
        "cpu_limit: 65",
        "pids_limit: 0",
        "pids_limit: 4194305",
        "pids_limit: +5",
        "pids_limit: 0x10",
        "timeout: 0s",
        "timeout: 25h",
        "timeout: 500ms",
        "idle_timeout: never",
        "stop_grace: 11m",
        "output_limit: 1k",
        "output_limit: 5g",
        "enabled: yes",
        "enabled: 1",
        "image: --privileged",
        "image: ''",
        "seccomp: defualt",
        "seccomp: null",
        "runtime: -x",
        "runtime: Crun",
        "tmpfs: {tmp: 1m}",
        "tmpfs: {/tmp: 1k}",
        "tmpfs: [/tmp]",
        "mounts: [/a:/b]",
        "mounts: [{source: /a}]",
        "mounts: [{source: /a, target: b}]",
        "mounts: [{source: /a, target: /b, readonly: no}]",
        "env: {1A: x}",
        "env: {A: [x]}",
        "env: {A: }",
        "env_passthrough: [A B]",
        "env_passthrough: A",
        "allow_hosts: ['http://x']",
        "allow_hosts: ['x:0']",
        "allow_hosts: ['x:70000']",
        "allow_hosts: ['*']",
        "blocked: ['../x']",
        "blocked: ['']",
        "blocked: [~]",
        "blocked: ['secrets/**']",
        "blocked: ['*.{pem,key}']",
        "blocked: ['[ab]']",
        "blocked: [/]",
        "relax: [everything]",
        "backend: lxc",
        "network: all",
        "tmpfs: {/tmp: 1m, /tmp/: 2m}",
    ] {
        assert!(errors(&format!("sandbox: {{{bad}}}")).contains("sandbox."), "{bad}");
    }
    for good in [
        "memory_limit: 1m",
        "memory_limit: 4294967296",
        "cpu_limit: '0.5'",
        "pids_limit: 4194304",
        "timeout: 24h",
        "idle_timeout: 1s",
        "stop_grace: 0",
        "output_limit: 64k",
        "image: null",
        "seccomp: ./p.json",
        "runtime: runsc",
        "allow_hosts: ['example.org', 'x:443', '[::1]:80', 127.0.0.1]",
        "blocked: ['secrets/', '*.pem', '**/*.key', './a//b']",
        "relax: [limits]",
    ] {
        assert!(!project(&format!("sandbox: {{{good}}}")).is_empty(), "{good}");
    }
}

#[test]
fn rules_for_changes_are_checked_when_they_are_read() {
    let said = errors("changes:\n  auto: [docs/**]\n  deny:\n    - ok\n    - '[a'\n");
    assert!(said.starts_with("cofferdam.yaml:5: changes.deny: \"[a\" is not a pattern"), "{said}");
    let said = errors("changes:\n  allow_classes:\n    - cii\n");
    assert!(said.starts_with("cofferdam.yaml:3: changes.allow_classes: \"cii\""), "{said}");
    assert!(said.contains("did you mean `ci`?"), "{said}");
    for bad in ["auto: ['../x']", "auto: ['!x']", "deny: ['{a']", "allow_classes: [CI]"] {
        assert!(errors(&format!("changes: {{{bad}}}")).contains("changes."), "{bad}");
    }
    let good = "changes: {auto: ['docs/**', '*.{md,txt}'], deny: ['/secrets/', '[a-z]'], allow_classes: [ci, secret]}";
    assert!(!project(good).is_empty());
}

#[test]
fn exceptions_say_why() {
    assert!(errors("policy: {exceptions: [{path: /a}]}").contains("`reason` is missing"));
    assert!(errors("policy: {exceptions: [{path: /a, reason: ' '}]}").contains("say why"));
    assert!(errors("policy: {roles: {a: {memory: 1g}}}").contains("did you mean `memory_limit`?"));
    assert!(errors("policy: {roles: {a: {timeout: 0s}}}").contains("policy.roles.a.timeout"));
}

#[test]
fn yaml_that_hides_something_is_refused() {
    let cases = [
        ("sandbox: {mode: stage, mode: direct}", "mode: written twice, first in line 1"),
        ("sandbox: &a {mode: stage}", "anchors are not used"),
        ("a: &a [x]\nb: [*a, *a]", "aliases are not used"),
        ("sandbox: !!map {}", "tags are not used"),
        ("sandbox: {}\n---\nsandbox: {}", "a second document"),
        ("- sandbox", "must be a mapping"),
        ("sandbox", "must be a mapping"),
        ("\u{feff}sandbox: {}", "byte order mark"),
        ("sandbox: {mode: [}", "not YAML"),
        ("? [a]\n: b", "a key is a word"),
        ("sandbox: stage", "write a mapping"),
        ("'': 1", "unknown key"),
    ];
    for (text, said) in cases {
        assert!(errors(text).contains(said), "{text:?}: {}", errors(text));
    }
    assert!(errors(&"# ".repeat(MAX_FILE_BYTES)).contains("larger than 1 MiB"));
    assert!(errors(&"- ".repeat(20)).contains("nested deeper"));
}

#[test]
fn errors_are_inert_and_bounded() {
    let said = errors("\"\\e]52;c;aGk=\\a\": 1\nsandbox: {mode: \"\\e[2J\"}");
    assert!(said.lines().count() == 2 && !said.contains('\u{1b}'), "{said:?}");
    let many: String = (0..5000).map(|n| format!("k{n}: 1\n")).collect();
    assert_eq!(errors(&many).lines().count(), 100);
    let list = |items: usize| format!("sandbox: {{blocked: [{}]}}", "x, ".repeat(items));
    assert!(errors(&list(1001)).contains("more than 1000 items"));
    assert!(!project(&list(1000)).is_empty());
}

#[test]
fn typed_text() {
    let mut entries = Entries::default();
    let mut set = |key, text, layer, source| entries.set_text(key, text, layer, source);
    set(Key::SandboxEnvPassthrough, "A, B", Layer::Variable, "COFFERDAM_PASS_ENV").unwrap();
    set(Key::SandboxMemoryLimit, "", Layer::Variable, "COFFERDAM_MEMORY").unwrap();
    set(Key::SandboxEnv, "LIST=a,b", Layer::Flag, "--env").unwrap();
    set(Key::SandboxEnv, "X=", Layer::Flag, "--env").unwrap();
    let error = set(Key::SandboxMemoryLimit, "1q", Layer::Flag, "--memory").unwrap_err();
    assert!(error.to_string().starts_with("--memory: \"1q\" is not a size"), "{error}");
    let error = set(Key::SandboxEnv, "hunter2", Layer::Flag, "--env").unwrap_err();
    assert_eq!(error.to_string(), "--env: write NAME=VALUE");
    assert!(set(Key::SandboxEnvPassthrough, "A,", Layer::Variable, "V").is_err());
    assert!(set(Key::SandboxTmpfs, "/a", Layer::Flag, "--tmpfs").is_err());
    assert_eq!(entries.get(Key::SandboxEnv).unwrap().0.to_string(), "{LIST: \"a,b\", X: \"\"}");
    assert_eq!(entries.get(Key::SandboxMemoryLimit), None);
}

#[test]
fn secrets_are_not_shown() {
    let entries = host("sandbox: {env: {DEPLOY_TOKEN: hunter2, LANG: C}}");
    let value = entries.get(Key::SandboxEnv).unwrap().0;
    assert_eq!(value.to_string(), "{DEPLOY_TOKEN: \"***\", LANG: C}");
}
