//! The layers from the outside: texts in, settings and messages out.

mod layers;
mod pages;
mod parsing;
mod properties;
mod steps;

use super::*;

fn host(text: &str) -> Entries {
    parse_file(text, "/host/config.yaml", FileLayer::Host).unwrap()
}

fn project(text: &str) -> Entries {
    parse_file(text, "cofferdam.yaml", FileLayer::Project).unwrap()
}

/// What is said about a file that is wrong, one line an error.
fn errors(text: &str) -> String {
    let errors = parse_file(text, "cofferdam.yaml", FileLayer::Project).unwrap_err();
    errors.iter().map(|error| format!("{error}\n")).collect()
}

fn flags(given: &[(Key, &str)]) -> Entries {
    let mut entries = Entries::default();
    for (key, text) in given {
        entries.set_text(*key, text, Layer::Flag, key.flag().unwrap()).unwrap();
    }
    entries
}

fn shown(resolved: &Resolved, key: Key) -> String {
    let (value, origin) = resolved.get(key);
    format!("{value} ({origin})")
}
