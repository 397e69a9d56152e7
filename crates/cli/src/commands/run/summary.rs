//! What a run changed, and what can be done about it: the end of what `run` says.

use cofferdam_core::changes::{Change, ChangePath};
use cofferdam_core::record::{ChangeSummary, Record};
use cofferdam_sandbox::changes::{ChangeSet, SetError};
use cofferdam_sandbox::runs::Store;
use cofferdam_sandbox::state::StateDir;

use crate::context::program;

/// How many paths are shown one by one.
const SHOWN: usize = 10;

/// The lines, none of which is ours to colour: they go to standard error.
pub(crate) fn lines(state: &StateDir, record: &Record) -> Result<Vec<String>, SetError> {
    let Some(changes) = &record.changes else { return Ok(Vec::new()) };
    let ChangeSummary { created, modified, deleted, retyped, .. } = changes;
    let total = created + modified + deleted + retyped;
    let commits = changes.repository.is_some();
    if total == 0 && changes.left_out == 0 && !commits {
        return Ok(vec!["it changed nothing".to_owned()]);
    }
    let counts = [
        (created, "created"),
        (modified, "modified"),
        (deleted, "deleted"),
        (retyped, "of another kind now"),
    ];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| **count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let mut lines = Vec::new();
    if total > 0 {
        lines.push(format!("it changed, apart from your files: {}", counts.join(", ")));
        lines.extend(match &changes.first {
            Some(first) => {
                first.iter().map(|glimpse| line(glimpse.change, &glimpse.path)).collect()
            }
            None => listed(state, record, &changes.manifest)?,
        });
        if total > SHOWN as u64 {
            lines.push(format!("    and {} more", total - SHOWN as u64));
        }
    }
    if changes.left_out > 0 {
        let count = changes.left_out;
        lines.push(format!(
            "    {count} with paths of more than 64 KiB are lost to what can be applied"
        ));
    }
    let (me, run) = (program(), record.run.short());
    let commands: &[(&str, &str)] = if total > 0 {
        &[
            ("diff", "look at it"),
            ("apply", "bring it to your files"),
            ("discard", "throw it away"),
            ("undo", "take an apply back"),
        ]
    } else {
        &[("diff", "look at it")]
    };
    let log = if total == 0 { " --log" } else { "" };
    let typed: Vec<String> =
        commands.iter().map(|(command, _)| format!("{me} {command} {run}{log}")).collect();
    let width = typed.iter().map(String::len).max().unwrap_or(0);
    for (typed, (_, what)) in typed.iter().zip(commands) {
        lines.push(format!("  {typed:<width$}   # {what}"));
    }
    Ok(lines)
}

/// The first paths.
fn listed(state: &StateDir, record: &Record, sealed: &str) -> Result<Vec<String>, SetError> {
    let dir = Store::new(state).dir(record.run);
    let mut set = ChangeSet::open(&dir, sealed)?;
    let mut lines = Vec::new();
    for entry in set.entries()?.take(SHOWN) {
        let entry = entry.map_err(|source| SetError::Manifest { path: dir.clone(), source })?;
        lines.push(line(entry.change, &entry.path));
    }
    Ok(lines)
}

fn line(change: Change, path: &ChangePath) -> String {
    let sign = match change {
        Change::Created => '+',
        Change::Modified => '~',
        Change::Deleted => '-',
        Change::Retyped => '!',
    };
    format!("    {sign} {path}")
}
