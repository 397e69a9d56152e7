use std::path::Path;

use super::*;
use crate::refusal::{Refusal, Rule};

fn with_project(host_text: &str, project_text: &str, trust: Trust) -> Resolved {
    let (host, project) = (host(host_text), project(project_text));
    resolve(Layers { host, project, trust, ..Layers::default() }).unwrap()
}

fn with_flags(host_text: &str, given: &[(Key, &str)]) -> Result<Resolved, Refusal> {
    resolve(Layers { host: host(host_text), flags: flags(given), ..Layers::default() })
}

fn warnings(resolved: &Resolved) -> Vec<String> {
    resolved.warnings().iter().map(ToString::to_string).collect()
}

#[test]
fn defaults_are_those_of_the_design() {
    let resolved = resolve(Layers::default()).unwrap();
    let settings = resolved.settings();
    assert!(settings.sandbox.enabled && settings.sandbox.readonly_root);
    assert!(!settings.sandbox.fallback_to_direct);
    assert_eq!(settings.sandbox.memory_limit.to_string(), "2g");
    assert_eq!(settings.sandbox.blocked, [".env", ".env.*"]);
    assert_eq!(settings.policy.root.to_str(), Some("."));
    assert!(resolved.explicit().is_empty() && resolved.warnings().is_empty());
    assert_eq!(shown(&resolved, Key::SandboxMode), "stage (built-in default)");
}

#[test]
fn the_host_file_may_do_anything() {
    let text = "sandbox: {enabled: false, mode: direct, memory_limit: 64g, blocked: []}\n\
                policy: {network: host}";
    let resolved = with_project(text, "", Trust::Untrusted);
    assert!(!resolved.settings().sandbox.enabled);
    assert_eq!(shown(&resolved, Key::SandboxBlocked), "[] (/host/config.yaml:1)");
    assert_eq!(shown(&resolved, Key::PolicyNetwork), "host (/host/config.yaml:2)");
    assert!(resolved.explicit().contains(&Key::SandboxBlocked));
}

#[test]
fn a_project_tightens_without_being_trusted() {
    let text = "sandbox: {mode: readonly, memory_limit: 1g, timeout: 10s, tmpfs: {/tmp: 64m}}";
    let resolved = with_project("", text, Trust::Untrusted);
    assert_eq!(warnings(&resolved), [""; 0]);
    assert_eq!(shown(&resolved, Key::SandboxMode), "readonly (cofferdam.yaml:1)");
    assert_eq!(shown(&resolved, Key::SandboxTmpfs), "{/tmp: 64m} (cofferdam.yaml:1)");
}

#[test]
fn a_project_loosens_a_default_only_when_trusted() {
    let text = "sandbox:\n  memory_limit: 8g\n  env_passthrough: [TOKEN]\n  blocked: [secrets]\n";
    let resolved = with_project("", text, Trust::Untrusted);
    let (stands, remedy) =
        ("(built-in default): ", "; run `cofferdam trust` to accept the file as it stands");
    assert_eq!(
        warnings(&resolved),
        [
            format!(
                "cofferdam.yaml:2: sandbox.memory_limit: 8g is looser than 2g {stands}2g stands{remedy}"
            ),
            format!(
                "cofferdam.yaml:4: sandbox.blocked: [secrets] is looser than [.env, \".env.*\"] \
                 {stands}[.env, \".env.*\", secrets] stands{remedy}"
            ),
            format!(
                "cofferdam.yaml:3: sandbox.env_passthrough: [TOKEN] is looser than [] {stands}[] stands{remedy}"
            ),
        ]
    );
    assert_eq!(shown(&resolved, Key::SandboxMemoryLimit), "2g (built-in default)");
    assert_eq!(resolved.explicit(), [Key::SandboxBlocked].into());
    let resolved = with_project("", text, Trust::Trusted);
    assert_eq!(warnings(&resolved), [""; 0]);
    assert_eq!(shown(&resolved, Key::SandboxMemoryLimit), "8g (cofferdam.yaml:2)");
    assert_eq!(shown(&resolved, Key::SandboxBlocked), "[secrets] (cofferdam.yaml:4)");
}

#[test]
fn trust_does_not_reach_over_the_host_file() {
    let host = "sandbox: {memory_limit: 1g, mounts: [{source: /a, target: /a, readonly: false}], \
                env: {A: host}, image: 'pinned:1'}";
    let text = "sandbox: {memory_limit: 8g, mounts: [{source: /a, target: /a}, {source: /b, target: /b}], \
                env: {A: project, B: x}, image: 'other:2'}";
    let resolved = with_project(host, text, Trust::Trusted);
    assert_eq!(shown(&resolved, Key::SandboxMemoryLimit), "1g (/host/config.yaml:1)");
    assert_eq!(
        shown(&resolved, Key::SandboxMounts),
        "[{source: /a, target: /a, readonly: true}] (cofferdam.yaml:1)"
    );
    assert_eq!(shown(&resolved, Key::SandboxEnv), "{A: host} (/host/config.yaml:1)");
    assert_eq!(shown(&resolved, Key::SandboxImage), "pinned:1 (/host/config.yaml:1)");
    assert_eq!(resolved.warnings().len(), 4);
    assert!(warnings(&resolved).iter().all(|w| !w.contains("cofferdam trust")));
}

#[test]
fn a_project_that_repeats_some_of_the_hosts_env_takes_none_of_it_away() {
    let resolved =
        with_project("sandbox: {env: {A: 1, B: 2}}", "sandbox: {env: {A: 1}}", Trust::Untrusted);
    assert_eq!(resolved.get(Key::SandboxEnv).0.to_string(), "{A: 1, B: 2}");
}

#[test]
fn host_only_keys_are_never_taken_from_the_project() {
    let text = "sandbox:\n  enabled: false\n  fallback_to_direct: true\n  backend: local\n  \
                relax: [limits]\npolicy: {root: /, network: host}\n";
    for trust in [Trust::Trusted, Trust::Untrusted] {
        let resolved = with_project("", text, trust);
        let defaults = resolve(Layers::default()).unwrap();
        assert_eq!(resolved.settings(), defaults.settings());
        assert!(resolved.explicit().is_empty());
        let said = warnings(&resolved);
        assert_eq!(said.len(), 6, "{said:?}");
        assert_eq!(said[0], "cofferdam.yaml:2: sandbox.enabled: honoured from the host file only");
    }
}

#[test]
fn a_free_key_is_free_until_the_host_sets_it() {
    let resolved = with_project("", "sandbox: {image: 'a:1', backend: native}", Trust::Untrusted);
    assert_eq!(warnings(&resolved), [""; 0]);
    assert_eq!(shown(&resolved, Key::SandboxImage), "a:1 (cofferdam.yaml:1)");
    for pinned in ["runtime: runsc", "seccomp: /p.json"] {
        let resolved = with_project("", &format!("sandbox: {{{pinned}}}"), Trust::Untrusted);
        assert_eq!(resolved.warnings().len(), 1, "{pinned}");
    }
}

#[test]
fn flags_replace_defaults_and_project_values_both_ways() {
    let given = [
        (Key::SandboxMemoryLimit, "8g"),
        (Key::SandboxMode, "direct"),
        (Key::SandboxBackend, "local"),
    ];
    let resolved = resolve(Layers {
        project: project("sandbox: {memory_limit: 1g}"),
        flags: flags(&given),
        ..Layers::default()
    })
    .unwrap();
    assert_eq!(shown(&resolved, Key::SandboxMemoryLimit), "8g (--memory)");
    assert_eq!(shown(&resolved, Key::SandboxBackend), "local (--sandbox)");
}

#[test]
fn flags_stay_within_the_host_file() {
    let host = "sandbox:\n  memory_limit: 4g\n  backend: docker\n  network: none\n  pull: never\n  env: {A: 1}\n  \
                env_passthrough: [TOKEN]\n  idle_timeout: 1m\n  runtime: crun\n";
    for (key, within) in [
        (Key::SandboxMemoryLimit, "4g"),
        (Key::SandboxMemoryLimit, "1g"),
        (Key::SandboxBackend, "native"),
        (Key::SandboxEnv, "B=2"),
        (Key::SandboxEnv, "A=1"),
        (Key::SandboxEnvPassthrough, "TOKEN"),
        (Key::SandboxIdleTimeout, "30s"),
        (Key::SandboxTimeout, "2h"),
        (Key::SandboxImage, "any:1"),
    ] {
        assert!(with_flags(host, &[(key, within)]).is_ok(), "{key} {within}");
    }
    for (key, beyond) in [
        (Key::SandboxMemoryLimit, "5g"),
        (Key::SandboxBackend, "local"),
        (Key::SandboxNetwork, "bridge"),
        (Key::SandboxPull, "missing"),
        (Key::SandboxEnv, "A=2"),
        (Key::SandboxEnvPassthrough, "OTHER"),
        (Key::SandboxIdleTimeout, "off"),
        (Key::SandboxRuntime, "runsc"),
    ] {
        let refusal = with_flags(host, &[(key, beyond)]).unwrap_err();
        assert_eq!((refusal.rule, refusal.field.as_str()), (Rule::Ceiling, key.name()), "{beyond}");
        assert!(refusal.message.contains("/host/config.yaml:"), "{refusal:?}");
    }
}

#[test]
fn a_flag_may_undo_what_the_project_tightened_but_not_the_host() {
    let layers = |flag| Layers {
        host: host("sandbox: {timeout: 10m}"),
        project: project("sandbox: {timeout: 5m}"),
        flags: flags(&[(Key::SandboxTimeout, flag)]),
        ..Layers::default()
    };
    assert_eq!(shown(&resolve(layers("8m")).unwrap(), Key::SandboxTimeout), "8m (--timeout)");
    assert!(resolve(layers("11m")).is_err());
}

#[test]
fn list_flags_add() {
    let given = [(Key::SandboxMounts, "/b:/b:rw"), (Key::SandboxMounts, "/c:/c")];
    let resolved = resolve(Layers {
        project: project("sandbox: {mounts: [{source: /a, target: /a}, {source: /x, target: /c}]}"),
        trust: Trust::Trusted,
        flags: flags(&given),
        ..Layers::default()
    })
    .unwrap();
    let mounts: Vec<_> =
        resolved.settings().sandbox.mounts.iter().map(ToString::to_string).collect();
    assert_eq!(mounts, ["/a:/a", "/b:/b:rw", "/c:/c"]);
    assert!(with_flags("sandbox: {mounts: []}", &given).is_err());
    let host = "sandbox: {mounts: [{source: /b, target: /b}]}";
    assert!(with_flags(host, &[(Key::SandboxMounts, "/b:/b")]).is_ok());
    assert!(with_flags(host, &[(Key::SandboxMounts, "/b:/b:rw")]).is_err());
}

#[test]
fn paths_start_where_they_were_written() {
    let mut entries = host(
        "sandbox: {mounts: [{source: ../data, target: /d}], seccomp: ./p.json}\n\
         policy: {root: src, allowed_paths: [~/a, /b/./c], exceptions: [{path: x, reason: y}]}",
    );
    let (base, home, workspace) = (Path::new("/cfg/dir"), Path::new("/home/ada"), Path::new("/w"));
    let anchor = Anchor { base, home, workspace };
    anchor.entries(&mut entries);
    let resolved = resolve(Layers { host: entries, ..Layers::default() }).unwrap();
    let settings = resolved.settings();
    assert_eq!(settings.sandbox.mounts[0].source.to_str(), Some("/cfg/data"));
    assert_eq!(resolved.get(Key::SandboxSeccomp).0.to_string(), "/cfg/dir/p.json");
    assert_eq!(settings.policy.root.to_str(), Some("/w/src"));
    assert_eq!(resolved.get(Key::PolicyAllowedPaths).0.to_string(), "[/home/ada/a, /b/c]");
    assert_eq!(settings.policy.exceptions[0].path.to_str(), Some("/cfg/dir/x"));
    let mut defaults = resolve(Layers::default()).unwrap();
    anchor.resolved(&mut defaults);
    assert_eq!(defaults.settings().policy.root.to_str(), Some("/w"));
}
