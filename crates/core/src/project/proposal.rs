//! What `cofferdam init` would write, and why: the whole answer as a value.

use serde::Serialize;

use crate::image::{ImageRef, NotAnImage};

use super::devcontainer::{self, Devcontainer, Unreadable};
use super::dockerfile::{Digests, Ground, dockerfile};
use super::settings::{self, Wanted};
use super::{Findings, Note, Part, Tree, base, detect, ignore};

/// What the image is made by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source<'a> {
    /// What the project's files say.
    Files,
    /// A Dockerfile that it has, by its path.
    Dockerfile(&'a str),
    /// A devcontainer.json, by its path and text.
    Devcontainer(&'a str, &'a str),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Proposal {
    #[serde(flatten)]
    pub findings: Findings,
    /// Images that building it needs.
    pub images: Vec<ImageRef>,
    pub files: Vec<ProposedFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProposedFile {
    pub name: &'static str,
    pub text: String,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    #[error("there is no file here that says what the project is")]
    Unknown,
    #[error("{0} cannot be used: {1}")]
    Devcontainer(String, Unreadable),
    #[error("{0} names neither an image nor a Dockerfile that can be used")]
    NoImage(String),
    #[error(transparent)]
    Image(#[from] NotAnImage),
}

pub fn propose(tree: &Tree, source: &Source<'_>, digests: &Digests) -> Result<Proposal, Unfit> {
    match source {
        Source::Files => {
            let findings = detect(tree);
            if findings.parts.is_empty() {
                return Err(Unfit::Unknown);
            }
            with_dockerfile(findings, Ground::Parts, Wanted::default(), tree, digests)
        }
        Source::Dockerfile(path) => {
            let wanted = Wanted { dockerfile: Some((*path).to_owned()), ..Wanted::default() };
            Ok(with_settings_alone(detect(tree), &wanted))
        }
        Source::Devcontainer(path, text) => {
            let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
            let read = devcontainer::read(text, dir)
                .map_err(|error| Unfit::Devcontainer((*path).to_owned(), error))?;
            let Devcontainer { image, dockerfile, parts, env, notes } = read;
            let findings = Findings { parts, notes };
            match (image, dockerfile) {
                (Some(image), _) => {
                    let wanted = Wanted { env, ..Wanted::default() };
                    with_dockerfile(findings, Ground::Image(image), wanted, tree, digests)
                }
                (None, Some(file)) => {
                    let mut findings = findings;
                    for part in findings.parts.drain(..) {
                        let about = format!("features, {}", part.language.name());
                        let text = "ignored: the Dockerfile that it builds is used as it is";
                        findings.notes.push(Note::new(&about, text));
                    }
                    Ok(with_settings_alone(findings, &Wanted { dockerfile: Some(file), env }))
                }
                (None, None) => Err(Unfit::NoImage((*path).to_owned())),
            }
        }
    }
}

fn with_dockerfile(
    findings: Findings,
    ground: Ground,
    wanted: Wanted,
    tree: &Tree,
    digests: &Digests,
) -> Result<Proposal, Unfit> {
    let parts = &findings.parts;
    let mut images: Vec<ImageRef> = parts.iter().map(base::image).collect::<Result<_, _>>()?;
    if let Ground::Image(image) = &ground {
        images.insert(0, image.clone());
    }
    let text = dockerfile(&ground, parts, tree, digests)?;
    let files = vec![
        ProposedFile { name: super::dockerfile::NAME, text },
        ignored(parts),
        ProposedFile { name: settings::NAME, text: settings::yaml(&wanted) },
    ];
    Ok(Proposal { findings, images, files })
}

fn with_settings_alone(findings: Findings, wanted: &Wanted) -> Proposal {
    let ignored = ignored(&findings.parts);
    let settings = ProposedFile { name: settings::NAME, text: settings::yaml(wanted) };
    Proposal { findings, images: Vec::new(), files: vec![ignored, settings] }
}

fn ignored(parts: &[Part]) -> ProposedFile {
    ProposedFile { name: ignore::NAME, text: ignore::dockerignore(parts) }
}
