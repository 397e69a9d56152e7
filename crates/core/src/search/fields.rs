//! The keys of one mapping, taken one by one; what nobody took is unknown.

use std::fmt::Display;
use std::str::FromStr;

use crate::config::error::Problems;
use crate::config::yaml::{Kind, Node, Pair};

#[derive(Debug)]
pub(super) struct Fields<'a> {
    prefix: String,
    line: usize,
    pairs: &'a [Pair],
    asked: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// `prefix` is empty or ends with a dot.
    pub(super) fn of(prefix: String, node: &'a Node, problems: &mut Problems) -> Option<Self> {
        match &node.kind {
            Kind::Map(pairs) => Some(Self { prefix, line: node.line, pairs, asked: Vec::new() }),
            Kind::Broken => None,
            _ => {
                let name = prefix.trim_end_matches('.');
                let message = "write a mapping here, one `key: value` a line";
                match name {
                    "" => problems.general(Some(node.line), message),
                    name => problems.about(name, node.line, message),
                }
                None
            }
        }
    }

    pub(super) fn name(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }

    /// The value of a key, where it is written and not null.
    pub(super) fn get(&mut self, key: &'static str) -> Option<&'a Node> {
        self.asked.push(key);
        let pair = self.pairs.iter().find(|pair| pair.key == key)?;
        (!matches!(pair.value.kind, Kind::Null | Kind::Broken)).then_some(&pair.value)
    }

    pub(super) fn must<T>(
        &mut self,
        key: &str,
        found: Option<T>,
        problems: &mut Problems,
    ) -> Option<T> {
        if found.is_none() && !self.is_written(key) {
            problems.about(&self.name(key), self.line, "is missing");
        }
        found
    }

    fn is_written(&self, key: &str) -> bool {
        self.pairs.iter().any(|p| p.key == key && !matches!(p.value.kind, Kind::Null))
    }

    pub(super) fn map(&mut self, key: &'static str, problems: &mut Problems) -> Option<Self> {
        let node = self.get(key)?;
        Fields::of(format!("{}.", self.name(key)), node, problems)
    }

    pub(super) fn text(&mut self, key: &'static str, problems: &mut Problems) -> Option<&'a str> {
        let node = self.get(key)?;
        match &node.kind {
            Kind::Text(text) => Some(text),
            _ => {
                problems.about(&self.name(key), node.line, "write one value here");
                None
            }
        }
    }

    pub(super) fn parsed<T: FromStr<Err: Display>>(
        &mut self,
        key: &'static str,
        problems: &mut Problems,
    ) -> Option<T> {
        let line = self.get(key)?.line;
        let text = self.text(key, problems)?;
        match text.parse() {
            Ok(value) => Some(value),
            Err(error) => {
                problems.about(&self.name(key), line, format!("{text:?}: {error}"));
                None
            }
        }
    }

    /// A number of a range.
    pub(super) fn number(
        &mut self,
        key: &'static str,
        range: std::ops::RangeInclusive<u64>,
        problems: &mut Problems,
    ) -> Option<u64> {
        let line = self.get(key)?.line;
        let number: u64 = self.parsed(key, problems)?;
        if range.contains(&number) {
            return Some(number);
        }
        let (least, most) = range.into_inner();
        problems.about(&self.name(key), line, format!("{number} is not from {least} to {most}"));
        None
    }

    pub(super) fn texts(
        &mut self,
        key: &'static str,
        problems: &mut Problems,
    ) -> Option<Vec<String>> {
        let node = self.get(key)?;
        let texts: Option<Vec<String>> = match &node.kind {
            Kind::List(items) => items.iter().map(text_of).collect(),
            _ => None,
        };
        if texts.is_none() {
            problems.about(&self.name(key), node.line, "write a list of words: [one, two]");
        }
        texts
    }

    /// All pairs, for a mapping whose keys are names.
    pub(super) fn pairs(&self) -> &'a [Pair] {
        self.pairs
    }

    pub(super) fn finish(self, problems: &mut Problems) {
        for pair in self.pairs.iter().filter(|pair| !self.asked.contains(&pair.key.as_str())) {
            let names: Vec<String> = self.asked.iter().map(|key| self.name(key)).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            problems.unknown(&self.name(&pair.key), pair.line, &names);
        }
    }
}

pub(super) fn text_of(node: &Node) -> Option<String> {
    match &node.kind {
        Kind::Text(text) => Some(text.clone()),
        _ => None,
    }
}
