//! Whatever the files say. The oracle below is written apart from the merge: it says what a value allows,
//! not how two are joined.

use proptest::prelude::*;

use super::*;
use crate::mount::Access;

/// Texts for each key, as they could stand in a file, from strict to loose and unrelated.
fn samples(key: Key) -> &'static [&'static str] {
    match key {
        Key::SandboxEnabled
        | Key::SandboxFallbackToDirect
        | Key::SandboxReadonlyRoot
        | Key::ImagesAutoBuild
        | Key::PolicyCommandsBuiltin
        | Key::CheckSuppressions => &["true", "false"],
        Key::SandboxBackend => &["auto", "docker", "native", "local"],
        Key::SandboxImage => &["null", "host", "a:1", "b:2"],
        Key::SandboxMode => &["stage", "direct", "readonly"],
        Key::SandboxNetwork | Key::PolicyNetwork | Key::PolicyBuildNetwork | Key::ImagesNetwork => {
            &["none", "allow", "bridge", "host"]
        }
        Key::SandboxAllowHosts => &["[]", "[a]", "[b]", "[a, b]"],
        Key::SandboxDiskReserve => &["0", "1m", "3g"],
        Key::SandboxMemoryLimit | Key::SandboxOutputLimit | Key::ChangesBudgetBytes => {
            &["1m", "64m", "1g", "3g"]
        }
        Key::SandboxCpuLimit => &["0.5", "2", "8"],
        Key::SandboxPidsLimit | Key::ChangesBudgetFiles | Key::ChangesBudgetDeletions => {
            &["1", "400", "90000"]
        }
        Key::ChangesBudgetShare => &["1", "50", "100"],
        Key::SandboxPull => &["never", "missing", "always"],
        Key::SandboxReceipt => &["quick", "full", "paranoid"],
        Key::SandboxPullTimeout | Key::SandboxTimeout | Key::ImagesTimeout => &["1s", "10m", "24h"],
        Key::SandboxIdleTimeout => &["1s", "10m", "off"],
        Key::SandboxStopGrace => &["0", "10s", "10m"],
        Key::SandboxTmpfs => &["{}", "{/tmp: 1m}", "{/tmp: 1g}", "{/a: 1m, /tmp: 64m}"],
        Key::SandboxMounts => &[
            "[]",
            "[{source: /a, target: /a}]",
            "[{source: /a, target: /a, readonly: false}]",
            "[{source: /b, target: /a}, {source: /c, target: /c}]",
        ],
        Key::SandboxBlocked | Key::ChangesDeny | Key::ChangesAuto => {
            &["[]", "[.env]", "[.env, .env.*, x]", "[x, y]"]
        }
        Key::SandboxEnv => &["{}", "{A: 1}", "{A: 2}", "{A: 1, B: 2}"],
        Key::SandboxEnvPassthrough => &["[]", "[A]", "[B, A]"],
        Key::SandboxSeccomp => &["default", "/p.json"],
        Key::SandboxRuntime => &["null", "crun", "runsc"],
        Key::SandboxRelax | Key::PolicyRelax => &["[]", "[limits]", "[landlock, limits]"],
        Key::ChangesAllowClasses => &["[]", "[ci]", "[ci, editor]"],
        Key::Steps => &["{}", "{a: x}", "{a: [x, y], b: z}", "{b: {command: z, timeout: 1h}}"],
        Key::McpApply => &["true", "false"],
        Key::ImagesDockerfile => &["a", "b"],
        Key::ImagesGate => &["off", "critical", "high", "medium", "low"],
        Key::PolicyRoot => &[".", "/"],
        Key::PolicyAllowedPaths => &["[]", "[/a]"],
        Key::PolicyExceptions => &["[]", "[{path: /a, reason: r}]"],
        Key::PolicyEnv => &["[]", "['*']"],
        Key::PolicyCommandsDefault => &["deny", "review", "allow"],
        Key::PolicyCommandsAllow | Key::PolicyCommandsReview | Key::PolicyCommandsDeny => {
            &["[]", "[ls *]", "[git push *, ls *]"]
        }
        Key::CheckProfile => &["strategy", "agent", "off"],
        Key::CheckRules => &["[]", "[/a]", "[/b, /a]"],
        Key::CheckDeny | Key::CheckWarn | Key::CheckOff => {
            &["[]", "['python/*']", "[a/b, 'python/*']"]
        }
        Key::PolicyRoles => &["{}", "{a: {mode: direct}}"],
    }
}

/// Whether `a` allows something that `b` does not. Image is no matter of more or less.
fn allows_more(key: Key, a: &Value, b: &Value) -> bool {
    let rank = |value: &Value| match value {
        // What is kept from the program.
        Value::Size(size) if key == Key::SandboxDiskReserve => u64::MAX - size.0,
        Value::Size(size) => size.0,
        Value::Cpus(cpus) => cpus.millis.into(),
        Value::Count(count) => (*count).into(),
        Value::Span(span) => span.millis,
        Value::SpanOrOff(span) => span.map_or(u64::MAX, |span| span.millis),
        Value::Mode(mode) => {
            ["readonly", "stage", "direct"].iter().position(|n| *n == mode.name()).unwrap() as u64
        }
        Value::Network(network) => {
            ["none", "allow", "bridge", "host"].iter().position(|n| *n == network.name()).unwrap()
                as u64
        }
        Value::Proof(proof) => {
            ["paranoid", "full", "quick"].iter().position(|n| *n == proof.name()).unwrap() as u64
        }
        Value::Pull(pull) => {
            ["never", "missing", "always"].iter().position(|n| *n == pull.name()).unwrap() as u64
        }
        Value::Threshold(least) => ["low", "medium", "high", "critical", "off"]
            .iter()
            .position(|n| *n == least.name())
            .unwrap() as u64,
        Value::Profile(profile) => {
            ["strategy", "agent", "off"].iter().position(|n| *n == profile.name()).unwrap() as u64
        }
        Value::Verdict(verdict) => {
            ["deny", "review", "allow"].iter().position(|n| *n == verdict.name()).unwrap() as u64
        }
        Value::Backend(choice) => (choice.name() == "local").into(),
        Value::Switch(on) => {
            let loose = [
                Key::SandboxFallbackToDirect,
                Key::McpApply,
                Key::ImagesAutoBuild,
                Key::CheckSuppressions,
            ];
            (*on == loose.contains(&key)).into()
        }
        other => panic!("{key}: {other:?} has no rank"),
    };
    match (a, b) {
        (Value::Image(_), _) => false,
        // A step more is no matter; another in the place of one is.
        (Value::Steps(a), Value::Steps(b)) => {
            b.iter().any(|(name, step)| a.get(name).is_some_and(|other| other != step))
        }
        // Which file is no matter of more or less either: it is built only as it was approved.
        _ if key == Key::ImagesDockerfile => false,
        (Value::Texts(a), Value::Texts(b))
            if matches!(
                key,
                Key::SandboxBlocked
                    | Key::ChangesDeny
                    | Key::PolicyCommandsReview
                    | Key::PolicyCommandsDeny
                    | Key::CheckDeny
            ) =>
        {
            b.iter().any(|kept_out| !a.contains(kept_out))
        }
        (Value::Texts(a), Value::Texts(b)) => a.iter().any(|item| !b.contains(item)),
        (Value::EnvNames(a), Value::EnvNames(b)) => a.iter().any(|item| !b.contains(item)),
        (Value::Paths(a), Value::Paths(b)) if key == Key::CheckRules => {
            b.iter().any(|rules| !a.contains(rules))
        }
        (Value::Paths(a), Value::Paths(b)) => a.iter().any(|item| !b.contains(item)),
        (Value::Exceptions(a), Value::Exceptions(b)) => a.iter().any(|item| !b.contains(item)),
        (Value::Relax(a), Value::Relax(b)) => !a.is_subset(b),
        (Value::Env(a), Value::Env(b)) => a.iter().any(|(name, value)| b.get(name) != Some(value)),
        (Value::Tmpfs(a), Value::Tmpfs(b)) => {
            a.iter().any(|(path, size)| b.get(path).is_none_or(|most| size > most))
        }
        (Value::Mounts(a), Value::Mounts(b)) => a.iter().any(|mount| {
            !b.iter().any(|allowed| {
                (&allowed.source, &allowed.target) == (&mount.source, &mount.target)
                    && (allowed.access == Access::Write || mount.access == Access::Read)
            })
        }),
        (Value::Seccomp(_) | Value::Runtime(_) | Value::Path(_) | Value::Roles(_), _) => a != b,
        _ => rank(a) > rank(b),
    }
}

/// Some keys, each with one of its sample texts, as a file.
fn file() -> impl Strategy<Value = String> {
    let line = |key: &Key| {
        let key = *key;
        proptest::option::of(0..samples(key).len()).prop_map(move |at| {
            let nested = key.name().rsplit('.').next().unwrap();
            at.map(|at| {
                (
                    key.name().split('.').count(),
                    key.name(),
                    format!("{nested}: {}", samples(key)[at]),
                )
            })
        })
    };
    Key::ALL.iter().map(line).collect::<Vec<_>>().prop_map(|lines| {
        let under = |section: &str, depth: usize| -> String {
            let of = lines
                .iter()
                .flatten()
                .filter(|(parts, name, _)| *parts == depth && name.starts_with(section));
            of.map(|(.., text)| text.as_str()).collect::<Vec<_>>().join(", ")
        };
        let with = |section: &str, inner: &str| {
            let parts = [under(section, 2), format!("{inner}: {{{}}}", under(section, 3))];
            parts.iter().filter(|part| !part.is_empty()).cloned().collect::<Vec<_>>().join(", ")
        };
        format!(
            "sandbox: {{{}}}\nimages: {{{}}}\nchanges: {{{}}}\npolicy: {{{}}}\ncheck: {{{}}}\n{}\n",
            under("sandbox.", 2),
            under("images.", 2),
            with("changes.", "budget"),
            with("policy.", "commands"),
            under("check.", 2),
            under("steps", 1)
        )
    })
}

fn trust() -> impl Strategy<Value = Trust> {
    prop_oneof![Just(Trust::Trusted), Just(Trust::Untrusted)]
}

proptest! {
    #[test]
    fn a_project_never_loosens_what_the_host_file_sets(h in file(), p in file(), trust in trust()) {
        let (host, project) = (host(&h), project(&p));
        let alone = resolve(Layers { host: host.clone(), ..Layers::default() }).unwrap();
        let both = resolve(Layers { host: host.clone(), project, trust, ..Layers::default() }).unwrap();
        for (key, ..) in host.iter() {
            let (with, without) = (both.get(key).0, alone.get(key).0);
            prop_assert!(!allows_more(key, with, without), "{key}: {with} over {without}");
        }
        prop_assert_eq!(both.get(Key::PolicyRoot), alone.get(Key::PolicyRoot));
    }

    #[test]
    fn an_untrusted_project_is_never_looser_in_any_key(h in file(), p in file()) {
        let (host, project) = (host(&h), project(&p));
        let alone = resolve(Layers { host: host.clone(), ..Layers::default() }).unwrap();
        let both = resolve(Layers { host, project, ..Layers::default() }).unwrap();
        for key in Key::ALL {
            let (with, without) = (both.get(*key).0, alone.get(*key).0);
            prop_assert!(!allows_more(*key, with, without), "{key}: {with} over {without}");
        }
    }

    #[test]
    fn what_a_project_says_holds_or_is_warned_about(h in file(), p in file(), trust in trust()) {
        let entries = project(&p);
        let layers = Layers { host: host(&h), project: entries.clone(), trust, ..Layers::default() };
        let resolved = resolve(layers).unwrap();
        for (key, asked, _) in entries.iter() {
            let holds = !allows_more(key, asked, resolved.get(key).0);
            let warned = resolved.warnings().iter().any(|warning| warning.key == Some(key));
            prop_assert!(holds || warned, "{key}: {asked}");
        }
    }

    #[test]
    fn the_same_layers_give_the_same_answer(h in file(), p in file(), trust in trust()) {
        let once = || resolve(Layers { host: host(&h), project: project(&p), trust, ..Layers::default() });
        prop_assert_eq!(once(), once());
    }

    #[test]
    fn flags_never_end_looser_than_the_host_file(h in file(), at in 0..4usize, pick in 0..64usize) {
        let flagged: Vec<_> = Key::ALL.iter().filter(|k| k.flag().is_some() && !k.is_list()).collect();
        let key = *flagged[pick % flagged.len()];
        let text = samples(key)[at % samples(key).len()];
        prop_assume!(text != "null");
        let host = host(&h);
        let resolved = resolve(Layers { host: host.clone(), flags: flags(&[(key, text)]), ..Layers::default() });
        if let (Ok(resolved), Some((ceiling, _))) = (&resolved, host.get(key)) {
            prop_assert!(!allows_more(key, resolved.get(key).0, ceiling));
        }
        prop_assert_eq!(resolved.is_err(), host.get(key).is_some_and(|(ceiling, _)| {
            allows_more(key, flags(&[(key, text)]).get(key).unwrap().0, ceiling)
        }));
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[a-z:{}\\[\\]&*!|>'\"%@,#?\\- \\n\\t\u{0}é-]{0,80}") {
        // Parsing or not, it comes back, and with an error it has something to say.
        if let Err(errors) = parse_file(&text, "f", FileLayer::Project) {
            prop_assert!(!errors.is_empty());
        }
    }
}
