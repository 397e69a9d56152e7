//! What a project is, read from its own files, and the image to develop it in.
//!
//! Files come in as values ([`Tree`]), [`detect`] finds the [`Part`]s with their versions and says why,
//! [`dockerfile`](dockerfile::dockerfile) writes the text. The same files give the same bytes. Of what stands in
//! the files only numbers ([`Version`]) and plain paths ([`tree::is_plain_path`]) reach an instruction.
//!
//! Deliberately absent: reading files, asking an engine, running anything that a project names.

pub mod base;
pub mod devcontainer;
pub mod dockerfile;
mod golang;
pub mod ignore;
mod install;
pub mod instruction;
mod java;
mod node;
pub mod proposal;
mod python;
mod ruby;
mod rust;
pub mod settings;
mod tools;
pub mod tree;
pub mod version;

use serde::Serialize;

pub use tree::Tree;
use version::{Version, Wish};

/// Names of files that say something about a project. Whoever reads one looks for these and no others.
pub const FILES: &[&str] = &[
    "go.mod",
    "go.sum",
    "go.work",
    "package.json",
    "package-lock.json",
    "npm-shrinkwrap.json",
    "pnpm-lock.yaml",
    "pnpm-workspace.yaml",
    "yarn.lock",
    "bun.lock",
    "bun.lockb",
    "binding.gyp",
    ".nvmrc",
    ".node-version",
    "pyproject.toml",
    "requirements.txt",
    "requirements-dev.txt",
    "poetry.lock",
    "uv.lock",
    "setup.py",
    ".python-version",
    "Cargo.toml",
    "Cargo.lock",
    "rust-toolchain",
    "rust-toolchain.toml",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
    "gradle-wrapper.properties",
    ".java-version",
    "Gemfile",
    "Gemfile.lock",
    ".ruby-version",
    ".tool-versions",
    "mise.toml",
    ".mise.toml",
];

/// In the order in which they are the base of an image that has several: whose files are hardest to move comes
/// first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    Python,
    Ruby,
    Node,
    Java,
    Rust,
    Go,
}

impl Language {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Python => "Python",
            Self::Ruby => "Ruby",
            Self::Node => "Node.js",
            Self::Java => "Java",
            Self::Rust => "Rust",
            Self::Go => "Go",
        }
    }
}

/// What brings a part's dependencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    Go,
    Npm,
    Pnpm,
    Yarn,
    Bun,
    Pip,
    Poetry,
    Uv,
    Cargo,
    Maven,
    Gradle,
    Bundler,
}

/// Which C library the image has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum System {
    Alpine,
    Debian,
}

/// One language of a project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Part {
    pub language: Language,
    pub version: Version,
    pub tool: Tool,
    /// Where the project says which.
    pub tool_version: Option<Version>,
    /// Directories with a manifest of it; the root is the empty name.
    pub dirs: Vec<String>,
    pub system: System,
    /// Why all this was chosen, in sentences.
    pub reasons: Vec<String>,
}

/// Something that whoever asked should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    pub about: String,
    pub text: String,
}

impl Note {
    pub fn new(about: &str, text: impl Into<String>) -> Self {
        Self { about: about.chars().take(200).collect(), text: text.into() }
    }
}

/// What a project is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Findings {
    pub parts: Vec<Part>,
    pub notes: Vec<Note>,
}

/// Looks at the files of a project.
pub fn detect(tree: &Tree) -> Findings {
    let mut notes = tree.notes.clone();
    let found = [
        python::find(tree, &mut notes),
        ruby::find(tree, &mut notes),
        node::find(tree, &mut notes),
        java::find(tree, &mut notes),
        rust::find(tree, &mut notes),
        golang::find(tree, &mut notes),
    ];
    let mut parts: Vec<Part> = found.into_iter().flatten().collect();
    if parts.len() > 1 {
        for part in &mut parts {
            if part.system == System::Alpine {
                part.system = System::Debian;
                part.reasons.push("Debian, as several languages share one image".to_owned());
            }
        }
    }
    Findings { parts, notes }
}

/// What one file says about a version, not yet looked at.
struct Told<'a> {
    file: String,
    text: &'a str,
}

impl<'a> Told<'a> {
    fn new(file: impl Into<String>, text: &'a str) -> Self {
        Self { file: file.into(), text: text.trim() }
    }
}

/// The first of what was told that is a version, and why; else the default.
fn choose(
    language: Language,
    told: &[Told<'_>],
    known: &[Version],
    notes: &mut Vec<Note>,
) -> (Version, String) {
    let name = language.name();
    for Told { file, text } in told {
        let wish = text.parse::<Wish>().ok();
        match wish.as_ref().and_then(|wish| Some((wish, wish.pick(known)?))) {
            Some((Wish::Exactly(_), version)) => {
                return (version, format!("{name} {version}, as {file} says"));
            }
            Some((Wish::Within(_), version)) => {
                return (version, format!("{name} {version}, the newest known that {file} allows"));
            }
            None => {
                notes.push(Note::new(file, format!("its {name} version is not one: passed over")))
            }
        }
    }
    let version = known.iter().max().copied().unwrap_or(Version::major(1));
    (version, format!("{name} {version}, as no file says which"))
}

#[cfg(test)]
mod tests;
