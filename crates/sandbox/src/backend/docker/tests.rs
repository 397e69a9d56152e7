//! Plans said to an engine, without one: the whole request as a snapshot, each item of a plan by what it changes,
//! and what an engine's answer must not differ in.

use std::collections::{BTreeMap, BTreeSet};

use cofferdam_core::backend::{Backend, BackendChoice, Fallback};
use cofferdam_core::caps::{Caps, Guarantee};
use cofferdam_core::machine::Machine;
use cofferdam_core::mount::{Access, HostKind, HostPath, Identity, Mount};
use cofferdam_core::plan::{Plan, Relaxed, Root};
use cofferdam_core::policy::forbidden::Places;
use cofferdam_core::policy::{Forbidden, MountPolicy, Policy};
use cofferdam_core::quantity::{ByteSize, Cpus, Span};
use cofferdam_core::repository::{Repository, RepositoryOf};
use cofferdam_core::spec::{Fetch, Limits, Mode, Network, Pull, Purpose, SandboxSpec, Terminal};
use serde_json::{Value, json};

use super::caps::{Found, Info, judge};
use super::compare::differences;
use super::create::CreateRequest;
use super::request::{Unfit, Workspace, request};
use super::*;
use crate::engine::{Engine, Flavor, Rights};

const FETCH: Fetch = Fetch { pull: Pull::Never, timeout: Span::secs(600) };

fn host_path(path: &str) -> HostPath {
    HostPath {
        asked: path.into(),
        real: path.into(),
        kind: HostKind::Directory,
        identity: Identity { device: 1, inode: 1 },
    }
}

fn spec() -> SandboxSpec {
    SandboxSpec {
        purpose: Purpose::Command,
        from: None,
        result: None,
        repository: None,
        command: vec!["make".into(), "test".into()],
        workspace: host_path("/srv/project"),
        workdir: None,
        backend: BackendChoice::Docker,
        fallback: Fallback::Refuse,
        image: None,
        mode: Mode::Stage,
        network: Network::None,
        allow_hosts: vec![],
        limits: Limits {
            memory: ByteSize::mib(2048),
            cpus: Cpus { millis: 1500 },
            pids: 512,
            timeout: Span::secs(600),
            idle_timeout: None,
            stop_grace: Span::secs(10),
            output: ByteSize::mib(64),
            disk_reserve: ByteSize(0),
        },
        fetch: FETCH,
        readonly_root: true,
        tmpfs: BTreeMap::from([("/tmp".into(), ByteSize::mib(512))]),
        mounts: vec![],
        blocked: vec![".env".into()],
        env: BTreeMap::new(),
        host_env: BTreeMap::from([("PATH".parse().unwrap(), "/usr/bin".to_owned())]),
        toolchains: vec![host_path("/home/ada/.cargo/bin")],
        seccomp: Seccomp::Default,
        proof: Default::default(),
        runtime: None,
        terminal: Terminal::Streams,
        relax: BTreeSet::new(),
        role: None,
        approval: cofferdam_core::command::Approval::Asked,
        explicit: BTreeSet::new(),
    }
}

pub(super) fn plan() -> Plan {
    let places = Places { homes: vec![], state: vec![], config: vec![] };
    let policy = Policy {
        mounts: MountPolicy {
            allowed: vec![],
            exceptions: vec![],
            forbidden: Forbidden::new(&places),
        },
        network: Network::Host,
        env: vec![],
        relax: BTreeSet::new(),
        commands: cofferdam_core::command::CommandPolicy::default(),
        roles: BTreeMap::new(),
    };
    cofferdam_core::plan::plan(&spec(), &policy, &Caps::confining(Backend::Docker)).unwrap()
}

fn ground() -> Ground {
    Ground {
        result: None,
        run: "01run".to_owned(),
        labels: BTreeMap::from([(LABEL_RUN.to_owned(), "01run".to_owned())]),
        user: User { uid: 1001, gid: 1002 },
        image: "sha256:aa".to_owned(),
        workspace: Workspace::Volume("cofferdam-01run".to_owned()),
        repository: None,
        covers: vec![("/state/covers/file".into(), "/workspace/.env".into())],
        first: First::Ours,
        shown: vec![("/usr".into(), "/usr".into())],
        filter: None,
        stdin: Stdin::Empty,
        processors: 8,
        owner: Owner::Listens,
        rights: Rights::Roots,
        flavor: Flavor::Docker,
        ulimits: ulimit::ulimits(Flavor::Docker),
        machine: None,
    }
}

fn said(plan: &Plan, ground: &Ground) -> Value {
    serde_json::to_value(request(plan, ground).unwrap()).unwrap()
}

#[test]
fn a_whole_request() {
    insta::assert_json_snapshot!(request(&plan(), &ground()).unwrap());
}

/// Every item of a plan that an engine has to do with changes what it is told.
#[test]
fn each_item_changes_the_request() {
    type Change = (&'static str, fn(&mut Plan), &'static str, Value);
    let mount =
        |target: &str, access| Mount { source: host_path("/data"), target: target.into(), access };
    let changes: Vec<Change> = vec![
        (
            "command",
            |p| p.command = vec!["x".into()],
            "/Cmd",
            json!(["first-process", "--filter", "staged", "--line", "--", "x"]),
        ),
        ("workdir", |p| p.workdir = "/workspace/a".into(), "/WorkingDir", json!("/workspace/a")),
        (
            "root",
            |p| p.root = Root::Host { readonly: false },
            "/HostConfig/ReadonlyRootfs",
            json!(false),
        ),
        (
            "image",
            |p| {
                p.root =
                    Root::Image { image: "debian".parse().unwrap(), readonly: true, fetch: FETCH }
            },
            "/Healthcheck",
            json!({ "Test": ["NONE"] }),
        ),
        (
            "mode",
            |p| p.workspace.mode = Mode::Readonly,
            "/HostConfig/Mounts/2/ReadOnly",
            json!(true),
        ),
        (
            "target",
            |p| p.workspace.target = "/w".into(),
            "/HostConfig/Mounts/2/Target",
            json!("/w"),
        ),
        (
            "toolchains",
            |p| p.toolchains[0] = host_path("/opt/x"),
            "/HostConfig/Mounts/1/Source",
            json!("/opt/x"),
        ),
        (
            "tmpfs",
            |p| p.tmpfs = BTreeMap::from([("/scratch".into(), ByteSize::mib(1))]),
            "/HostConfig/Tmpfs/~1scratch",
            json!("rw,exec,nosuid,nodev,size=1048576,mode=1777,uid=1001,gid=1002"),
        ),
        (
            "env",
            |p| {
                p.env.clear();
                p.env.insert(
                    "A".parse().unwrap(),
                    cofferdam_core::env::EnvValue::Set("b".to_owned()),
                );
            },
            "/Env/0",
            json!("A=b"),
        ),
        ("bridge", |p| p.network = Network::Bridge, "/HostConfig/NetworkMode", json!("bridge")),
        ("host", |p| p.network = Network::Host, "/HostConfig/NetworkMode", json!("host")),
        ("memory", |p| p.limits.memory = ByteSize::mib(64), "/HostConfig/Memory", json!(64 << 20)),
        (
            "swap",
            |p| p.limits.memory = ByteSize::mib(64),
            "/HostConfig/MemorySwap",
            json!(64 << 20),
        ),
        (
            "cpus",
            |p| p.limits.cpus = Cpus { millis: 500 },
            "/HostConfig/NanoCpus",
            json!(500_000_000),
        ),
        ("pids", |p| p.limits.pids = 5, "/HostConfig/PidsLimit", json!(6)),
        ("runtime", |p| p.runtime = Some("crun".to_owned()), "/HostConfig/Runtime", json!("crun")),
        ("terminal", |p| p.terminal = Terminal::Tty, "/Tty", json!(true)),
        (
            "relaxed",
            |p| {
                let (guarantee, reason) = (Guarantee::MemoryLimit, String::new());
                p.relaxed.push(Relaxed { guarantee, reason });
            },
            "/HostConfig/Memory",
            Value::Null,
        ),
    ];
    let before = said(&plan(), &ground());
    for (name, change, pointer, wanted) in changes {
        let mut plan = plan();
        change(&mut plan);
        let after = said(&plan, &ground());
        let found = after.pointer(pointer).cloned().unwrap_or_default();
        assert_eq!(found, wanted, "{name}");
        assert_ne!(before.pointer(pointer).cloned().unwrap_or_default(), wanted, "{name}");
    }
    let mut with = plan();
    with.mounts = vec![mount("/data", Access::Read), mount("/out", Access::Write)];
    let after = said(&with, &ground());
    let access = |at: usize| after["HostConfig"]["Mounts"][at]["ReadOnly"].clone();
    assert_eq!((access(3), access(4)), (json!(true), json!(false)));
}

#[test]
fn what_was_found_changes_the_request() {
    let ground_with = |change: fn(&mut Ground)| {
        let mut ground = ground();
        change(&mut ground);
        said(&plan(), &ground)
    };
    let filter = ground_with(|g| g.filter = Some("{}".to_owned()));
    assert_eq!(filter["HostConfig"]["SecurityOpt"][1], "seccomp={}");
    assert_eq!(ground_with(|g| g.user.uid = 7)["User"], "7:1002");
    assert_eq!(ground_with(|g| g.processors = 1)["HostConfig"]["NanoCpus"], 1_000_000_000_u64);
    assert_eq!(ground_with(|g| g.stdin = Stdin::Open)["OpenStdin"], true);
    let podman = ground_with(|g| g.flavor = Flavor::Podman);
    assert!(!podman["HostConfig"]["Tmpfs"].to_string().contains("uid="));
    let shown = ground_with(|g| {
        g.workspace = Workspace::Shown { path: "/state/mounts/x/workspace".into(), mounts: vec![] };
    });
    let mount = &shown["HostConfig"]["Mounts"][2];
    assert_eq!((&mount["Type"], &mount["BindOptions"]), (&json!("bind"), &Value::Null));
}

#[test]
fn bytes_that_are_no_text_are_not_sent_as_something_else() {
    use std::os::unix::ffi::OsStringExt as _;
    let mut plan = plan();
    plan.command.push(std::ffi::OsString::from_vec(vec![0xff]).into());
    assert_eq!(request(&plan, &ground()), Err(Unfit::NotText { what: "an argument" }));
}

/// What an engine that did as it was told says about the container.
fn inspected(asked: &CreateRequest) -> Value {
    let said = serde_json::to_value(asked).unwrap();
    let mounts = asked.host_config.mounts.iter().map(|mount| {
        let source = if mount.source.starts_with('/') { "Source" } else { "Name" };
        json!({ "Destination": mount.target, source: mount.source, "RW": !mount.read_only })
    });
    json!({
        "Id": "ab",
        "Image": asked.image,
        "Config": said,
        "HostConfig": said["HostConfig"],
        "Mounts": mounts.collect::<Vec<_>>(),
    })
}

#[test]
fn a_container_that_differs_in_anything_is_not_started() {
    let asked = request(&plan(), &ground()).unwrap();
    let found = inspected(&asked);
    assert_eq!(differences(&asked, &found, Flavor::Docker), Vec::<String>::new());
    for (pointer, other) in [
        ("/Image", json!("sha256:bb")),
        ("/Config/User", json!("0:0")),
        ("/Config/Cmd", json!(["rm"])),
        ("/Config/WorkingDir", json!("/")),
        ("/Config/Env", json!([])),
        ("/Config/Labels", json!({})),
        ("/HostConfig/ReadonlyRootfs", json!(false)),
        ("/HostConfig/Privileged", json!(true)),
        ("/HostConfig/CapDrop", json!([])),
        ("/HostConfig/CapAdd", json!(["SYS_ADMIN"])),
        ("/HostConfig/SecurityOpt", json!([])),
        ("/HostConfig/SecurityOpt", json!(["no-new-privileges:true", "seccomp=unconfined"])),
        ("/HostConfig/Memory", json!(0)),
        ("/HostConfig/MemorySwap", json!(-1)),
        ("/HostConfig/NanoCpus", json!(0)),
        ("/HostConfig/PidsLimit", Value::Null),
        ("/HostConfig/NetworkMode", json!("default")),
        ("/HostConfig/IpcMode", json!("host")),
        ("/HostConfig/Init", json!(true)),
        ("/HostConfig/LogConfig/Type", json!("json-file")),
        ("/HostConfig/Tmpfs", json!({})),
        ("/Mounts/0/RW", json!(true)),
        ("/Mounts/0/Source", json!("/")),
        ("/Mounts", json!([])),
    ] {
        let mut other_found = found.clone();
        *other_found.pointer_mut(pointer).unwrap() = other;
        let seen = differences(&asked, &other_found, Flavor::Docker);
        assert!(!seen.is_empty(), "{pointer}");
    }
    for (name, value) in
        [("PidMode", json!("host")), ("Devices", json!([{}])), ("Binds", json!(["/:/h"]))]
    {
        let mut other = found.clone();
        other["HostConfig"][name] = value;
        assert_eq!(differences(&asked, &other, Flavor::Docker).len(), 1, "{name}");
    }
    let mut extra = found.clone();
    let more = json!({ "Destination": "/data", "Name": "x", "RW": true });
    extra["Mounts"].as_array_mut().unwrap().push(more);
    assert!(differences(&asked, &extra, Flavor::Docker)[0].contains("nobody asked for"));
}

#[test]
fn a_secret_is_not_told_in_a_difference() {
    let mut plan = plan();
    plan.env.insert("KEY".parse().unwrap(), cofferdam_core::env::EnvValue::Set("hunter2".into()));
    let asked = request(&plan, &ground()).unwrap();
    let mut found = inspected(&asked);
    found["Config"]["Env"] = json!([]);
    let seen = differences(&asked, &found, Flavor::Docker).join(" ");
    assert!(seen.contains("KEY") && !seen.contains("hunter2"), "{seen}");
}

fn info(change: impl FnOnce(&mut Value)) -> Info {
    let mut info = json!({
        "OSType": "linux", "MemoryLimit": true, "SwapLimit": true, "CpuCfsQuota": true,
        "PidsLimit": true, "SecurityOptions": ["name=seccomp,profile=default"],
        "Runtimes": { "runc": {} }, "DefaultRuntime": "runc", "MemTotal": 1_u64 << 34, "NCPU": 4, "OperatingSystem": "Debian",
    });
    change(&mut info);
    serde_json::from_value(info).unwrap()
}

#[test]
fn an_engine_promises_what_it_says_it_has() {
    let found = Found { image: true, bridge: true };
    let of = |info: &Info, spec: &SandboxSpec| {
        judge(Backend::Docker, Flavor::Docker, info, spec, &found)
    };
    let all = of(&info(|_| {}), &spec());
    assert!(all.unusable.is_none() && all.enforces.contains(&Guarantee::NetworkBridge));
    assert_eq!(all.host_memory, Some(ByteSize(1 << 34)));
    for (name, lacking) in [
        ("MemoryLimit", Guarantee::MemoryLimit),
        ("SwapLimit", Guarantee::MemoryLimit),
        ("CpuCfsQuota", Guarantee::CpuLimit),
        ("PidsLimit", Guarantee::PidsLimit),
    ] {
        let caps = of(&info(|info| info[name] = json!(false)), &spec());
        assert!(caps.lacks.contains_key(&lacking) && !caps.enforces.contains(&lacking), "{name}");
    }
    let bare = of(&info(|info| info["SecurityOptions"] = json!([])), &spec());
    assert!(!bare.enforces.contains(&Guarantee::Seccomp));
    let crun = SandboxSpec { runtime: Some("crun".to_owned()), ..spec() };
    assert!(of(&info(|_| {}), &crun).lacks[&Guarantee::Runtime].remedy.contains("runc"));
    let runc = SandboxSpec { runtime: Some("runc".to_owned()), ..spec() };
    assert!(of(&info(|_| {}), &runc).enforces.contains(&Guarantee::Runtime));
    // Podman lists what it knows, and uses one of it for all.
    let podman = |name: &str| {
        let info = info(|info| info["DefaultRuntime"] = json!("/opt/crun"));
        let spec = SandboxSpec { runtime: Some(name.to_owned()), ..spec() };
        judge(Backend::Podman, Flavor::Podman, &info, &spec, &Found { image: true, bridge: true })
    };
    assert!(podman("crun").enforces.contains(&Guarantee::Runtime));
    let lack = &podman("runc").lacks[&Guarantee::Runtime];
    assert!(lack.reason.contains("its service has /opt/crun"), "{lack:?}");
    assert!(lack.remedy.contains("podman --runtime runc system service"), "{lack:?}");
    assert!(of(&info(|info| info["OSType"] = json!("windows")), &spec()).unusable.is_some());
    // It sees this host's files, and as a stranger.
    let without_root = info(|info| info["SecurityOptions"] = json!(["name=rootless"]));
    assert_eq!(without_root.sight(), Sight::Other);
    let image = SandboxSpec { image: Some("debian:12".parse().unwrap()), ..spec() };
    let none = Found { image: false, bridge: false };
    let caps = judge(Backend::Docker, Flavor::Docker, &info(|_| {}), &image, &none);
    assert!(caps.unusable.unwrap().remedy.starts_with("docker pull debian:12"));
}

/// An engine in a machine of its own is told of mounts by the names that the machine has for them.
#[test]
fn mounts_are_told_by_the_names_of_the_engines_machine() {
    let kernel = "5.15.167.4-microsoft-standard-WSL2";
    let desktop = info(|info| info["OperatingSystem"] = json!("Docker Desktop"));
    assert_eq!(desktop.machine(kernel), Some(Machine::Wsl));
    assert_eq!(desktop.machine("6.1.0-28-amd64"), None);
    assert_eq!(info(|_| {}).machine(kernel), None);

    let mount = |source: &str, target: &str, access| Mount {
        source: host_path(source),
        target: target.into(),
        access,
    };
    let mut plan = plan();
    plan.toolchains = vec![];
    plan.mounts = vec![
        mount("/mnt/c/Users/Ada/data", "/data", Access::Read),
        mount("/mnt/wsl/cache", "/cache", Access::Write),
    ];
    let far = Ground {
        machine: desktop.machine(kernel),
        first: First::Engines,
        shown: vec![],
        covers: vec![],
        ..ground()
    };
    insta::assert_json_snapshot!(request(&plan, &far).unwrap().host_config.mounts);
    plan.mounts = vec![mount("/home/ada/data", "/data", Access::Read)];
    assert!(matches!(request(&plan, &far), Err(Unfit::Unmapped(_))));
    // Long before that it is refused.
    let at = serde_json::json!({
        "socket": "/run/docker.sock", "flavor": "docker", "api": "1.41", "processors": null,
    });
    let mut engine: Engine = serde_json::from_value(at).unwrap();
    let image = Some("debian:12".parse().unwrap());
    let with = |mount| SandboxSpec { image: image.clone(), mounts: vec![mount], ..spec() };
    let on_drive = with(mount("/mnt/c/Users/Ada/data", "/data", Access::Read));
    let own = with(mount("/home/ada/data", "/data", Access::Read));
    let refused = caps::far_off(&engine, &on_drive).unwrap();
    assert!(refused.reason.contains("does not see what is to be mounted"), "{refused:?}");
    engine.machine = Some(Machine::Wsl);
    assert_eq!(caps::far_off(&engine, &on_drive), None);
    let refused = caps::far_off(&engine, &own).unwrap();
    assert!(refused.reason.contains("distribution") && refused.remedy.contains("/mnt/c"));
}

/// Where our program cannot be the first process, the engine's is, and it has to be told everything.
#[test]
fn the_first_process_is_ours_where_it_can_be() {
    let mut plan = plan();
    plan.env = BTreeMap::from([(
        "API_TOKEN".parse().unwrap(),
        cofferdam_core::env::EnvValue::literal(&"API_TOKEN".parse().unwrap(), "hunter2"),
    )]);
    let ours = said(&plan, &ground());
    assert_eq!(ours["HostConfig"]["Init"], false);
    assert!(ours["Cmd"].to_string().contains("--variables"), "{ours}");
    assert!(!ours.to_string().contains("hunter2"), "{ours}");
    let engines = said(&plan, &Ground { first: First::Engines, ..ground() });
    assert_eq!(engines["HostConfig"]["Init"], true);
    assert_eq!(engines["Entrypoint"], json!(["make"]));
    assert!(engines["Env"].to_string().contains("API_TOKEN=hunter2"));
}

/// One that lies outside the workspace is staged like it, or can only be read.
#[test]
fn a_repository_outside_is_mounted_where_git_looks_for_it() {
    let mut plan = plan();
    plan.repository = Some(Repository {
        source: host_path("/srv/main/.git"),
        target: "/srv/main/.git".into(),
        of: RepositoryOf::Worktree,
    });
    assert_eq!(request(&plan, &ground()), Err(Unfit::Repository));
    let volume = Some(Workspace::Volume("cofferdam-01run-git".to_owned()));
    let found = |plan: &Plan, repository| {
        let ground = Ground { repository, ..ground() };
        let mounts = request(plan, &ground).unwrap().host_config.mounts;
        let mount = mounts.into_iter().find(|mount| mount.target == "/srv/main/.git").unwrap();
        (mount.source, mount.read_only)
    };
    assert_eq!(found(&plan, volume), ("cofferdam-01run-git".to_owned(), false));
    plan.workspace.mode = Mode::Direct;
    let itself = Some(Workspace::Itself("/srv/main/.git".into()));
    assert_eq!(found(&plan, itself), ("/srv/main/.git".to_owned(), true));
}
