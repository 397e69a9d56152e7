//! Command lines taken apart: what a shell would run, without running it.
//!
//! [`line`] reads shell text, [`argv`] a program with its arguments; both see through what starts other programs
//! (`env`, `xargs`, `sh -c`). What they find are values of `cofferdam_core::command`, for its policy to judge.
//!
//! The grammar repairs what it does not understand, and says so; that is a problem of the line, so that nothing is
//! waved through because it could not be read. Deliberately absent: expanding anything that the text alone does not
//! tell.

mod reader;
mod unfold;
mod word;

use cofferdam_core::command::{Approval, CommandPolicy, Line, Problem, SimpleCommand, Word};
use cofferdam_core::paths::Arg;
use cofferdam_core::refusal::Refusal;

use crate::check::{Lang, depth, tree};
use reader::Reader;

/// Longer lines are not read.
pub const LARGEST: usize = 16 << 20;
/// How far substitutions and blocks may nest.
const DEEPEST: usize = 400;
/// How far `sh -c` within `sh -c` is followed.
const MOST_TURNS: usize = 6;
/// More commands than these are not taken out of one line.
const MOST_COMMANDS: usize = 200_000;

/// What a shell would run, given this text.
pub fn line(text: &str) -> Line {
    let mut found = Found::default();
    found.text(text, &[], 0, None);
    found.line
}

/// What starting this program would run.
pub fn argv(words: &[Arg]) -> Line {
    let mut found = Found::default();
    let words = words.iter().map(|word| match word.0.to_str() {
        Some(text) => Word::known(text),
        None => Word::unknown(word.0.to_string_lossy()),
    });
    found.command(SimpleCommand { words: words.collect(), ..SimpleCommand::default() }, 0, None);
    found.line
}

/// Holds a command against the rules for commands. Where there are none, nothing is looked at.
pub fn obey(policy: &CommandPolicy, approval: Approval, command: &[Arg]) -> Result<(), Refusal> {
    if policy.is_silent() || approval == Approval::Own {
        return Ok(());
    }
    match CommandPolicy::refusal(&policy.judge(&argv(command)), approval) {
        Some(refusal) => Err(refusal),
        None => Ok(()),
    }
}

/// What was found so far.
#[derive(Debug, Default)]
struct Found {
    line: Line,
}

impl Found {
    /// Reads shell text that stands at `outer` of the outermost one.
    fn text(
        &mut self,
        text: &str,
        via: &[String],
        turn: usize,
        outer: Option<std::ops::Range<usize>>,
    ) {
        let whole = outer.clone().unwrap_or(0..text.len());
        let mut problem = |message: &str, range: std::ops::Range<usize>| {
            self.line.problems.push(Problem { message: message.to_owned(), range });
        };
        if text.len() > LARGEST {
            return problem("it is longer than what is read", whole);
        }
        if turn > MOST_TURNS {
            return problem("shells in shells are followed only so far", whole);
        }
        let Some(tree) = tree(text, Lang::Shell) else {
            return problem("reading it would take more steps than its length allows", whole);
        };
        if depth(&tree) > DEEPEST {
            return problem("it nests deeper than what is read", whole);
        }
        let mut reader = Reader::new(text, tree.root_node());
        reader.statements(tree.root_node());
        for range in reader.errors {
            let range = outer.clone().unwrap_or(range);
            problem("part of it is not understood", range);
        }
        for mut command in reader.commands {
            command.via = via.iter().cloned().chain(command.via).collect();
            if let Some(outer) = &outer {
                command.range = outer.clone();
            }
            self.command(command, turn, outer.clone());
        }
    }

    /// Adds a command, and what it would start itself.
    fn command(
        &mut self,
        command: SimpleCommand,
        turn: usize,
        outer: Option<std::ops::Range<usize>>,
    ) {
        if self.line.commands.len() >= MOST_COMMANDS {
            if self.line.commands.len() == MOST_COMMANDS && self.line.problems.len() < MOST_COMMANDS
            {
                let message = "it has more commands than are looked at".to_owned();
                self.line.problems.push(Problem { message, range: command.range });
            }
            return;
        }
        if command.words.is_empty() && command.redirects.is_empty() {
            return;
        }
        let inner = unfold::unfold(&command);
        self.line.commands.push(command.clone());
        let via =
            |name: &str| command.via.iter().cloned().chain([name.to_owned()]).collect::<Vec<_>>();
        match inner {
            unfold::Inner::Nothing => {}
            unfold::Inner::Command { name, words } => {
                if command.via.len() > 4 * MOST_TURNS {
                    let message = "wrappers in wrappers are followed only so far".to_owned();
                    return self.line.problems.push(Problem { message, range: command.range });
                }
                let redirects = command.redirects.clone();
                let fed_by = command.fed_by.clone();
                let (via, range) = (via(name), command.range.clone());
                let inner =
                    SimpleCommand { words, redirects, fed_by, via, range, multiplies: false };
                self.command(inner, turn, outer);
            }
            unfold::Inner::Text { name, text } => {
                let range = outer.unwrap_or_else(|| command.range.clone());
                self.text(&text, &via(&name), turn + 1, Some(range));
            }
        }
    }
}

#[cfg(test)]
mod tests;
