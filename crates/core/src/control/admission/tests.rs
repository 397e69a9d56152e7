use super::*;
use crate::config::{FileLayer, parse_file};
use crate::control::id::{ProjectId, RoleId};
use serde_json::{Value, json};

fn task(more: &Value) -> NewTask {
    let mut task = json!({"execution_mode": "no-workspace", "command": ["true"]});
    for (key, value) in more.as_object().unwrap() {
        task[key] = value.clone();
    }
    serde_json::from_value(task).unwrap()
}

fn role(more: Value) -> Role {
    let mut role = json!({
        "id": RoleId::from_parts(1, 1), "name": "dev", "ceiling": {}, "settings": {}, "overridable": [],
        "version": 1, "created_at": "2026-01-01T00:00:00Z",
    });
    for (key, value) in more.as_object().unwrap() {
        role[key] = value.clone();
    }
    serde_json::from_value(role).unwrap()
}

fn refused(host: &str, role: Option<&Role>, more: &Value) -> Option<(String, String)> {
    let host = parse_file(host, "host", FileLayer::Host).unwrap();
    let refusal = admit(&host, role, &task(more)).err()?;
    Some((refusal.rule.to_string(), refusal.field))
}

fn no(rule: &str, field: &str) -> Option<(String, String)> {
    Some((rule.to_owned(), field.to_owned()))
}

#[test]
fn settings_are_those_of_flags_and_read_as_they_are() {
    let fine = json!({"settings": {"sandbox.memory_limit": "1g", "sandbox.pids_limit": 9}});
    assert_eq!(refused("", None, &fine), None);
    let with = |name: &str, value: Value| json!({"settings": {name: value}});
    for (name, value, rule) in [
        ("sandbox.memory_limit", json!("lots"), "value-form"),
        ("sandbox.memory_limit", json!({"a": 1}), "value-form"),
        ("sandbox.nothing", json!(1), "value-form"),
        ("policy.network", json!("host"), "ceiling"),
        ("sandbox.seccomp", json!("/x"), "ceiling"),
        ("sandbox.enabled", json!(false), "ceiling"),
        ("sandbox.env", json!({"API_TOKEN": "x"}), "value-form"),
        ("sandbox.env", json!(["API_TOKEN=x"]), "value-form"),
        ("sandbox.env", json!(["A=1", "GITHUB_TOKEN=a=b"]), "value-form"),
        ("sandbox.env", json!("API_TOKEN=x"), "value-form"),
    ] {
        let field = format!("settings.{name}");
        assert_eq!(refused("", None, &with(name, value)), no(rule, &field), "{name}");
    }
    assert_eq!(refused("", None, &with("sandbox.env", json!(["A=b=c"]))), None);
    let local = with("sandbox.backend", json!("local"));
    assert_eq!(refused("", None, &local), no("consistent", "settings.sandbox.backend"));
}

#[test]
fn the_host_owner_has_the_last_word() {
    let wide = json!({"settings": {"sandbox.network": "bridge"}});
    assert_eq!(refused("", None, &wide), no("network-allowed", "settings.sandbox.network"));
    assert_eq!(refused("policy: {network: bridge}", None, &wide), None);
    let memory = json!({"settings": {"sandbox.memory_limit": "4g"}});
    let host = "sandbox: {memory_limit: 1g}";
    assert_eq!(refused(host, None, &memory), no("ceiling", "settings.sandbox.memory_limit"));
    let pass = json!({"settings": {"sandbox.env_passthrough": ["HOME_TOWN"]}});
    let host = "policy: {env: [CI_*]}";
    assert_eq!(refused(host, None, &pass), no("env-allowed", "settings.sandbox.env_passthrough"));
    let direct =
        json!({"execution_mode": "shared-workspace", "project": ProjectId::from_parts(1, 1)});
    assert_eq!(refused("", None, &direct), None);
    assert_eq!(refused("sandbox: {mode: stage}", None, &direct), no("ceiling", "execution_mode"));
}

#[test]
fn only_variables_that_the_host_owner_named_are_let_in() {
    let pass = |name: &str| json!({"settings": {"sandbox.env_passthrough": [name]}});
    let not = no("env-allowed", "settings.sandbox.env_passthrough");
    for (host, name, fine) in [
        ("", "PGPASSWORD", false),
        ("policy: {network: bridge}", "PGPASSWORD", false),
        ("policy: {env: []}", "PGPASSWORD", false),
        ("policy: {env: [CI]}", "PGPASSWORD", false),
        ("policy: {env: [CI, PG*]}", "PGPASSWORD", true),
        ("policy: {env: ['*']}", "PGPASSWORD", true),
        ("policy: {env: ['*']}", "COFFERDAM_DATABASE", false),
        ("policy: {env: [COFFERDAM_DATABASE]}", "COFFERDAM_DATABASE", false),
    ] {
        let expected = if fine { None } else { not.clone() };
        assert_eq!(refused(host, None, &pass(name)), expected, "{host} {name}");
    }
    let by_role = role(json!({"settings": {"sandbox.env_passthrough": ["PGPASSWORD"]}}));
    let not = no("env-allowed", "sandbox.env_passthrough");
    assert_eq!(refused("", Some(&by_role), &json!({})), not, "a role is not the host owner's word");
}

/// Whatever role a task names: one beside the project's default, one without any bound, one that lets everything be
/// overridden, or none.
#[test]
fn no_role_gives_more_than_the_host_file_allows() {
    let wide = role(json!({"name": "wide"}));
    let lifting = role(json!({
        "name": "lifting",
        "ceiling": {"memory_limit": "64g", "network": "host", "mode": "direct"},
        "settings": {"sandbox.memory_limit": "64g"},
        "overridable": ["sandbox.memory_limit", "sandbox.cpu_limit", "sandbox.pids_limit", "sandbox.timeout", "sandbox.network"],
    }));
    let host = "sandbox: {memory_limit: 1g, cpu_limit: 2, pids_limit: 100, timeout: 5m}";
    for (setting, value, rule) in [
        ("sandbox.memory_limit", json!("2g"), "ceiling"),
        ("sandbox.cpu_limit", json!("3"), "ceiling"),
        ("sandbox.pids_limit", json!(101), "ceiling"),
        ("sandbox.timeout", json!("6m"), "ceiling"),
        ("sandbox.network", json!("bridge"), "network-allowed"),
    ] {
        let said = json!({"settings": {setting: value}});
        for of in [None, Some(&wide), Some(&lifting)] {
            let field = format!("settings.{setting}");
            assert_eq!(refused(host, of, &said), no(rule, &field), "{setting} {of:?}");
        }
        let reason = "a large build";
        let over = json!({"overrides": [{"setting": setting, "value": value, "reason": reason}]});
        assert_eq!(refused(host, Some(&lifting), &over), no(rule, "overrides[0].value"));
    }
    // What a role begins with is cut down to what the host allows, and not refused: nobody asked for it.
    let entries = parse_file(host, "host", FileLayer::Host).unwrap();
    let admitted = admit(&entries, Some(&lifting), &task(&json!({}))).unwrap();
    assert_eq!(admitted.resolved.settings().sandbox.memory_limit.to_string(), "1g");
}

#[test]
fn of_a_role_here_and_its_namesake_in_the_host_file_the_stricter_holds() {
    let dev =
        role(json!({"ceiling": {"memory_limit": "4g"}, "overridable": ["sandbox.memory_limit"]}));
    let host = "policy: {roles: {dev: {memory_limit: 1g, timeout: 5m}, other: {memory_limit: 1m}}}";
    let with = |name: &str, value: &str| json!({"settings": {name: value}});
    let fine = json!({"settings": {"sandbox.memory_limit": "1g", "sandbox.timeout": "1m"}});
    assert_eq!(refused(host, Some(&dev), &fine), None);
    let memory = json!({"settings": {"sandbox.memory_limit": "2g", "sandbox.timeout": "1m"}});
    assert_eq!(refused(host, Some(&dev), &memory), no("ceiling", "settings.sandbox.memory_limit"));
    let late = json!({"settings": {"sandbox.memory_limit": "1g", "sandbox.timeout": "6m"}});
    assert_eq!(refused(host, Some(&dev), &late), no("ceiling", "settings.sandbox.timeout"));
    let over = json!({
        "timeout": "1m",
        "overrides": [{"setting": "sandbox.memory_limit", "value": "2g", "reason": "a large build"}],
    });
    let beyond = refused(host, Some(&dev), &over);
    assert_eq!(beyond, no("ceiling", "overrides[0].value"), "the host's own stays");
    assert_eq!(refused("", Some(&dev), &with("sandbox.memory_limit", "2g")), None);
}

#[test]
fn a_role_bounds_its_tasks_unless_it_lets_them_override_with_a_reason() {
    let dev = role(json!({
        "ceiling": {"memory_limit": "512m", "timeout": "60s"},
        "settings": {"sandbox.memory_limit": "256m", "sandbox.timeout": "30s"},
        "overridable": ["sandbox.memory_limit"],
    }));
    assert_eq!(refused("", Some(&dev), &json!({})), None, "the role's own settings hold");
    let much = json!({"settings": {"sandbox.memory_limit": "1g"}});
    assert_eq!(refused("", Some(&dev), &much), no("ceiling", "settings.sandbox.memory_limit"));
    let over = |setting: &str, value: &str| json!({"overrides": [{"setting": setting, "value": value, "reason": "a large build"}]});
    assert_eq!(refused("", Some(&dev), &over("sandbox.memory_limit", "1g")), None);
    let not = refused("", Some(&dev), &over("sandbox.timeout", "90s"));
    assert_eq!(not, no("ceiling", "overrides[0].setting"));
    assert_eq!(
        refused("", None, &over("sandbox.timeout", "90s")),
        no("ceiling", "overrides[0].setting")
    );
    let host = "sandbox: {memory_limit: 600m}";
    let beyond = refused(host, Some(&dev), &over("sandbox.memory_limit", "1g"));
    assert_eq!(beyond, no("ceiling", "overrides[0].value"), "the host's own ceiling stays");
}

#[test]
fn a_block_says_what_the_settings_would_and_only_once() {
    let with = |more: Value, settings: Value| {
        let mut block = json!({"image": "debian:12", "command": ["true"]});
        for (key, value) in more.as_object().unwrap() {
            block[key] = value.clone();
        }
        json!({
            "project": ProjectId::from_parts(1, 1), "execution_mode": "docker-sandbox", "command": [],
            "sandbox": block, "settings": settings,
        })
    };
    let fine = with(json!({"memory": "1g", "env": {"A": "b=c"}}), json!({}));
    assert_eq!(refused("", None, &fine), None);
    let passing = with(json!({"pass_env": ["CI"]}), json!({}));
    assert_eq!(refused("", None, &passing), no("env-allowed", "sandbox.pass_env"));
    assert_eq!(refused("policy: {env: [CI]}", None, &passing), None);
    let admitted = admit(&Entries::default(), None, &task(&fine)).unwrap();
    let settings = admitted.resolved.settings().sandbox;
    assert_eq!(settings.backend, BackendChoice::Docker);
    assert_eq!(settings.env.values().collect::<Vec<_>>(), ["b=c"]);
    let twice = with(json!({"memory": "1g"}), json!({"sandbox.memory_limit": "2g"}));
    assert_eq!(refused("", None, &twice), no("value-form", "settings.sandbox.memory_limit"));
    let wide = with(json!({"network": "host"}), json!({}));
    assert_eq!(refused("", None, &wide), no("network-allowed", "sandbox.network"));
    let native = with(json!({}), json!({"sandbox.backend": "native"}));
    assert_eq!(refused("", None, &native), no("consistent", "settings.sandbox.backend"));
}

#[test]
fn a_command_begins_and_a_mount_stands_where_a_plan_lets_them() {
    let block = |more: Value| {
        let mut block = json!({"image": "debian:12", "command": ["true"]});
        for (key, value) in more.as_object().unwrap() {
            block[key] = value.clone();
        }
        json!({
            "project": ProjectId::from_parts(1, 1), "execution_mode": "docker-sandbox", "command": [],
            "sandbox": block,
        })
    };
    for dir in ["sub/dir", "sub/../other", ".", "/opt/tool"] {
        assert_eq!(refused("", None, &block(json!({"workdir": dir}))), None, "{dir}");
    }
    for dir in ["..", "../../etc", "a/../../b", "/.."] {
        let no = no("value-form", "sandbox.workdir");
        assert_eq!(refused("", None, &block(json!({"workdir": dir}))), no, "{dir}");
    }
    for target in ["/proc", "/proc/self", "/workspace", "/etc", "/data/../usr/bin"] {
        let mounts = json!([
            {"source": "a.txt", "target": "/data/a"}, {"source": "a.txt", "target": target},
        ]);
        let wrong = refused("", None, &block(json!({"mounts": mounts})));
        assert_eq!(wrong, no("mount-target", "sandbox.mounts[1].target"), "{target}");
        let said = json!({"settings": {"sandbox.mounts": [format!("a.txt:{target}")]}});
        let field = "settings.sandbox.mounts[0].target";
        assert_eq!(refused("", None, &said), no("mount-target", field), "{target}");
        // Its own are counted, and not those that its role begins with.
        let begins = role(json!({"settings": {"sandbox.mounts": ["b.txt:/data/b"]}}));
        assert_eq!(refused("", Some(&begins), &said), no("mount-target", field), "{target}");
    }
}

#[test]
fn only_a_shared_workspace_is_worked_on_directly() {
    let direct = json!({"settings": {"sandbox.mode": "direct"}});
    assert_eq!(refused("", None, &direct), no("consistent", "settings.sandbox.mode"));
    let project = ProjectId::from_parts(1, 1);
    let shared = json!({"project": project, "execution_mode": "shared-workspace"});
    assert_eq!(refused("", None, &shared), None);
    assert!(refused("sandbox: {mode: direct}", None, &json!({})).is_some());
}

#[test]
fn a_role_is_read_before_it_is_kept() {
    let field = |more: Value| {
        let mut role = json!({"name": "dev"});
        for (key, value) in more.as_object().unwrap() {
            role[key] = value.clone();
        }
        check_role(&serde_json::from_value(role).unwrap()).err().map(|refusal| refusal.field)
    };
    assert_eq!(field(json!({"ceiling": {"memory_limit": "1g", "mode": "stage"}})), None);
    assert_eq!(
        field(json!({"ceiling": {"memory_limit": "x"}})),
        Some("ceiling.memory_limit".into())
    );
    let unknown = json!({"ceiling": {"memory_limit": "1g", "nothing": 1}});
    assert_eq!(field(unknown), Some("ceiling.nothing".into()));
    assert_eq!(field(json!({"settings": {"policy.env": []}})), Some("settings.policy.env".into()));
    for (ceiling, setting, value) in [
        (json!({"memory_limit": "512m"}), "sandbox.memory_limit", json!("1g")),
        (json!({"cpu_limit": 1}), "sandbox.cpu_limit", json!(1.5)),
        (json!({"pids_limit": 10}), "sandbox.pids_limit", json!(11)),
        (json!({"timeout": "60s"}), "sandbox.timeout", json!("61s")),
        (json!({"network": "none"}), "sandbox.network", json!("bridge")),
        (json!({"mode": "stage"}), "sandbox.mode", json!("direct")),
        // That a default is beyond another bound is not the role's word.
        (json!({"memory_limit": "1m", "timeout": "60s"}), "sandbox.timeout", json!("61s")),
        (json!({}), "sandbox.mounts", json!(["a:/proc"])),
    ] {
        let beyond = json!({"ceiling": ceiling, "settings": {setting: value}});
        let named = field(beyond).unwrap();
        assert!(named.starts_with(&format!("settings.{setting}")), "{named}");
        let alone = json!({"ceiling": {"memory_limit": "1m", "timeout": "1s", "mode": "readonly"}});
        assert_eq!(field(alone), None);
    }
    let secret = json!({"settings": {"sandbox.env": ["API_TOKEN=x"]}});
    assert_eq!(field(secret), Some("settings.sandbox.env".into()));
    assert_eq!(field(json!({"overridable": ["x"]})), Some("overridable[0]".into()));
    assert_eq!(field(json!({"name": "a b"})), Some("name".into()));
}

#[test]
fn a_mount_is_written_as_files_write_it_or_as_a_flag_is() {
    let with = |mount: Value| json!({"settings": {"sandbox.mounts": [mount]}});
    let read = |more: &Value| {
        let admitted = admit(&Entries::default(), None, &task(more)).unwrap();
        admitted.mounts().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(read(&with(json!("a.txt:/d"))), ["a.txt:/d"]);
    let mount = |readonly: Value| json!({"source": "a.txt", "target": "/d", "readonly": readonly});
    assert_eq!(read(&with(mount(json!(true)))), ["a.txt:/d"]);
    assert_eq!(read(&with(json!({"source": "a.txt", "target": "/d"}))), ["a.txt:/d"]);
    assert_eq!(read(&with(mount(json!(false)))), ["a.txt:/d:rw"]);
    for (wrong, member) in [
        (json!({"source": "a", "target": "/d", "read_only": true}), "[0].read_only"),
        (json!({"source": "a"}), "[0].target"),
        (json!({"source": 1, "target": "/d"}), "[0].source"),
        (json!({"source": "a:b", "target": "/d"}), "[0].source"),
        (mount(json!("yes")), "[0].readonly"),
        (json!({"source": "a", "target": "d"}), "[0]"),
        (json!(["a", "/d"]), ""),
    ] {
        let field = format!("settings.sandbox.mounts{member}");
        assert_eq!(refused("", None, &with(wrong.clone())), no("value-form", &field), "{wrong}");
    }
}

#[test]
fn mounts_start_at_the_root_of_the_project_and_nothing_else_does() {
    let mount = |source: &str| json!({"settings": {"sandbox.mounts": [format!("{source}:/x")]}});
    let source = |role: Option<&Role>, more: &Value| {
        let terms = terms(role, &task(more)).unwrap().rooted(Path::new("/srv/shop"));
        let entries = if role.is_some() { terms.begins } else { terms.said };
        match entries.get(Key::SandboxMounts) {
            Some((crate::config::Value::Mounts(mounts), _)) => mounts[0].source.0.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(source(None, &mount("data")), Path::new("/srv/shop/data"));
    assert_eq!(source(None, &mount("/srv/other")), Path::new("/srv/other"));
    let role = role(mount("data"));
    assert_eq!(source(Some(&role), &json!({})), Path::new("/srv/shop/data"));
}
