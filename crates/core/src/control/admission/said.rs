//! What a task says, as entries of the configuration's topmost layer: read by the same forms as flags are.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::wrong;
use crate::config::{Entries, Key, Layer};
use crate::control::task::{ExecutionMode, NewTask, SandboxBlock};
use crate::env::EnvName;
use crate::refusal::{Refusal, Rule};

/// Of a mount that is written as an object.
const MEMBERS: [&str; 3] = ["source", "target", "readonly"];

pub(super) struct Said {
    pub(super) entries: Entries,
    /// Where each key was said.
    pub(super) fields: BTreeMap<Key, String>,
}

pub(super) fn of(task: &NewTask) -> Result<Said, Refusal> {
    let mut said = Said { entries: Entries::default(), fields: BTreeMap::new() };
    match task.execution_mode {
        ExecutionMode::SharedWorkspace => {
            said.text(Key::SandboxMode, "direct", "execution_mode")?;
        }
        ExecutionMode::DockerSandbox if !task.settings.contains_key(Key::SandboxBackend.name()) => {
            said.text(Key::SandboxBackend, "docker", "execution_mode")?;
        }
        _ => {}
    }
    if let Some(block) = &task.sandbox {
        said.block(block)?;
    }
    if let Some(timeout) = &task.timeout {
        said.text(Key::SandboxTimeout, timeout, "timeout")?;
    }
    for (name, value) in &task.settings {
        let field = format!("settings.{name}");
        said.value(key(&field, name)?, value, &field)?;
    }
    for (at, each) in task.overrides.iter().enumerate() {
        let key = key(&format!("overrides[{at}].setting"), &each.setting)?;
        said.value(key, &each.value, &format!("overrides[{at}].value"))?;
    }
    Ok(said)
}

/// The key of that name, if tasks and roles may set it: what `cofferdam run` has a flag for.
pub(super) fn key(field: &str, name: &str) -> Result<Key, Refusal> {
    match Key::named(name) {
        Some(key) if key.flag().is_some() => Ok(key),
        Some(_) => Err(Refusal {
            rule: Rule::Ceiling,
            ..wrong(field, format!("only the host owner sets {name}"), "leave it out")
        }),
        None => {
            let names = Key::ALL.iter().filter(|key| key.flag().is_some()).map(|key| key.name());
            let near = crate::config::nearest(name, names);
            let remedy = near.map_or_else(
                || "see the configuration reference".to_owned(),
                |near| format!("did you mean {near}?"),
            );
            Err(wrong(field, format!("no setting is called {name:?}"), &remedy))
        }
    }
}

/// What a task says is kept and shown.
fn no_secret(name: &str, field: &str) -> Result<(), Refusal> {
    if !name.parse::<EnvName>().is_ok_and(|name| name.sounds_secret()) {
        return Ok(());
    }
    let message = "the value of a secret does not belong into a task";
    Err(wrong(field, message, "pass it by name: sandbox.env_passthrough"))
}

/// A mount as files write it, in the words of a flag.
fn mount(members: &Map<String, Json>, field: &str) -> Result<String, Refusal> {
    const WRITE: &str = "write source, target and, unless it is true, readonly";
    let at = |member: &str| format!("{field}.{member}");
    if let Some(other) = members.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
        return Err(wrong(&at(other), format!("a mount has no {other:?}"), WRITE));
    }
    let path = |member: &str| match members.get(member) {
        Some(Json::String(path)) if !path.is_empty() && !path.contains(['\0', ':']) => Ok(path),
        Some(_) => {
            Err(wrong(&at(member), "it is not a path".to_owned(), "write a path without `:`"))
        }
        None => Err(wrong(&at(member), format!("a mount needs its {member}"), WRITE)),
    };
    let access = match members.get("readonly") {
        None | Some(Json::Bool(true)) => "ro",
        Some(Json::Bool(false)) => "rw",
        Some(_) => return Err(wrong(&at("readonly"), "it is neither true nor false", WRITE)),
    };
    Ok(format!("{}:{}:{access}", path("source")?, path("target")?))
}

impl Said {
    fn block(&mut self, block: &SandboxBlock) -> Result<(), Refusal> {
        self.text(Key::SandboxImage, &block.image, "sandbox.image")?;
        let one = [
            (Key::SandboxNetwork, &block.network, "sandbox.network"),
            (Key::SandboxMemoryLimit, &block.memory, "sandbox.memory"),
            (Key::SandboxCpuLimit, &block.cpus, "sandbox.cpus"),
            (Key::SandboxPidsLimit, &block.pids.map(|pids| pids.to_string()), "sandbox.pids"),
        ];
        for (key, value, field) in one {
            if let Some(value) = value {
                self.text(key, value, field)?;
            }
        }
        for (name, value) in &block.env {
            self.add(Key::SandboxEnv, &format!("{name}={value}"), "sandbox.env")?;
        }
        for name in &block.pass_env {
            self.add(Key::SandboxEnvPassthrough, name, "sandbox.pass_env")?;
        }
        for mount in &block.mounts {
            let access = if mount.writable { "rw" } else { "ro" };
            let text = format!("{}:{}:{access}", mount.source, mount.target);
            self.add(Key::SandboxMounts, &text, "sandbox.mounts")?;
        }
        Ok(())
    }

    /// A value as it stands in JSON: a word, a list of words, or names with words.
    pub(super) fn value(&mut self, key: Key, value: &Json, field: &str) -> Result<(), Refusal> {
        let word = |value: &Json| match value {
            Json::String(text) => Some(text.clone()),
            Json::Number(number) => Some(number.to_string()),
            Json::Bool(on) => Some(on.to_string()),
            _ => None,
        };
        let no_word = || wrong(field, format!("write {}", key.form_in_words()), "give a value");
        match value {
            Json::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    if let (Key::SandboxMounts, Json::Object(members)) = (key, item) {
                        let place = format!("{field}[{at}]");
                        let text = mount(members, &place)?;
                        self.add(key, &text, field)
                            .map_err(|refusal| Refusal { field: place, ..refusal })?;
                        continue;
                    }
                    let text = word(item).ok_or_else(no_word)?;
                    if key == Key::SandboxEnv {
                        no_secret(text.split('=').next().unwrap_or_default(), field)?;
                    }
                    self.add(key, &text, field)?;
                }
                Ok(())
            }
            Json::Object(pairs) if key == Key::SandboxEnv => {
                for (name, value) in pairs {
                    no_secret(name, field)?;
                    let value = word(value).ok_or_else(no_word)?;
                    self.add(key, &format!("{name}={value}"), field)?;
                }
                Ok(())
            }
            // As one word it could hold a secret's name that nobody looked at.
            Json::String(_) if key == Key::SandboxEnv => Err(no_word()),
            value => self.text(key, &word(value).ok_or_else(no_word)?, field),
        }
    }

    /// A value that nobody said before.
    fn text(&mut self, key: Key, text: &str, field: &str) -> Result<(), Refusal> {
        if let Some(before) = self.fields.get(&key) {
            let message = format!("{before} says {key} already");
            return Err(wrong(field, message, "say it once"));
        }
        self.add(key, text, field)
    }

    /// One more item of a list.
    fn add(&mut self, key: Key, text: &str, field: &str) -> Result<(), Refusal> {
        self.fields.insert(key, field.to_owned());
        self.entries
            .set_text(key, text, Layer::Flag, field)
            .map_err(|error| wrong(field, error.message, &format!("write {}", key.form_in_words())))
    }

    pub(super) fn new() -> Self {
        Self { entries: Entries::default(), fields: BTreeMap::new() }
    }
}
