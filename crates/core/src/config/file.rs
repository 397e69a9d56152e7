//! A file's text to entries: every key known, every value of its form, every error with its line.

use super::entries::{Entries, FileLayer, Origin};
use super::error::{ConfigError, Problems};
use super::key::{Key, Scope};
use super::yaml::{self, Kind, Pair};
use crate::weaken::{Weakness, weakened};

/// Larger than any settings that people write.
pub const MAX_FILE_BYTES: usize = 1 << 20;

/// Reads a configuration file. `source` is its name, for errors and origins. All that is wrong is
/// returned, not only the first.
pub fn parse_file(text: &str, source: &str, layer: FileLayer) -> Result<Entries, Vec<ConfigError>> {
    let mut problems = Problems::of(source);
    let mut entries = Entries::default();
    if text.len() > MAX_FILE_BYTES {
        problems.general(None, "larger than 1 MiB, which no settings are");
    } else if text.starts_with('\u{feff}') {
        problems.general(Some(1), "begins with a byte order mark: save it as UTF-8 without one");
    } else if let Some(root) = yaml::read(text, &mut problems) {
        match root.kind {
            Kind::Map(pairs) => {
                let mut reader = Reader { source, layer, entries: &mut entries };
                reader.section("", &pairs, &mut problems);
            }
            Kind::Null | Kind::Broken => {}
            Kind::Text(_) | Kind::List(_) => problems.general(
                Some(root.line),
                "the file must be a mapping: begin with `sandbox:`, `images:`, `changes:`, `steps:`, `policy:` or `check:`",
            ),
        }
    }
    let errors = problems.into_errors();
    if errors.is_empty() { Ok(entries) } else { Err(errors) }
}

struct Reader<'a> {
    source: &'a str,
    layer: FileLayer,
    entries: &'a mut Entries,
}

impl Reader<'_> {
    /// `prefix` is empty or ends with a dot.
    fn section(&mut self, prefix: &str, pairs: &[Pair], problems: &mut Problems) {
        for pair in pairs {
            if problems.are_enough() {
                return;
            }
            let name = format!("{prefix}{}", pair.key);
            // A dot within one written key is no nesting: `sandbox.mode: stage` is unknown.
            if pair.key.contains('.') {
                unknown(&name, pair.line, problems);
            } else if let Some(key) = Key::named(&name) {
                if key.scope() == Scope::Owner && self.layer == FileLayer::Project {
                    let message = "only the host owner says this (rule host-file-only): write it in the host file, \
                                   and leave it out here";
                    problems.about(&name, pair.line, message);
                    continue;
                }
                if let Some(value) = key.form().read(&name, &pair.value, problems) {
                    let source = Some(self.source.to_owned());
                    let origin = Origin { layer: self.layer.into(), source, line: Some(pair.line) };
                    self.entries.insert(key, value, origin);
                }
            } else if is_section(&name) {
                match &pair.value.kind {
                    Kind::Map(inner) => self.section(&format!("{name}."), inner, problems),
                    Kind::Null | Kind::Broken => {}
                    Kind::Text(_) | Kind::List(_) => {
                        problems.about(&name, pair.value.line, "write a mapping of settings here");
                    }
                }
            } else {
                unknown(&name, pair.line, problems);
            }
        }
    }
}

fn is_section(name: &str) -> bool {
    Key::ALL
        .iter()
        .any(|key| key.name().strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

fn unknown(name: &str, line: usize, problems: &mut Problems) {
    if weakened(Weakness::UnknownKeys) {
        return;
    }
    let names: Vec<&str> = Key::ALL.iter().map(|key| key.name()).collect();
    if names.contains(&name) {
        let nested = name.replace('.', ": {");
        let closing = "}".repeat(name.matches('.').count());
        let message = format!("settings are nested: write `{nested}: …{closing}`");
        return problems.about(name, line, message);
    }
    // A key in the wrong section, or in none, is worth finding by its last part.
    let last = name.rsplit('.').next().unwrap_or(name);
    let misplaced: Vec<&str> =
        names.iter().copied().filter(|known| known.rsplit('.').next() == Some(last)).collect();
    let sections = [
        "sandbox",
        "images",
        "changes",
        "policy",
        "mcp",
        "check",
        "changes.budget",
        "policy.commands",
    ];
    let all: Vec<&str> = names.into_iter().chain(sections).collect();
    match misplaced.as_slice() {
        [one] if !last.is_empty() => problems.misplaced(name, line, one),
        _ => problems.unknown(name, line, &all),
    }
}
