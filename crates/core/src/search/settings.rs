//! What a loop's file may say of its sandboxes: a few settings, in the words of the configuration.
//!
//! They speak as flags do: they may go beyond defaults and never beyond what the host file sets. What
//! decides how much of the host a program sees (`mounts`, `blocked`, `relax`, `mode`) is not among them; that is
//! for flags and for the host file.

use super::fields::{Fields, text_of};
use crate::config::error::Problems;
use crate::config::yaml::{Kind, Node};
use crate::config::{ConfigError, Entries, Key, Layer};

/// One value as it is to be given to [`Entries::set_text`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub key: Key,
    pub text: String,
}

const KEYS: [(&str, Key); 11] = [
    ("backend", Key::SandboxBackend),
    ("image", Key::SandboxImage),
    ("network", Key::SandboxNetwork),
    ("allow_hosts", Key::SandboxAllowHosts),
    ("memory_limit", Key::SandboxMemoryLimit),
    ("cpu_limit", Key::SandboxCpuLimit),
    ("pids_limit", Key::SandboxPidsLimit),
    ("idle_timeout", Key::SandboxIdleTimeout),
    ("output_limit", Key::SandboxOutputLimit),
    ("env", Key::SandboxEnv),
    ("env_passthrough", Key::SandboxEnvPassthrough),
];

impl Setting {
    /// Adds it as a flag would be.
    pub fn set(&self, entries: &mut Entries, source: &str) -> Result<(), ConfigError> {
        entries.set_text(self.key, &self.text, Layer::Flag, source)
    }
}

/// The settings of a `sandbox:` mapping in `fields`.
pub(super) fn read(fields: &mut Fields<'_>, problems: &mut Problems) -> Vec<Setting> {
    let Some(mut inner) = fields.map("sandbox", problems) else { return Vec::new() };
    let mut settings = Vec::new();
    for (name, key) in KEYS {
        let Some(node) = inner.get(name) else { continue };
        let Some(texts) = texts(node) else {
            problems.about(&inner.name(name), node.line, "write a value, a list or a mapping");
            continue;
        };
        for text in texts {
            let setting = Setting { key, text };
            if let Err(error) = setting.set(&mut Entries::default(), name) {
                problems.about(&inner.name(name), node.line, error.message);
            } else if setting.key == Key::SandboxBackend && setting.text == "local" {
                let message = "a loop's file cannot ask for the bare host";
                problems.about(&inner.name(name), node.line, message);
            } else {
                settings.push(setting);
            }
        }
    }
    inner.finish(problems);
    settings
}

fn texts(node: &Node) -> Option<Vec<String>> {
    match &node.kind {
        Kind::Text(text) => Some(vec![text.clone()]),
        Kind::List(items) => items.iter().map(text_of).collect(),
        Kind::Map(pairs) => pairs
            .iter()
            .map(|pair| Some(format!("{}={}", pair.key, text_of(&pair.value)?)))
            .collect(),
        Kind::Null | Kind::Broken => None,
    }
}
