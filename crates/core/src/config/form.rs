//! What a value looks like, and how one is read from text and from a file's node.
//!
//! Scalars are read from text wherever they come from. Of a list, text is one item: a flag gives one, a
//! variable several, a file all of them.

use super::error::Problems;
use super::step;
use super::structured;
use super::text::{
    blocked, count, env_value, host, mount, path, read, seccomp, simple_name, size, span, switch,
    word,
};
use super::value::Value;
use super::yaml::{Kind, Node};
use crate::backend::BackendChoice;
use crate::changes::Class;
use crate::changes::glob::Globs;
use crate::check::Profile;
use crate::command::{CommandPattern, Verdict};
use crate::env::EnvName;
use crate::quantity::{ByteSize, Span};
use crate::spec::{Mode, Network, Proof, Pull, Relax, Threshold};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Switch,
    Size { min: ByteSize, max: Option<ByteSize> },
    Cpus,
    Count { min: u32, max: u32 },
    Span { min: Span, max: Span },
    SpanOrOff { min: Span, max: Span },
    Backend,
    Mode,
    Network,
    Pull,
    Proof,
    Threshold,
    Profile,
    Verdict,
    Image,
    Seccomp,
    Runtime,
    Path,
    Texts(Texts),
    EnvNames,
    Paths,
    Relax,
    Mounts,
    Exceptions,
    Env,
    Tmpfs { min: ByteSize },
    Roles,
    Steps,
}

/// What the items of a list of texts are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Texts {
    Hosts,
    /// Of paths that are hidden.
    Blocked,
    /// Of changed paths.
    Globs,
    Classes,
    EnvPatterns,
    /// Of commands.
    Commands,
    /// Names of rules for source code.
    Rules,
}

/// Lists are compared item by item; this keeps a hostile file from costing minutes.
const MAX_ITEMS: usize = 1000;

impl Form {
    pub(super) const fn is_list(self) -> bool {
        matches!(
            self,
            Self::Texts(_)
                | Self::EnvNames
                | Self::Paths
                | Self::Relax
                | Self::Mounts
                | Self::Exceptions
                | Self::Env
                | Self::Tmpfs { .. }
                | Self::Roles
                | Self::Steps
        )
    }

    /// A value from text; of a list form, a list of one. The error says what is wrong and what is right.
    pub(super) fn parse(self, text: &str) -> Result<Value, String> {
        Ok(match self {
            Self::Switch => Value::Switch(switch(text)?),
            Self::Size { min, max } => Value::Size(size(text, min, max)?),
            Self::Cpus => Value::Cpus(read(text)?),
            Self::Count { min, max } => Value::Count(count(text, min, max)?),
            Self::Span { min, max } => Value::Span(span(text, min, max)?),
            Self::SpanOrOff { .. } if text == "off" => Value::SpanOrOff(None),
            Self::SpanOrOff { min, max } => Value::SpanOrOff(Some(span(text, min, max)?)),
            Self::Backend => {
                Value::Backend(word(text, &BackendChoice::NAMES, BackendChoice::parse)?)
            }
            Self::Mode => Value::Mode(word(text, Mode::NAMES, Mode::parse)?),
            Self::Network => Value::Network(word(text, Network::NAMES, Network::parse)?),
            Self::Pull => Value::Pull(word(text, Pull::NAMES, Pull::parse)?),
            Self::Proof => Value::Proof(word(text, Proof::NAMES, Proof::parse)?),
            Self::Threshold => Value::Threshold(word(text, Threshold::NAMES, Threshold::parse)?),
            Self::Profile => Value::Profile(word(text, Profile::NAMES, Profile::parse)?),
            Self::Verdict => Value::Verdict(word(text, Verdict::NAMES, Verdict::parse)?),
            Self::Image => Value::Image(Some(read(text)?)),
            Self::Seccomp => Value::Seccomp(seccomp(text)?),
            Self::Runtime => Value::Runtime(Some(simple_name(text)?)),
            Self::Path => Value::Path(path(text)?.into()),
            Self::Texts(kind) => Value::Texts(vec![kind.check(text)?]),
            Self::EnvNames => Value::EnvNames(vec![read(text)?]),
            Self::Paths => Value::Paths(vec![path(text)?.into()]),
            Self::Relax => Value::Relax([word(text, Relax::NAMES, Relax::parse)?].into()),
            Self::Mounts => Value::Mounts(vec![mount(text)?]),
            Self::Env => {
                // The text is not repeated in the error: it may hold a secret.
                let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
                Value::Env([(read::<EnvName>(name)?, env_value(value)?)].into())
            }
            Self::Exceptions | Self::Tmpfs { .. } | Self::Roles | Self::Steps => {
                return Err("is written in a file only".to_owned());
            }
        })
    }

    /// A value from a file. What is wrong is said to `problems`, with its line.
    pub(super) fn read(self, key: &str, node: &Node, problems: &mut Problems) -> Option<Value> {
        match (self, &node.kind) {
            (_, Kind::Broken) => None,
            (_, kind) if kind.len() > MAX_ITEMS => {
                problems.about(key, node.line, format!("more than {MAX_ITEMS} items"));
                None
            }
            (Self::Image, Kind::Null) => Some(Value::Image(None)),
            (Self::Runtime, Kind::Null) => Some(Value::Runtime(None)),
            (Self::Exceptions, Kind::List(items)) => structured::exceptions(key, items, problems),
            (Self::Mounts, Kind::List(items)) => structured::mounts(key, items, problems),
            (Self::Env, Kind::Map(pairs)) => structured::env(key, pairs, problems),
            (Self::Tmpfs { min }, Kind::Map(pairs)) => structured::tmpfs(key, pairs, min, problems),
            (Self::Roles, Kind::Map(pairs)) => structured::roles(key, pairs, problems),
            (Self::Steps, Kind::Map(pairs)) => step::steps(key, pairs, problems),
            (_, Kind::List(items)) if self.is_plain_list() => self.items(key, items, problems),
            (_, Kind::Text(text)) if !self.is_list() => match self.parse(text) {
                Ok(value) => Some(value),
                Err(message) => {
                    problems.about(key, node.line, message);
                    None
                }
            },
            (_, found) => {
                problems.about(key, node.line, self.mismatch(found));
                None
            }
        }
    }

    const fn is_plain_list(self) -> bool {
        matches!(self, Self::Texts(_) | Self::EnvNames | Self::Paths | Self::Relax)
    }

    fn items(self, key: &str, items: &[Node], problems: &mut Problems) -> Option<Value> {
        let mut all = self.empty()?;
        for item in items {
            let parsed = match &item.kind {
                Kind::Text(text) => self.parse(text),
                Kind::Broken => return None,
                Kind::Null => Err("an item has no value".to_owned()),
                Kind::List(_) | Kind::Map(_) => Err("an item is one word or text".to_owned()),
            };
            match parsed {
                Ok(one) => all.add(one),
                Err(message) => problems.about(key, item.line, message),
            }
        }
        Some(all)
    }

    /// The list of nothing, which is not the same as no list.
    pub(super) fn empty(self) -> Option<Value> {
        Some(match self {
            Self::Texts(_) => Value::Texts(Vec::new()),
            Self::EnvNames => Value::EnvNames(Vec::new()),
            Self::Paths => Value::Paths(Vec::new()),
            Self::Relax => Value::Relax([].into()),
            _ => return None,
        })
    }

    fn mismatch(self, found: &Kind) -> String {
        let found = match found {
            Kind::Null => "it has no value",
            Kind::List(_) => "a list stands here",
            Kind::Map(_) => "a mapping stands here",
            Kind::Text(_) | Kind::Broken => "a single value stands here",
        };
        let empty = match self {
            Self::Env | Self::Tmpfs { .. } | Self::Roles | Self::Steps => ", or {} for none",
            _ if self.is_list() => ", or [] for none",
            Self::Image | Self::Runtime => ", or null for none",
            _ => "",
        };
        format!("{found}: write {}{empty}", self.in_words())
    }
}

impl Texts {
    fn check(self, text: &str) -> Result<String, String> {
        match self {
            Self::Hosts => host(text),
            Self::Blocked => blocked(text),
            Self::Globs => match Globs::check(text) {
                Ok(()) => Ok(text.to_owned()),
                Err(error) => Err(error.to_string()),
            },
            Self::Classes => read::<Class>(text).map(|class| class.name().to_owned()),
            Self::Commands => read::<CommandPattern>(text).map(String::from),
            Self::Rules => {
                let good = |b: u8| b.is_ascii_alphanumeric() || b"/-_.*".contains(&b);
                if !text.is_empty() && text.bytes().all(good) {
                    Ok(text.to_owned())
                } else {
                    Err(format!(
                        "{text:?} is not a rule's name, such as python/process or python/*"
                    ))
                }
            }
            Self::EnvPatterns => {
                let good = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'*';
                if !text.is_empty() && text.bytes().all(good) {
                    Ok(text.to_owned())
                } else {
                    Err(format!("{text:?} is not a pattern of names: use letters, digits, _ and *"))
                }
            }
        }
    }
}
