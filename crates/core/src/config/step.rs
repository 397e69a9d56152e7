//! A command of the project with a name, and what its sandbox is to be like.
//!
//! Beside its command and where that starts, a step may say anything of `sandbox` that a project file may say. It
//! counts as if the file in which the step stands had said it, for this run alone: so a step can loosen nothing that
//! its file could not.

use std::collections::BTreeMap;
use std::ffi::OsString;

use serde_json::{Map, Value as Json, json};

use super::entries::{Entries, FileLayer, Origin};
use super::error::Problems;
use super::key::{Key, Scope};
use super::resolve::Layers;
use super::structured::Fields;
use super::text::path;
use super::value::Value;
use super::yaml::{Kind, Node, Pair};
use crate::paths::{Arg, ExactPath};

/// All that a file says of one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub command: StepCommand,
    pub workdir: Option<ExactPath>,
    settings: BTreeMap<Key, (Value, usize)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepCommand {
    /// For a shell.
    Line(String),
    Words(Vec<String>),
}

const COMMAND: &str = "command";
const WORKDIR: &str = "workdir";
const SECTION: &str = "sandbox.";

/// What may be said of a step: its own fields, and the keys of `sandbox` that are not the host owner's alone.
pub(super) fn fields() -> Vec<(&'static str, Option<Key>)> {
    let keys = Key::ALL.iter().copied().filter(|key| key.scope() == Scope::Files);
    let sandbox = keys.filter_map(|key| Some((key.name().strip_prefix(SECTION)?, Some(key))));
    [(COMMAND, None), (WORKDIR, None)].into_iter().chain(sandbox).collect()
}

impl StepCommand {
    /// The words to start, with what was added to them. A shell stops at the first line that fails; what was added
    /// comes where the line says `$@`, else at its end.
    pub fn words(&self, added: &[OsString]) -> Vec<Arg> {
        let own: Vec<OsString> = match self {
            Self::Words(words) => words.iter().map(Into::into).collect(),
            Self::Line(line) => {
                let line = match added.is_empty() || line.contains("$@") {
                    true => line.clone(),
                    false => format!("{} \"$@\"", line.trim_end()),
                };
                ["sh", "-e", "-c", &line, "sh"].map(OsString::from).into()
            }
        };
        own.into_iter().chain(added.iter().cloned()).map(Arg).collect()
    }

    fn to_json(&self) -> Json {
        match self {
            Self::Line(line) => json!(line),
            Self::Words(words) => json!(words),
        }
    }
}

impl Step {
    /// As it would stand in a file.
    pub fn to_json(&self) -> Json {
        if self.workdir.is_none() && self.settings.is_empty() {
            return self.command.to_json();
        }
        let mut fields = Map::new();
        fields.insert(COMMAND.to_owned(), self.command.to_json());
        if let Some(workdir) = &self.workdir {
            fields.insert(WORKDIR.to_owned(), json!(workdir));
        }
        for (key, (value, _)) in &self.settings {
            let name = key.name().strip_prefix(SECTION).unwrap_or(key.name());
            fields.insert(name.to_owned(), value.to_json());
        }
        Json::Object(fields)
    }

    pub(super) fn values_mut(&mut self) -> impl Iterator<Item = (Key, &mut Value)> {
        self.settings.iter_mut().map(|(key, (value, _))| (*key, value))
    }
}

impl Layers {
    /// The step of that name, and the layers for its run. Of two the host file's counts.
    pub fn for_step(&self, name: &str) -> Option<(Step, Self)> {
        let mut layers = self.clone();
        let (step, into, layer) = match (named(&self.host, name), named(&self.project, name)) {
            (Some(found), _) => (found, &mut layers.host, FileLayer::Host),
            (None, Some(found)) => (found, &mut layers.project, FileLayer::Project),
            (None, None) => return None,
        };
        let (step, source) = step;
        for (key, (value, line)) in &step.settings {
            let origin = Origin { layer: layer.into(), source: source.clone(), line: Some(*line) };
            match into.get(*key) {
                Some((standing, _)) if key.is_list() => {
                    let mut both = standing.clone();
                    both.add(value.clone());
                    into.insert(*key, both, origin);
                }
                _ => into.insert(*key, value.clone(), origin),
            }
        }
        Some((step, layers))
    }
}

fn named(entries: &Entries, name: &str) -> Option<(Step, Option<String>)> {
    match entries.get(Key::Steps)? {
        (Value::Steps(steps), origin) => Some((steps.get(name)?.clone(), origin.source.clone())),
        _ => None,
    }
}

pub(super) fn steps(key: &str, pairs: &[Pair], problems: &mut Problems) -> Option<Value> {
    let mut steps = BTreeMap::new();
    for pair in pairs {
        if let Err(message) = step_name(&pair.key) {
            problems.about(key, pair.line, message);
            continue;
        }
        let name = format!("{key}.{}", pair.key);
        if let Some(step) = step(&name, &pair.value, problems) {
            steps.insert(pair.key.clone(), step);
        }
    }
    Some(Value::Steps(steps))
}

fn step(key: &str, node: &Node, problems: &mut Problems) -> Option<Step> {
    if !matches!(node.kind, Kind::Map(_)) {
        let command = command(key, node, problems)?;
        return Some(Step { command, workdir: None, settings: BTreeMap::new() });
    }
    let known = fields();
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    let given = Fields::of(key, node, &names, problems)?;
    let Some(found) = given.node(COMMAND) else {
        problems.about(key, node.line, "`command` is missing");
        return None;
    };
    let command = command(&format!("{key}.{COMMAND}"), found, problems)?;
    let workdir = match given.node(WORKDIR) {
        Some(_) => Some(given.needed(WORKDIR, path, problems)?.into()),
        None => None,
    };
    let mut settings = BTreeMap::new();
    for (name, of) in known {
        let (Some(of), Some(node)) = (of, given.node(name)) else { continue };
        let value = of.form().read(&format!("{key}.{name}"), node, problems)?;
        settings.insert(of, (value, node.line));
    }
    Some(Step { command, workdir, settings })
}

fn command(key: &str, node: &Node, problems: &mut Problems) -> Option<StepCommand> {
    const NEEDED: &str = "write a command line, or a list of words";
    let word = |node: &Node| match &node.kind {
        Kind::Text(text) if !text.contains('\0') => Some(text.clone()),
        _ => None,
    };
    let command = match &node.kind {
        Kind::Text(_) => word(node).filter(|line| !line.trim().is_empty()).map(StepCommand::Line),
        Kind::List(items) => {
            let words: Option<Vec<String>> = items.iter().map(word).collect();
            words
                .filter(|words| words.first().is_some_and(|w| !w.is_empty()))
                .map(StepCommand::Words)
        }
        Kind::Null | Kind::Map(_) => None,
        Kind::Broken => return None,
    };
    if command.is_none() {
        problems.about(key, node.line, NEEDED);
    }
    command
}

/// Letters, digits and what people put between them: `test`, `test:unit`, `build-docs`.
fn step_name(text: &str) -> Result<(), String> {
    let good = |b: u8| b.is_ascii_alphanumeric() || b"._:-".contains(&b);
    let starts_well = text.bytes().next().is_some_and(|b| b.is_ascii_alphanumeric());
    if starts_well && text.bytes().all(good) && text.len() <= 64 {
        return Ok(());
    }
    Err(format!("{text:?} is not the name of a step: use letters, digits, `.`, `_`, `:` and `-`"))
}
