//! What a run changed, and what can be done about it: the end of what `run` says.

use cofferdam_core::changes::{Change, ChangePath};
use cofferdam_core::record::{ChangeSummary, Record};
use cofferdam_sandbox::changes::{ChangeSet, SetError};
use cofferdam_sandbox::runs::Store;
use cofferdam_sandbox::state::StateDir;

use crate::context::program;
use crate::rendered::Rendered;

/// How many paths are shown one by one.
const SHOWN: usize = 10;

/// The lines, none of which is ours to colour: they go to standard error.
pub(crate) fn lines(state: &StateDir, record: &Record) -> Result<Vec<Rendered>, SetError> {
    let Some(changes) = &record.changes else { return Ok(Vec::new()) };
    let ChangeSummary { created, modified, deleted, retyped, .. } = changes;
    let total = created + modified + deleted + retyped;
    let commits = changes.repository.is_some();
    if total == 0 && changes.left_out == 0 && !commits {
        return Ok(vec![Rendered::line("it changed nothing")]);
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
        let counts = counts.join(", ");
        lines.push(Rendered::line(&format!("it changed, apart from your files: {counts}")));
        lines.extend(match &changes.first {
            Some(first) if !first.iter().any(|glimpse| is_git(&glimpse.path)) => {
                let first = first.iter().map(|glimpse| line(glimpse.change, &glimpse.path));
                Listed { first: first.collect(), outside: total, in_git: 0 }.lines()
            }
            _ => Listed::read(state, record, &changes.manifest)?.lines(),
        });
    }
    if changes.left_out > 0 {
        let count = changes.left_out;
        lines.push(Rendered::line(&format!(
            "    {count} with paths of more than 64 KiB are lost to what can be applied"
        )));
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
        lines.push(Rendered::line(&format!("  {typed:<width$}   # {what}")));
    }
    Ok(lines)
}

/// What is shown of the paths. What git keeps for itself comes first in their order, and says the least.
struct Listed {
    first: Vec<Rendered>,
    /// All that is not git's.
    outside: u64,
    in_git: u64,
}

impl Listed {
    fn read(state: &StateDir, record: &Record, sealed: &str) -> Result<Self, SetError> {
        let dir = Store::new(state).dir(record.run);
        let mut set = ChangeSet::open(&dir, sealed)?;
        let mut listed = Self { first: Vec::new(), outside: 0, in_git: 0 };
        for entry in set.entries()? {
            let entry = entry.map_err(|source| SetError::Manifest { path: dir.clone(), source })?;
            if is_git(&entry.path) {
                listed.in_git += 1;
                continue;
            }
            listed.outside += 1;
            if listed.first.len() < SHOWN {
                listed.first.push(line(entry.change, &entry.path));
            }
        }
        Ok(listed)
    }

    fn lines(self) -> Vec<Rendered> {
        let mut lines = self.first;
        let more = self.outside - lines.len() as u64;
        if more > 0 {
            lines.push(Rendered::line(&format!("    and {more} more")));
        }
        if self.in_git > 0 {
            lines.push(Rendered::line(&format!("    and {} in .git", self.in_git)));
        }
        lines
    }
}

fn is_git(path: &ChangePath) -> bool {
    path.as_path().components().any(|part| part.as_os_str() == ".git")
}

fn line(change: Change, path: &ChangePath) -> Rendered {
    let sign = match change {
        Change::Created => '+',
        Change::Modified => '~',
        Change::Deleted => '-',
        Change::Retyped => '!',
    };
    Rendered::inert(format_args!("    {sign} {path}"))
}
