//! A `devcontainer.json` that a project has: what of it can be kept, and what is named as ignored.
//!
//! Nothing in it is ever run. `initializeCommand`, which other tools run on the host, least of all.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::env::EnvName;
use crate::image::ImageRef;

use super::tree::is_plain_path;
use super::version::Wish;
use super::{Language, Note, Part, System, Tool};
use super::{golang, java, node, python, ruby, rust};

/// Where it may lie.
pub const PLACES: &[&str] = &[".devcontainer/devcontainer.json", ".devcontainer.json"];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Devcontainer {
    pub image: Option<ImageRef>,
    /// The Dockerfile that it builds, by its path from the project's root.
    pub dockerfile: Option<String>,
    /// Languages that its features bring.
    pub parts: Vec<Part>,
    pub env: BTreeMap<EnvName, String>,
    pub notes: Vec<Note>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not JSON with comments")]
pub struct Unreadable;

/// Reads one that lies in `dir`.
pub fn read(text: &str, dir: &str) -> Result<Devcontainer, Unreadable> {
    let value: Value = serde_json::from_str(&without_comments(text)).map_err(|_| Unreadable)?;
    let Value::Object(all) = value else { return Err(Unreadable) };
    let mut found = Devcontainer::default();
    for (name, value) in &all {
        found.take(name, value, dir);
    }
    Ok(found)
}

impl Devcontainer {
    fn take(&mut self, name: &str, value: &Value, dir: &str) {
        let ignored = |why: &str| Note::new(name, format!("ignored: {why}"));
        match name {
            "name" | "$schema" => {}
            "image" => match value.as_str().map(str::parse) {
                Some(Ok(image)) => self.image = Some(image),
                _ => self.notes.push(ignored("it is not an image reference")),
            },
            "dockerFile" => self.build(value.as_str(), dir),
            "build" => {
                self.build(value.get("dockerfile").and_then(Value::as_str), dir);
                let others = value.as_object().into_iter().flat_map(Map::keys);
                for other in others.filter(|other| *other != "dockerfile") {
                    self.notes.push(Note::new(&format!("build.{other}"), "ignored"));
                }
            }
            "features" => value.as_object().into_iter().flatten().for_each(|(name, options)| {
                self.feature(name, options);
            }),
            "remoteUser" | "containerUser" if value.as_str() == Some("root") => {
                self.notes.push(ignored("nobody is root in a sandbox"));
            }
            "remoteUser" | "containerUser" => {
                self.notes.push(Note::new(
                    name,
                    "honoured as far as it is not root: commands run as you",
                ));
            }
            "containerEnv" | "remoteEnv" => self.variables(name, value),
            "initializeCommand" => {
                self.notes.push(ignored("it would run on the host, which is never done"))
            }
            _ if name.ends_with("Command") => {
                self.notes.push(ignored("run it yourself, in the sandbox"));
            }
            "mounts" | "runArgs" | "privileged" | "capAdd" | "securityOpt" => {
                self.notes
                    .push(ignored("what a sandbox may do is for Cofferdam's own settings to say"));
            }
            _ => self.notes.push(Note::new(name, "ignored")),
        }
    }

    fn build(&mut self, file: Option<&str>, dir: &str) {
        let path = file.map(|file| match file.strip_prefix("../") {
            Some(above) => above.to_owned(),
            None => super::tree::join(dir, file.trim_start_matches("./")),
        });
        match path.filter(|path| is_plain_path(path)) {
            Some(path) => self.dockerfile = Some(path),
            None => {
                self.notes.push(Note::new("build", "ignored: its Dockerfile has no plain path"))
            }
        }
    }

    fn feature(&mut self, name: &str, options: &Value) {
        let about = format!("features.{name}");
        let short = name.rsplit('/').next().and_then(|last| last.split([':', '@']).next());
        let official = name.contains("/devcontainers/features/");
        let (language, tool, known) = match short.filter(|_| official) {
            Some("git" | "common-utils") => {
                self.notes.push(Note::new(&about, "honoured: git and a shell are always there"));
                return;
            }
            Some("go") => (Language::Go, Tool::Go, golang::KNOWN),
            Some("node") => (Language::Node, Tool::Npm, node::KNOWN),
            Some("python") => (Language::Python, Tool::Pip, python::KNOWN),
            Some("rust") => (Language::Rust, Tool::Cargo, rust::KNOWN),
            Some("ruby") => (Language::Ruby, Tool::Bundler, ruby::KNOWN),
            Some("java") => (Language::Java, Tool::Maven, java::KNOWN),
            _ => {
                self.notes
                    .push(Note::new(&about, "ignored: it is not among those that can be honoured"));
                return;
            }
        };
        let asked = options.get("version").and_then(Value::as_str).unwrap_or("latest");
        let version = match asked {
            "latest" | "lts" | "stable" | "os-provided" => known.iter().max().copied(),
            text => text.parse::<Wish>().ok().and_then(|wish| wish.pick(known)),
        };
        let Some(version) = version else {
            self.notes.push(Note::new(&about, "ignored: its version is not one"));
            return;
        };
        let reason = format!("{} {version}, by a feature of devcontainer.json", language.name());
        self.parts.push(Part {
            language,
            version,
            tool,
            tool_version: None,
            dirs: Vec::new(),
            system: System::Debian,
            reasons: vec![reason],
        });
        self.parts.sort_by_key(|part| part.language);
    }

    fn variables(&mut self, name: &str, value: &Value) {
        for (variable, value) in value.as_object().into_iter().flatten() {
            let about = format!("{name}.{variable}");
            match (variable.parse(), value.as_str()) {
                (Ok(variable), Some(value)) if !value.contains("${") => {
                    self.env.insert(variable, value.to_owned());
                }
                _ => self.notes.push(Note::new(&about, "ignored: only plain values can be kept")),
            }
        }
    }
}

/// The text without comments and commas before a closing bracket.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut in_string = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' if in_string => {
                out.push(c);
                out.extend(chars.next());
            }
            '"' => {
                in_string = !in_string;
                out.push(c);
            }
            '/' if !in_string && chars.peek() == Some(&'/') => {
                while chars.peek().is_some_and(|c| *c != '\n') {
                    chars.next();
                }
            }
            '/' if !in_string && chars.peek() == Some(&'*') => {
                chars.next();
                let mut last = ' ';
                for c in chars.by_ref() {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
            }
            ']' | '}' if !in_string => {
                let kept = out.trim_end().trim_end_matches(',').len();
                if out.trim_end().ends_with(',') {
                    out.truncate(kept);
                }
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{
        // what others run on the host
        "initializeCommand": "touch /tmp/owned",
        "image": "mcr.example.com/devcontainers/base:1-bookworm", /* a comment */
        "features": {
            "registry.example.com/devcontainers/features/node:1": { "version": "20" },
            "registry.example.com/devcontainers/features/go:1": { "version": "1.22\nRUN x" },
            "registry.example.com/other/thing:1": {},
        },
        "containerEnv": { "A": "b // no comment", "HOST": "${localEnv:HOME}" },
        "remoteUser": "vscode",
        "runArgs": ["--privileged"],
        "postCreateCommand": "npm ci",
    }"#;

    #[test]
    fn what_can_be_kept_is_kept_and_the_rest_is_named() {
        let found = read(TEXT, ".devcontainer").unwrap();
        assert_eq!(found.image.unwrap().as_str(), "mcr.example.com/devcontainers/base:1-bookworm");
        let parts: Vec<_> = found.parts.iter().map(|p| (p.language, p.version.tag())).collect();
        assert_eq!(parts, [(Language::Node, "20.19".to_owned())]);
        let env: Vec<_> = found.env.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
        assert_eq!(env, [("A", "b // no comment")]);
        let named: Vec<_> = found.notes.iter().map(|note| note.about.as_str()).collect();
        for ignored in ["initializeCommand", "runArgs", "postCreateCommand", "containerEnv.HOST"] {
            assert!(named.contains(&ignored), "{named:?}");
        }
        assert_eq!(named.len(), 7, "{named:?}");
    }

    #[test]
    fn a_dockerfile_is_found_from_where_the_file_lies() {
        let of = |text: &str| read(text, ".devcontainer").unwrap().dockerfile;
        assert_eq!(
            of(r#"{"build":{"dockerfile":"Dockerfile"}}"#).unwrap(),
            ".devcontainer/Dockerfile"
        );
        assert_eq!(of(r#"{"build":{"dockerfile":"../Dockerfile"}}"#).unwrap(), "Dockerfile");
        assert_eq!(of(r#"{"build":{"dockerfile":"../../x"}}"#), None);
        assert!(read("[]", "").is_err() && read("{", "").is_err());
    }
}
