//! `cofferdam diff --log`: commits that were made inside.

use std::io::Write;

use cofferdam_core::inert::Inert;
use cofferdam_sandbox::changes::{History, HistoryError};
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
    let commits = match History::of_run(&state, &sealed.record) {
        Ok(history) => history.commits(MOST)?,
        Err(HistoryError::Nothing) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    if as_json {
        json::print(out, &commits)?;
        return Ok(Exit::Fine);
    }
    for commit in &commits {
        let (start, end) = paint.around(Hue::Note);
        writeln!(out, "{start}commit {}{end}", Inert::line(&commit.id))?;
        let (author, email) = (Inert::line(&commit.author), Inert::line(&commit.email));
        writeln!(out, "Author: {author} <{email}>\nDate:   {}\n", Inert::line(&commit.date))?;
        writeln!(out, "    {}\n", Inert::line(&commit.subject))?;
    }
    let run = sealed.record.run.short();
    let mut words = std::io::stderr();
    match commits.len() {
        0 => writeln!(words, "cofferdam: run {run} made no commit that the host does not have")?,
        1 => {
            writeln!(words, "cofferdam: 1 commit; `{me} apply {run} --branch NAME` brings it home")?
        }
        count => writeln!(
            words,
            "cofferdam: {count} commits; `{me} apply {run} --branch NAME` brings them home"
        )?,
    }
    Ok(Exit::Fine)
}
