//! Layers joined to one answer per key, with the reason for each.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use super::entries::{Entries, Layer, Origin};
use super::key::{Key, Scope};
use super::settings::Settings;
use super::strict::Way;
use super::value::Value;
use crate::backend::BackendChoice;
use crate::refusal::{Refusal, Rule};
use crate::weaken::{Weakness, weakened};

/// What each layer says. All of it may be empty.
#[derive(Debug, Clone, Default)]
pub struct Layers {
    /// What stands in the place of built-in defaults, for one command.
    pub defaults: Entries,
    pub host: Entries,
    pub project: Entries,
    pub trust: Trust,
    pub variables: Entries,
    pub flags: Entries,
}

/// Whether the host user has said yes to the project file as it stands now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    Trusted,
    #[default]
    Untrusted,
}

/// Something that was written and does not hold as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    pub origin: Origin,
    pub key: Option<Key>,
    pub message: String,
    pub remedy: Option<String>,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.origin)?;
        if let Some(key) = self.key {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.message)?;
        match &self.remedy {
            Some(remedy) => write!(f, "; {remedy}"),
            None => Ok(()),
        }
    }
}

/// Every key with the value that stands, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    values: BTreeMap<Key, (Value, Origin)>,
    warnings: Vec<Warning>,
}

/// Joins the layers. A variable or flag that asks for more than the host file allows is refused; a project
/// file that does is cut down to what is allowed, with a warning.
pub fn resolve(layers: Layers) -> Result<Resolved, Refusal> {
    let Layers { defaults, host, project, trust, variables, flags } = layers;
    let mut resolved = Resolved::defaults();
    for (key, value, _) in defaults.iter() {
        resolved.set(key, value.clone(), &Origin::DEFAULT);
    }
    for (key, value, origin) in host.iter() {
        resolved.set(key, value.clone(), origin);
    }
    for (key, value, origin) in project.iter() {
        let step = ProjectStep { key, asked: value, origin, trust, ceiling: host.get(key) };
        resolved.take_project(&step);
    }
    for (key, value, origin) in variables.iter().chain(flags.iter()) {
        resolved.take_typed(key, value, origin, host.get(key))?;
    }
    Ok(resolved)
}

struct ProjectStep<'a> {
    key: Key,
    asked: &'a Value,
    origin: &'a Origin,
    trust: Trust,
    /// What the host file says about this key.
    ceiling: Option<(&'a Value, &'a Origin)>,
}

impl Resolved {
    fn defaults() -> Self {
        let values = Key::ALL.iter().map(|key| (*key, (key.default(), Origin::DEFAULT))).collect();
        Self { values, warnings: Vec::new() }
    }

    pub fn get(&self, key: Key) -> (&Value, &Origin) {
        match self.values.get(&key) {
            Some((value, origin)) => (value, origin),
            None => unreachable!("every key has a default, {key} too"),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (Key, &Value, &Origin)> {
        self.values.iter().map(|(key, (value, origin))| (*key, value, origin))
    }

    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Adds what was noticed while the layers were read.
    pub fn warn(&mut self, warning: Warning) {
        self.warnings.push(warning);
    }

    /// The keys that somebody set, to whatever value.
    pub fn explicit(&self) -> BTreeSet<Key> {
        let set =
            |(key, _, origin): (Key, _, &Origin)| (origin.layer != Layer::Default).then_some(key);
        self.iter().filter_map(set).collect()
    }

    pub fn settings(&self) -> Settings {
        Settings::of(self)
    }

    fn set(&mut self, key: Key, value: Value, origin: &Origin) {
        self.values.insert(key, (value, origin.clone()));
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = (Key, &mut Value)> {
        self.values.iter_mut().map(|(key, (value, _))| (*key, value))
    }

    /// The project file tightens as it likes, and loosens defaults where it is trusted.
    fn take_project(&mut self, step: &ProjectStep<'_>) {
        let ProjectStep { key, asked, origin, trust, ceiling } = *step;
        if is_for_the_host_alone(key, asked) {
            let message = match key {
                Key::SandboxBackend => {
                    "`local` is honoured from the host file or the command line only"
                }
                _ => "honoured from the host file only",
            };
            return self.warn_of(step, message.to_owned(), None);
        }
        // Nothing makes one image stricter than another, so the host owner's stays.
        let way = match key.way() {
            Way::Free if ceiling.is_some() => Way::Pinned,
            way => way,
        };
        let standing = self.get(key).0.clone();
        let met = way.meet(&standing, asked);
        if !way.loosens(&standing, asked) {
            return self.set(key, met, origin);
        }
        let is_trusted = trust == Trust::Trusted || weakened(Weakness::ProjectLoosens);
        if is_trusted && ceiling.is_none() {
            return self.set(key, asked.clone(), origin);
        }
        let (whose, remedy) = match ceiling {
            Some((_, host)) => (host.to_string(), None),
            None => {
                let remedy = "run `cofferdam trust` to accept the file as it stands";
                (Origin::DEFAULT.to_string(), Some(remedy.to_owned()))
            }
        };
        let message = match (&standing, asked) {
            (Value::Steps(standing), Value::Steps(asked)) => {
                let twice = asked.keys().filter(|name| standing.contains_key(*name));
                let names: Vec<&str> = twice.map(String::as_str).collect();
                format!("{} stays as {whose} has it", names.join(", "))
            }
            _ => {
                let (loose, strict) = (asked.in_brief(), standing.in_brief());
                format!("{loose} is looser than {strict} ({whose}): {} stands", met.in_brief())
            }
        };
        self.warn_of(step, message, remedy);
        if met != standing {
            self.set(key, met, origin);
        }
    }

    fn warn_of(&mut self, step: &ProjectStep<'_>, message: String, remedy: Option<String>) {
        let (origin, key) = (step.origin.clone(), Some(step.key));
        self.warn(Warning { origin, key, message, remedy });
    }

    /// What was typed replaces defaults and project values, and stays within the host file.
    fn take_typed(
        &mut self,
        key: Key,
        asked: &Value,
        origin: &Origin,
        ceiling: Option<(&Value, &Origin)>,
    ) -> Result<(), Refusal> {
        if let Some((host, host_origin)) = ceiling
            && exceeds(key, host, asked)
        {
            return Err(Refusal {
                rule: Rule::Ceiling,
                field: key.name().to_owned(),
                message: format!(
                    "{} ({origin}) asks for more than {}, which {host_origin} sets",
                    asked.in_brief(),
                    host.in_brief()
                ),
                remedy: format!("ask for less, or change {host_origin}"),
            });
        }
        let value = if key.is_list() {
            let mut all = self.get(key).0.clone();
            all.add(asked.clone());
            all
        } else {
            asked.clone()
        };
        self.set(key, value, origin);
        Ok(())
    }
}

fn is_for_the_host_alone(key: Key, asked: &Value) -> bool {
    key.scope() != Scope::Files || *asked == Value::Backend(BackendChoice::Local)
}

/// Whether typed text goes beyond the host file. Variables of the program may be added beside the host
/// file's own; only another value for one of its names goes beyond it.
fn exceeds(key: Key, host: &Value, asked: &Value) -> bool {
    match (host, asked) {
        (Value::Env(host), Value::Env(asked)) => {
            asked.iter().any(|(name, value)| host.get(name).is_some_and(|set| set != value))
        }
        _ => key.way().loosens(host, asked),
    }
}
