//! `cofferdam image scan`: what is unwise or known to be weak in the project's image.

use std::io::Write;
use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use cofferdam_core::image::ImageRef;
use cofferdam_core::inert::Inert;
use cofferdam_core::spec::{Network, Threshold};
use cofferdam_sandbox::image::scan::{Scan, Scanner, Subject, keep, scan};
use cofferdam_sandbox::image::{BuildError, Draft, DraftError};
use cofferdam_sandbox::state::StateDir;

use super::build::failure;
use super::subject::{WhichArgs, image};
use crate::asking::say;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::table::Table;

/// Look for what is unwise or known to be weak in the project's Dockerfile and image.
///
/// Rules of Cofferdam's own, and trivy, grype, snyk and docker scout where they are installed, as one list. Ends
/// with 3 where a finding is as severe as --fail-on says, with 1 where a scanner failed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam image scan                            the project's Dockerfile and image
  cofferdam image scan --fail-on medium --json
  cofferdam image scan debian:12 --scanner trivy  an image, with one scanner
  cofferdam image scan --scanner none             our own rules alone")]
pub(crate) struct ScanArgs {
    /// The image; the project's own where none is named.
    #[arg(value_name = "IMAGE")]
    image: Option<ImageRef>,
    #[command(flatten)]
    which: WhichArgs,
    /// From which severity on it counts as failed: off, critical, high, medium, low.
    #[arg(long, value_name = "SEVERITY", default_value = "high", value_parser = threshold)]
    fail_on: Threshold,
    /// Use this scanner and not all that are there: trivy, grype, snyk, docker-scout, none (repeatable).
    #[arg(long, value_name = "NAME")]
    scanner: Vec<String>,
    /// Print what was found as JSON.
    #[arg(long)]
    json: bool,
}

fn threshold(text: &str) -> Result<Threshold, String> {
    Threshold::parse(text).ok_or_else(|| format!("use one of {}", Threshold::NAMES.join(", ")))
}

pub(crate) fn run(
    args: &ScanArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let mut which = args.which.look(context)?;
    let draft = match args.image {
        Some(_) => None,
        None => {
            let file = which.root.join(&which.settings.images.dockerfile);
            match Draft::read(&which.root, &file, Network::None, &which.settings.sandbox.blocked) {
                Ok(draft) => Some(draft),
                Err(DraftError::Missing(_)) => None,
                Err(error) => return Err(failure(error)),
            }
        }
    };
    let root = which.root.clone();
    // Without an engine, or an image in it, there is still the Dockerfile.
    let engine = match which.engine(context) {
        Ok(engine) => Some(engine),
        Err(lack) if draft.is_some() => {
            say(&format!("note: no image is looked at: {:#}", lack.error));
            None
        }
        Err(lack) => return Err(lack),
    };
    let image = match engine {
        Some(engine) => image(args.image.as_ref(), &root, engine, context)?,
        None => None,
    };
    if image.is_none() && draft.is_none() {
        return Err(super::subject::none_built());
    }
    let scanners = scanners(args, context)?;
    let named = image.as_ref().map(ImageRef::as_str);
    let subject = Subject {
        dockerfile: draft.as_ref().map(|draft| &draft.file),
        image: engine.zip(named),
        scanners: &scanners,
    };
    let found = scan(&subject).map_err(|error: BuildError| {
        Failure::new(Exit::Failed, error).hint("look whether the engine has it: cofferdam image ls")
    })?;
    let failed: Vec<_> =
        found.scanners.iter().filter_map(|s| Some((&s.name, s.failed.as_ref()?))).collect();
    if failed.is_empty() {
        keep(&StateDir::open(&context.state_dir)?, &found)?;
    }
    report(args, &found, &scanners, out)?;
    if let Some((name, why)) = failed.first() {
        let failure = Failure::new(Exit::Failed, anyhow!("{name} failed: {why}"));
        return Err(failure.hint("put it right, or choose others with --scanner"));
    }
    let is_over = found.findings.iter().any(|finding| finding.severity.reaches(args.fail_on));
    Ok(if is_over { Exit::Undecided } else { Exit::Fine })
}

fn report(
    args: &ScanArgs,
    found: &Scan,
    scanners: &[Scanner],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if args.json {
        return Ok(json::print(out, found)?);
    }
    if scanners.is_empty() && args.scanner.is_empty() {
        let names: Vec<_> = Scanner::NAMES.iter().map(|(name, _)| *name).collect();
        say(&format!(
            "note: known weaknesses of packages were not looked for, as none of {} is installed; \
             each project's own page says how to install it (for one: `brew install trivy`)",
            names.join(", ")
        ));
    }
    if found.findings.is_empty() {
        writeln!(out, "nothing found")?;
        return Ok(());
    }
    let mut table = Table::new(&["SEVERITY", "RULE", "BY", "WHERE", "WHAT"]);
    for one in &found.findings {
        let severity = one.severity.name().to_owned();
        table.row([
            severity,
            one.id.clone(),
            one.source.clone(),
            one.target.clone(),
            one.title.clone(),
        ]);
    }
    Ok(table.print(out)?)
}

fn scanners(args: &ScanArgs, context: &Context) -> Result<Vec<Scanner>, Failure> {
    let mut dirs: Vec<PathBuf> = match context.variable("PATH") {
        Some(path) => std::env::split_paths(path).filter(|dir| dir.is_absolute()).collect(),
        None => Vec::new(),
    };
    dirs.push(context.engines().docker_config.join("cli-plugins"));
    dirs.extend(
        ["/usr/libexec/docker/cli-plugins", "/usr/lib/docker/cli-plugins"].map(PathBuf::from),
    );
    let found = Scanner::found(&dirs);
    if args.scanner.is_empty() {
        return Ok(found);
    }
    let mut chosen = Vec::new();
    for wanted in args.scanner.iter().filter(|wanted| *wanted != "none") {
        let Some((name, _)) =
            Scanner::NAMES.iter().find(|(name, program)| wanted == name || wanted == program)
        else {
            return Err(Failure::usage(format!("there is no scanner {}", Inert::line(wanted))));
        };
        let there = found.iter().find(|scanner| scanner.name() == *name).cloned();
        chosen.push(there.ok_or_else(|| {
            Failure::new(Exit::Failed, anyhow!("{name} is not installed"))
                .hint("install it, or leave --scanner out")
        })?);
    }
    Ok(chosen)
}
