//! Ruby: `Gemfile` and its lock.

use super::version::Version;
use super::{Language, Note, Part, System, Told, Tool, Tree, choose, tools, tree};

pub(super) const KNOWN: &[Version] =
    &[Version::line(3, 1), Version::line(3, 2), Version::line(3, 3), Version::line(3, 4)];

/// Gems with native code that is compiled, or brought for glibc.
const NATIVE: &[&str] =
    &["bcrypt", "ffi", "google-protobuf", "grpc", "mysql2", "nokogiri", "pg", "rmagick", "sqlite3"];

pub(super) fn find(tree: &Tree, notes: &mut Vec<Note>) -> Option<Part> {
    let dirs = tree.dirs_with(&["Gemfile"]);
    let root = dirs.first()?.clone();
    let mise = tools::mise(tree);
    let mut told = Vec::new();
    for file in [tree::join(&root, ".ruby-version"), ".ruby-version".to_owned()] {
        let text = tree.text(&file).map(|text| text.trim().trim_start_matches("ruby-"));
        told.extend(text.map(|text| Told::new(file.clone(), text)));
    }
    told.extend(tools::told(tree, Language::Ruby, &mise));
    let gemfile = tree.at(&root, "Gemfile").unwrap_or_default();
    let named = gemfile.lines().find_map(|line| {
        let rest = line.trim().strip_prefix("ruby ")?.trim();
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        rest[1..].split(quote).next()
    });
    told.extend(named.map(|text| Told::new(tree::join(&root, "Gemfile"), text)));
    let (version, why) = choose(Language::Ruby, &told, KNOWN, notes);
    let lock = tree.at(&root, "Gemfile.lock").unwrap_or_default();
    let is_locked =
        |gem: &str| lock.lines().any(|line| line.split_whitespace().next() == Some(gem));
    let is_named = |gem: &str| {
        ['"', '\''].iter().any(|quote| gemfile.contains(&format!("gem {quote}{gem}{quote}")))
    };
    let native = NATIVE.iter().find(|gem| is_locked(gem) || is_named(gem));
    let (system, because) = match native {
        Some(gem) => (System::Debian, format!("Debian, as {gem} is native code")),
        None => (System::Alpine, "Alpine, as no gem is known to be native code".to_owned()),
    };
    Some(Part {
        language: Language::Ruby,
        version,
        tool: Tool::Bundler,
        tool_version: None,
        dirs,
        system,
        reasons: vec![why, because],
    })
}
