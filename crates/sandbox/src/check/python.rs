//! Python: parsed by a parser of Python alone, names followed, and what is of interest held against the rules.
//!
//! Two parsers, because one is fast and says what CPython says of wrong code, and the other is the one that the
//! rules' patterns are written for. See `docs/decisions/0025-two-parsers-for-python.md`.

mod depth;
mod meaning;
mod pieces;
mod scope;
mod words;

use std::ops::ControlFlow;

use cofferdam_core::check::{Profile, imports};
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};
use ruff_text_size::Ranged as _;

pub(super) use words::Words;

use super::language::Lang;
use super::own;
use super::resolved::Resolved;
use super::rules::Ruleset;
use super::scan::{self, DEEPEST, Depth, TooHard};
use super::sink::Sink;
use scope::Scopes;

/// Up to this depth an ordinary stack is enough.
const SHALLOW: usize = 60;
const DEEP_STACK: usize = 256 << 20;
const MOST_ERRORS: usize = 20;

/// Looks at a program. What cannot be looked at is a finding too.
pub(super) fn check(source: &str, rules: &Ruleset, words: &Words, sink: &mut Sink<'_>) {
    if let Some(range) = foreign_encoding(source) {
        sink.own(&own::ENCODING, range);
    }
    match depth::bound(source) {
        depth if depth > DEEPEST => sink.own(&own::TOO_DEEP, 0..0),
        depth if depth > SHALLOW => {
            let looked = std::thread::scope(|scope| {
                let thread = std::thread::Builder::new().stack_size(DEEP_STACK);
                let looking = thread.spawn_scoped(scope, || look(source, rules, words, sink));
                looking.map(|looking| looking.join())
            });
            if !matches!(looked, Ok(Ok(()))) {
                sink.own(&own::TOO_DEEP, 0..0);
            }
        }
        _ => look(source, rules, words, sink),
    }
}

fn look(source: &str, rules: &Ruleset, words: &Words, sink: &mut Sink<'_>) {
    // The first tree is gone before there is a second.
    let Some((resolved, depth)) = resolve(source, words, sink) else { return };
    match scan::parse(resolved.text(), Lang::Python, depth) {
        Err(TooHard::Steps) => sink.own(&own::TOO_HARD, 0..0),
        Err(TooHard::Depth) => sink.own(&own::TOO_DEEP, 0..0),
        Ok(document) => scan::matches(document, rules, &mut |rule, range| {
            sink.rule(rules.facts(rule), resolved.source(range));
            ControlFlow::Continue(())
        }),
    }
}

/// What rules are held against, and whether its tree can be too deep.
fn resolve(source: &str, words: &Words, sink: &mut Sink<'_>) -> Option<(Resolved, Depth)> {
    let parsed = parse_unchecked(source, ParseOptions::from(Mode::Module));
    for error in parsed.errors().iter().take(MOST_ERRORS) {
        let message = format!("{}.", error.error);
        sink.own_with(&own::SYNTAX, &message, error.range().to_std_range());
    }
    let is_sound = parsed.errors().is_empty();
    // The tokens are not needed any more.
    let module = parsed.try_into_module()?.into_syntax();
    let scopes = Scopes::of(&module.body);
    if sink.profile() == Profile::Strategy {
        for import in &scopes.imported {
            if import.module.starts_with('.') || !imports::is_allowed(&import.module) {
                sink.own_as_deny(&own::IMPORT, import.range.to_std_range());
            }
        }
    }
    let pieces = pieces::pieces(source, &module.body, &scopes, words);
    for range in pieces.mixed {
        sink.own(&own::LOOKALIKE, range);
    }
    if pieces.is_cut {
        sink.own(&own::TOO_HARD, 0..0);
    }
    // A tree is no deeper than the longest piece is long, unless errors join pieces; the way through it is saved.
    let depth = match pieces.longest {
        longest if longest < DEEPEST / 2 && is_sound => Depth::Known,
        _ => Depth::Measured,
    };
    Some((pieces.resolved, depth))
}

/// A comment in the first two lines that names an encoding under which ASCII is not what it seems.
fn foreign_encoding(source: &str) -> Option<std::ops::Range<usize>> {
    let mut start = 0;
    for line in source.split_inclusive('\n').take(2) {
        let comment = line.trim_start().strip_prefix('#');
        let named = comment.and_then(|comment| comment.split_once("coding"));
        if let Some((_, rest)) = named
            && let Some(rest) = rest.strip_prefix([':', '='])
        {
            let name: String = rest
                .trim_start()
                .chars()
                .take_while(|c| c.is_alphanumeric() || "-_.".contains(*c))
                .collect();
            let plain = [
                "utf8",
                "utf8sig",
                "ascii",
                "usascii",
                "latin1",
                "iso88591",
                "iso885915",
                "cp1252",
            ];
            let folded: String =
                name.to_ascii_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
            if !name.is_empty() && !plain.contains(&folded.as_str()) && folded != "utf8unix" {
                return Some(start..start + line.trim_end().len());
            }
        }
        start += line.len();
    }
    None
}
