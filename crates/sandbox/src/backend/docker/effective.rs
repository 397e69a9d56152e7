//! What stands, as the engine and the kernel say: the settings for the record, and the receipt.

use std::fs;
use std::path::{Path, PathBuf};

use cofferdam_core::caps::Guarantee;
use cofferdam_core::plan::Plan;
use cofferdam_core::receipt::{Held, Holding};
use cofferdam_core::spec::{Mode, Network, Seccomp as Filter};
use cofferdam_native::outside::User;
use serde_json::{Map, Value, json};

use super::mountinfo::{self, Layered};
use super::request::First;
use crate::engine::{Engine, at};

/// The settings of a container as they were read back.
pub(super) fn settings(engine: &Engine, found: &Value) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("engine".to_owned(), json!(engine.at));
    for (name, path) in [
        ("container", &["Id"][..]),
        ("image", &["Image"]),
        ("user", &["Config", "User"]),
        ("memory", &["HostConfig", "Memory"]),
        ("memory_swap", &["HostConfig", "MemorySwap"]),
        ("nano_cpus", &["HostConfig", "NanoCpus"]),
        ("pids_limit", &["HostConfig", "PidsLimit"]),
        ("network_mode", &["HostConfig", "NetworkMode"]),
        ("readonly_root", &["HostConfig", "ReadonlyRootfs"]),
        ("cap_drop", &["HostConfig", "CapDrop"]),
        ("runtime", &["HostConfig", "Runtime"]),
        ("log", &["HostConfig", "LogConfig", "Type"]),
    ] {
        map.insert(name.to_owned(), at(found, path).clone());
    }
    // Of a filter's text only that there is one.
    let options = at(found, &["HostConfig", "SecurityOpt"]).as_array();
    let options = options.into_iter().flatten().filter_map(Value::as_str);
    let options =
        options.map(|option| if option.starts_with("seccomp=") { "seccomp" } else { option });
    map.insert("security_options".to_owned(), json!(options.collect::<Vec<_>>()));
    map
}

/// What the kernel says about a container's first process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Process {
    /// It ended already, or is not ours to look at.
    Unseen,
    AsPlanned(String),
    Otherwise(String),
}

/// Looks at the process by its number on this host. One that is not the first of a namespace of its own is
/// somebody else's, as where the engine counts in another namespace than we do.
pub(super) fn process(
    pid: u64,
    plan: &Plan,
    user: User,
    hidden: &[PathBuf],
    layered: &[Layered],
) -> Process {
    let proc = Path::new("/proc").join(pid.to_string());
    let seen = match fs::read_to_string(proc.join("status")) {
        Ok(status) if pid != 0 => judge(&status, plan, user),
        _ => return Process::Unseen,
    };
    match (seen, fs::read(proc.join("mountinfo"))) {
        // One that has ended has no mounts.
        (Process::AsPlanned(said), Ok(mounts)) if !mounts.is_empty() => {
            mountinfo::difference(&mounts, plan, hidden, layered)
                .map_or(Process::AsPlanned(said), Process::Otherwise)
        }
        (seen, _) => seen,
    }
}

fn judge(status: &str, plan: &Plan, user: User) -> Process {
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map_or("", str::trim)
    };
    if field("NSpid").split_whitespace().count() < 2 || !field("NSpid").ends_with("\t1") {
        return Process::Unseen;
    }
    let wanted_filter = if plan.seccomp.is_some() { "2" } else { field("Seccomp") };
    let none = "0000000000000000";
    let ids = |id: u32| [id.to_string().as_str(); 4].join("\t");
    for (name, wanted) in [
        ("CapEff", none.to_owned()),
        ("CapPrm", none.to_owned()),
        ("CapBnd", none.to_owned()),
        ("CapAmb", none.to_owned()),
        ("NoNewPrivs", "1".to_owned()),
        ("Seccomp", wanted_filter.to_owned()),
        ("Uid", ids(user.uid)),
        ("Gid", ids(user.gid)),
    ] {
        if field(name) != wanted {
            return Process::Otherwise(format!("{name} is {} instead of {wanted}", field(name)));
        }
    }
    let said =
        ["CapEff", "CapBnd", "NoNewPrivs", "Seccomp"].map(|name| format!("{name} {}", field(name)));
    Process::AsPlanned(format!("uid {}, gid {}, {}", user.uid, user.gid, said.join(", ")))
}

fn filter(plan: &Plan, first: First, kernel: Kernel) -> &'static str {
    match (first, &plan.seccomp) {
        (First::Ours, Some(Filter::Default)) if kernel == Kernel::Other => {
            "the runtime's own kernel, and our system call filter in it"
        }
        _ if kernel == Kernel::Other => "the runtime's own kernel",
        (First::Ours, Some(Filter::Default)) => "the engine's system call filter, and ours",
        (_, Some(Filter::File(_))) => "the system call filter that was named",
        _ => "the engine's system call filter",
    }
}

/// Which kernel a container's programs call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kernel {
    Hosts,
    /// The runtime's own, as far as is known.
    Other,
}

/// The receipt: each guarantee, what gives it, and what was seen of it.
pub(super) fn receipt(
    plan: &Plan,
    (first, kernel): (First, Kernel),
    found: &Value,
    process: &Process,
    hidden: &[PathBuf],
) -> Vec<Holding> {
    use Guarantee::*;
    let seen = |path: &[&str]| Some(at(found, path).to_string().trim_matches('"').to_owned());
    let status = match process {
        Process::AsPlanned(said) => Some(said.clone()),
        _ => None,
    };
    let workspace = match plan.workspace.mode {
        Mode::Stage => StagedWorkspace,
        Mode::Direct => DirectWorkspace,
        Mode::Readonly => ReadonlyWorkspace,
    };
    let apart = if plan.copies() { "a copy of it" } else { "a mount of its own" };
    let network = match plan.network {
        Network::Bridge => NetworkBridge,
        Network::Host => NetworkHost,
        Network::None | Network::Allow => NetworkNone,
    };
    let mut all = vec![
        (Privileges, "all capabilities dropped, no-new-privileges, not root", status),
        (workspace, apart, Some(plan.workspace.mode.to_string())),
        (network, "the engine's network mode", seen(&["HostConfig", "NetworkMode"])),
        (MemoryLimit, "the engine's control group", seen(&["HostConfig", "Memory"])),
        (CpuLimit, "the engine's control group", seen(&["HostConfig", "NanoCpus"])),
        (PidsLimit, "the engine's control group", seen(&["HostConfig", "PidsLimit"])),
        (ReadonlyRoot, "a read-only root", seen(&["HostConfig", "ReadonlyRootfs"])),
        (Tmpfs, "memory file systems of a size", seen(&["HostConfig", "Tmpfs"])),
        (Seccomp, filter(plan, first, kernel), None),
        (Environment, "only listed variables, and the image's", None),
        (Timeout, "our clock", Some(plan.limits.timeout.to_string())),
        (OutputLimit, "head and tail are kept", Some(plan.limits.output.to_string())),
    ];
    if !plan.blocked.is_empty() {
        let names: Vec<_> = hidden.iter().map(|path| path.display().to_string()).collect();
        all.push((BlockedPaths, "covered by something empty", Some(names.join(", "))));
    }
    let given_up = |g: Guarantee| plan.relaxed.iter().any(|relaxed| relaxed.guarantee == g);
    all.retain(|(guarantee, ..)| !given_up(*guarantee));
    let root = at(found, &["HostConfig", "ReadonlyRootfs"]) == &json!(true);
    all.retain(|(guarantee, ..)| *guarantee != ReadonlyRoot || root);
    all.into_iter()
        .map(|(guarantee, mechanism, read_back)| Holding {
            guarantee,
            mechanism: mechanism.to_owned(),
            state: Held::Enforced,
            read_back,
            probes: Vec::new(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tx\nUid:\t7\t7\t7\t7\nGid:\t8\t8\t8\t8\nNSpid:\t4242\t1\n\
        CapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n\
        CapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n";

    #[test]
    fn a_process_is_as_planned_or_it_is_said_what_is_not() {
        let plan = crate::backend::docker::tests::plan();
        let of = |text: &str| judge(text, &plan, User { uid: 7, gid: 8 });
        assert!(matches!(of(STATUS), Process::AsPlanned(said) if said.contains("Seccomp 2")));
        for (from, to) in [
            ("CapEff:\t0", "CapEff:\t1"),
            ("CapBnd:\t0", "CapBnd:\t1"),
            ("NoNewPrivs:\t1", "NoNewPrivs:\t0"),
            ("Seccomp:\t2", "Seccomp:\t0"),
            ("Uid:\t7", "Uid:\t0"),
        ] {
            assert!(matches!(of(&STATUS.replace(from, to)), Process::Otherwise(_)), "{to}");
        }
        // A process of the host's that happens to have the number.
        assert_eq!(of(&STATUS.replace("4242\t1", "4242")), Process::Unseen);
    }
}
