//! The steps that there are, for people and for programs.

use std::io::Write;

use cofferdam_core::config::{Entries, Key, StepCommand, Value};
use serde_json::{Value as Json, json as object};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::settings::{self, Files};
use crate::table::Table;

pub(super) fn list(
    files: &Files,
    context: &Context,
    as_json: bool,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let resolved = files
        .clone()
        .resolve(context, Entries::default())
        .map_err(|error| error.failure(Exit::Failed))?;
    let Value::Steps(steps) = resolved.get(Key::Steps).0 else { return Ok(Exit::Fine) };
    if as_json {
        let all: Vec<Json> = steps
            .iter()
            .map(|(name, step)| {
                let mut shown = match step.to_json() {
                    whole @ Json::Object(_) => whole,
                    command => object!({ "command": command }),
                };
                shown["name"] = object!(name);
                shown
            })
            .collect();
        json::print(out, &all)?;
        return Ok(Exit::Fine);
    }
    settings::print_warnings(&resolved, &mut std::io::stderr().lock())?;
    let mut table = Table::new(&["step", "command"]);
    for (name, step) in steps {
        let command = match &step.command {
            StepCommand::Line(line) => line.trim().to_owned(),
            StepCommand::Words(words) => words.join(" "),
        };
        table.row([name.clone(), command]);
    }
    table.print(out)?;
    Ok(Exit::Fine)
}
