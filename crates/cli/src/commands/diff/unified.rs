//! A unified diff for people: inert, coloured, and with a word where there is nothing to compare.

use std::io::Write;

use cofferdam_core::changes::text::{CONTEXT, Hunk, LARGEST, Line, Sides};
use cofferdam_core::changes::{ChangePath, Node, Special};
use cofferdam_core::inert::Inert;
use cofferdam_sandbox::changes::Mark;
use cofferdam_sandbox::changes::diff::{Contents, Item, Portion};

use super::judged::Judged;
use super::paint::{Hue, Paint};
use super::piece::{Body, Piece, mode, pieces};
use crate::failure::Failure;

/// More of one line is not printed.
const WIDEST: usize = 4096;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    paint: Paint,
    context: usize,
    widest: usize,
}

impl Style {
    pub(crate) fn new(paint: Paint, context: usize) -> Self {
        Self { paint, context, widest: WIDEST }
    }

    /// Lines to their ends, for whoever has a way to get there.
    pub(crate) fn whole_lines(self) -> Self {
        Self { widest: usize::MAX, ..self }
    }
}

/// What is seen of one item.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// Inert, each with the number of the hunk that it belongs to; 0 is the header.
    pub(crate) lines: Vec<(Hue, String, usize)>,
    /// How many hunks can be applied one by one; 0 where it is all or nothing.
    pub(crate) hunks: usize,
    at: usize,
    widest: usize,
}

impl Page {
    fn line(&mut self, hue: Hue, text: impl Into<String>) {
        self.lines.push((hue, text.into(), self.at));
    }
}

pub(crate) fn write(
    item: &Item,
    judged: &Judged,
    contents: &Contents,
    style: Style,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if item.implied {
        return Ok(());
    }
    for (hue, text, _) in page(item, judged, contents, style)?.lines {
        let (start, end) = style.paint.around(hue);
        writeln!(out, "{start}{text}{end}")?;
    }
    Ok(())
}

pub(crate) fn page(
    item: &Item,
    judged: &Judged,
    contents: &Contents,
    style: Style,
) -> Result<Page, Failure> {
    let mut page = Page { widest: style.widest, ..Page::default() };
    let pieces = pieces(item);
    for piece in &pieces {
        let body = piece.body(contents)?;
        page.at = 0;
        header(piece, &mut page);
        notes(judged, &mut page);
        let numbering = Numbering::of(item, piece, &body, style.context);
        let hunks = show(piece, &body, style.context, &numbering, &mut page);
        page.hunks = if numbering == Numbering::Absent { 0 } else { hunks };
    }
    Ok(page)
}

/// What `apply --hunk` knows the hunks of a text by.
#[derive(Debug, PartialEq, Eq)]
enum Numbering {
    /// By nothing: it is applied whole or not at all, or these are not the hunks that can be.
    Absent,
    Plain,
    /// They are the rest of a change; other hunks had the same numbers before.
    Marked(Mark),
}

impl Numbering {
    fn of(item: &Item, piece: &Piece<'_>, body: &Body, context: usize) -> Self {
        let (Some(Node::File(old)), Some(Node::File(_))) = (piece.old, piece.new) else {
            return Self::Absent;
        };
        let is_text = matches!(body, Body::Text { .. });
        if !is_text || item.origin.is_some() || context != CONTEXT {
            return Self::Absent;
        }
        match (item.portion, old.content.hash()) {
            (Portion::Whole, _) => Self::Plain,
            (Portion::Rest, Some(hash)) => Self::Marked(Mark::of(hash)),
            (Portion::Rest, None) => Self::Absent,
        }
    }

    fn heading(&self, hunk: &Hunk, all: usize) -> String {
        let (heading, number) = (hunk.heading(), hunk.number);
        match self {
            Self::Marked(mark) => format!("{heading} hunk {number}@{mark} of {all}"),
            Self::Plain if all > 1 => format!("{heading} hunk {number} of {all}"),
            Self::Plain | Self::Absent => heading,
        }
    }
}

fn header(piece: &Piece<'_>, page: &mut Page) {
    let mut line = |text: String| page.line(Hue::Header, text);
    line(format!("diff --git a/{} b/{}", piece.from, piece.to));
    match (piece.old, piece.new) {
        (None, Some(new)) => line(format!("new {} mode {}", word(new), mode(new))),
        (Some(old), None) => line(format!("deleted {} mode {}", word(old), mode(old))),
        (Some(old), Some(new)) if mode(old) != mode(new) => {
            line(format!("old mode {}", mode(old)));
            line(format!("new mode {}", mode(new)));
        }
        _ => {}
    }
    if let Some(likeness) = piece.likeness {
        line(format!("similarity index {likeness}%"));
        line(format!("rename from {}", piece.from));
        line(format!("rename to {}", piece.to));
    }
}

/// What is to be known before it is applied. Tools that read diffs skip such lines.
fn notes(judged: &Judged, page: &mut Page) {
    for reason in &judged.judgement.reasons {
        page.line(Hue::Note, format!("! {}", Inert::line(reason)));
    }
    if let Some(conflict) = &judged.conflict {
        page.line(Hue::Note, format!("! conflict: {}", Inert::line(conflict)));
    }
}

/// The number of hunks.
fn show(
    piece: &Piece<'_>,
    body: &Body,
    context: usize,
    numbering: &Numbering,
    page: &mut Page,
) -> usize {
    match body {
        Body::Same => {}
        Body::Text { old, new } => {
            let sides = Sides::compare(old, new);
            return text(piece, &sides, &sides.hunks(context), numbering, page);
        }
        Body::Binary => page.line(Hue::Plain, format!("Binary files differ ({})", sizes(piece))),
        Body::TooLarge => {
            let limit = LARGEST >> 20;
            let words = format!("Too large to show ({}; {limit} MiB is the limit)", sizes(piece));
            page.line(Hue::Plain, words);
            hashes(piece, page);
        }
        Body::OnlyNew { why, new } => {
            page.line(Hue::Note, format!("What was there before is not known: {why}"));
            let sides = Sides::compare(b"", new);
            return text(piece, &sides, &sides.hunks(context), numbering, page);
        }
        Body::Gone(why) => page.line(Hue::Note, format!("Cannot be shown: {why}")),
    }
    0
}

fn text(
    piece: &Piece<'_>,
    sides: &Sides<'_>,
    hunks: &[Hunk],
    numbering: &Numbering,
    page: &mut Page,
) -> usize {
    if hunks.is_empty() {
        return 0;
    }
    let name = |prefix, path: &ChangePath, node: Option<&Node>| match node {
        None => "/dev/null".to_owned(),
        Some(_) => format!("{prefix}/{path}"),
    };
    page.line(Hue::Header, format!("--- {}", name("a", piece.from, piece.old)));
    page.line(Hue::Header, format!("+++ {}", name("b", piece.to, piece.new)));
    for hunk in hunks {
        page.at = hunk.number;
        page.line(Hue::Heading, numbering.heading(hunk, hunks.len()));
        for (hue, line) in hunk_lines(sides, hunk, page.widest) {
            page.line(hue, line);
        }
    }
    hunks.len()
}

/// The lines of a hunk, ready to be shown: with their sign, inert, and not wider than is wanted.
fn hunk_lines(sides: &Sides<'_>, hunk: &Hunk, widest: usize) -> Vec<(Hue, String)> {
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
        let kept = &body[..body.len().min(widest)];
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

fn hashes(piece: &Piece<'_>, page: &mut Page) {
    for (side, node) in [("old", piece.old), ("new", piece.new)] {
        if let Some(hash) = node.and_then(Node::file).and_then(|file| file.content.hash()) {
            page.line(Hue::Plain, format!("{side} blake3 {hash}"));
        }
    }
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
