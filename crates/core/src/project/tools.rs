//! Versions in files that are about many tools at once: `.tool-versions` and `mise.toml`.

use super::{Language, Told, Tree};

/// What they say about a language, the nearest to the root first.
pub(super) fn told<'a>(
    tree: &'a Tree,
    language: Language,
    parsed: &'a [(String, toml::Table)],
) -> Vec<Told<'a>> {
    let names: &[&str] = match language {
        Language::Python => &["python"],
        Language::Ruby => &["ruby"],
        Language::Node => &["nodejs", "node"],
        Language::Java => &["java"],
        Language::Rust => &["rust"],
        Language::Go => &["golang", "go"],
    };
    let mut found = Vec::new();
    if let Some(text) = tree.text(".tool-versions") {
        let lines = text.lines().filter_map(|line| line.trim().split_once(char::is_whitespace));
        let words = lines.filter(|(name, _)| names.contains(name));
        let words = words.filter_map(|(_, rest)| rest.split_whitespace().next());
        found.extend(words.map(|word| Told::new(".tool-versions", numbers(word))));
    }
    for (file, table) in parsed {
        let Some(tools) = table.get("tools").and_then(toml::Value::as_table) else { continue };
        let value = names.iter().find_map(|name| tools.get(*name));
        let value = value.and_then(|value| match value {
            toml::Value::Array(all) => all.first(),
            toml::Value::Table(table) => table.get("version"),
            other => Some(other),
        });
        if let Some(text) = value.and_then(toml::Value::as_str) {
            found.push(Told::new(file.clone(), numbers(text)));
        }
    }
    found
}

/// The files of mise, as far as they can be read.
pub(super) fn mise(tree: &Tree) -> Vec<(String, toml::Table)> {
    let files = ["mise.toml", ".mise.toml"].into_iter();
    let read = files.filter_map(|file| Some((file.to_owned(), tree.text(file)?.parse().ok()?)));
    read.collect()
}

/// `temurin-21.0.2+13` is a version with its maker before it.
fn numbers(text: &str) -> &str {
    match text.split_once('-') {
        Some((maker, rest)) if maker.bytes().all(|b| b.is_ascii_lowercase()) => rest,
        _ => text,
    }
}
