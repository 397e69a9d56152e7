//! `cofferdam diff --log`: commits that were made inside.

use std::io::Write;

use cofferdam_core::inert::Inert;
use cofferdam_sandbox::changes::{History, HistoryError, short_name, submodules_in_words};
use cofferdam_sandbox::state::StateDir;

use super::paint::{Hue, Paint};
use crate::context::{Context, program};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::sealed::Sealed;

/// More than anybody reads; a program could have made millions.
const MOST: usize = 10_000;

pub(super) fn run(
    sealed: &Sealed,
    as_json: bool,
    paint: Paint,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let me = program();
    let state = StateDir::open(&context.state_dir)?;
    let history = match History::of_run(&state, &sealed.record) {
        Err(HistoryError::Nothing) => None,
        history => Some(history?),
    };
    let commits = history.as_ref().map_or_else(|| Ok(Vec::new()), |all| all.commits(MOST))?;
    let submodules = history.as_ref().map_or(&[][..], History::submodules);
    let mut words = std::io::stderr();
    if !submodules.is_empty() {
        let them = submodules_in_words(submodules);
        writeln!(
            words,
            "cofferdam: commits were made in {them}; they do not come home with those of the checkout around, but from a \
             run there"
        )?;
    }
    if as_json {
        json::print(out, &commits)?;
        return Ok(Exit::Fine);
    }
    for commit in &commits {
        let (start, end) = paint.around(Hue::Note);
        writeln!(out, "{start}commit {}{end}{}", Inert::line(&commit.id), names(&commit.refs))?;
        let (author, email) = (Inert::line(&commit.author), Inert::line(&commit.email));
        writeln!(out, "Author: {author} <{email}>\nDate:   {}\n", Inert::line(&commit.date))?;
        writeln!(out, "    {}\n", Inert::line(&commit.subject))?;
    }
    let run = sealed.record.run.short();
    let left = history.as_ref().map_or_else(|| Ok(Vec::new()), History::left)?;
    let first = history.iter().flat_map(History::tips).next();
    let Some(first) = first else {
        let here = if submodules.is_empty() { "" } else { "in the checkout itself " };
        writeln!(words, "cofferdam: run {run} made no commit {here}that the host does not have")?;
        return Ok(Exit::Fine);
    };
    let take = format!("`{me} apply {run} --branch NAME`");
    let (count, s) = (commits.len(), if commits.len() == 1 { "" } else { "s" });
    write!(words, "cofferdam: {count} commit{s}; {take} brings ")?;
    match left.len() {
        0 if count == 1 => writeln!(words, "it home")?,
        0 => writeln!(words, "them home")?,
        more => {
            let first = short_name(&first.name);
            let first = Inert::line(&first);
            writeln!(words, "those of {first} home, and {more} more such branches the others")?;
        }
    }
    Ok(Exit::Fine)
}

/// References after the commit that they name.
fn names(refs: &[String]) -> String {
    let short: Vec<String> = refs.iter().map(|name| short_name(name)).collect();
    match short.is_empty() {
        true => String::new(),
        false => format!(" ({})", Inert::line(&short.join(", "))),
    }
}
