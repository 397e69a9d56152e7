//! Rust: `Cargo.toml` and the toolchain file.

use super::version::Version;
use super::{Language, Note, Part, System, Told, Tool, Tree, choose, tools, tree};

pub(super) const KNOWN: &[Version] = &[Version::line(1, 90)];

pub(super) fn find(tree: &Tree, notes: &mut Vec<Note>) -> Option<Part> {
    let mut dirs = tree.dirs_with(&["Cargo.toml"]);
    let mut tables = Vec::new();
    dirs.retain(|dir| {
        let file = tree::join(dir, "Cargo.toml");
        match tree.text(&file).map(str::parse::<toml::Table>) {
            Some(Ok(table)) => {
                tables.push((file, table));
                true
            }
            _ => {
                notes.push(Note::new(&file, "passed over: it is not TOML"));
                false
            }
        }
    });
    dirs.first()?;
    let mise = tools::mise(tree);
    let mut channels = Vec::new();
    for file in ["rust-toolchain.toml", "rust-toolchain"] {
        let Some(text) = tree.text(file) else { continue };
        let table = text.parse::<toml::Table>().ok();
        let channel = table.and_then(|table| {
            Some(table.get("toolchain")?.as_table()?.get("channel")?.as_str()?.to_owned())
        });
        channels.push((file, channel.unwrap_or_else(|| text.trim().to_owned())));
    }
    let mut told: Vec<Told<'_>> = Vec::new();
    for (file, channel) in &channels {
        if channel.starts_with("nightly") || channel.starts_with("beta") {
            let text = "it asks for a channel that has no pinned base: the stable one is taken";
            notes.push(Note::new(file, text));
        } else if channel != "stable" {
            told.push(Told::new(*file, channel));
        }
    }
    told.extend(tools::told(tree, Language::Rust, &mise));
    let (mut version, mut why) = choose(Language::Rust, &told, KNOWN, notes);
    if let Some((file, least)) = least(&tables).filter(|(_, least)| *least > version) {
        version = least;
        why = format!("Rust {least}, the least that {file} allows");
    }
    let because = "Debian, as build scripts and procedural macros link with glibc by default";
    Some(Part {
        language: Language::Rust,
        version,
        tool: Tool::Cargo,
        tool_version: None,
        dirs,
        system: System::Debian,
        reasons: vec![why, because.to_owned()],
    })
}

/// The highest `rust-version` of all manifests.
fn least(tables: &[(String, toml::Table)]) -> Option<(String, Version)> {
    let all = tables.iter().filter_map(|(file, table)| {
        let package = table.get("package").or_else(|| table.get("workspace")?.get("package"))?;
        let version = package.get("rust-version")?.as_str()?.parse::<Version>().ok()?;
        Some((file.clone(), version))
    });
    all.max_by_key(|(_, version)| *version)
}
