//! Hunks as they are typed: `PATH:1,3`, and `PATH:1,3@MARK` where they are those of a rest.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use cofferdam_core::changes::ChangePath;
use cofferdam_core::inert::Inert;
use cofferdam_core::record::Record;
use cofferdam_sandbox::changes::{Counted, Hunks, Mark};

use crate::context::Context;
use crate::failure::Failure;
use crate::sealed::path_below;

/// What was typed, by file. A file that is named twice has the hunks of both.
pub(super) fn named(
    words: &[OsString],
    record: &Record,
    context: &Context,
) -> Result<BTreeMap<ChangePath, Hunks>, Failure> {
    let mut all: BTreeMap<ChangePath, Hunks> = BTreeMap::new();
    for word in words {
        let (path, hunks) = parse(word)?;
        let path = path_below(&path, &record.workspace, &context.cwd)?;
        match all.get_mut(&path) {
            None => drop(all.insert(path, hunks)),
            Some(had) if had.of == hunks.of => had.numbers.extend(hunks.numbers),
            Some(_) => {
                let words = format!("--hunk names hunks of {path} with two marks");
                return Err(
                    Failure::usage(words).hint("give those that `cofferdam diff` shows now")
                );
            }
        }
    }
    Ok(all)
}

/// The file that was typed, for words that were taken.
pub(super) fn file(word: &OsStr) -> OsString {
    let bytes = word.as_bytes();
    let colon = bytes.iter().rposition(|byte| *byte == b':').unwrap_or(bytes.len());
    // A name that begins like a flag is none.
    let dot: &[u8] = if bytes.starts_with(b"-") { b"./" } else { b"" };
    OsString::from_vec([dot, &bytes[..colon]].concat())
}

fn parse(word: &OsStr) -> Result<(OsString, Hunks), Failure> {
    let wrong = || {
        let word = Inert::os(word);
        Failure::usage(format!("--hunk {word} is not of the form PATH:N,N or PATH:N,N@MARK"))
            .hint("`cofferdam diff` numbers the hunks of each file: --hunk src/lib.rs:1,3")
    };
    let bytes = word.as_bytes();
    let colon = bytes.iter().rposition(|byte| *byte == b':').ok_or_else(wrong)?;
    let text = std::str::from_utf8(&bytes[colon + 1..]).map_err(|_| wrong())?;
    let (numbers, of) = match text.split_once('@') {
        None => (text, Counted::Change),
        Some((numbers, mark)) => (numbers, Counted::Rest(Mark::parse(mark).ok_or_else(wrong)?)),
    };
    let numbers: Result<BTreeSet<usize>, _> = numbers.split(',').map(str::parse).collect();
    let numbers = numbers.map_err(|_| wrong())?;
    if colon == 0 {
        return Err(wrong());
    }
    Ok((OsString::from_vec(bytes[..colon].to_vec()), Hunks { numbers, of }))
}
