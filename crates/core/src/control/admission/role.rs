//! What a role says: its ceiling, by the names that `policy.roles` has, and what its tasks begin with.

use serde_json::json;

use super::said::{Said, key};
use super::wrong;
use crate::config::{Entries, FileLayer, Key, Value, parse_file};
use crate::control::role::{NewRole, Role};
use crate::policy::Ceiling;
use crate::refusal::{Refusal, Rule};

/// Whether a role makes sense, before it is kept.
pub fn check(role: &NewRole) -> Result<(), Refusal> {
    super::name("name", &role.name)?;
    read_ceiling(&role.ceiling)?;
    read_settings(&role.settings)?;
    for (at, name) in role.overridable.iter().enumerate() {
        key(&format!("overridable[{at}]"), name)?;
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
    match Key::named(name) {
        Some(Key::SandboxMemoryLimit) => ceiling.memory = None,
        Some(Key::SandboxCpuLimit) => ceiling.cpus = None,
        Some(Key::SandboxPidsLimit) => ceiling.pids = None,
        Some(Key::SandboxTimeout) => ceiling.timeout = None,
        Some(Key::SandboxNetwork) => ceiling.network = None,
        Some(Key::SandboxMode) => ceiling.mode = None,
        Some(Key::SandboxMounts) => ceiling.allowed_paths = None,
        _ => {}
    }
    Ok(())
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
        let at = key.as_deref().and_then(|key| key.strip_prefix(AS)).map(|at| format!("ceiling.{at}"));
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
