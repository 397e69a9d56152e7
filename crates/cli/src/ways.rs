//! The ways out of what the gate does not let pass: what `gate` lists and `apply` names as remedies.

use std::collections::BTreeSet;
use std::path::Path;

use cofferdam_core::changes::{ChangePath, Class};
use cofferdam_core::record::Record;
use cofferdam_sandbox::changes::History;
use cofferdam_sandbox::state::StateDir;

use crate::context::{Context, program, quoted};
use crate::sealed::Paths;

/// What is in the way.
#[derive(Debug)]
pub(crate) struct Ways<'a> {
    pub(crate) record: &'a Record,
    /// The command that takes what is meant, to be given one more flag.
    pub(crate) again: &'a str,
    /// The classes whose yes is missing.
    pub(crate) missing: &'a BTreeSet<Class>,
    /// Whether something is blocked that no flag allows.
    pub(crate) denies: bool,
    pub(crate) is_over_budget: bool,
    /// Whether there are commits that could come as a branch.
    pub(crate) commits: bool,
    /// Whether the command leaves already what is blocked.
    pub(crate) rests: bool,
}

/// One of them: a command, and what it is good for.
#[derive(Debug)]
pub(crate) struct Way {
    pub(crate) what: &'static str,
    pub(crate) typed: String,
}

impl Ways<'_> {
    /// Those that take all of it, the best one first.
    pub(crate) fn to_have_it(&self) -> Vec<Way> {
        let mut ways = Vec::new();
        if self.commits {
            let typed = format!("{} apply {} --branch NAME", program(), self.record.run.short());
            ways.push(Way { what: "to take the commits that were made inside as a branch", typed });
        }
        let classes = self.missing.iter().map(|class| format!(" --allow-class {}", class.name()));
        let flags: String = classes.chain([self.budget().to_owned()]).collect();
        // What no flag allows would have the same command fail again.
        let (what, rest) = match self.denies && !self.rests {
            true => ("to allow it, and leave what is denied", " --rest"),
            false => ("to allow it", ""),
        };
        if !flags.is_empty() {
            ways.push(Way { what, typed: format!("{}{flags}{rest}", self.again) });
        }
        ways
    }

    /// How much there is does not depend on what is left out.
    pub(crate) fn to_leave_it(&self) -> Option<Way> {
        let typed = format!("{} --rest{}", self.again, self.budget());
        (!self.rests).then_some(Way { what: "to leave these", typed })
    }

    pub(crate) fn to_discard_it(&self) -> Way {
        let typed = format!("{} discard {} PATH", program(), self.record.run.short());
        Way { what: "to throw one away", typed }
    }

    fn budget(&self) -> &'static str {
        if self.is_over_budget { " --allow-budget" } else { "" }
    }
}

/// The command for these paths: whoever asked for one file is not told to take all.
pub(crate) fn command(record: &Record, paths: &Paths) -> String {
    let mut words = format!("{} apply {}", program(), record.run.short());
    for path in paths.as_typed() {
        // A name that begins like a flag is none.
        let dot = if path.as_encoded_bytes().starts_with(b"-") { "./" } else { "" };
        words.push_str(&format!(" {dot}{}", quoted(path)));
    }
    words
}

/// Whether a path is where git keeps what a reference names: a commit may have been made.
pub(crate) fn may_name_a_commit(path: &ChangePath) -> bool {
    let Ok(name) = path.as_path().strip_prefix(".git") else { return false };
    ["refs/heads", "refs/tags", "refs/stash"].iter().any(|refs| name.starts_with(refs))
        || ["HEAD", "packed-refs"].iter().any(|file| name == Path::new(file))
}

/// Whether there are commits that the host does not have. Where that cannot be found out, the command that would take
/// them says why.
pub(crate) fn are_there_commits(record: &Record, context: &Context) -> bool {
    let Ok(state) = StateDir::open(&context.state_dir) else { return false };
    History::any_of_run(&state, record)
        .map_or(true, |found| found.is_some_and(|history| !history.tips().is_empty()))
}
