//! What one layer says: keys with their values, and where each was written.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::error::ConfigError;
use super::key::Key;
use super::value::Value;
use crate::inert::Inert;

/// Who speaks, from the weakest voice to the last word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    Default,
    Host,
    Project,
    Variable,
    Flag,
}

/// The layers that are files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileLayer {
    Host,
    Project,
}

impl From<FileLayer> for Layer {
    fn from(layer: FileLayer) -> Self {
        match layer {
            FileLayer::Host => Self::Host,
            FileLayer::Project => Self::Project,
        }
    }
}

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Origin {
    pub layer: Layer,
    /// The file, the variable or the flag; nothing for a default.
    pub source: Option<String>,
    pub line: Option<usize>,
}

impl Origin {
    pub const DEFAULT: Self = Self { layer: Layer::Default, source: None, line: None };
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.source, self.line) {
            (None, _) => f.write_str("built-in default"),
            (Some(source), None) => write!(f, "{}", Inert::line(source)),
            (Some(source), Some(line)) => write!(f, "{}:{line}", Inert::line(source)),
        }
    }
}

/// The settings of one layer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entries(BTreeMap<Key, (Value, Origin)>);

impl Entries {
    pub fn get(&self, key: Key) -> Option<(&Value, &Origin)> {
        self.0.get(&key).map(|(value, origin)| (value, origin))
    }

    pub fn iter(&self) -> impl Iterator<Item = (Key, &Value, &Origin)> {
        self.0.iter().map(|(key, (value, origin))| (*key, value, origin))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reads one value that somebody typed. A flag of a list is called once an item and adds; a variable
    /// of a list holds all of them, with commas between. An empty variable is as good as none.
    pub fn set_text(
        &mut self,
        key: Key,
        text: &str,
        layer: Layer,
        source: &str,
    ) -> Result<(), ConfigError> {
        if layer == Layer::Variable && text.is_empty() {
            return Ok(());
        }
        let items: Vec<&str> = match layer {
            Layer::Variable if key.is_list() => text.split(',').map(str::trim).collect(),
            _ => vec![text],
        };
        for item in items {
            let value = key.form().parse(item).map_err(|message| ConfigError {
                origin: source.to_owned(),
                line: None,
                key: None,
                message,
                suggestion: None,
            })?;
            match self.0.get_mut(&key) {
                Some((standing, _)) if key.is_list() => standing.add(value),
                _ => {
                    let origin = Origin { layer, source: Some(source.to_owned()), line: None };
                    self.insert(key, value, origin);
                }
            }
        }
        Ok(())
    }

    pub(super) fn insert(&mut self, key: Key, value: Value, origin: Origin) {
        self.0.insert(key, (value, origin));
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = (Key, &mut Value)> {
        self.0.iter_mut().map(|(key, (value, _))| (*key, value))
    }
}
