//! Names, and JSON.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cofferdam_core::changes::{Change, ChangePath, Judgement, Node};
use cofferdam_core::inert;
use cofferdam_sandbox::changes::diff::Item;
use serde_json::{Map, Value, json};

use super::judged::Judged;

/// What a name ends with. After NUL, names are the very bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Line,
    Nul,
}

pub(crate) fn name(path: &ChangePath, end: End, out: &mut dyn Write) -> io::Result<()> {
    match end {
        End::Line => writeln!(out, "{path}"),
        End::Nul => {
            out.write_all(path.as_bytes())?;
            out.write_all(b"\0")
        }
    }
}

/// An array that is written as its items come.
pub(crate) struct JsonArray<'a> {
    out: &'a mut dyn Write,
    items: u64,
}

impl<'a> JsonArray<'a> {
    pub(crate) fn begin(out: &'a mut dyn Write) -> io::Result<Self> {
        out.write_all(b"[")?;
        Ok(Self { out, items: 0 })
    }

    pub(crate) fn push(&mut self, item: &Item, judged: &Judged) -> io::Result<()> {
        let comma = if self.items == 0 { "" } else { "," };
        self.items += 1;
        let text = serde_json::to_string(&object(item, judged))?;
        write!(self.out, "{comma}\n  {}", inert::json(&text))
    }

    pub(crate) fn end(self) -> io::Result<()> {
        self.out.write_all(if self.items == 0 { b"]\n" } else { b"\n]\n" })
    }
}

fn object(item: &Item, judged: &Judged) -> Map<String, Value> {
    let entry = &item.entry;
    let node = entry.after.as_ref().or(entry.before.as_ref());
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    text("path", entry.path.as_bytes(), &mut put);
    put("change", json!(change(item)));
    if let Some(origin) = &item.origin {
        text("from", origin.from.path.as_bytes(), &mut put);
        put("similarity", json!(origin.likeness));
    }
    if let Some(node) = node {
        put("kind", json!(node.kind()));
        if let Some(mode) = node.mode() {
            put("mode", json!(format!("{:04o}", mode.bits())));
        }
        match node {
            Node::File(file) => {
                put("size", json!(file.size));
            }
            Node::Symlink { target } => text("target", target.0.as_bytes(), &mut put),
            Node::Directory { .. } | Node::Special { .. } => {}
        }
    }
    if !entry.stripped.is_empty() {
        put("stripped", json!(entry.stripped));
    }
    let Judgement { verdict, classes, reasons, blocks, .. } = &judged.judgement;
    put("classes", json!(classes));
    put("verdict", json!(verdict));
    put("reasons", json!(reasons));
    put("blocks", json!(blocks));
    put("conflict", json!(judged.conflict));
    object
}

/// As text; where the bytes are none, as near as text comes, with the very bytes beside it.
fn text(name: &str, bytes: &[u8], put: &mut impl FnMut(&str, Value) -> Option<Value>) {
    put(name, json!(String::from_utf8_lossy(bytes)));
    if std::str::from_utf8(bytes).is_err() {
        put(&format!("{name}_b64"), json!(STANDARD.encode(bytes)));
    }
}

pub(crate) fn change(item: &Item) -> &'static str {
    match (&item.origin, item.entry.change) {
        (Some(_), _) => "renamed",
        (None, Change::Created) => "created",
        (None, Change::Modified) => "modified",
        (None, Change::Deleted) => "deleted",
        (None, Change::Retyped) => "retyped",
    }
}
