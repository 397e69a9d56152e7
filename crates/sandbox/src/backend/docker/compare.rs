//! Whether the container that was made is the one that was asked for: the request against what the engine
//! says about it, a pure function. Anything that differs is a reason not to start it.

use serde_json::{Value, json};

use super::create::{CreateRequest, MountKind};
use crate::engine::{Flavor, at};

/// What is not as asked for, each in words; nothing where all is.
pub(super) fn differences(asked: &CreateRequest, found: &Value, flavor: Flavor) -> Vec<String> {
    let mut seen = Differences(Vec::new());
    let host = &asked.host_config;
    let config = |name: &str| at(found, &["Config", name]);
    let limits = |name: &str| at(found, &["HostConfig", name]);

    if flavor == Flavor::Docker {
        seen.same("Image", at(found, &["Image"]), &json!(asked.image));
    } else {
        let bare = asked.image.trim_start_matches("sha256:");
        seen.same("Image", &bare_id(at(found, &["Image"])), &json!(bare));
    }
    seen.same("User", config("User"), &json!(asked.user));
    seen.same("WorkingDir", config("WorkingDir"), &json!(asked.working_dir));
    let cmd: Vec<&String> = asked.entrypoint.iter().chain(&asked.cmd).collect();
    seen.same("command", &joined(config("Entrypoint"), config("Cmd")), &json!(cmd));
    seen.same("Tty", config("Tty"), &json!(asked.tty));
    if let Some(disabled) = asked.network_disabled {
        seen.same("NetworkDisabled", config("NetworkDisabled"), &json!(disabled));
    }
    for (name, value) in &asked.labels {
        seen.same(&format!("label {name}"), at(config("Labels"), &[name]), &json!(value));
    }
    let env = strings(config("Env"));
    for wanted in asked.env.iter().filter(|wanted| !env.contains(&wanted.as_str())) {
        // The name only: a value may be a secret.
        let name = wanted.split('=').next().unwrap_or_default();
        seen.0.push(format!("variable {name} is not as asked for"));
    }

    seen.same("ReadonlyRootfs", limits("ReadonlyRootfs"), &json!(host.readonly_rootfs));
    seen.same("Privileged", limits("Privileged"), &json!(false));
    seen.same("NetworkMode", limits("NetworkMode"), &json!(host.network_mode));
    seen.same("Memory", limits("Memory"), &json!(host.memory.unwrap_or(0)));
    seen.same("MemorySwap", limits("MemorySwap"), &json!(host.memory_swap.unwrap_or(0)));
    seen.same("NanoCpus", limits("NanoCpus"), &json!(host.nano_cpus.unwrap_or(0)));
    let pids = limits("PidsLimit").as_u64().unwrap_or(0);
    seen.same("PidsLimit", &json!(pids), &json!(host.pids_limit.unwrap_or(0)));
    seen.same("LogConfig", at(limits("LogConfig"), &["Type"]), &json!(host.log_config.kind));
    let init = limits("Init") == &json!(true);
    seen.same("Init", &json!(init), &json!(host.init));
    if let Some(runtime) = &host.runtime {
        seen.same("Runtime", limits("Runtime"), &json!(runtime));
    }
    // Podman's word for a namespace of its own that others could be let into.
    let shareable = flavor == Flavor::Podman && limits("IpcMode") == &json!("shareable");
    if !shareable {
        seen.same("IpcMode", limits("IpcMode"), &json!(host.ipc_mode));
    }
    for name in ["PidMode", "UTSMode"] {
        let mode = limits(name).as_str().unwrap_or_default();
        if !matches!(mode, "" | "private") {
            seen.0.push(format!("{name} is {mode}"));
        }
    }
    for name in ["CapAdd", "Devices", "Binds", "VolumesFrom", "GroupAdd"] {
        // Podman tells its own mounts once more in this place.
        if name == "Binds" && flavor == Flavor::Podman {
            continue;
        }
        if limits(name).as_array().is_some_and(|list| !list.is_empty()) {
            seen.0.push(format!("{name} is {}", limits(name)));
        }
    }
    dropped(&mut seen, found, flavor);
    security(&mut seen, &host.security_opt, limits("SecurityOpt"), flavor);
    mounts(&mut seen, asked, at(found, &["Mounts"]));
    for (target, options) in &host.tmpfs {
        let found = at(limits("Tmpfs"), &[target]).as_str().unwrap_or_default();
        let lacks = options
            .split(',')
            .filter(|option| {
                option.starts_with("size=") || *option == "nosuid" || *option == "nodev"
            })
            .find(|option| !found.split(',').any(|f| f == *option));
        if let Some(lacks) = lacks {
            seen.0.push(format!("tmpfs {target} has not {lacks}"));
        }
    }
    seen.0
}

struct Differences(Vec<String>);

impl Differences {
    fn same(&mut self, name: &str, found: &Value, wanted: &Value) {
        if found != wanted {
            self.0.push(format!("{name} is {found} instead of {wanted}"));
        }
    }
}

/// Docker repeats what it was told; Podman lists what is left, which must be nothing.
fn dropped(seen: &mut Differences, found: &Value, flavor: Flavor) {
    let all = match flavor {
        Flavor::Docker => strings(at(found, &["HostConfig", "CapDrop"])) == ["ALL"],
        Flavor::Podman => {
            let left = at(found, &["EffectiveCaps"]);
            left.is_null() || left.as_array().is_some_and(Vec::is_empty)
        }
    };
    if !all {
        seen.0.push("not every capability is dropped".to_owned());
    }
}

fn security(seen: &mut Differences, wanted: &[String], found: &Value, flavor: Flavor) {
    let found = strings(found);
    for option in wanted {
        let there = match flavor {
            Flavor::Docker => found.contains(&option.as_str()),
            // Says of a filter only where it lies.
            Flavor::Podman if option.starts_with("seccomp=") => {
                found.iter().any(|one| one.starts_with("seccomp="))
            }
            Flavor::Podman => {
                let name = option.split(':').next().unwrap_or_default();
                found.iter().any(|one| one.split([':', '=']).next() == Some(name))
            }
        };
        if !there {
            let name = option.split(['=', ':']).next().unwrap_or_default();
            seen.0.push(format!("security option {name} is not set"));
        }
    }
    if found.iter().any(|one| one.contains("unconfined")) {
        seen.0.push("a security option is unconfined".to_owned());
    }
}

/// Every mount as asked for, and no other: an image may want volumes of its own.
fn mounts(seen: &mut Differences, asked: &CreateRequest, found: &Value) {
    let none = Vec::new();
    let found = found.as_array().unwrap_or(&none);
    let text =
        |mount: &Value, name: &str| at(mount, &[name]).as_str().unwrap_or_default().to_owned();
    for wanted in &asked.host_config.mounts {
        let Some(mount) = found.iter().find(|m| text(m, "Destination") == wanted.target) else {
            seen.0.push(format!("nothing is mounted at {}", wanted.target));
            continue;
        };
        let source = match wanted.kind {
            MountKind::Bind => text(mount, "Source"),
            MountKind::Volume => text(mount, "Name"),
        };
        let writable = at(mount, &["RW"]) == &json!(true);
        if source != wanted.source || writable == wanted.read_only {
            let access = if writable { "writable" } else { "read-only" };
            seen.0.push(format!("{} is {source}, {access}", wanted.target));
        }
    }
    for mount in found {
        let target = text(mount, "Destination");
        let host = &asked.host_config;
        // What an overlay is made of, the kernel tells.
        let is_overlay = host.binds.iter().any(|bind| bind.split(':').nth(1) == Some(&target));
        let is_known = host.mounts.iter().any(|m| m.target == target);
        if !is_known && !is_overlay && !host.tmpfs.contains_key(&target) {
            seen.0.push(format!("{target} is mounted, which nobody asked for"));
        }
    }
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().map(|list| list.iter().filter_map(Value::as_str).collect()).unwrap_or_default()
}

/// The two lists as one; Podman gives a first list of one word as that word.
fn joined(first: &Value, second: &Value) -> Value {
    let mut all = strings(first);
    all.extend(first.as_str());
    all.extend(strings(second));
    json!(all)
}

fn bare_id(value: &Value) -> Value {
    json!(value.as_str().unwrap_or_default().trim_start_matches("sha256:"))
}
