//! `cofferdam trust`: says yes to a project file as it stands.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use cofferdam_core::config::{Anchor, Entries, Key, Layers, Resolved, Trust, Value, resolve};
use cofferdam_core::inert::Inert;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::settings::project::{self, ProjectFile};
use crate::settings::trust::{TrustStore, Trusted};
use crate::settings::{host_entries, project_entries, real};

/// Let a project file loosen the built-in defaults.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
What the host file sets is not loosened by this, and keys for the host file
alone are not honoured. Any change to the file takes the trust away.

Examples:
  cofferdam trust                 accept the project file that holds here
  cofferdam trust --revoke        take it back
  cofferdam trust --list --json")]
pub(crate) struct TrustArgs {
    /// Take the trust back.
    #[arg(long, conflicts_with = "list")]
    revoke: bool,
    /// Show what is trusted.
    #[arg(long)]
    list: bool,
    /// With --list: as JSON.
    #[arg(long, requires = "list")]
    json: bool,
    /// Directory of the project.
    #[arg(value_name = "DIR", default_value = ".", conflicts_with = "list")]
    directory: PathBuf,
}

pub(crate) fn run(
    args: &TrustArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let store = TrustStore::beneath(&context.state_dir);
    let directory = context.resolve(&args.directory);
    if args.list {
        return list(args, &store, context, out);
    }
    // A program inside must not speak for its user. Its state directory is not the host's either; this
    // only says so in time.
    if context.variable("COFFERDAM_RUN").is_some() {
        let failure = Failure::new(Exit::Failed, anyhow!("trust is given from outside a sandbox"));
        return Err(failure.hint("run this in a terminal of the host"));
    }
    if args.revoke {
        revoke(&directory, &store, out)
    } else {
        accept(&directory, &store, context, out)
    }
}

fn accept(
    directory: &Path,
    store: &TrustStore,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let workspace = real(directory)?;
    let Some(file) = ProjectFile::find(&workspace, &context.home)? else {
        let message = format!("no {} in {} or above it", project::NAME, Inert::path(&workspace));
        return Err(Failure::new(Exit::Failed, anyhow!(message)));
    };
    let failed = |error: crate::settings::LoadError| error.failure(Exit::Failed);
    let anchor = |base| Anchor { base, home: &context.home, workspace: &workspace };
    let host = host_entries(context, &anchor(&context.config_dir)).map_err(failed)?;
    let project = project_entries(&file, &anchor(file.directory())).map_err(failed)?;
    describe(host, project, out)?;
    store.accept(&file)?;
    writeln!(out, "trusted as it stands: {}", Inert::path(&file.path))?;
    Ok(Exit::Fine)
}

/// What trust changes, and what it does not.
fn describe(host: Entries, project: Entries, out: &mut dyn Write) -> Result<(), Failure> {
    let layers = Layers { host, project, ..Layers::default() };
    let (whole, trusted) = loosened(&layers)?;
    let mut of_steps = Vec::new();
    for name in steps(&layers.project) {
        let Some((_, layers)) = layers.for_step(name) else { continue };
        let (lines, _) = loosened(&layers)?;
        let own = lines.into_iter().filter(|line| !whole.contains(line));
        of_steps.extend(own.map(|line| format!("{line}, for step {name}")));
    }
    if whole.is_empty() && of_steps.is_empty() {
        writeln!(out, "nothing in it needs trust")?;
    }
    whole.iter().chain(&of_steps).try_for_each(|line| writeln!(out, "loosens {line}"))?;
    for warning in trusted.warnings() {
        writeln!(out, "still not honoured: {warning}")?;
    }
    Ok(())
}

/// What trust in the project file changes, a line each, and what holds then.
fn loosened(layers: &Layers) -> Result<(Vec<String>, Resolved), Failure> {
    let with = |trust| -> Result<Resolved, Failure> {
        resolve(Layers { trust, ..layers.clone() })
            .map_err(|refusal| Failure::new(Exit::Failed, refusal))
    };
    let (trusted, untrusted) = (with(Trust::Trusted)?, with(Trust::Untrusted)?);
    let lines = Key::ALL.iter().filter_map(|key| {
        let ((new, origin), (old, _)) = (trusted.get(*key), untrusted.get(*key));
        (new != old).then(|| format!("{key}: {old} -> {new}  # {origin}"))
    });
    Ok((lines.collect(), trusted))
}

fn steps(project: &Entries) -> impl Iterator<Item = &str> {
    let steps = match project.get(Key::Steps) {
        Some((Value::Steps(steps), _)) => Some(steps),
        _ => None,
    };
    steps.into_iter().flat_map(|steps| steps.keys().map(String::as_str))
}

/// The file need not be there any more: what is revoked is what was said about its path.
fn revoke(directory: &Path, store: &TrustStore, out: &mut dyn Write) -> Result<Exit, Failure> {
    let workspace = real(directory)?;
    let all = store.list()?;
    let trusted = |above: &Path| -> Vec<&Trusted> {
        all.iter().filter(|trusted| trusted.path.parent() == Some(above)).collect()
    };
    let Some(nearest) = workspace.ancestors().map(trusted).find(|found| !found.is_empty()) else {
        let message = format!("nothing is trusted in {} or above it", Inert::path(&workspace));
        let failure = Failure::new(Exit::Failed, anyhow!(message));
        return Err(failure.hint("`cofferdam trust --list` shows what is"));
    };
    for trusted in nearest {
        store.revoke(&trusted.path)?;
        writeln!(out, "no longer trusted: {}", Inert::path(&trusted.path))?;
    }
    Ok(Exit::Fine)
}

fn list(
    args: &TrustArgs,
    store: &TrustStore,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let all = store.list()?;
    let mut shown = Vec::new();
    for trusted in all {
        let state = state(&trusted.path, &trusted.blake3, context);
        if args.json {
            shown.push(serde_json::json!({ "path": trusted.path, "blake3": trusted.blake3, "state": state }));
        } else {
            writeln!(out, "{state:8} {}", Inert::path(&trusted.path))?;
        }
    }
    if args.json {
        json::print(out, &shown)?;
    }
    Ok(Exit::Fine)
}

/// Whether the yes still holds.
fn state(path: &Path, blake3: &str, context: &Context) -> &'static str {
    let directory = path.parent().unwrap_or(path);
    if path.file_name().is_none_or(|name| name != project::NAME) {
        return dockerfile_state(path, blake3);
    }
    match ProjectFile::find(directory, &context.home) {
        Ok(Some(file)) if file.path == path && file.hash().to_hex().as_str() == blake3 => "trusted",
        Ok(Some(file)) if file.path == path => "changed",
        Ok(_) => "missing",
        Err(_) => "unreadable",
    }
}

/// A Dockerfile that was approved, with what is left out of its build where that matters.
fn dockerfile_state(path: &Path, blake3: &str) -> &'static str {
    let ignored = path.with_file_name(cofferdam_core::project::ignore::NAME);
    let ignored = std::fs::read_to_string(ignored).unwrap_or_default();
    match std::fs::read_to_string(path) {
        Ok(text) => {
            let hash = blake3::hash(&cofferdam_sandbox::image::approval(&text, &ignored));
            if hash.to_hex().as_str() == blake3 { "trusted" } else { "changed" }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "missing",
        Err(_) => "unreadable",
    }
}
