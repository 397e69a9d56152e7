//! The planner's properties: the same inputs give the same plan, a planned mount is always allowed, and
//! what a backend cannot hold is refused or listed.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::backend::{BackendChoice, Fallback};
use crate::config::Key;
use crate::mount::{Access, HostKind, Identity};
use crate::policy::forbidden::Places;
use crate::policy::{Ceiling, Forbidden, MountPolicy};
use crate::quantity::{Cpus, Span};
use crate::repository::RepositoryOf;
use crate::spec::{Fetch, Pull, Purpose, Relax};

fn host_path(asked: &str, real: &str) -> HostPath {
    HostPath {
        asked: asked.into(),
        real: real.into(),
        kind: HostKind::Directory,
        identity: Identity { device: 1, inode: 1 },
    }
}

fn name(text: &str) -> EnvName {
    text.parse().unwrap()
}

fn spec() -> SandboxSpec {
    SandboxSpec {
        purpose: Purpose::Command,
        command: vec!["true".into()],
        workspace: host_path("/srv/project", "/srv/project"),
        repository: None,
        workdir: None,
        backend: BackendChoice::Auto,
        fallback: Fallback::Refuse,
        image: None,
        mode: Mode::Stage,
        network: Network::None,
        allow_hosts: vec![],
        limits: Limits {
            memory: ByteSize::mib(2048),
            cpus: Cpus { millis: 2000 },
            pids: 512,
            timeout: Span::secs(600),
            idle_timeout: None,
            stop_grace: Span::secs(10),
            output: ByteSize::mib(64),
            disk_reserve: ByteSize(0),
        },
        fetch: Fetch { pull: Pull::Never, timeout: Span::secs(600) },
        proof: Proof::Quick,
        readonly_root: true,
        tmpfs: BTreeMap::from([("/tmp".into(), ByteSize::mib(512))]),
        mounts: vec![],
        blocked: vec![".env".into()],
        env: BTreeMap::new(),
        host_env: BTreeMap::from([
            (name("PATH"), "/home/ada/.cargo/bin:/opt/x/bin:/usr/bin".to_owned()),
            (name("HOME"), "/home/ada".to_owned()),
        ]),
        toolchains: vec![host_path("/home/ada/.cargo", "/home/ada/.cargo")],
        seccomp: Seccomp::Default,
        runtime: None,
        terminal: Terminal::Streams,
        relax: BTreeSet::new(),
        role: None,
        from: None,
        result: None,
        approval: crate::command::Approval::Asked,
        explicit: BTreeSet::new(),
    }
}

fn policy() -> Policy {
    Policy {
        mounts: MountPolicy {
            allowed: vec!["/srv/project".into(), "/data".into()],
            exceptions: vec![],
            forbidden: Forbidden::new(&Places {
                homes: vec!["/home/ada".into()],
                state: vec!["/home/ada/.local/state/cofferdam".into()],
                config: vec!["/home/ada/.config/cofferdam".into()],
            }),
        },
        network: Network::None,
        env: vec!["*".into()],
        relax: BTreeSet::from([Relax::Limits]),
        commands: crate::command::CommandPolicy::default(),
        roles: BTreeMap::new(),
    }
}

fn native() -> Caps {
    Caps { host_memory: Some(ByteSize(8 * ByteSize::GIB)), ..Caps::confining(Backend::Native) }
}

fn refused(spec: &SandboxSpec) -> Rule {
    plan(spec, &policy(), &native()).unwrap_err().rule
}

#[test]
fn the_default_request_is_confined_and_relaxes_nothing() {
    let plan = plan(&spec(), &policy(), &native()).unwrap();
    assert_eq!(plan.relaxed, []);
    assert_eq!(plan.root, Root::Host { readonly: true });
    assert_eq!((plan.workspace.mode, plan.network), (Mode::Stage, Network::None));
    assert_eq!(plan.env[&name("HOME")], EnvValue::Set(HOME.into()));
    let path = plan.env[&name("PATH")].reveal().to_owned();
    assert!(path.starts_with("/home/ada/.cargo/bin:/usr/bin"), "{path}");
    assert!(!path.contains("/opt/x"), "a directory that is not there inside: {path}");
}

#[test]
fn the_bare_host_lists_every_default_it_does_not_hold() {
    let spec = SandboxSpec { backend: BackendChoice::Local, ..spec() };
    let plan = plan(&spec, &policy(), &Caps::local()).unwrap();
    let given_up: Vec<_> = plan.relaxed.iter().map(|r| r.guarantee).collect();
    for guarantee in [
        Guarantee::StagedWorkspace,
        Guarantee::NetworkNone,
        Guarantee::MemoryLimit,
        Guarantee::ReadonlyRoot,
        Guarantee::Privileges,
        Guarantee::Seccomp,
        Guarantee::BlockedPaths,
    ] {
        assert!(given_up.contains(&guarantee), "{guarantee} in {given_up:?}");
    }
    assert_eq!((plan.root, plan.workspace.mode), (Root::Bare, Mode::Direct));
    assert_eq!(plan.env[&name("HOME")], EnvValue::Set("/home/ada".into()));
}

#[test]
fn the_bare_host_refuses_what_was_asked_for_by_name() {
    let mut spec = SandboxSpec { backend: BackendChoice::Local, ..spec() };
    spec.explicit.insert(Key::SandboxMemoryLimit);
    let refusal = plan(&spec, &policy(), &Caps::local()).unwrap_err();
    assert_eq!(refusal.rule, Rule::BackendEnforces);
    assert_eq!(refusal.field, "sandbox.memory_limit");
    assert!(refusal.remedy.contains("--relax limits"), "{refusal:?}");
    spec.relax.insert(Relax::Limits);
    assert!(plan(&spec, &policy(), &Caps::local()).is_ok());
    spec.terminal = Terminal::Tty;
    assert_eq!(plan(&spec, &policy(), &Caps::local()).unwrap_err().field, "--tty");
}

#[test]
fn a_confining_backend_holds_a_default_or_does_not_run() {
    let caps = native().without(Guarantee::MemoryLimit, "no cgroup", "delegate one");
    let refusal = plan(&spec(), &policy(), &caps).unwrap_err();
    assert!(refusal.message.contains("no cgroup") && refusal.remedy.contains("delegate one"));
    let relaxed = SandboxSpec { relax: BTreeSet::from([Relax::Limits]), ..spec() };
    let plan = plan(&relaxed, &policy(), &caps).unwrap();
    assert_eq!(plan.relaxed.len(), 1, "only what cannot be held: {:?}", plan.relaxed);
}

#[test]
fn a_host_that_is_smaller_than_the_default_is_the_limit() {
    let small = Caps { host_memory: Some(ByteSize::mib(1500)), ..native() };
    let mut spec = spec();
    spec.limits.memory = ByteSize(2 * ByteSize::GIB);
    let made = plan(&spec, &policy(), &small).unwrap();
    assert_eq!(made.limits.memory, ByteSize::mib(1500));
    assert_eq!(plan(&spec, &policy(), &native()).unwrap().limits, spec.limits);
    spec.explicit.insert(Key::SandboxMemoryLimit);
    assert_eq!(plan(&spec, &policy(), &small).unwrap_err().rule, Rule::HostRange);
}

#[test]
fn ranges_roles_networks_and_variables() {
    let mut big = spec();
    big.explicit.insert(Key::SandboxMemoryLimit);
    big.limits.memory = ByteSize(9 * ByteSize::GIB);
    assert_eq!(refused(&big), Rule::HostRange);
    big.limits.memory = ByteSize(1);
    assert_eq!(refused(&big), Rule::HostRange);
    assert_eq!(refused(&SandboxSpec { network: Network::Bridge, ..spec() }), Rule::NetworkAllowed);
    assert_eq!(refused(&SandboxSpec { role: Some("ghost".into()), ..spec() }), Rule::RoleKnown);
    assert_eq!(refused(&SandboxSpec { command: vec![], ..spec() }), Rule::ValueForm);
    assert_eq!(refused(&SandboxSpec { allow_hosts: vec!["a".into()], ..spec() }), Rule::Consistent);
    let landlock = SandboxSpec { relax: BTreeSet::from([Relax::Landlock]), ..spec() };
    assert_eq!(refused(&landlock), Rule::RelaxAllowed);

    let mut closed = policy();
    closed.env = vec!["CI_*".into()];
    let passed = |n: &str| SandboxSpec {
        env: BTreeMap::from([(name(n), EnvValue::Passed(crate::env::Secret::new("v")))]),
        ..spec()
    };
    assert!(plan(&passed("CI_JOB"), &closed, &native()).is_ok());
    assert_eq!(plan(&passed("HOME_X"), &closed, &native()).unwrap_err().rule, Rule::EnvAllowed);

    let ceiling = Ceiling { memory: Some(ByteSize::mib(512)), ..Ceiling::default() };
    let mut roles = policy();
    roles.roles.insert("intern".into(), ceiling);
    let intern = SandboxSpec { role: Some("intern".into()), ..spec() };
    assert_eq!(plan(&intern, &roles, &native()).unwrap_err().rule, Rule::Ceiling);
    let mut small = intern;
    small.limits.memory = ByteSize::mib(256);
    assert!(plan(&small, &roles, &native()).is_ok());
}

#[test]
fn workspaces_workdirs_and_targets() {
    for bad in ["/", "/home/ada", "/etc", "/home/ada/.ssh"] {
        let spec = SandboxSpec { workspace: host_path(bad, bad), ..spec() };
        assert_eq!(refused(&spec), Rule::WorkspaceAllowed, "{bad}");
    }
    let at = |dir: &str| SandboxSpec { workdir: Some(dir.into()), ..spec() };
    let planned = plan(&at("src/../tests"), &policy(), &native()).unwrap();
    assert_eq!(planned.workdir.0.to_str(), Some("/workspace/tests"));
    assert_eq!(plan(&at("/tmp"), &policy(), &native()).unwrap().workdir.0.to_str(), Some("/tmp"));
    assert_eq!(refused(&at("../x")), Rule::ValueForm);

    let mount = |target: &str, access| Mount {
        source: host_path("/srv/project/data", "/srv/project/data"),
        target: target.into(),
        access,
    };
    let with = |m: Vec<Mount>| SandboxSpec { mounts: m, ..spec() };
    for bad in ["/", "/usr/x", "/etc/passwd", "/proc", "/workspace", "/dev/shm"] {
        assert_eq!(refused(&with(vec![mount(bad, Access::Read)])), Rule::MountTarget, "{bad}");
    }
    let twice = vec![mount("/data", Access::Read), mount("/data", Access::Read)];
    assert_eq!(refused(&with(twice)), Rule::Consistent);
    assert!(plan(&with(vec![mount("/data", Access::Read)]), &policy(), &native()).is_ok());
    // What is blocked would be seen by a second name: the whole workspace, or a blocked directory of it.
    let view = |source: &str, pattern: &str| {
        let mounts = vec![Mount {
            source: host_path(source, source),
            target: "/data".into(),
            access: Access::Read,
        }];
        plan(&SandboxSpec { mounts, blocked: vec![pattern.into()], ..spec() }, &policy(), &native())
            .is_ok()
    };
    assert!(!view("/srv/project", ".env"));
    assert!(!view("/srv/project/keys", "k*") && view("/srv/project/data", "k*"));
    assert!(!view("/srv/project/a", "a/b/secret") && !view("/srv/project/a/b", "a/b/secret"));
    assert!(!view("/srv/project/data", "**/.env") && view("/srv/project/data", "a/b/secret"));
    // The staged workspace would be writable by a second name.
    assert_eq!(refused(&with(vec![mount("/data", Access::Write)])), Rule::Consistent);
}

fn any_path() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "srv",
        "project",
        "data",
        "etc",
        "run",
        "docker.sock",
        "home",
        "ada",
        ".ssh",
        "x",
    ]);
    prop::collection::vec(part, 0..5).prop_map(|parts| format!("/{}", parts.join("/")))
}

proptest! {
    #[test]
    fn a_planned_mount_is_always_under_an_allowed_path(
        asked in any_path(), real in any_path(), workspace in any_path(), target in any_path(),
    ) {
        let mounts = vec![Mount { source: host_path(&asked, &real), target: target.into(), access: Access::Read }];
        let spec = SandboxSpec { mounts, workspace: host_path(&workspace, &workspace), ..spec() };
        if let Ok(plan) = plan(&spec, &policy(), &native()) {
            let source = &plan.mounts[0].source;
            prop_assert!(policy().mounts.allowed.iter().any(|root| source.real.starts_with(root)));
            for name in source.names().into_iter().chain(plan.workspace.source.names()) {
                prop_assert_eq!(policy().mounts.forbidden.reason(name), None);
            }
        }
    }

    #[test]
    fn the_same_inputs_give_the_same_plan(
        asked in any_path(), memory in 0u64..(16 << 30), pids in 1u32..5000, stage: bool, local: bool,
    ) {
        let mut spec = spec();
        spec.workspace = host_path(&asked, &asked);
        spec.limits.memory = ByteSize(memory);
        spec.limits.pids = pids;
        spec.mode = if stage { Mode::Stage } else { Mode::Readonly };
        let caps = if local { Caps::local() } else { native() };
        let first = plan(&spec, &policy(), &caps);
        prop_assert_eq!(&first, &plan(&spec.clone(), &policy(), &caps));
        if let Ok(plan) = first {
            let json = serde_json::to_string(&plan).unwrap();
            prop_assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
        }
    }
}

#[test]
fn a_repository_elsewhere_is_judged_like_a_mount() {
    let with = |real: &str, target: &str| SandboxSpec {
        repository: Some(Repository {
            source: host_path(real, real),
            target: target.into(),
            of: RepositoryOf::Worktree,
        }),
        ..spec()
    };
    let good = with("/srv/repo/.git", "/srv/repo/.git");
    assert_eq!(plan(&good, &policy(), &native()).unwrap().repository, good.repository);
    let on_host = SandboxSpec { backend: BackendChoice::Local, ..good };
    assert_eq!(plan(&on_host, &policy(), &Caps::local()).unwrap().repository, None);
    for (real, target) in [
        ("/home/ada/.ssh", "/home/ada/.ssh"),
        ("/srv/repo/.git", "/usr/lib"),
        ("/srv/repo/.git", "/workspace/x"),
        ("/srv/repo/.git", "/"),
    ] {
        assert_eq!(refused(&with(real, target)), Rule::MountForbidden, "{real} at {target}");
    }
}

#[test]
fn a_command_of_a_session_may_only_ask_for_less() {
    let asked = SandboxSpec { purpose: Purpose::Session, command: Vec::new(), ..spec() };
    let native = native();
    let session = plan(&asked, &policy(), &native).unwrap();
    let span = |text: &str| text.parse::<crate::quantity::Span>().ok();
    let exec = ExecSpec { command: vec!["make".into()], ..ExecSpec::default() };
    let own = exec.plan(&session).unwrap();
    assert_eq!((&own.limits, &own.workdir), (&session.limits, &session.workdir));
    assert_eq!(Profile::of(&own), Profile::of(&session));
    let short = ExecSpec { timeout: span("1s"), ..exec.clone() }.plan(&session).unwrap();
    assert_eq!(Some(short.limits.timeout), span("1s"));
    let field = |exec: ExecSpec| exec.plan(&session).unwrap_err().field;
    assert_eq!(field(ExecSpec { timeout: span("24h"), ..exec.clone() }), "timeout");
    let output_limit = Some(ByteSize(u64::MAX));
    assert_eq!(field(ExecSpec { output_limit, ..exec.clone() }), "output_limit");
    let limits = vec!["memory_limit".to_owned()];
    assert_eq!(field(ExecSpec { limits, ..exec.clone() }), "memory_limit");
    assert_eq!(field(ExecSpec::default()), "command");
    let workdir = Some("../out".into());
    assert_eq!(field(ExecSpec { workdir, ..exec }), "workdir");
}

#[test]
fn what_is_forbidden_is_tried_only_where_something_is() {
    let asked = |proof, purpose| SandboxSpec { proof, purpose, ..spec() };
    let refused = |spec: &SandboxSpec, caps: &Caps| super::rules::proof(spec, caps).is_err();
    let native = Caps { backend: Backend::Native, ..Caps::local() };
    for proof in [Proof::Quick, Proof::Full, Proof::Paranoid] {
        let command = asked(proof, Purpose::Command);
        assert!(!refused(&command, &native));
        assert_eq!(refused(&command, &Caps::local()), proof > Proof::Quick, "{proof}");
        let session = asked(proof, Purpose::Session);
        assert_eq!(refused(&session, &native), proof == Proof::Paranoid, "{proof}");
    }
}

#[test]
fn a_session_is_held_in_a_sandbox_alone() {
    use crate::backend::Backend::{Docker, Local, Native, Podman};
    let asked = SandboxSpec { purpose: Purpose::Session, command: Vec::new(), ..spec() };
    for backend in [Native, Docker, Podman] {
        assert!(plan(&asked, &policy(), &Caps { backend, ..native() }).is_ok(), "{backend}");
    }
    let refusal = plan(&asked, &policy(), &Caps { backend: Local, ..native() }).unwrap_err();
    assert_eq!(refusal.field, "sandbox.backend");
}
