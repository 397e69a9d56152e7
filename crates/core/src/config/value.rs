//! One value of any setting.
//!
//! The variant follows from the key's form, and only [`super::form`] makes values of files and flags, so
//! that a key never holds another's kind.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Value as Json, json};

use super::settings::RoleSettings;
use super::step::Step;
use crate::backend::BackendChoice;
use crate::check::Profile;
use crate::command::Verdict;
use crate::env::EnvName;
use crate::image::ImageRef;
use crate::inert::Inert;
use crate::mount::{Access, MountRequest};
use crate::paths::ExactPath;
use crate::policy::Exception;
use crate::quantity::{ByteSize, Cpus, Span};
use crate::spec::{Mode, Network, Proof, Pull, Relax, Seccomp, Threshold};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Switch(bool),
    Size(ByteSize),
    Cpus(Cpus),
    Count(u32),
    Span(Span),
    SpanOrOff(Option<Span>),
    Backend(BackendChoice),
    Mode(Mode),
    Network(Network),
    Pull(Pull),
    Proof(Proof),
    Threshold(Threshold),
    Profile(Profile),
    Verdict(Verdict),
    Image(Option<ImageRef>),
    Seccomp(Seccomp),
    Runtime(Option<String>),
    Path(ExactPath),
    Texts(Vec<String>),
    EnvNames(Vec<EnvName>),
    Paths(Vec<ExactPath>),
    Relax(BTreeSet<Relax>),
    Mounts(Vec<MountRequest>),
    Exceptions(Vec<Exception>),
    Env(BTreeMap<EnvName, String>),
    Tmpfs(BTreeMap<ExactPath, ByteSize>),
    Roles(BTreeMap<String, RoleSettings>),
    Steps(BTreeMap<String, Step>),
}

impl Value {
    /// As it would stand in a file. A variable whose name sounds like a secret shows as `***`.
    pub fn to_json(&self) -> Json {
        match self {
            Self::Switch(on) => json!(on),
            Self::Size(size) => json!(size),
            Self::Cpus(cpus) if cpus.millis.is_multiple_of(1000) => json!(cpus.millis / 1000),
            Self::Cpus(cpus) => json!(f64::from(cpus.millis) / 1000.0),
            Self::Count(count) => json!(count),
            Self::Span(span) => json!(span),
            Self::SpanOrOff(Some(span)) => json!(span),
            Self::SpanOrOff(None) => json!("off"),
            Self::Backend(choice) => json!(choice),
            Self::Mode(mode) => json!(mode),
            Self::Network(network) => json!(network),
            Self::Pull(pull) => json!(pull),
            Self::Proof(proof) => json!(proof),
            Self::Threshold(threshold) => json!(threshold),
            Self::Profile(profile) => json!(profile),
            Self::Verdict(verdict) => json!(verdict),
            Self::Image(image) => json!(image),
            Self::Seccomp(Seccomp::Default) => json!("default"),
            Self::Seccomp(Seccomp::File(path)) => json!(path),
            Self::Runtime(name) => json!(name),
            Self::Path(path) => json!(path),
            Self::Texts(texts) => json!(texts),
            Self::EnvNames(names) => json!(names),
            Self::Paths(paths) => json!(paths),
            Self::Relax(names) => json!(names),
            Self::Mounts(mounts) => mounts.iter().map(mount_to_json).collect(),
            Self::Exceptions(exceptions) => exceptions.iter().map(exception_to_json).collect(),
            Self::Env(env) => Json::Object(
                env.iter().map(|(name, value)| (name.to_string(), shown(name, value))).collect(),
            ),
            Self::Tmpfs(tmpfs) => Json::Object(
                tmpfs
                    .iter()
                    .map(|(path, size)| (path.display().to_string(), json!(size)))
                    .collect(),
            ),
            Self::Roles(roles) => json!(roles),
            Self::Steps(steps) => Json::Object(
                steps.iter().map(|(name, step)| (name.clone(), step.to_json())).collect(),
            ),
        }
    }
}

impl Value {
    /// For a sentence: a long list is cut, so that a message stays one.
    pub(super) fn in_brief(&self) -> String {
        const MOST: usize = 120;
        let whole = self.to_string();
        match whole.char_indices().nth(MOST) {
            Some((at, _)) => format!("{}…", &whole[..at]),
            None => whole,
        }
    }
}

fn mount_to_json(mount: &MountRequest) -> Json {
    let readonly = mount.access == Access::Read;
    json!({ "source": mount.source, "target": mount.target, "readonly": readonly })
}

fn exception_to_json(exception: &Exception) -> Json {
    let readonly = exception.access == Access::Read;
    let path = ExactPath::from(exception.path.clone());
    json!({ "path": path, "readonly": readonly, "reason": exception.reason })
}

fn shown(name: &EnvName, value: &str) -> Json {
    if name.sounds_secret() { json!("***") } else { json!(value) }
}

/// One line in YAML's flow style, without anything that a terminal would obey.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_flow(&self.to_json(), f)
    }
}

fn write_flow(json: &Json, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match json {
        Json::Null => f.write_str("null"),
        Json::Bool(on) => write!(f, "{on}"),
        Json::Number(number) => write!(f, "{number}"),
        Json::String(text) => write_text(text, f),
        Json::Array(items) => {
            f.write_str("[")?;
            for (at, item) in items.iter().enumerate() {
                f.write_str(if at == 0 { "" } else { ", " })?;
                write_flow(item, f)?;
            }
            f.write_str("]")
        }
        Json::Object(fields) => {
            f.write_str("{")?;
            for (at, (name, value)) in fields.iter().filter(|(_, v)| !v.is_null()).enumerate() {
                f.write_str(if at == 0 { "" } else { ", " })?;
                write_text(name, f)?;
                f.write_str(": ")?;
                write_flow(value, f)?;
            }
            f.write_str("}")
        }
    }
}

fn write_text(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    // Colons and at-signs stand plain in YAML inside a word, as in an image's name.
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/._-+:@".contains(&b);
    let starts_well = text.starts_with(|c: char| c.is_ascii_alphanumeric() || "/._".contains(c));
    if starts_well && text.bytes().all(plain) && !text.ends_with(':') && text != "null" {
        f.write_str(text)
    } else {
        write!(f, "\"{}\"", Inert::line(text).to_string().replace('"', "\\\""))
    }
}
