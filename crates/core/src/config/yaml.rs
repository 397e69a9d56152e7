//! YAML as a small tree with line numbers.
//!
//! Built from the parser's events and not by a loader, because a loader keeps the last of two equal keys
//! and follows aliases. Scalars stay text: `pids_limit: 512` and `pids_limit: "512"` are one, and nothing
//! is a float by accident. Anchors, aliases and tags are errors; no setting needs them.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle};

use super::error::Problems;
use crate::inert::Inert;

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) kind: Kind,
}

#[derive(Debug)]
pub(crate) enum Kind {
    /// `null`, `~`, or nothing at all.
    Null,
    Text(String),
    List(Vec<Node>),
    Map(Vec<Pair>),
    /// Already complained about.
    Broken,
}

impl Kind {
    /// The number of items or pairs.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::List(items) => items.len(),
            Self::Map(pairs) => pairs.len(),
            Self::Null | Self::Text(_) | Self::Broken => 0,
        }
    }
}

#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) key: String,
    pub(crate) line: usize,
    pub(crate) value: Node,
}

/// Deeper than any setting, shallower than any stack.
const MAX_DEPTH: usize = 16;

/// A list or a mapping whose end is still to come.
enum Open {
    List { line: usize, items: Vec<Node> },
    Map { line: usize, pairs: Vec<Pair>, seen: BTreeMap<String, usize>, next: Next },
}

/// What comes next in a mapping.
enum Next {
    Key,
    ValueOf(String, usize),
    /// The value of something that is not a key, and was complained about.
    ValueOfNothing,
}

/// The single document of `text`, or `None` where it is empty or not YAML.
pub(crate) fn read(text: &str, problems: &mut Problems) -> Option<Node> {
    let (mut stack, mut root, mut documents) = (Vec::<Open>::new(), None, 0);
    for event in Parser::new_from_str(text) {
        let (event, span) = match event {
            Ok(event) => event,
            Err(error) => {
                let info = Inert::line(error.info()).to_string();
                problems.general(Some(error.marker().line()), format!("not YAML: {info}"));
                return None;
            }
        };
        let line = span.start.line();
        let finished = match event {
            Event::DocumentStart(_) => {
                documents += 1;
                if documents > 1 {
                    problems.general(
                        Some(line),
                        "a second document begins here: keep one, without `---` between",
                    );
                    return None;
                }
                continue;
            }
            Event::MappingStart(anchor, ref tag) | Event::SequenceStart(anchor, ref tag) => {
                refuse_extras(anchor, tag.is_some(), line, problems);
                if stack.len() == MAX_DEPTH {
                    problems.general(Some(line), "nested deeper than any setting");
                    return None;
                }
                stack.push(match event {
                    Event::MappingStart(..) => Open::Map {
                        line,
                        pairs: Vec::new(),
                        seen: BTreeMap::new(),
                        next: Next::Key,
                    },
                    _ => Open::List { line, items: Vec::new() },
                });
                continue;
            }
            Event::MappingEnd | Event::SequenceEnd => match stack.pop() {
                Some(Open::List { line, items }) => Node { line, kind: Kind::List(items) },
                Some(Open::Map { line, pairs, .. }) => Node { line, kind: Kind::Map(pairs) },
                None => continue,
            },
            Event::Scalar(text, style, anchor, tag) => {
                refuse_extras(anchor, tag.is_some(), line, problems);
                Node { line, kind: scalar(text.into_owned(), style) }
            }
            Event::Alias(_) => {
                problems.general(Some(line), "aliases are not used here: write the value out");
                Node { line, kind: Kind::Broken }
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => continue,
        };
        match stack.last_mut() {
            Some(open) => place(finished, open, problems),
            None => root = Some(finished),
        }
    }
    root
}

fn scalar(text: String, style: ScalarStyle) -> Kind {
    let plain = matches!(style, ScalarStyle::Plain);
    match text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" if plain => Kind::Null,
        _ => Kind::Text(text),
    }
}

/// Puts a finished node where it belongs: into the list, as the next key, or as that key's value.
fn place(node: Node, open: &mut Open, problems: &mut Problems) {
    let (pairs, seen, next) = match open {
        Open::List { items, .. } => return items.push(node),
        Open::Map { pairs, seen, next, .. } => (pairs, seen, next),
    };
    *next = match std::mem::replace(next, Next::Key) {
        Next::Key => key(node, seen, problems),
        Next::ValueOf(key, line) => {
            pairs.push(Pair { key, line, value: node });
            Next::Key
        }
        Next::ValueOfNothing => Next::Key,
    };
}

fn key(node: Node, seen: &mut BTreeMap<String, usize>, problems: &mut Problems) -> Next {
    let key = match node.kind {
        Kind::Text(text) => text,
        Kind::Null => "null".to_owned(),
        Kind::Broken => return Next::ValueOfNothing,
        Kind::List(_) | Kind::Map(_) => {
            problems.general(Some(node.line), "a key is a word, not a list or a mapping");
            return Next::ValueOfNothing;
        }
    };
    match seen.get(&key) {
        Some(first) => {
            problems.about(&key, node.line, format!("written twice, first in line {first}"));
            Next::ValueOfNothing
        }
        None => {
            seen.insert(key.clone(), node.line);
            Next::ValueOf(key, node.line)
        }
    }
}

fn refuse_extras(anchor: usize, tagged: bool, line: usize, problems: &mut Problems) {
    if anchor != 0 {
        problems.general(Some(line), "anchors are not used here: write the value out");
    }
    if tagged {
        problems.general(Some(line), "tags are not used here: write the plain value");
    }
}
