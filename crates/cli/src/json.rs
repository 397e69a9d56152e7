//! JSON on standard output: inert, so that a terminal obeys nothing in it, and the same to a program.

use std::io::{self, Write};

use cofferdam_core::inert;
use serde::Serialize;

/// Prints a value for people and programs alike.
pub(crate) fn print(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    writeln!(out, "{}", pretty(value)?)
}

/// Prints a value on one line.
pub(crate) fn print_line(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    writeln!(out, "{}", inert::json(&serde_json::to_string(value)?))
}

pub(crate) fn pretty(value: &impl Serialize) -> io::Result<String> {
    Ok(inert::json(&serde_json::to_string_pretty(value)?))
}

/// The name of a value that is one word, as the API spells it.
pub(crate) fn name(value: &impl Serialize) -> String {
    let named = serde_json::to_value(value).ok();
    named.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
