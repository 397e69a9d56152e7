//! What came of an apply, in words and as JSON.

use std::fmt;
use std::io::{self, Write};

use cofferdam_core::changes::ChangePath;
use cofferdam_core::changes::manifest::Summary;
use cofferdam_core::paths::ExactPath;
use cofferdam_core::record::Record;
use cofferdam_sandbox::changes::apply::{Applied, Held, Outcome, Refused, Why};
use serde::Deserialize;
use serde_json::{Value, json as object};

use super::judge::{GateJudge, LeftOut};
use super::{ApplyArgs, hunks};
use crate::context::{program, quoted};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json as printer;
use crate::ways::{Way, Ways};

/// How many refused paths are shown one by one; JSON has more.
const SHOWN: usize = 50;

pub(super) fn finish(
    out: &mut dyn Write,
    args: &ApplyArgs,
    again: &str,
    record: &Record,
    outcome: &Outcome,
    judge: &GateJudge,
) -> Result<Exit, Failure> {
    let notes = &judge.notes;
    let run = record.run.short();
    let speaks = !args.json && !args.quiet;
    match outcome {
        Outcome::Refused(report) => {
            return if args.json {
                Ok(Exit::Undecided)
            } else {
                Err(refusal(again, record, report, args, judge))
            };
        }
        Outcome::Nothing { applied_before: 0, discarded_before } if *discarded_before > 0 => {
            let error = anyhow::anyhow!("what was selected of run {run} was discarded");
            return Err(Failure::new(Exit::Failed, error)
                .hint("run it again: what is discarded does not come back"));
        }
        _ if !speaks => {}
        Outcome::Nothing { .. } => {
            writeln!(out, "{}", in_a_sentence(record, outcome))?;
        }
        Outcome::Would(report) | Outcome::Applied(report) => {
            for (path, text) in &notes.told {
                writeln!(out, "note: {path}: {text}")?;
            }
            if notes.in_all > notes.told.len() {
                writeln!(out, "note: and {} more such notes", notes.in_all - notes.told.len())?;
            }
            for refused in report.refused.iter().take(SHOWN) {
                writeln!(out, "left: {}", line(refused))?;
            }
            for held in report.held.iter().take(SHOWN) {
                writeln!(out, "left: {}: {}", held.path, held.why())?;
            }
            if let Some(words) = ignored(&judge.left_out) {
                writeln!(out, "left: {words}")?;
            }
            writeln!(out, "{}", in_a_sentence(record, outcome))?;
        }
    }
    Ok(Exit::Fine)
}

/// What was left because git ignores it; `None` where that is nothing.
fn ignored(left: &LeftOut) -> Option<String> {
    const NAMED: usize = 3;
    let named: Vec<String> = left.told.iter().take(NAMED).map(ToString::to_string).collect();
    let more = if left.told.len() > NAMED { ", ..." } else { "" };
    let noun = if left.in_all == 1 { "path" } else { "paths" };
    (left.in_all > 0)
        .then(|| format!("{} {noun} that git ignores: {}{more}", left.in_all, named.join(", ")))
}

/// The outcome on one line.
pub(crate) fn in_a_sentence(record: &Record, outcome: &Outcome) -> String {
    let me = program();
    let run = record.run.short();
    let (verb, report) = match outcome {
        Outcome::Applied(report) => ("applied", report),
        Outcome::Would(report) => ("would apply", report),
        Outcome::Refused(report) => ("not applied", report),
        Outcome::Nothing { applied_before, .. } if *applied_before > 0 => {
            return format!("run {run}: already applied, nothing to do");
        }
        Outcome::Nothing { .. } => return format!("run {run}: nothing to apply"),
    };
    let mut text = format!("run {run}: {verb} {}", Numbers::from(report));
    if let (Outcome::Applied(_), Some(_)) = (outcome, report.operation) {
        text.push_str(&format!("; take it back with `{me} undo {run}`"));
    }
    text
}

/// What became of changes, in numbers: ours, or those that a server tells of.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Numbers {
    changes: Summary,
    already: u64,
    merged: u64,
    partly: u64,
    left: u64,
}

impl From<&Applied> for Numbers {
    fn from(report: &Applied) -> Self {
        let Applied { summary, already, merged, partly, left, .. } = *report;
        Self { changes: summary, already, merged, partly, left }
    }
}

impl Numbers {
    /// How many wait, where nothing at all was done.
    pub(crate) fn all_left(&self) -> Option<u64> {
        let done = self.changes.total() + self.already + self.merged + self.partly;
        (done == 0 && self.left > 0).then_some(self.left)
    }
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&counts(self.changes))?;
        let more = [
            (self.already, "already there"),
            (self.merged, "merged"),
            (self.partly, "in part"),
            (self.left, "left pending"),
        ];
        more.iter()
            .filter(|(count, _)| *count > 0)
            .try_for_each(|(count, what)| write!(f, ", {count} {what}"))
    }
}

fn counts(summary: Summary) -> String {
    let Summary { created, modified, deleted, retyped } = summary;
    let each = [
        (created, "created"),
        (modified, "modified"),
        (deleted, "deleted"),
        (retyped, "of another kind"),
    ];
    let each: Vec<String> =
        each.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    if each.is_empty() { "nothing new".to_owned() } else { each.join(", ") }
}

fn refusal(
    again: &str,
    record: &Record,
    report: &Applied,
    args: &ApplyArgs,
    judge: &GateJudge,
) -> Failure {
    let me = program();
    let run = record.run.short();
    let mut text = format!("nothing of run {run} was applied:");
    for refused in report.refused.iter().take(SHOWN) {
        text.push_str(&format!("\n  {}", line(refused)));
    }
    let more = report.refused_in_all.saturating_sub(SHOWN as u64);
    if more > 0 {
        text.push_str(&format!("\n  and {more} more"));
    }
    let mut failure = Failure::new(Exit::Undecided, anyhow::Error::msg(text));
    let has = |why| report.refused.iter().any(|refused| refused.why == why);
    let ways = Ways {
        record,
        again,
        missing: &judge.missing,
        denies: judge.denies,
        is_over_budget: has(Why::Budget),
        commits: judge.commits && args.hunks.is_empty(),
        rests: args.rest,
    };
    let hint = |failure: Failure, Way { what, typed }| failure.hint(format!("{what}: {typed}"));
    failure = ways.to_have_it().into_iter().fold(failure, hint);
    if has(Why::Conflict) {
        // Hunks are of what the host had when the run began: they are not merged, whole files are.
        let merge = match args.hunks.as_slice() {
            [] if args.merge => None,
            [] => Some(format!("to merge with the host: {again} --merge")),
            hunks => {
                let file = match hunks {
                    [word] => quoted(&hunks::file(word)),
                    _ => "PATH".to_owned(),
                };
                Some(format!(
                    "to merge a whole file with the host: {me} apply {run} {file} --merge"
                ))
            }
        };
        failure = merge.into_iter().fold(failure, Failure::hint);
    }
    if has(Why::Gate) || has(Why::Conflict) {
        let others = ways.to_leave_it().into_iter().chain([ways.to_discard_it()]);
        failure = others.fold(failure, hint);
    }
    failure
}

/// One refused path with the reasons.
pub(crate) fn line(refused: &Refused) -> String {
    let words = refused.words.join("; ");
    let kind = match refused.why {
        Why::Gate => "blocked",
        Why::Budget => "too much",
        Why::Conflict => "conflict",
    };
    match &refused.path {
        Some(path) => format!("{kind}: {path}: {words}"),
        None => format!("{kind}: {words}"),
    }
}

pub(super) fn json(
    out: &mut dyn Write,
    record: &Record,
    outcome: &Outcome,
    ignored: Option<u64>,
) -> io::Result<()> {
    let (name, report) = match outcome {
        Outcome::Applied(report) => ("applied", Some(report)),
        Outcome::Would(report) => ("would_apply", Some(report)),
        Outcome::Refused(report) => ("refused", Some(report)),
        Outcome::Nothing { .. } => ("nothing", None),
    };
    let mut value = object!({
        "run": record.run,
        "manifest": record.changes.as_ref().map(|changes| &changes.manifest),
        "outcome": name,
    });
    match (outcome, report) {
        (Outcome::Nothing { applied_before, discarded_before }, _) => {
            value["applied_before"] = (*applied_before).into();
            value["discarded_before"] = (*discarded_before).into();
        }
        (_, Some(report)) => {
            let changes = object!({
                "operation": report.operation,
                "changes": report.summary,
                "already": report.already,
                "left": report.left,
                "merged": report.merged,
                "partly": report.partly,
                "refused": report.refused.iter().map(refused_json).collect::<Vec<_>>(),
                "refused_in_all": report.refused_in_all,
                "held": report.held.iter().map(held_json).collect::<Vec<_>>(),
            });
            if let (Value::Object(value), Value::Object(changes)) = (&mut value, changes) {
                value.extend(changes);
            }
        }
        (_, None) => {}
    }
    if let Some(ignored) = ignored {
        value["ignored"] = ignored.into();
    }
    printer::print(out, &value)
}

pub(crate) fn refused_json(refused: &Refused) -> Value {
    let why = match refused.why {
        Why::Gate => "blocked",
        Why::Budget => "budget",
        Why::Conflict => "conflict",
    };
    object!({
        "path": refused.path.as_ref().map(exact),
        "why": why,
        "reasons": refused.words,
    })
}

fn held_json(held: &Held) -> Value {
    object!({ "path": exact(&held.path), "reasons": [held.why()] })
}

/// Text where it is text, else its bytes in base 64.
fn exact(path: &ChangePath) -> ExactPath {
    path.as_path().into()
}
