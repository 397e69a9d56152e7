//! What a role says: its ceiling, by the names that `policy.roles` has, and what its tasks begin with.

use serde_json::json;

use super::said::{Said, key};
use super::wrong;
use crate::config::{Entries, FileLayer, Key, Layers, Trust, Value, parse_file, resolve};
use crate::control::role::{NewRole, Role};
use crate::plan::mount_target;
use crate::policy::Ceiling;
use crate::refusal::{Refusal, Rule};

/// Whether a role makes sense, before it is kept.
pub fn check(role: &NewRole) -> Result<(), Refusal> {
    super::name("name", &role.name)?;
    let ceiling = read_ceiling(&role.ceiling)?;
    within(ceiling, &read_settings(&role.settings)?)?;
    for (at, name) in role.overridable.iter().enumerate() {
        key(&format!("overridable[{at}]"), name)?;
    }
    Ok(())
}

/// What its tasks begin with must be something that they may have, or each of them would be refused.
fn within(mut ceiling: Ceiling, begins: &Entries) -> Result<(), Refusal> {
    let named = |refusal: Refusal| {
        let field = format!("settings.{}", refusal.field);
        Refusal { field, ..refusal }
    };
    // Defaults are not the role's word: a task may ask for less.
    for key in Key::ALL.iter().filter(|key| begins.get(**key).is_none()) {
        unbind(&mut ceiling, *key);
    }
    let project = begins.clone();
    let layers = Layers { project, trust: Trust::Trusted, ..Layers::default() };
    let sandbox = resolve(layers)?.settings().sandbox;
    let remedy = "begin with less, or raise the ceiling".to_owned();
    ceiling
        .check(&super::limits(&sandbox), sandbox.network, sandbox.mode)
        .map_err(|refusal| named(Refusal { remedy, ..refusal }))?;
    for (at, mount) in sandbox.mounts.iter().enumerate() {
        let before = sandbox.mounts[..at].iter().map(|other| &other.target);
        mount_target(&mount.target, before).map_err(|refusal| {
            let field = format!("{}[{at}].target", refusal.field);
            named(Refusal { field, ..refusal })
        })?;
    }
    Ok(())
}

pub(super) fn ceiling(role: &Role) -> Result<Ceiling, Refusal> {
    read_ceiling(&role.ceiling)
}

pub(super) fn settings(role: &Role) -> Result<Entries, Refusal> {
    read_settings(&role.settings)
}

/// Takes a bound away that the role lets its tasks override.
pub(super) fn lift(
    role: Option<&Role>,
    ceiling: &mut Ceiling,
    field: &str,
    name: &str,
) -> Result<(), Refusal> {
    let refuse = |message: String, remedy: &str| {
        Err(Refusal { rule: Rule::Ceiling, ..wrong(field, message, remedy) })
    };
    let Some(role) = role else {
        return refuse("without a role there is nothing to override".to_owned(), "use settings");
    };
    if !role.overridable.iter().any(|allowed| allowed == name) {
        let message = format!("the role {} does not let its tasks override {name}", role.name);
        return refuse(message, "ask for less, or add it to the role's overridable settings");
    }
    if let Some(key) = Key::named(name) {
        unbind(ceiling, key);
    }
    Ok(())
}

fn unbind(ceiling: &mut Ceiling, key: Key) {
    match key {
        Key::SandboxMemoryLimit => ceiling.memory = None,
        Key::SandboxCpuLimit => ceiling.cpus = None,
        Key::SandboxPidsLimit => ceiling.pids = None,
        Key::SandboxTimeout => ceiling.timeout = None,
        Key::SandboxNetwork => ceiling.network = None,
        Key::SandboxMode => ceiling.mode = None,
        Key::SandboxMounts => ceiling.allowed_paths = None,
        _ => {}
    }
}

type Pairs = std::collections::BTreeMap<String, serde_json::Value>;

fn read_settings(said: &Pairs) -> Result<Entries, Refusal> {
    let mut read = Said::new();
    for (name, value) in said {
        let field = format!("settings.{name}");
        read.value(key(&field, name)?, value, &field)?;
    }
    Ok(read.entries)
}

/// Read by the form of `policy.roles`, so that a role here and one in a host file mean the same.
fn read_ceiling(said: &Pairs) -> Result<Ceiling, Refusal> {
    const AS: &str = "policy.roles.role.";
    if said.is_empty() {
        return Ok(Ceiling::default());
    }
    let text = json!({"policy": {"roles": {"role": said}}}).to_string();
    let entries = parse_file(&text, "ceiling", FileLayer::Host).map_err(|errors| {
        let first = errors.into_iter().next();
        let (key, message) = first.map(|e| (e.key, e.message)).unwrap_or_default();
        // What is unknown is told by its name alone.
        let at = key.as_deref().and_then(|key| match key.strip_prefix(AS) {
            None => said.contains_key(key).then_some(key),
            known => known,
        });
        let at = at.map(|at| format!("ceiling.{at}"));
        let remedy = "memory_limit, cpu_limit, pids_limit, timeout, network, mode and allowed_paths have a ceiling";
        wrong(at.as_deref().unwrap_or("ceiling"), message, remedy)
    })?;
    match entries.get(Key::PolicyRoles) {
        Some((Value::Roles(roles), _)) => {
            Ok(roles.get("role").map(Ceiling::from).unwrap_or_default())
        }
        _ => Err(wrong("ceiling", "it cannot be read", "write names and values")),
    }
}
