//! Where the changes on the page come from.

use cofferdam_core::changes::{Change, Judgement, Node};
use cofferdam_core::inert::Inert;
use cofferdam_core::record::Record;
use cofferdam_sandbox::changes::Ledger;
use cofferdam_sandbox::changes::diff::{Contents, Item};

use super::file::{Choice, Diff, DiffLine, File};
use super::order::Implied;
use crate::commands::diff::judged::Judged;
use crate::commands::diff::listing::change;
use crate::commands::diff::paint::{Hue, Paint};
use crate::commands::diff::unified::{Style, page};
use crate::commands::diff::{Moves, View};
use crate::context::Context;
use crate::failure::Failure;
use crate::rendered::Rendered;
use crate::sealed::{Sealed, Words};

/// More changes are not listed at once; paths can be named.
const LISTED: usize = 20_000;
/// More lines of one diff are not shown.
const LINES: usize = 100_000;

/// What a page is made of.
#[derive(Debug, Default)]
pub(super) struct Loaded {
    pub(super) files: Vec<File>,
    pub(super) implied: Vec<Implied>,
    /// Changes that are beyond what is listed.
    pub(super) unlisted: u64,
}

/// Reads a set, and reads it again after something was done with it.
pub(super) struct Source<'a> {
    words: &'a Words,
    /// What is applied, discarded and undone is of this run; so is what is shown.
    record: &'a Record,
    context: &'a Context,
    items: Vec<(Item, Judged)>,
    contents: Option<Contents>,
}

impl<'a> Source<'a> {
    pub(super) fn new(words: &'a Words, record: &'a Record, context: &'a Context) -> Self {
        Self { words, record, context, items: Vec::new(), contents: None }
    }

    /// What is pending now.
    pub(super) fn load(&mut self) -> Result<Loaded, Failure> {
        let sealed = Sealed::open(self.words, self.context)?;
        let id =
            |record: &Record| (record.run, record.changes.as_ref().map(|c| c.manifest.clone()));
        if id(&sealed.record) != id(self.record) {
            let run = self.record.run.short();
            let words = format!("run {run} is not what it was when the review began");
            return Err(anyhow::Error::msg(words).into());
        }
        self.contents = Some(Contents::of(&sealed.set));
        let ledger = Ledger::load(&sealed.set)?;
        let mut view = View::new(sealed, Some(ledger), Moves::Together)?;
        let judging = view.judging(self.context)?;
        let (mut implied, mut unlisted) = (Vec::new(), 0);
        self.items.clear();
        let items = &mut self.items;
        view.each(|item, _| {
            if item.implied {
                let path = item.entry.path;
                implied.push(match item.entry.change {
                    Change::Deleted => Implied::Went(path),
                    _ => Implied::Came(path),
                });
            } else if items.len() < LISTED {
                let judged = judging.look(&item)?;
                items.push((item, judged));
            } else {
                unlisted += 1;
            }
            Ok(())
        })?;
        view.sealed.paths.check_all_matched(&view.sealed.record)?;
        let files = self.items.iter().map(|(item, judged)| file(item, judged)).collect();
        Ok(Loaded { files, implied, unlisted })
    }

    /// What is to be seen of one of the changes.
    pub(super) fn diff(&self, at: usize) -> Result<Diff, Failure> {
        let (Some((item, judged)), Some(contents)) = (self.items.get(at), &self.contents) else {
            return Ok(Diff::default());
        };
        let page = page(item, judged, contents, Style::new(Paint::Plain, 3).whole_lines())?;
        let line = |(hue, text, hunk): &(Hue, String, usize)| DiffLine::new(*hue, text, *hunk);
        let mut lines: Vec<DiffLine> = page.lines.iter().take(LINES).map(line).collect();
        if page.lines.len() > LINES {
            let text = format!("… {} lines more", page.lines.len() - LINES);
            lines.push(DiffLine { hue: Hue::Note, text, hunk: 0 });
        }
        Ok(Diff { lines, hunks: page.hunks, rows: Vec::new() })
    }
}

fn file(item: &Item, judged: &Judged) -> File {
    let inert = |words: &[String]| words.iter().map(|w| Inert::line(w).to_string()).collect();
    let mut paths = vec![item.entry.path.clone()];
    let mut name = item.entry.path.to_string();
    if let Some(origin) = &item.origin {
        name = format!("{} => {name}", origin.from.path);
        paths.insert(0, origin.from.path.clone());
    }
    let judgement = Judgement {
        reasons: inert(&judged.judgement.reasons),
        blocks: inert(&judged.judgement.blocks),
        ..judged.judgement.clone()
    };
    let before = item.entry.before.as_ref().and_then(Node::file);
    File {
        paths,
        name,
        base: before.and_then(|file| file.content.hash()),
        change: change(item),
        judgement,
        conflict: judged.conflict.as_ref().map(|words| Inert::line(words).to_string()),
        diff: None,
        hunks: 0,
        choice: Choice::Nothing,
    }
}

pub(super) fn title(record: &Record) -> String {
    format!("run {}: {}", record.run.short(), Rendered::command(&record.command))
}
