//! What a run changed, and what can be done about it: the end of what `run` says.

use cofferdam_core::changes::{Change, ChangePath};
use cofferdam_core::record::{ChangeSummary, Record};
use cofferdam_sandbox::changes::{ChangeSet, History, SetError};
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
    if total == 0 && changes.left_out == 0 && commits == Commits::None {
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
    lines.extend(commits.in_words().map(|words| Rendered::line(&words)));
    let (me, run) = (program(), record.run.short());
    let files = total > 0 || changes.left_out > 0;
    let commands = [
        (files, "diff", "", "look at it"),
        (commits != Commits::None, "diff", " --log", "look at the commits"),
        (total > 0, "apply", "", "bring it to your files"),
        (
            commits != Commits::None,
            "apply",
            " --branch NAME",
            "bring the commits home, as a branch",
        ),
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
#[derive(Debug, PartialEq, Eq)]
enum Commits {
    None,
    Made(u64),
    /// There are references that cannot be followed; the command that would show them says more.
    Unclear(String),
}

impl Commits {
    fn of(state: &StateDir, record: &Record) -> Self {
        let counted = History::any_of_run(state, record)
            .and_then(|history| history.as_ref().map(History::count).transpose());
        match counted {
            Ok(count) => count.map_or(Self::None, Self::Made),
            Err(error) => Self::Unclear(error.to_string()),
        }
    }

    fn in_words(&self) -> Option<String> {
        match self {
            Self::None => None,
            Self::Made(1) => Some("it made 1 commit that your repository does not have".to_owned()),
            Self::Made(count) => {
                Some(format!("it made {count} commits that your repository does not have"))
            }
            Self::Unclear(why) => Some(format!("it may have made commits: {why}")),
        }
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
