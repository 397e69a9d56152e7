//! What a run changed, and what can be done about it: the end of what `run` says.

use std::path::PathBuf;

use cofferdam_core::changes::{Change, ChangePath};
use cofferdam_core::record::{ChangeSummary, Record};
use cofferdam_sandbox::changes::{ChangeSet, History, SetError, submodules_in_words};
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
    let commits = Commits::of(state, record);
    if total == 0 && changes.left_out == 0 && !commits.are_any() {
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
    lines.extend(commits.in_words().iter().map(|words| Rendered::line(words)));
    let (me, run) = (program(), record.run.short());
    let files = total > 0 || changes.left_out > 0;
    let commands = [
        (files, "diff", "", "look at it"),
        (commits.are_any(), "diff", " --log", "look at the commits"),
        (total > 0, "apply", "", "bring it to your files"),
        (commits.are_own(), "apply", " --branch NAME", "bring the commits home, as a branch"),
        (total > 0, "discard", "", "throw it away"),
        (total > 0, "undo", "", "take an apply back"),
    ];
    let commands = commands.iter().filter(|(wanted, ..)| *wanted);
    let typed: Vec<(String, &str)> = commands
        .map(|(_, command, flags, what)| (format!("{me} {command} {run}{flags}"), *what))
        .collect();
    let width = typed.iter().map(|(typed, _)| typed.len()).max().unwrap_or(0);
    for (typed, what) in typed {
        lines.push(Rendered::line(&format!("  {typed:<width$}   # {what}")));
    }
    Ok(lines)
}

/// What there is of commits that the host does not have.
#[derive(Debug, Default)]
struct Commits {
    own: Own,
    /// Of the checkout, where commits were made that do not come home with its own.
    submodules: Vec<PathBuf>,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Own {
    #[default]
    None,
    Made(u64),
    /// There are references that cannot be followed; the command that would show them says more.
    Unclear(String),
}

impl Commits {
    fn of(state: &StateDir, record: &Record) -> Self {
        let found = History::any_of_run(state, record).and_then(|history| {
            let Some(history) = history else { return Ok(Self::default()) };
            let own =
                if history.tips().is_empty() { Own::None } else { Own::Made(history.count()?) };
            Ok(Self { own, submodules: history.submodules().to_vec() })
        });
        found.unwrap_or_else(|error| Self {
            own: Own::Unclear(error.to_string()),
            submodules: Vec::new(),
        })
    }

    fn are_own(&self) -> bool {
        self.own != Own::None
    }

    fn are_any(&self) -> bool {
        self.are_own() || !self.submodules.is_empty()
    }

    fn in_words(&self) -> Vec<String> {
        let own = match &self.own {
            Own::None => None,
            Own::Made(1) => Some("it made 1 commit that your repository does not have".to_owned()),
            Own::Made(count) => {
                Some(format!("it made {count} commits that your repository does not have"))
            }
            Own::Unclear(why) => Some(format!("it may have made commits: {why}")),
        };
        let there = (!self.submodules.is_empty())
            .then(|| format!("it made commits in {}", submodules_in_words(&self.submodules)));
        own.into_iter().chain(there).collect()
    }
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
