//! Values that are more than a word: mounts, exceptions, roles, and the mappings of names to values.

use std::collections::BTreeMap;
use std::path::Path;

use super::error::Problems;
use super::key::Key;
use super::settings::RoleSettings;
use super::text::{env_value, path, read, simple_name, size, switch};
use super::value::Value;
use super::yaml::{Kind, Node, Pair};
use crate::env::EnvName;
use crate::mount::{Access, MountRequest};
use crate::paths::{ExactPath, clean_absolute};
use crate::policy::Exception;
use crate::quantity::ByteSize;

pub(super) const MOUNT_FIELDS: &[&str] = &["source", "target", "readonly"];
pub(super) const EXCEPTION_FIELDS: &[&str] = &["path", "readonly", "reason"];
/// Each but the last is a ceiling on the key of that name.
pub(super) const ROLE_FIELDS: &[&str] =
    &["memory_limit", "cpu_limit", "pids_limit", "timeout", "network", "mode", "allowed_paths"];

pub(super) fn mounts(key: &str, items: &[Node], problems: &mut Problems) -> Option<Value> {
    let read = |item| {
        let fields = Fields::of(key, item, MOUNT_FIELDS, problems)?;
        let source = fields.needed("source", path, problems);
        let target = fields.needed("target", inside, problems);
        let access = fields.access(problems);
        Some(MountRequest { source: source?.into(), target: target?, access: access? })
    };
    let mounts: Vec<_> = items.iter().filter_map(read).collect();
    (mounts.len() == items.len()).then_some(Value::Mounts(mounts))
}

pub(super) fn exceptions(key: &str, items: &[Node], problems: &mut Problems) -> Option<Value> {
    let read = |item| {
        let fields = Fields::of(key, item, EXCEPTION_FIELDS, problems)?;
        let path = fields.needed("path", path, problems);
        let reason = fields.needed("reason", reason, problems);
        let access = fields.access(problems);
        Some(Exception { path: path?.into(), access: access?, reason: reason? })
    };
    let exceptions: Vec<_> = items.iter().filter_map(read).collect();
    (exceptions.len() == items.len()).then_some(Value::Exceptions(exceptions))
}

pub(super) fn env(key: &str, pairs: &[Pair], problems: &mut Problems) -> Option<Value> {
    let each = |name: &str, text: &str| Ok((read::<EnvName>(name)?, env_value(text)?));
    mapping(key, pairs, each, problems).map(Value::Env)
}

pub(super) fn tmpfs(
    key: &str,
    pairs: &[Pair],
    min: ByteSize,
    problems: &mut Problems,
) -> Option<Value> {
    let each = |at: &str, text: &str| Ok((inside(at)?, size(text, min, None)?));
    mapping(key, pairs, each, problems).map(Value::Tmpfs)
}

pub(super) fn roles(key: &str, pairs: &[Pair], problems: &mut Problems) -> Option<Value> {
    let mut roles = BTreeMap::new();
    for pair in pairs {
        match simple_name(&pair.key) {
            Ok(name) => {
                roles.insert(name, role(&format!("{key}.{}", pair.key), &pair.value, problems)?)
            }
            Err(message) => {
                problems.about(key, pair.line, message);
                None
            }
        };
    }
    Some(Value::Roles(roles))
}

fn role(key: &str, node: &Node, problems: &mut Problems) -> Option<RoleSettings> {
    let fields = Fields::of(key, node, ROLE_FIELDS, problems)?;
    let mut role = RoleSettings::default();
    for pair in fields.pairs {
        let name = format!("{key}.{}", pair.key);
        let table = match pair.key.as_str() {
            "allowed_paths" => Some(Key::PolicyAllowedPaths),
            field => Key::named(&format!("sandbox.{field}")),
        };
        let Some(table) = table.filter(|_| ROLE_FIELDS.contains(&pair.key.as_str())) else {
            continue;
        };
        match (table, table.form().read(&name, &pair.value, problems)) {
            (Key::SandboxMemoryLimit, Some(Value::Size(size))) => role.memory_limit = Some(size),
            (Key::SandboxCpuLimit, Some(Value::Cpus(cpus))) => role.cpu_limit = Some(cpus),
            (Key::SandboxPidsLimit, Some(Value::Count(count))) => role.pids_limit = Some(count),
            (Key::SandboxTimeout, Some(Value::Span(span))) => role.timeout = Some(span),
            (Key::SandboxNetwork, Some(Value::Network(network))) => role.network = Some(network),
            (Key::SandboxMode, Some(Value::Mode(mode))) => role.mode = Some(mode),
            (Key::PolicyAllowedPaths, Some(Value::Paths(paths))) => {
                role.allowed_paths = Some(paths)
            }
            // What is wrong with the value has been said.
            _ => {}
        }
    }
    Some(role)
}

/// A mapping of names to words. Every pair is looked at; one bad pair spoils the whole.
fn mapping<K: Ord, V>(
    key: &str,
    pairs: &[Pair],
    each: impl Fn(&str, &str) -> Result<(K, V), String>,
    problems: &mut Problems,
) -> Option<BTreeMap<K, V>> {
    let mut all = BTreeMap::new();
    for pair in pairs {
        let read = match &pair.value.kind {
            Kind::Text(text) => each(&pair.key, text),
            Kind::Broken => continue,
            Kind::Null => Err(format!("{:?} has no value", pair.key)),
            Kind::List(_) | Kind::Map(_) => Err(format!("{:?} needs a single value", pair.key)),
        };
        match read {
            Ok((name, value)) => {
                if all.insert(name, value).is_some() {
                    problems.about(key, pair.line, format!("{:?} is written twice", pair.key));
                }
            }
            Err(message) => problems.about(key, pair.line, message),
        }
    }
    Some(all)
}

/// The fields of one mapping in a list, its unknown ones already reported.
pub(super) struct Fields<'a> {
    key: &'a str,
    line: usize,
    pairs: &'a [Pair],
}

impl<'a> Fields<'a> {
    pub(super) fn of(
        key: &'a str,
        node: &'a Node,
        names: &[&str],
        problems: &mut Problems,
    ) -> Option<Self> {
        let pairs: &[Pair] = match &node.kind {
            Kind::Map(pairs) => pairs,
            Kind::Broken => return None,
            Kind::Null | Kind::Text(_) | Kind::List(_) => {
                let message = format!("write a mapping with {}", names.join(", "));
                problems.about(key, node.line, message);
                return None;
            }
        };
        for pair in pairs.iter().filter(|pair| !names.contains(&pair.key.as_str())) {
            problems.unknown(&pair.key, pair.line, names);
        }
        Some(Self { key, line: node.line, pairs })
    }

    pub(super) fn node(&self, field: &str) -> Option<&'a Node> {
        self.pairs.iter().find(|pair| pair.key == field).map(|pair| &pair.value)
    }

    fn text(&self, field: &str) -> Option<(&'a str, usize)> {
        let pair = self.pairs.iter().find(|pair| pair.key == field)?;
        match &pair.value.kind {
            Kind::Text(text) => Some((text, pair.line)),
            _ => Some(("", pair.line)),
        }
    }

    pub(super) fn needed<T>(
        &self,
        field: &str,
        parse: impl Fn(&'a str) -> Result<T, String>,
        problems: &mut Problems,
    ) -> Option<T> {
        let Some((text, line)) = self.text(field) else {
            problems.about(self.key, self.line, format!("`{field}` is missing"));
            return None;
        };
        match parse(text) {
            Ok(value) => Some(value),
            Err(message) => {
                problems.about(self.key, line, format!("{field}: {message}"));
                None
            }
        }
    }

    /// Read-only unless `readonly: false`.
    fn access(&self, problems: &mut Problems) -> Option<Access> {
        if self.text("readonly").is_none() {
            return Some(Access::Read);
        }
        let readonly = self.needed("readonly", switch, problems)?;
        Some(if readonly { Access::Read } else { Access::Write })
    }
}

/// An absolute path inside the sandbox.
fn inside(text: &str) -> Result<ExactPath, String> {
    let clean = clean_absolute(Path::new(path(text)?));
    clean.map(Into::into).ok_or_else(|| format!("{text:?} is not an absolute path"))
}

fn reason(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("say why this path is let in".to_owned());
    }
    Ok(text.to_owned())
}
