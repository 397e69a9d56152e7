//! One small container of our own, run to its end: to see whether an engine works at all, and to clean up where
//! only root can. It has the host's programs, no network, no capability, and runs no word of anybody else's.

use std::collections::BTreeMap;
use std::path::Path;

use cofferdam_native::outside::{Tree, system_trees};
use serde_json::{Value, json};

use super::{Trouble, clean, root};
use crate::engine::{Engine, EngineError, Patience, Rights, at};

/// What is to be done.
#[derive(Debug)]
pub(super) struct Chore<'a> {
    pub(super) script: &'a str,
    pub(super) user: &'a str,
    pub(super) labels: &'a BTreeMap<String, String>,
    /// A directory of the host's, which it may write to, and its place.
    pub(super) bind: Option<(&'a Path, &'a Path)>,
}

/// Does it, and removes the container: its exit code.
pub(super) fn done(engine: &Engine, chore: &Chore<'_>) -> Result<i64, Trouble> {
    let mount = |source: &Path, target: &Path, readonly: bool| {
        json!({
            "Type": "bind", "Source": source, "Target": target, "ReadOnly": readonly,
            "BindOptions": { "Propagation": "rprivate", "NonRecursive": true },
        })
    };
    let mut mounts: Vec<Value> =
        chore.bind.iter().map(|(source, target)| mount(source, target, false)).collect();
    for tree in system_trees()? {
        if let Tree::Directory { path } = tree {
            mounts.push(mount(&path, &path, true));
        }
    }
    let mut request = json!({
        "Image": root::image(engine)?.id,
        "Entrypoint": ["/bin/sh"],
        "Cmd": ["-c", chore.script],
        "User": chore.user,
        "Labels": chore.labels,
        "HostConfig": {
            "ReadonlyRootfs": true, "CapDrop": ["ALL"], "SecurityOpt": ["no-new-privileges:true"],
            "NetworkMode": "none", "IpcMode": "private", "LogConfig": { "Type": "none" },
            "Mounts": mounts,
            "Ulimits": super::ulimit::ulimits(engine.flavor),
        },
    });
    bound(engine, &mut request);
    Ok(lived(engine, &request)??)
}

/// Runs a script in an image, as the image's own user, with nothing but memory to write to: its exit code, or why
/// it could not be started.
pub(crate) fn in_image(
    engine: &Engine,
    image: &str,
    script: &str,
    labels: &BTreeMap<String, String>,
) -> Result<Result<i64, EngineError>, EngineError> {
    let mut request = json!({
        "Image": image,
        "Entrypoint": ["/bin/sh"],
        "Cmd": ["-c", script],
        "Labels": labels,
        "HostConfig": {
            "ReadonlyRootfs": true, "CapDrop": ["ALL"], "SecurityOpt": ["no-new-privileges:true"],
            "NetworkMode": "none", "IpcMode": "private", "LogConfig": { "Type": "none" },
            "Tmpfs": { "/tmp": "rw,nosuid,nodev,size=1m,mode=1777" },
            "Ulimits": super::ulimit::ulimits(engine.flavor),
        },
    });
    bound(engine, &mut request);
    lived(engine, &request)
}

/// Without root an engine may have nothing to hold limits by; what is run here needs none.
fn bound(engine: &Engine, request: &mut Value) {
    if engine.rights == Rights::Roots {
        let limits = [("Memory", 64 << 20), ("MemorySwap", 64 << 20), ("PidsLimit", 16)];
        for (name, most) in limits {
            request["HostConfig"][name] = json!(most);
        }
    }
}

/// A container from its beginning to its end: its exit code, or what went wrong in between. It is gone then.
fn lived(engine: &Engine, request: &Value) -> Result<Result<i64, EngineError>, EngineError> {
    let made: Value = engine.post("/containers/create", request, Patience::Long)?;
    let id = at(&made, &["Id"]).as_str().unwrap_or_default().to_owned();
    let ended = engine
        .tell(&format!("/containers/{id}/start"), Patience::Long)
        .and_then(|()| engine.tell(&format!("/containers/{id}/wait"), Patience::Long))
        .and_then(|()| engine.get::<Value>(&format!("/containers/{id}/json"), Patience::Short));
    clean::remove(engine, &id)?;
    Ok(ended.map(|found| at(&found, &["State", "ExitCode"]).as_i64().unwrap_or(-1)))
}

/// Whether a container can be made, run and removed: what came of it, in words.
pub(crate) fn trial(engine: &Engine, labels: &BTreeMap<String, String>) -> Result<(), String> {
    let (script, user) = ("exit 42", "65534:65534");
    match done(engine, &Chore { script, user, labels, bind: None }) {
        Ok(42) => Ok(()),
        Ok(code) => Err(format!("a container that was to exit with 42 exited with {code}")),
        Err(trouble) => Err(trouble.to_string()),
    }
}
