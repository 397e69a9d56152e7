//! A unified diff for people: inert, coloured, and with a word where there is nothing to compare.

use std::io::{self, Write};

use cofferdam_core::changes::text::{CONTEXT, Hunk, LARGEST, Line, Sides};
use cofferdam_core::changes::{ChangePath, Node, Special, Stripped};
use cofferdam_core::inert::Inert;
use cofferdam_sandbox::changes::diff::{Contents, Item};

use super::paint::{Hue, Paint};
use super::piece::{Body, Piece, mode, pieces};
use crate::failure::Failure;

/// More of one line is not shown.
const WIDEST: usize = 4096;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    paint: Paint,
    context: usize,
}

impl Style {
    pub(crate) fn new(paint: Paint, context: usize) -> Self {
        Self { paint, context }
    }
}

pub(crate) fn write(
    item: &Item,
    contents: &Contents,
    style: Style,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if item.implied {
        return Ok(());
    }
    for piece in pieces(item) {
        let body = piece.body(contents)?;
        let mut page = Page { out, paint: style.paint };
        header(&piece, &mut page)?;
        for stripped in &item.entry.stripped {
            page.line(Hue::Note, &format!("{}: never applied", stripped_word(*stripped)))?;
        }
        show(&piece, &body, style.context, &mut page)?;
    }
    Ok(())
}

/// Where lines go.
struct Page<'a> {
    out: &'a mut dyn Write,
    paint: Paint,
}

impl Page<'_> {
    fn line(&mut self, hue: Hue, text: &str) -> io::Result<()> {
        let (start, end) = self.paint.around(hue);
        writeln!(self.out, "{start}{text}{end}")
    }
}

fn header(piece: &Piece<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let mut line = |text: String| page.line(Hue::Header, &text);
    line(format!("diff --git a/{} b/{}", piece.from, piece.to))?;
    match (piece.old, piece.new) {
        (None, Some(new)) => line(format!("new {} mode {}", word(new), mode(new)))?,
        (Some(old), None) => line(format!("deleted {} mode {}", word(old), mode(old)))?,
        (Some(old), Some(new)) if mode(old) != mode(new) => {
            line(format!("old mode {}", mode(old)))?;
            line(format!("new mode {}", mode(new)))?;
        }
        _ => {}
    }
    if let Some(likeness) = piece.likeness {
        line(format!("similarity index {likeness}%"))?;
        line(format!("rename from {}", piece.from))?;
        line(format!("rename to {}", piece.to))?;
    }
    Ok(())
}

fn show(piece: &Piece<'_>, body: &Body, context: usize, page: &mut Page<'_>) -> io::Result<()> {
    match body {
        Body::Same => Ok(()),
        Body::Text { old, new } => text(piece, old, new, context, page),
        Body::Binary => page.line(Hue::Plain, &format!("Binary files differ ({})", sizes(piece))),
        Body::TooLarge => {
            let limit = LARGEST >> 20;
            page.line(
                Hue::Plain,
                &format!("Too large to show ({}; {limit} MiB is the limit)", sizes(piece)),
            )?;
            hashes(piece, page)
        }
        Body::OnlyNew { why, new } => {
            page.line(Hue::Note, &format!("What was there before is not known: {why}"))?;
            text(piece, b"", new, context, page)
        }
        Body::Gone(why) => page.line(Hue::Note, &format!("Cannot be shown: {why}")),
    }
}

fn text(
    piece: &Piece<'_>,
    old: &[u8],
    new: &[u8],
    context: usize,
    page: &mut Page<'_>,
) -> io::Result<()> {
    let sides = Sides::compare(old, new);
    let hunks = sides.hunks(context);
    if hunks.is_empty() {
        return Ok(());
    }
    let name = |prefix, path: &ChangePath, node: Option<&Node>| match node {
        None => "/dev/null".to_owned(),
        Some(_) => format!("{prefix}/{path}"),
    };
    page.line(Hue::Header, &format!("--- {}", name("a", piece.from, piece.old)))?;
    page.line(Hue::Header, &format!("+++ {}", name("b", piece.to, piece.new)))?;
    for hunk in &hunks {
        let heading = hunk.heading();
        // The numbers that `apply --hunk` takes are those of this context.
        if context == CONTEXT && hunks.len() > 1 {
            page.line(Hue::Heading, &format!("{heading} hunk {} of {}", hunk.number, hunks.len()))?;
        } else {
            page.line(Hue::Heading, &heading)?;
        }
        for (hue, line) in hunk_lines(&sides, hunk) {
            page.line(hue, &line)?;
        }
    }
    Ok(())
}

/// The lines of a hunk, ready to be shown: with their sign, inert, and not wider than anybody reads.
pub(crate) fn hunk_lines(sides: &Sides<'_>, hunk: &Hunk) -> Vec<(Hue, String)> {
    let mut shown = Vec::new();
    for line in sides.lines(hunk) {
        let (hue, sign, bytes) = match line {
            Line::Same(bytes) => (Hue::Plain, ' ', bytes),
            Line::Removed(bytes) => (Hue::Removed, '-', bytes),
            Line::Added(bytes) => (Hue::Added, '+', bytes),
        };
        let (body, ended) = match bytes.strip_suffix(b"\n") {
            Some(body) => (body, true),
            None => (bytes, false),
        };
        // The other kind of line end is news only where it changed.
        let body = if hue_is_plain(hue) { body.strip_suffix(b"\r").unwrap_or(body) } else { body };
        let kept = &body[..body.len().min(WIDEST)];
        let mut text = format!("{sign}{}", Inert::block(kept));
        if kept.len() < body.len() {
            text.push_str(&format!(" … {} bytes more", body.len() - kept.len()));
        }
        shown.push((hue, text));
        if !ended {
            shown.push((Hue::Plain, "\\ No newline at end of file".to_owned()));
        }
    }
    shown
}

fn hue_is_plain(hue: Hue) -> bool {
    matches!(hue, Hue::Plain)
}

fn sizes(piece: &Piece<'_>) -> String {
    let size = |node: Option<&Node>| node.and_then(Node::file).map(|file| file.size);
    match (size(piece.old), size(piece.new)) {
        (Some(old), Some(new)) => format!("{old} -> {new} bytes"),
        (Some(size), None) | (None, Some(size)) => format!("{size} bytes"),
        (None, None) => "no bytes".to_owned(),
    }
}

fn hashes(piece: &Piece<'_>, page: &mut Page<'_>) -> io::Result<()> {
    for (side, node) in [("old", piece.old), ("new", piece.new)] {
        if let Some(hash) = node.and_then(Node::file).and_then(|file| file.content.hash()) {
            page.line(Hue::Plain, &format!("{side} blake3 {hash}"))?;
        }
    }
    Ok(())
}

/// What git calls a file is a file or a link; the others it does not know.
fn word(node: &Node) -> &'static str {
    match node {
        Node::File(_) | Node::Symlink { .. } => "file",
        Node::Directory { .. } => "directory",
        Node::Special { special: Special::Fifo } => "fifo (never applied)",
        Node::Special { special: Special::Socket } => "socket (never applied)",
        Node::Special { special: Special::CharDevice | Special::BlockDevice } => {
            "device (never applied)"
        }
    }
}

pub(crate) fn stripped_word(stripped: Stripped) -> &'static str {
    match stripped {
        Stripped::Setuid => "set-user-id bit",
        Stripped::Setgid => "set-group-id bit",
        Stripped::Sticky => "sticky bit",
        Stripped::Capabilities => "file capabilities",
        Stripped::Acl => "access control list",
        Stripped::Xattr => "extended attribute",
        Stripped::Flags => "file flags",
    }
}
