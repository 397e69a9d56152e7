//! `cofferdam config`: what holds and why, what is wrong with a file, and what there is to set.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use cofferdam_core::config::{
    Anchor, ConfigError, FileLayer, Key, Layers, Resolved, Trust, nearest, parse_file, reference,
    resolve, schema,
};
use cofferdam_core::inert::Inert;
use serde_json::{Map, Value as Json, json as object};

use super::check::{self, Unknown};
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::settings::project::ProjectFile;
use crate::settings::{self, load};

/// Show, check and describe the configuration.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  cofferdam config show --origin            every setting, and where it comes from
  cofferdam config show sandbox.timeout     one value, for a script
  cofferdam config check                    are the host file and the project file right?
  cofferdam config schema > schema.json     for an editor")]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, clap::Subcommand)]
enum ConfigCommand {
    /// The settings that hold here.
    Show(ShowArgs),
    /// Whether files are right; every error with its line.
    Check(CheckArgs),
    /// JSON Schema of the configuration file.
    #[command(after_help = "Examples:
  cofferdam config schema > schema.json")]
    Schema,
    /// Every key, as a Markdown page.
    #[command(after_help = "Examples:
  cofferdam config reference | less")]
    Reference,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cofferdam config show
  cofferdam config show --origin sandbox
  cofferdam config show sandbox.timeout")]
struct ShowArgs {
    /// Where each value comes from: file and line, variable, flag or default.
    #[arg(long)]
    origin: bool,
    #[arg(long)]
    json: bool,
    /// Directory whose settings to show.
    #[arg(long, value_name = "DIR", default_value = ".")]
    workspace: PathBuf,
    /// One key, such as sandbox.timeout, or a section, such as sandbox.
    key: Option<String>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cofferdam config check
  cofferdam config check cofferdam.yaml --json")]
struct CheckArgs {
    #[arg(long)]
    json: bool,
    /// Files to check. None: the host file and the project file, as far as they exist.
    files: Vec<PathBuf>,
}

pub(crate) fn run(
    args: &ConfigArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    match &args.command {
        ConfigCommand::Show(args) => show(args, context, out),
        ConfigCommand::Check(args) => check_files(args, context, out),
        ConfigCommand::Schema => {
            json::print(out, &schema())?;
            Ok(Exit::Fine)
        }
        ConfigCommand::Reference => {
            out.write_all(reference().as_bytes())?;
            Ok(Exit::Fine)
        }
    }
}

fn show(args: &ShowArgs, context: &Context, out: &mut dyn Write) -> Result<Exit, Failure> {
    let keys = select(args.key.as_deref())?;
    let resolved = load(context, &context.resolve(&args.workspace), Default::default())
        .map_err(|error| error.failure(Exit::Failed))?;
    if args.json {
        let shown = to_json(&resolved, &keys);
        json::print(out, &shown)?;
        return Ok(Exit::Fine);
    }
    settings::print_warnings(&resolved, &mut io::stderr().lock())?;
    let alone = keys.len() == 1;
    for key in keys {
        let (value, origin) = resolved.get(key);
        match (alone, args.origin) {
            (true, false) => writeln!(out, "{value}")?,
            (_, false) => writeln!(out, "{key}: {value}")?,
            (_, true) => writeln!(out, "{key}: {value}  # {origin}")?,
        }
    }
    Ok(Exit::Fine)
}

/// All keys, the one that is named, or those of the section that is.
fn select(name: Option<&str>) -> Result<Vec<Key>, Failure> {
    let Some(name) = name else { return Ok(Key::ALL.to_vec()) };
    let within = |key: &Key| {
        key.name().strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let keys: Vec<Key> = Key::ALL.iter().copied().filter(within).collect();
    if !keys.is_empty() {
        return Ok(keys);
    }
    let failure = Failure::usage(format!("no setting is called {name:?}"));
    Err(match nearest(name, Key::ALL.iter().map(|key| key.name())) {
        Some(meant) => failure.hint(format!("did you mean `{meant}`?")),
        None => failure.hint("`cofferdam config show` lists them all"),
    })
}

fn to_json(resolved: &Resolved, keys: &[Key]) -> Json {
    let setting = |key: &Key| {
        let (value, origin) = resolved.get(*key);
        (key.name().to_owned(), object!({ "value": value.to_json(), "origin": origin }))
    };
    let settings: Map<String, Json> = keys.iter().map(setting).collect();
    object!({ "settings": settings, "warnings": resolved.warnings() })
}

fn check_files(args: &CheckArgs, context: &Context, out: &mut dyn Write) -> Result<Exit, Failure> {
    let files = if args.files.is_empty() { own_files(context)? } else { args.files.clone() };
    let checked: Vec<Checked> = files.iter().map(|file| Checked::new(file, context)).collect();
    if args.json {
        let all: Vec<Json> = checked.iter().map(Checked::to_json).collect();
        json::print(out, &all)?;
    } else {
        checked.iter().try_for_each(|file| file.print(out))?;
    }
    let right = checked.iter().all(|file| file.errors.is_empty());
    if checked.iter().any(|file| file.is_misread) && !args.json {
        writeln!(out, "remedy: {}", settings::REFERENCE)?;
    }
    Ok(if right { Exit::Fine } else { Exit::Failed })
}

fn own_files(context: &Context) -> Result<Vec<PathBuf>, Failure> {
    let host = settings::host_file(context);
    let project = ProjectFile::find(&settings::real(&context.cwd)?, &context.home)?;
    let mut files = Vec::new();
    // A host file that exists and cannot be read is for the check to report.
    if host.symlink_metadata().is_ok() {
        files.push(host);
    }
    files.extend(project.map(|file| file.path));
    Ok(files)
}

/// What `check.deny` names and no rule is called, with the rules that the file itself adds. Where those cannot be read, that is for
/// `cofferdam check` to say.
fn unknown_denial(resolved: &Resolved, file: &str) -> Option<ConfigError> {
    let settings = resolved.settings().check;
    let validator = check::of_settings(&settings).ok()?;
    let Unknown { name, meant } =
        check::unknown_rule(&settings.levels.deny, &validator).ok().flatten()?;
    Some(ConfigError {
        origin: file.to_owned(),
        line: resolved.get(Key::CheckDeny).1.line,
        key: Some(Key::CheckDeny.name().to_owned()),
        message: format!("no rule is called {name}"),
        suggestion: meant,
    })
}

/// A file and what is wrong with it.
struct Checked {
    path: PathBuf,
    errors: Vec<Json>,
    said: Vec<String>,
    warnings: Vec<String>,
    /// It was read, and what it says is wrong.
    is_misread: bool,
}

impl Checked {
    fn new(path: &Path, context: &Context) -> Self {
        let mut checked = Self {
            path: path.to_owned(),
            errors: Vec::new(),
            said: Vec::new(),
            warnings: Vec::new(),
            is_misread: false,
        };
        let name = path.to_string_lossy();
        let text = File::open(context.resolve(path))
            .map_err(|error| {
                anyhow::Error::new(error).context(format!("cannot read {}", Inert::path(path)))
            })
            .and_then(|file| settings::text(path, file));
        let text = match text {
            Ok(text) => text,
            Err(error) => {
                checked.said.push(format!("{error:#}"));
                checked.errors.push(object!({ "origin": name, "message": format!("{error:#}") }));
                return checked;
            }
        };
        let is_host = context.resolve(path) == settings::host_file(context);
        let layer = if is_host { FileLayer::Host } else { FileLayer::Project };
        let mut entries = match parse_file(&text, &name, layer) {
            Ok(entries) => entries,
            Err(errors) => {
                checked.refuse(&errors);
                return checked;
            }
        };
        let file = context.resolve(path);
        let base = file.parent().unwrap_or(&context.cwd);
        Anchor { base, home: &context.home, workspace: base }.entries(&mut entries);
        // Trusted and alone, so that what is left to warn of is what no trust would change.
        let layers = match layer {
            FileLayer::Host => Layers { host: entries, ..Layers::default() },
            FileLayer::Project => {
                Layers { project: entries, trust: Trust::Trusted, ..Layers::default() }
            }
        };
        if let Ok(resolved) = resolve(layers) {
            checked.refuse(unknown_denial(&resolved, &name).as_slice());
            if !is_host {
                checked.warnings = resolved.warnings().iter().map(ToString::to_string).collect();
            }
        }
        checked
    }

    fn refuse(&mut self, errors: &[ConfigError]) {
        self.is_misread |= !errors.is_empty();
        self.said.extend(errors.iter().map(ToString::to_string));
        self.errors.extend(errors.iter().map(|error| object!(error)));
    }

    fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        for error in &self.said {
            writeln!(out, "error: {error}")?;
        }
        for warning in &self.warnings {
            writeln!(out, "warning: {warning}")?;
        }
        if self.errors.is_empty() {
            writeln!(out, "{}: fine", Inert::path(&self.path))?;
        }
        Ok(())
    }

    fn to_json(&self) -> Json {
        let file = cofferdam_core::paths::ExactPath::from(self.path.clone());
        object!({ "file": file, "errors": self.errors, "warnings": self.warnings })
    }
}
