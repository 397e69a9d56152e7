//! What is to become of a change before anybody looked at it.
//!
//! A [`Gate`] is made of settings and of what the user allowed this once. It judges one entry at a time:
//! every rule that matches is named, and the strictest decides. What the whole of a set may be is for
//! [`Budgets`](super::Budgets), and whether the host moved on is for whoever applies.

use serde::{Deserialize, Serialize};

use super::class::{Class, UnknownClass, classify};
use super::glob::{BadGlob, Globs, Shape};
use super::secret::Finding;
use super::{ChangePath, Content, Entry, Node, Special, Stripped};
use crate::config::ChangeSettings;
use crate::weaken::{Weakness, weakened};

/// From the mildest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Applied without being asked about.
    Auto,
    /// Applied when somebody says so.
    Review,
    /// Never applied.
    Deny,
}

/// What was found about an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Judgement {
    pub verdict: Verdict,
    pub classes: Vec<Class>,
    /// Every rule that matched, in words.
    pub reasons: Vec<String>,
    /// Those of the reasons that keep it from being applied.
    pub blocks: Vec<String>,
    /// The classes whose yes is missing: with these allowed, only what is denied stays blocked.
    pub missing: Vec<Class>,
}

/// What the user allows this once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowances {
    pub classes: Vec<Class>,
    /// Of these, and of all below them, every class is allowed.
    pub paths: Vec<ChangePath>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    #[error("changes.{key}: {source}")]
    Pattern { key: &'static str, source: BadGlob },
    #[error("changes.allow_classes: {0}")]
    Class(UnknownClass),
}

/// The rules for single changes.
#[derive(Debug, Clone)]
pub struct Gate {
    auto: Patterns,
    deny: Patterns,
    classes: Vec<Class>,
    paths: Vec<ChangePath>,
}

#[derive(Debug, Clone)]
struct Patterns {
    written: Vec<String>,
    globs: Globs,
}

impl Verdict {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Review => "review",
            Self::Deny => "deny",
        }
    }
}

impl Judgement {
    pub fn is_blocked(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// Takes a rule in: the strictest verdict stays.
    fn add(&mut self, verdict: Verdict, reason: String) {
        self.verdict = self.verdict.max(verdict);
        if verdict == Verdict::Deny {
            self.blocks.push(reason.clone());
        }
        self.reasons.push(reason);
    }

    fn belongs(&mut self, class: Class, reason: &str, yes: Yes) {
        if !self.classes.contains(&class) {
            self.classes.push(class);
        }
        let reason = format!("{class}: {reason}");
        match yes {
            Yes::Given => self.add(Verdict::Auto, reason + " (allowed)"),
            Yes::NotNeeded => self.add(Verdict::Review, reason),
            Yes::Missing => {
                self.blocks.push(reason.clone());
                self.add(Verdict::Review, reason);
                if !self.missing.contains(&class) {
                    self.missing.push(class);
                }
            }
        }
    }
}

/// Whether a class of an entry was agreed to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Yes {
    Given,
    /// It is only shown.
    NotNeeded,
    Missing,
}

impl Gate {
    pub fn new(settings: &ChangeSettings, allowed: &Allowances) -> Result<Self, GateError> {
        let mut classes = allowed.classes.clone();
        for name in &settings.allow_classes {
            classes.push(name.parse().map_err(GateError::Class)?);
        }
        Ok(Self {
            auto: Patterns::new("auto", &settings.auto)?,
            deny: Patterns::new("deny", &settings.deny)?,
            classes,
            paths: allowed.paths.clone(),
        })
    }

    /// Judges an entry. `secrets` is what was found in the bytes that would be applied.
    pub fn judge(&self, entry: &Entry, secrets: &[Finding]) -> Judgement {
        self.judge_known_as(entry, &[], secrets)
    }

    /// The same for an entry that the host has other names for, through links of its own: whatever reads
    /// one of those reads what is applied here.
    pub fn judge_known_as(
        &self,
        entry: &Entry,
        names: &[ChangePath],
        secrets: &[Finding],
    ) -> Judgement {
        let mut judgement = Judgement {
            verdict: Verdict::Auto,
            classes: Vec::new(),
            reasons: Vec::new(),
            blocks: Vec::new(),
            missing: Vec::new(),
        };
        self.by_pattern(entry, &mut judgement);
        if let Some(reason) = never_applied(entry) {
            judgement.add(Verdict::Deny, reason);
        }
        for member in classify(entry) {
            judgement.belongs(member.class, member.reason, self.yes(entry, member.class));
        }
        for name in names {
            self.by_other_name(entry, name, &mut judgement);
        }
        for finding in secrets {
            let reason = format!("{} {}", finding.rule, finding.place);
            judgement.belongs(Class::Secret, &reason, self.yes(entry, Class::Secret));
        }
        for stripped in &entry.stripped {
            judgement.add(Verdict::Auto, format!("{} not applied", stripped.in_words()));
        }
        if opens_to_others(entry) {
            let reason = "that everybody may write to it is not applied".to_owned();
            judgement.add(Verdict::Auto, reason);
        }
        judgement
    }

    fn by_other_name(&self, entry: &Entry, name: &ChangePath, judgement: &mut Judgement) {
        let other = Entry { path: name.clone(), ..entry.clone() };
        let how = format!("is {name} on the host, through a link");
        for member in classify(&other) {
            if !judgement.classes.contains(&member.class) {
                let reason = format!("{how}: {}", member.reason);
                judgement.belongs(member.class, &reason, self.yes(entry, member.class));
            }
        }
        if let Some(pattern) = self.deny.first(&other, Shape::Directory) {
            judgement.add(Verdict::Deny, format!("changes.deny: {pattern}: {how}"));
        }
    }

    fn by_pattern(&self, entry: &Entry, judgement: &mut Judgement) {
        // A link may stand for a directory: it is one to what forbids, and none to what lets through.
        let leads_on = |node: &Node| matches!(node, Node::Directory { .. } | Node::Symlink { .. });
        let shape = |is_directory| if is_directory { Shape::Directory } else { Shape::Other };
        let auto = self.auto.first(entry, shape(entry.is_directory()));
        match auto {
            Some(pattern) => judgement.add(Verdict::Auto, format!("changes.auto: {pattern}")),
            None => judgement.verdict = judgement.verdict.max(Verdict::Review),
        }
        let nodes = entry.before.iter().chain(&entry.after);
        if let Some(pattern) = self.deny.first(entry, shape({ nodes }.any(leads_on))) {
            judgement.add(Verdict::Deny, format!("changes.deny: {pattern}"));
        }
    }

    fn yes(&self, entry: &Entry, class: Class) -> Yes {
        let by_path = || self.paths.iter().any(|path| entry.path.is_within(path));
        if self.classes.contains(&class) || by_path() || weakened(Weakness::Classes) {
            Yes::Given
        } else if entry.is_deletion() && !class.holds_deletions() {
            Yes::NotNeeded
        } else {
            Yes::Missing
        }
    }
}

impl Patterns {
    fn new(key: &'static str, written: &[String]) -> Result<Self, GateError> {
        let globs = Globs::new(written).map_err(|source| GateError::Pattern { key, source })?;
        Ok(Self { written: written.to_vec(), globs })
    }

    fn first(&self, entry: &Entry, shape: Shape) -> Option<&str> {
        let found = self.globs.matching(entry.path.as_bytes(), shape);
        found
            .first()
            .filter(|_| !weakened(Weakness::Denied))
            .map(|index| self.written[*index].as_str())
    }
}

/// Why nobody can have it applied, whatever they allow.
fn never_applied(entry: &Entry) -> Option<String> {
    match entry.after.as_ref()? {
        _ if weakened(Weakness::Specials) => None,
        Node::Special { special } => {
            Some(format!("is {}, which is never applied", special.in_words()))
        }
        Node::File(file) if file.content == Content::Unknown => {
            Some("is too large to have been kept".to_owned())
        }
        Node::File(_) | Node::Directory { .. } | Node::Symlink { .. } => None,
    }
}

fn opens_to_others(entry: &Entry) -> bool {
    let others = |node: &Option<Node>| {
        node.as_ref().and_then(Node::mode).is_some_and(|mode| mode.bits() & 0o002 != 0)
    };
    others(&entry.after) && !others(&entry.before)
}

impl Special {
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Fifo => "a named pipe",
            Self::Socket => "a socket",
            Self::CharDevice => "a character device",
            Self::BlockDevice => "a block device",
        }
    }
}

impl Stripped {
    /// With its verb, to be followed by what becomes of it.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Setuid => "the set-user-id bit is",
            Self::Setgid => "the set-group-id bit is",
            Self::Sticky => "the sticky bit is",
            Self::Capabilities => "file capabilities are",
            Self::Acl => "an access list is",
            Self::Xattr => "extended attributes are",
            Self::Flags => "attribute flags are",
        }
    }
}

#[cfg(test)]
mod tests;
