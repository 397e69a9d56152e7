//! The receipt of a confined run: each guarantee, what gives it, and what was read back.

use cofferdam_core::caps::Guarantee;
use cofferdam_core::mount::Access;
use cofferdam_core::plan::Plan;
use cofferdam_core::receipt::{Held, Holding, attach};
use cofferdam_core::spec::{Mode, Staging};

use crate::cgroup::{Controller, InForce};
use crate::order::RUN_VARIABLE;
use crate::report::Facts;

pub(super) fn of(
    plan: &Plan,
    facts: &Facts,
    in_force: &[InForce],
) -> (Vec<Holding>, Vec<(&'static str, String)>) {
    let mut receipt = vec![
        workspace(plan, facts),
        held(
            Guarantee::ReadonlyRoot,
            "a root of our own; the system bound read-only, nosuid, nodev",
            &facts.root,
        ),
        held(
            Guarantee::Privileges,
            "ids given up, all capability sets empty, securebits locked, no_new_privs",
            &facts.privileges,
        ),
        held(
            Guarantee::NetworkNone,
            "an empty network namespace",
            &format!("net:[{}]", facts.network),
        ),
        held(Guarantee::Environment, "only the variables of the plan", &names(plan)),
    ];
    if plan.seccomp.is_some() {
        receipt.push(held(Guarantee::Seccomp, "seccomp allow-list", &facts.seccomp));
    }
    if !facts.landlock.is_empty() {
        receipt.push(held(Guarantee::Landlock, "Landlock", &facts.landlock));
    }
    for limit in in_force {
        receipt.push(held(limit.controller.guarantee(), &limit.mechanism, &limit.value));
    }
    if !plan.tmpfs.is_empty() {
        let sizes = plan.tmpfs.iter().map(|(at, size)| format!("{} {size}", at.display()));
        let sizes = sizes.collect::<Vec<_>>().join(", ");
        receipt.push(held(Guarantee::Tmpfs, "tmpfs of a size, nosuid, nodev", &sizes));
    }
    if !plan.mounts.is_empty() {
        receipt.push(held(Guarantee::Mounts, "bind by descriptor, nosuid, nodev", &mounts(plan)));
    }
    receipt.extend(blocked(plan, facts));
    attach(&mut receipt, facts.probes.clone());
    (receipt, effective(plan, facts, in_force))
}

fn held(guarantee: Guarantee, mechanism: &str, read_back: &str) -> Holding {
    Holding {
        guarantee,
        mechanism: mechanism.to_owned(),
        state: Held::Enforced,
        read_back: Some(read_back.to_owned()),
        probes: Vec::new(),
    }
}

fn workspace(plan: &Plan, facts: &Facts) -> Holding {
    let (guarantee, mechanism) = match plan.workspace.mode {
        Mode::Stage => match &plan.workspace.staging {
            Staging::Overlay => {
                (Guarantee::StagedWorkspace, "overlayfs, the host tree as its lower layer")
            }
            Staging::Copy { reason } => {
                let mechanism = format!("a copy of the host tree, for {reason}");
                return held(Guarantee::StagedWorkspace, &mechanism, &facts.workspace);
            }
        },
        Mode::Direct => (Guarantee::DirectWorkspace, "bind, nosuid, nodev"),
        Mode::Readonly => (Guarantee::ReadonlyWorkspace, "read-only bind, nosuid, nodev"),
    };
    held(guarantee, mechanism, &facts.workspace)
}

/// Names only: values may be secrets.
fn names(plan: &Plan) -> String {
    let names = plan.env.keys().map(|name| name.as_str()).chain([RUN_VARIABLE]);
    names.collect::<Vec<_>>().join(" ")
}

fn mounts(plan: &Plan) -> String {
    let one = |mount: &cofferdam_core::mount::Mount| {
        let access = match mount.access {
            Access::Read => "read-only",
            Access::Write => "writable",
        };
        format!("{} {access}", mount.target.display())
    };
    plan.mounts.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// What is hidden, and, as given up, the names that the program could still make something under.
fn blocked(plan: &Plan, facts: &Facts) -> Vec<Holding> {
    if plan.blocked.is_empty() {
        return Vec::new();
    }
    let hidden = if facts.hidden.is_empty() {
        "nothing that is blocked exists".to_owned()
    } else {
        facts.hidden.join(", ")
    };
    let mut holdings = vec![held(
        Guarantee::BlockedPaths,
        "an empty read-only file or directory mounted over each",
        &hidden,
    )];
    if !facts.unprotected.is_empty() {
        holdings.push(Holding {
            guarantee: Guarantee::BlockedPaths,
            mechanism:
                "in direct mode a blocked name that does not exist, or is a symlink, cannot be \
                        kept from being made without touching the host's tree"
                    .to_owned(),
            state: Held::Relaxed,
            read_back: Some(facts.unprotected.join(", ")),
            probes: Vec::new(),
        });
    }
    holdings
}

fn by_copy(plan: &Plan) -> &'static str {
    if plan.copies() { ", by a copy" } else { "" }
}

fn effective(plan: &Plan, facts: &Facts, in_force: &[InForce]) -> Vec<(&'static str, String)> {
    let mut settings = vec![
        ("user", facts.privileges.clone()),
        ("workspace", format!("{} ({}{})", facts.workspace, plan.workspace.mode, by_copy(plan))),
        ("root", facts.root.clone()),
        ("network", format!("none, net:[{}]", facts.network)),
        ("seccomp", facts.seccomp.clone()),
        ("landlock", facts.landlock.clone()),
    ];
    for (controller, setting) in [
        (Controller::Memory, "memory_limit"),
        (Controller::Cpu, "cpu_limit"),
        (Controller::Pids, "pids_limit"),
    ] {
        let limits = in_force.iter().filter(|limit| limit.controller == controller);
        let values: Vec<_> =
            limits.map(|limit| format!("{} {}", limit.mechanism, limit.value)).collect();
        settings.push((setting, values.join(", ")));
    }
    settings.retain(|(_, value)| !value.is_empty());
    settings
}
