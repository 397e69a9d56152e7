//! A patch that `git apply` takes: every byte as it is.
//!
//! git knows files and links, and of a mode only whether a file can be executed. What it cannot carry is
//! left out and told about, because a patch that git refuses is of no use to anybody.

use std::io::{self, Write};

use cofferdam_core::changes::text::{Line, Sides, Sight};
use cofferdam_core::changes::{Change, ChangePath, Node};
use cofferdam_sandbox::changes::ObjectFormat;
use cofferdam_sandbox::changes::diff::{Contents, Found, Item};

use super::binary;
use super::piece::{Piece, pieces};
use super::quote::quoted;
use crate::failure::Failure;

/// A larger content is not put into a patch, which has to be held in memory whole to be written.
const LARGEST_CARRIED: u64 = 64 * 1024 * 1024;
/// How many paths that a patch leaves out are named one by one.
const NAMED: usize = 10;

/// How it is written.
#[derive(Debug, Clone, Copy)]
struct Style {
    /// Lines around a change.
    context: usize,
    /// What a repository has to be of for a binary patch to be taken.
    format: ObjectFormat,
}

#[derive(Debug)]
pub(super) struct Patch {
    style: Style,
    missing: Vec<String>,
    more: u64,
}

impl Patch {
    pub(super) fn new(context: usize, format: ObjectFormat) -> Self {
        Self { style: Style { context, format }, missing: Vec::new(), more: 0 }
    }

    pub(super) fn write(
        &mut self,
        item: &Item,
        contents: &Contents,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        if item.implied {
            return Ok(());
        }
        for piece in pieces(item) {
            match carried(&piece) {
                Ok(piece) => write_piece(&piece, contents, self.style, out)?,
                // The other half of a file that became a directory, or the reverse.
                Err(_) if item.entry.change == Change::Retyped => {}
                Err(why) => self.leave_out(piece.to, why),
            }
        }
        Ok(())
    }

    fn leave_out(&mut self, path: &ChangePath, why: &str) {
        if self.missing.len() < NAMED {
            self.missing.push(format!("{path}: {why}"));
        } else {
            self.more += 1;
        }
    }

    pub(super) fn tell_what_is_missing(&self, notes: &mut dyn Write) -> io::Result<()> {
        for line in &self.missing {
            writeln!(notes, "cofferdam: not in the patch: {line}")?;
        }
        if self.more > 0 {
            writeln!(notes, "cofferdam: not in the patch: {} more", self.more)?;
        }
        Ok(())
    }
}

/// The piece, where git can carry it, or why not.
fn carried<'a>(piece: &Piece<'a>) -> Result<Piece<'a>, &'static str> {
    for node in [piece.old, piece.new].into_iter().flatten() {
        match node {
            Node::Directory { .. } => return Err("git has no directories of their own"),
            Node::Special { .. } => return Err("it is neither a file nor a link"),
            Node::File(_) | Node::Symlink { .. } => {}
        }
    }
    if [piece.from, piece.to].iter().any(|path| path.names().any(is_git_dir)) {
        return Err("git applies nothing to its own files");
    }
    let same = |(old, new): (&Node, &Node)| git_mode(old) == git_mode(new) && is_same(old, new);
    if piece.likeness.is_none() && piece.old.zip(piece.new).is_some_and(same) {
        return Err("git does not keep this part of a mode");
    }
    Ok(*piece)
}

fn is_same(old: &Node, new: &Node) -> bool {
    match (old, new) {
        (Node::File(old), Node::File(new)) => {
            old.content.hash().is_some() && old.content.hash() == new.content.hash()
        }
        _ => old == new,
    }
}

/// Names that git takes for its own directory on some file system.
fn is_git_dir(name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_lowercase();
    let visible: String = name.chars().filter(|c| c.is_ascii()).collect();
    let stem = visible.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    stem == ".git" || stem == "git~1"
}

fn git_mode(node: &Node) -> &'static str {
    match node {
        Node::File(file) if file.mode.bits() & 0o100 != 0 => "100755",
        Node::Symlink { .. } => "120000",
        _ => "100644",
    }
}

fn write_piece(
    piece: &Piece<'_>,
    contents: &Contents,
    Style { context, format }: Style,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let old = match piece.old {
        Some(node) => Some(whole(piece.from, contents.before(piece.from, node, LARGEST_CARRIED)?)?),
        None => None,
    };
    let new = match piece.new {
        Some(node) => Some(whole(piece.to, contents.after(piece.to, node, LARGEST_CARRIED)?)?),
        None => None,
    };
    write_header(piece, (old.as_deref(), new.as_deref()), format, out)?;
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    if old == new {
        return Ok(());
    }
    if [&old, &new].iter().all(|side| Sight::of(side) == Sight::Text) {
        Ok(write_text(piece, &old, &new, context, out)?)
    } else {
        Ok(binary::write(&old, &new, out)?)
    }
}

fn whole(path: &ChangePath, found: Found) -> Result<Vec<u8>, Failure> {
    let (why, remedy) = match found {
        Found::Bytes(bytes) => return Ok(bytes),
        Found::TooLarge => {
            ("it is larger than 64 MiB".to_owned(), "name the other paths, without it")
        }
        Found::Gone(why) => (why.to_owned(), "name the other paths, without it"),
        Found::Nothing => ("it has no content".to_owned(), "name the other paths, without it"),
    };
    Err(Failure::from(anyhow::anyhow!("{path} cannot be put into a patch: {why}")).hint(remedy))
}

fn write_header(
    piece: &Piece<'_>,
    (old, new): (Option<&[u8]>, Option<&[u8]>),
    format: ObjectFormat,
    out: &mut dyn Write,
) -> io::Result<()> {
    let side = |prefix: &str, path: &ChangePath| {
        quoted(&[prefix.as_bytes(), b"/", path.as_bytes()].concat())
    };
    let mut line = |words: &[&[u8]]| {
        out.write_all(&words.concat())?;
        out.write_all(b"\n")
    };
    line(&[b"diff --git ", &side("a", piece.from), b" ", &side("b", piece.to)])?;
    let modes = (piece.old.map(git_mode), piece.new.map(git_mode));
    match modes {
        (None, Some(new)) => line(&[b"new file mode ", new.as_bytes()])?,
        (Some(old), None) => line(&[b"deleted file mode ", old.as_bytes()])?,
        (Some(old), Some(new)) if old != new => {
            line(&[b"old mode ", old.as_bytes()])?;
            line(&[b"new mode ", new.as_bytes()])?;
        }
        _ => {}
    }
    if let Some(likeness) = piece.likeness {
        line(&[format!("similarity index {likeness}%").as_bytes()])?;
        line(&[b"rename from ", &quoted(piece.from.as_bytes())])?;
        line(&[b"rename to ", &quoted(piece.to.as_bytes())])?;
    }
    if old != new {
        let name = |side: Option<&[u8]>| match side {
            Some(content) => binary::object_name(format, content),
            None => binary::no_object(format),
        };
        let kept = match modes {
            (Some(old), Some(new)) if old == new => format!(" {old}"),
            _ => String::new(),
        };
        line(&[format!("index {}..{}{kept}", name(old), name(new)).as_bytes()])?;
    }
    Ok(())
}

fn write_text(
    piece: &Piece<'_>,
    old: &[u8],
    new: &[u8],
    context: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let name = |prefix: &[u8], path: &ChangePath, node: Option<&Node>| {
        if node.is_none() {
            return b"/dev/null".to_vec();
        }
        let mut name = quoted(&[prefix, path.as_bytes()].concat());
        // So that tools which read dates there know where the name ends.
        if name.contains(&b' ') && !name.starts_with(b"\"") {
            name.push(b'\t');
        }
        name
    };
    out.write_all(&[b"--- ", &name(b"a/", piece.from, piece.old)[..], b"\n"].concat())?;
    out.write_all(&[b"+++ ", &name(b"b/", piece.to, piece.new)[..], b"\n"].concat())?;
    let sides = Sides::compare(old, new);
    for hunk in sides.hunks(context) {
        writeln!(out, "{}", hunk.heading())?;
        for line in sides.lines(&hunk) {
            let (sign, bytes) = match line {
                Line::Same(bytes) => (b" ", bytes),
                Line::Removed(bytes) => (b"-", bytes),
                Line::Added(bytes) => (b"+", bytes),
            };
            let end: &[u8] =
                if bytes.ends_with(b"\n") { b"" } else { b"\n\\ No newline at end of file\n" };
            out.write_all(&[&sign[..], bytes, end].concat())?;
        }
    }
    Ok(())
}
