//! `cofferdam init`: the files of a development image, from what the project is.

mod place;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use cofferdam_core::inert::Inert;
use cofferdam_core::project::dockerfile::{self, Digests};
use cofferdam_core::project::ignore;
use cofferdam_core::project::proposal::{Proposal, Source, Unfit, propose};
use cofferdam_sandbox::image::{approval, digests, project};
use serde_json::json as object;

use crate::asking::say;
use crate::confirm;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::settings::real;
use crate::settings::trust::TrustStore;
use place::{Answer, Place, Placed};

/// Write Dockerfile.cofferdam, .dockerignore and cofferdam.yaml from what the project is.
///
/// Looks at the project's own files for languages and versions, says why it chose what, and writes an image
/// to develop in. Nothing of the project is run. `cofferdam image build` then builds it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam init                       write the files; asks before it overwrites any
  cofferdam init --print               show them instead
  cofferdam init --json --print        the same, with all that was found
  cofferdam init --from devcontainer   take the image of the project's devcontainer.json")]
pub(crate) struct InitArgs {
    /// Directory of the project.
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// What the image is made by; asked on a terminal where there is a choice, else `files`.
    #[arg(long, value_name = "SOURCE")]
    from: Option<From>,
    /// Show what would be written, and write nothing.
    #[arg(long)]
    print: bool,
    /// Overwrite files that are there, unasked.
    #[arg(long, conflicts_with = "print")]
    force: bool,
    /// Print what was found and done as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum From {
    /// The project's manifests and version files.
    Files,
    /// The Dockerfile that it has.
    Dockerfile,
    /// The devcontainer.json that it has.
    Devcontainer,
}

pub(crate) fn run(
    args: &InitArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let root = real(&context.resolve(&args.directory))?;
    let found = project::read(&root)?;
    let source = source(args, &found)?;
    let unfit = |error: Unfit| {
        let hint = match &error {
            Unfit::Unknown => {
                "write a Dockerfile.cofferdam yourself and run `cofferdam image build`, or go on without an image"
            }
            _ => "correct it, or use `cofferdam init --from files`",
        };
        Failure::new(Exit::Failed, error).hint(hint)
    };
    let images = propose(&found.tree, &source, &Digests::new()).map_err(unfit)?.images;
    let known = digests(&context.engines(), &images);
    let proposal = propose(&found.tree, &source, &known).map_err(unfit)?;
    let placed = if args.print { Vec::new() } else { write(args, &root, &proposal)? };
    let is_undecided = placed.iter().any(|placed| placed.answer == Answer::Kept);
    if !args.print && !is_undecided {
        approve(context, &root, &proposal)?;
    }
    if args.json {
        let written: Vec<_> = placed.iter().map(Placed::to_json).collect();
        let mut all = serde_json::to_value(&proposal)?;
        if let Some(all) = all.as_object_mut() {
            all.insert("written".to_owned(), object!(written));
            all.insert("offers".to_owned(), object!(offers(&source, &found)));
        }
        json::print(out, &all)?;
    } else {
        explain(args, &proposal, &placed, out)?;
        for offer in offers(&source, &found) {
            writeln!(out, "{offer}")?;
        }
        if !args.print {
            writeln!(out, "next: cofferdam image build --pull missing --network bridge")?;
        }
    }
    if is_undecided {
        let kept: Vec<_> =
            placed.iter().filter(|p| p.answer == Answer::Kept).map(|p| p.name).collect();
        let message = format!("left as it was: {}", kept.join(", "));
        return Err(Failure::new(Exit::Undecided, anyhow!(message))
            .hint("compare with `cofferdam init --print`; --force overwrites"));
    }
    Ok(Exit::Fine)
}

fn source<'a>(args: &InitArgs, found: &'a project::Project) -> Result<Source<'a>, Failure> {
    let lacks = |what: &str| Failure::new(Exit::Failed, anyhow!("there is no {what} here"));
    let devcontainer =
        found.devcontainer.as_ref().map(|(path, text)| Source::Devcontainer(path, text));
    let dockerfile = found.dockerfiles.first().map(|path| Source::Dockerfile(path));
    match args.from {
        Some(From::Files) => Ok(Source::Files),
        Some(From::Dockerfile) => dockerfile.ok_or_else(|| lacks("Dockerfile")),
        Some(From::Devcontainer) => devcontainer.ok_or_else(|| lacks("devcontainer.json")),
        None if args.print || args.json || !confirm::is_asked() => Ok(Source::Files),
        None => {
            for offer in [devcontainer, dockerfile].into_iter().flatten() {
                if confirm::ask(&format!("use {} instead of a file of our own?", name(&offer)))? {
                    return Ok(offer);
                }
            }
            Ok(Source::Files)
        }
    }
}

fn name<'a>(source: &Source<'a>) -> &'a str {
    match source {
        Source::Files => "the project's files",
        Source::Dockerfile(path) | Source::Devcontainer(path, _) => path,
    }
}

/// What the project has that could be used instead.
fn offers(source: &Source<'_>, found: &project::Project) -> Vec<String> {
    let mut offers = Vec::new();
    if *source == Source::Files {
        if let Some((path, _)) = &found.devcontainer {
            offers.push(format!(
                "{path} is there: `cofferdam init --from devcontainer` uses it instead"
            ));
        }
        if let Some(path) = found.dockerfiles.first() {
            offers.push(format!(
                "{path} is there: `cofferdam init --from dockerfile` uses it instead"
            ));
        }
    }
    offers
}

fn write(args: &InitArgs, root: &Path, proposal: &Proposal) -> Result<Vec<Placed>, Failure> {
    let place = Place::new(root);
    let mut placed = Vec::new();
    for file in &proposal.files {
        let answer = place.put(file.name, &file.text, |name| match args.force {
            true => Ok(true),
            false if confirm::is_asked() => {
                Ok(confirm::ask(&format!("{name} is there and different: overwrite it?"))?)
            }
            false => Ok(false),
        })?;
        placed.push(Placed { name: file.name, answer });
    }
    Ok(placed)
}

/// Whoever had it written has seen it. A program inside cannot speak for its user.
fn approve(context: &Context, root: &Path, proposal: &Proposal) -> Result<(), Failure> {
    let ours = proposal.files.iter().find(|file| file.name == dockerfile::NAME);
    if let (Some(file), None) = (ours, context.variable("COFFERDAM_RUN")) {
        let store = TrustStore::beneath(&context.state_dir);
        let ignored = std::fs::read_to_string(root.join(ignore::NAME)).unwrap_or_default();
        store.approve(&root.join(file.name), &approval(&file.text, &ignored))?;
    }
    Ok(())
}

fn explain(
    args: &InitArgs,
    proposal: &Proposal,
    placed: &[Placed],
    out: &mut dyn Write,
) -> io::Result<()> {
    // What is printed for a file must be that file; the reasons go where they can be told apart.
    let mut lines = Vec::new();
    for part in &proposal.findings.parts {
        lines.extend(part.reasons.iter().cloned());
    }
    for note in &proposal.findings.notes {
        lines.push(format!("note: {}: {}", note.about, note.text));
    }
    if args.print {
        lines.iter().for_each(|line| say(line));
        for file in &proposal.files {
            writeln!(out, "# ---- {}\n{}", file.name, file.text)?;
        }
        return Ok(());
    }
    for line in lines {
        writeln!(out, "{}", Inert::line(&line))?;
    }
    placed.iter().try_for_each(|placed| writeln!(out, "{} {}", placed.answer.word(), placed.name))
}
