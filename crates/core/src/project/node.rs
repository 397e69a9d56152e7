//! JavaScript: `package.json` and what lies beside it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::version::Version;
use super::{Language, Note, Part, System, Told, Tool, Tree, choose, tools, tree};

/// The last minor of each line with long-term support.
pub(super) const KNOWN: &[Version] =
    &[Version::line(16, 20), Version::line(18, 20), Version::line(20, 19), Version::line(22, 20)];

/// Names of lines, as `lts/iron` has them.
const NAMED: &[(&str, u32)] = &[("gallium", 16), ("hydrogen", 18), ("iron", 20), ("jod", 22)];

/// Where a manifest names packages.
const KINDS: [&str; 3] = ["dependencies", "devDependencies", "optionalDependencies"];

/// Packages that are compiled where they are installed, or bring programs linked with glibc.
const NATIVE: &[&str] = &[
    "argon2",
    "bcrypt",
    "better-sqlite3",
    "bufferutil",
    "canvas",
    "cpu-features",
    "cypress",
    "grpc",
    "isolated-vm",
    "libxmljs2",
    "node-gyp",
    "node-pty",
    "node-sass",
    "oracledb",
    "playwright",
    "puppeteer",
    "re2",
    "robotjs",
    "serialport",
    "sharp",
    "sqlite3",
    "usb",
    "utf-8-validate",
    "zeromq",
];

pub(super) fn find(tree: &Tree, notes: &mut Vec<Note>) -> Option<Part> {
    let mut dirs = tree.dirs_with(&["package.json"]);
    let manifest = |dir: &str| tree.at(dir, "package.json");
    let mut manifests = Vec::new();
    dirs.retain(|dir| match manifest(dir).map(serde_json::from_str::<Value>) {
        Some(Ok(value)) => {
            manifests.push((dir.clone(), value));
            true
        }
        _ => {
            notes.push(Note::new(&tree::join(dir, "package.json"), "passed over: it is not JSON"));
            false
        }
    });
    let (root, first) = manifests.first()?;
    let mise = tools::mise(tree);
    let mut told = Vec::new();
    // One at the top is for all of them.
    let top = (!dirs.iter().any(String::is_empty)).then_some("");
    for dir in manifests.iter().map(|(dir, _)| dir.as_str()).chain(top) {
        for name in [".nvmrc", ".node-version"] {
            told.extend(
                tree.at(dir, name).map(|text| Told::new(tree::join(dir, name), named(text))),
            );
        }
    }
    told.extend(tools::told(tree, Language::Node, &mise));
    for (dir, manifest) in &manifests {
        for path in ["/volta/node", "/engines/node"] {
            let text = manifest.pointer(path).and_then(Value::as_str);
            told.extend(text.map(|text| Told::new(tree::join(dir, "package.json"), text)));
        }
    }
    // Whatever is newest.
    told.retain(|told| !matches!(told.text, "node" | "stable" | "current" | "lts/*" | "*"));
    let (version, why) = choose(Language::Node, &told, KNOWN, notes);
    let (tool, tool_version, by) = tool(tree, root, first, notes);
    notes.extend(told_twice(tree, &dirs, &manifests));
    let native = manifests.iter().find_map(|(_, manifest)| native(manifest));
    let (system, because) = match native {
        Some(name) => (System::Debian, format!("Debian, as {name} is native code")),
        None if !tree.dirs_with(&["binding.gyp"]).is_empty() => {
            (System::Debian, "Debian, as binding.gyp builds native code".to_owned())
        }
        None => (System::Alpine, "Alpine, as no package is known to be native code".to_owned()),
    };
    let reasons = vec![why, by, because];
    Some(Part { language: Language::Node, version, tool, tool_version, dirs, system, reasons })
}

/// Projects with their members, each with its root first. What lies in a workspace is a member of it; whatever else is
/// there stands by itself.
pub(super) fn groups(tree: &Tree, dirs: &[String]) -> Vec<Vec<String>> {
    let mut groups: Vec<Vec<String>> = Vec::new();
    for dir in dirs {
        let lies_in = |root: &str| root.is_empty() || dir.starts_with(&format!("{root}/"));
        let of = |group: &&mut Vec<String>| {
            group.first().is_some_and(|root| lies_in(root) && is_workspace(tree, root))
        };
        match groups.iter_mut().find(of) {
            Some(group) => group.push(dir.clone()),
            None => groups.push(vec![dir.clone()]),
        }
    }
    groups
}

fn is_workspace(tree: &Tree, root: &str) -> bool {
    let manifest = tree.at(root, "package.json").map(serde_json::from_str::<Value>);
    let says = |manifest: Value| manifest.get("workspaces").is_some();
    manifest.and_then(Result::ok).is_some_and(says)
        || tree.at(root, "pnpm-workspace.yaml").is_some()
}

/// Projects that stand by themselves, and of which packages are wanted in another version than an earlier one wants.
fn told_twice(tree: &Tree, dirs: &[String], manifests: &[(String, Value)]) -> Vec<Note> {
    let mut known: BTreeMap<&str, &Value> = BTreeMap::new();
    let mut notes = Vec::new();
    for group in groups(tree, dirs) {
        let wanted: Vec<_> = manifests
            .iter()
            .filter(|(dir, _)| group.contains(dir))
            .flat_map(|(_, manifest)| {
                KINDS.iter().filter_map(|kind| manifest.get(kind)?.as_object())
            })
            .flatten()
            .collect();
        let others = wanted.iter().filter(|(name, version)| {
            known.get(name.as_str()).is_some_and(|first| first != version)
        });
        let others = others.count();
        if others > 0 {
            let file = tree::join(group.first().map_or("", String::as_str), "package.json");
            let text = format!(
                "{others} of its packages are wanted in another version by an earlier project, whose is found first"
            );
            notes.push(Note::new(&file, &text));
        }
        for (name, version) in wanted {
            known.entry(name).or_insert(version);
        }
    }
    notes
}

/// `lts/iron` by its number.
fn named(text: &str) -> &str {
    let text = text.trim();
    let Some(name) = text.strip_prefix("lts/") else { return text };
    match NAMED.iter().find(|(known, _)| *known == name.to_ascii_lowercase()) {
        Some((_, 16)) => "16",
        Some((_, 18)) => "18",
        Some((_, 20)) => "20",
        Some((_, 22)) => "22",
        _ => text,
    }
}

pub(super) fn tool(
    tree: &Tree,
    root: &str,
    manifest: &Value,
    notes: &mut Vec<Note>,
) -> (Tool, Option<Version>, String) {
    let file = tree::join(root, "package.json");
    if let Some(text) = manifest.get("packageManager").and_then(Value::as_str) {
        let (name, version) = text.split_once('@').unwrap_or((text, ""));
        let version = version.split('+').next().unwrap_or(version);
        let tool = match name {
            "npm" => Some(Tool::Npm),
            "pnpm" => Some(Tool::Pnpm),
            "yarn" => Some(Tool::Yarn),
            "bun" => Some(Tool::Bun),
            _ => None,
        };
        match (tool, version.parse::<Version>()) {
            (Some(tool), Ok(version)) => {
                let (name, why) = (tool_name(tool), format!("as packageManager in {file} says"));
                return (tool, Some(version), format!("{name} {version}, {why}"));
            }
            _ => notes.push(Note::new(&file, "its packageManager is not known: passed over")),
        }
    }
    for (lock, tool) in [
        ("pnpm-lock.yaml", Tool::Pnpm),
        ("yarn.lock", Tool::Yarn),
        ("bun.lock", Tool::Bun),
        ("bun.lockb", Tool::Bun),
        ("package-lock.json", Tool::Npm),
        ("npm-shrinkwrap.json", Tool::Npm),
    ] {
        if tree.has(&tree::join(root, lock)) {
            return (tool, None, format!("{}, as there is a {lock}", tool_name(tool)));
        }
    }
    (Tool::Npm, None, "npm, as there is no lock file of another".to_owned())
}

fn tool_name(tool: Tool) -> &'static str {
    match tool {
        Tool::Pnpm => "pnpm",
        Tool::Yarn => "yarn",
        Tool::Bun => "bun",
        _ => "npm",
    }
}

fn native(manifest: &Value) -> Option<&'static str> {
    let of = |kind: &str| manifest.get(kind).and_then(Value::as_object);
    let has =
        |name: &str| KINDS.iter().any(|kind| of(kind).is_some_and(|all| all.contains_key(name)));
    NATIVE.iter().copied().find(|name| has(name))
}
