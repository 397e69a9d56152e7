//! `cofferdam diff`: what a run changed, to look at or to hand on.
//!
//! One stream of [`Items`] and five ways to write it down: [`unified`] for people, [`patch`] for
//! `git apply`, [`stat`], and [`listing`] for names and JSON. Deliberately absent: any decision.

mod binary;
pub(crate) mod judged;
pub(crate) mod listing;
mod log;
pub(crate) mod paint;
mod patch;
pub(crate) mod piece;
mod quote;
mod stat;
pub(crate) mod unified;

use std::io::{BufWriter, IsTerminal as _, Write};

use clap::Args;
use cofferdam_core::changes::Entry;
use cofferdam_core::changes::rename::Renames;
use cofferdam_core::changes::text::CONTEXT;
use cofferdam_core::inert::Inert;
use cofferdam_sandbox::changes::diff::{Contents, Item, Items, find_moves, pending};
use cofferdam_sandbox::changes::{Ledger, ObjectFormat};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::pager::paged;
use crate::sealed::{Paths, Sealed, Words};
use crate::settings;
use judged::Judging;
use paint::{Paint, When};

/// Show what a run changed.
///
/// What stands in files and names is shown and never obeyed: control characters, colours and turned text
/// come out as escapes. `--patch`, `-z` and `--json` keep every byte.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam diff                          # the newest run of this workspace
  cofferdam diff --stat
  cofferdam diff 4k2m9x7q src/ README.md
  cofferdam diff --patch > change.patch   # for `git apply`
  cofferdam diff --log                    # commits that were made inside
  cofferdam diff --json | jq -r '.[].path'")]
pub(crate) struct DiffArgs {
    #[command(flatten)]
    words: Words,
    /// How many lines were added and removed, by file.
    #[arg(long, group = "form")]
    stat: bool,
    /// Only the names of what changed.
    #[arg(long, group = "form")]
    name_only: bool,
    /// A JSON array with an object for each changed path.
    #[arg(long, group = "form")]
    json: bool,
    /// A patch that `git apply` takes, binary files included.
    #[arg(long, short, group = "form")]
    patch: bool,
    /// The commits that were made inside; with --json as an array.
    #[arg(long, conflicts_with_all = ["stat", "name_only", "patch"])]
    log: bool,
    /// With --name-only: end names with NUL, and print them byte by byte.
    #[arg(short = 'z', requires = "name_only")]
    nul: bool,
    /// Lines around each change.
    #[arg(long, short = 'U', value_name = "N", default_value_t = CONTEXT)]
    unified: usize,
    /// Also what was applied or discarded already.
    #[arg(long)]
    all: bool,
    /// Show a moved file as a deletion and a creation.
    #[arg(long)]
    no_renames: bool,
    /// Colours.
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = When::Auto)]
    color: When,
    /// Do not start a pager.
    #[arg(long)]
    no_pager: bool,
}

/// How it is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Unified,
    Patch,
    Stat,
    Names(listing::End),
    Json,
}

impl DiffArgs {
    fn form(&self) -> Form {
        match self {
            Self { stat: true, .. } => Form::Stat,
            Self { name_only: true, nul: true, .. } => Form::Names(listing::End::Nul),
            Self { name_only: true, .. } => Form::Names(listing::End::Line),
            Self { json: true, .. } => Form::Json,
            Self { patch: true, .. } => Form::Patch,
            _ => Form::Unified,
        }
    }
}

pub(crate) fn run(
    args: &DiffArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let sealed = Sealed::open(&args.words, context)?;
    if args.log {
        return log::run(&sealed, args.json, Paint::new(args.color), context, out);
    }
    let moves = if args.no_renames { Moves::Apart } else { Moves::Together };
    let ledger = if args.all { None } else { Some(Ledger::load(&sealed.set)?) };
    let mut view = View::new(sealed, ledger, moves)?;
    let (form, terminal) = (args.form(), std::io::stdout().is_terminal());
    if matches!(form, Form::Unified | Form::Json)
        && let Some(warning) = settings::gone(&view.sealed.record.workspace)
    {
        writeln!(std::io::stderr(), "warning: {warning}")?;
    }
    let mut show = |out: &mut dyn Write| match form {
        Form::Unified => {
            let style = unified::Style::new(Paint::new(args.color), args.unified);
            let judging = view.judging(context)?;
            view.each(|item, contents| {
                let judged = judging.look(&item)?;
                unified::write(&item, &judged, contents, style, out)
            })
        }
        // A terminal would obey the bytes; a file or a pipe gets them as they are.
        Form::Patch if terminal => write_patch(args, &mut view, &mut InertWriter(out)),
        Form::Patch => write_patch(args, &mut view, out),
        Form::Stat => {
            let mut stat = stat::Stat::new(Paint::new(args.color));
            view.each(|item, contents| stat.see(&item, contents, out))?;
            Ok(stat.end(out)?)
        }
        Form::Names(end) => view.each(|item, _| Ok(listing::name(&item.entry.path, end, out)?)),
        Form::Json => {
            let mut array = listing::JsonArray::begin(out)?;
            let judging = view.judging(context)?;
            view.each(|item, _| Ok(array.push(&item, &judging.look(&item)?)?))?;
            Ok(array.end()?)
        }
    };
    let for_reading = matches!(form, Form::Unified | Form::Patch | Form::Stat);
    if terminal && for_reading && !args.no_pager {
        paged(context, out, show)?;
    } else {
        let mut out = BufWriter::new(out);
        show(&mut out)?;
        out.flush()?;
    }
    view.sealed.paths.check_all_matched(&view.sealed.record)?;
    if view.shown == 0 {
        let run = view.sealed.record.run.short();
        let pending = if args.all { "" } else { " pending" };
        let more = if args.all { "" } else { " (--all shows what was applied or discarded)" };
        writeln!(std::io::stderr(), "cofferdam: run {run} has no{pending} changes{more}")?;
    }
    Ok(Exit::Fine)
}

/// What a run changed, for people, without colours.
pub(crate) fn plain(words: &Words, context: &Context) -> Result<Vec<u8>, Failure> {
    let mut view = View::new(Sealed::open(words, context)?, None, Moves::Together)?;
    let style = unified::Style::new(Paint::new(When::Never), CONTEXT);
    let judging = view.judging(context)?;
    let mut text = Vec::new();
    view.each(|item, contents| {
        let judged = judging.look(&item)?;
        unified::write(&item, &judged, contents, style, &mut text)
    })?;
    Ok(text)
}

fn write_patch(args: &DiffArgs, view: &mut View, out: &mut dyn Write) -> Result<(), Failure> {
    let format = ObjectFormat::of_run(&view.sealed.record);
    let mut patch = patch::Patch::new(args.unified, format);
    view.each(|item, contents| patch.write(&item, contents, out))?;
    Ok(patch.tell_what_is_missing(&mut std::io::stderr().lock())?)
}

/// Whether the two ends of a move are shown as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moves {
    Together,
    Apart,
}

/// What was chosen of a set, ready to be gone through.
pub(crate) struct View {
    pub(crate) sealed: Sealed,
    /// Absent where it makes no difference what became of a change.
    ledger: Option<Ledger>,
    contents: Contents,
    renames: Renames,
    shown: u64,
}

impl View {
    pub(crate) fn new(
        mut sealed: Sealed,
        ledger: Option<Ledger>,
        moves: Moves,
    ) -> Result<Self, Failure> {
        let contents = Contents::of(&sealed.set);
        let Sealed { set, paths, .. } = &mut sealed;
        let renames = match moves {
            Moves::Together => {
                let mut wanted = |index, entry| wanted(paths, ledger.as_ref(), index, entry);
                find_moves(set, &contents, &mut wanted)?
            }
            Moves::Apart => Renames::default(),
        };
        Ok(Self { sealed, ledger, contents, renames, shown: 0 })
    }

    pub(crate) fn judging(&mut self, context: &Context) -> Result<Judging, Failure> {
        Judging::new(&self.sealed.record, &mut self.sealed.set, context)
    }

    pub(crate) fn each(
        &mut self,
        mut show: impl FnMut(Item, &Contents) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let Sealed { set, paths, .. } = &mut self.sealed;
        let ledger = self.ledger.as_ref();
        let mut wanted = |index, entry| wanted(paths, ledger, index, entry);
        for item in Items::of(set, &mut wanted, &self.renames)? {
            self.shown += 1;
            show(item?, &self.contents)?;
        }
        Ok(())
    }
}

fn wanted(paths: &mut Paths, ledger: Option<&Ledger>, index: u64, entry: Entry) -> Option<Entry> {
    if !paths.take(&entry.path) {
        return None;
    }
    match ledger {
        Some(ledger) => pending(ledger, index, entry),
        None => Some(entry),
    }
}

/// Makes whole lines harmless.
struct InertWriter<'a>(&'a mut dyn Write);

impl Write for InertWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        write!(self.0, "{}", Inert::block(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}
