//! `cofferdam project`: projects of a server.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use cofferdam_core::control::project::{NewProject, Project};
use cofferdam_core::inert::Inert;
use cofferdam_core::paths::clean_absolute;

use super::task::project as find;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::remote::RemoteArgs;
use crate::table::Table;

/// Projects of a server: directories that tasks may work in.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam project create shop --root /srv/shop
  cofferdam project create shop --root . --allow /srv/data --max-running 4
  cofferdam project ls")]
pub(crate) struct ProjectArgs {
    #[command(subcommand)]
    command: ProjectCommand,
}

#[derive(Debug, Subcommand)]
enum ProjectCommand {
    Create(CreateArgs),
    Ls(LsArgs),
    Show(ShowArgs),
}

/// Make a project of a directory.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam project create shop --root /srv/shop")]
struct CreateArgs {
    /// Its name.
    name: String,
    /// The directory, on the runners' host [default: the current directory].
    #[arg(long, value_name = "DIR", default_value = ".")]
    root: PathBuf,
    /// A path that tasks may mount beside it; may be given more than once.
    #[arg(long, value_name = "PATH")]
    allow: Vec<PathBuf>,
    /// How many of its tasks may run at once.
    #[arg(long, value_name = "N")]
    max_running: Option<u32>,
    /// The role of tasks that name none.
    #[arg(long, value_name = "ROLE")]
    default_role: Option<String>,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Print the project as JSON.
    #[arg(long)]
    json: bool,
}

/// List projects.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam project ls --json | jq -r '.items[].name'")]
struct LsArgs {
    #[command(flatten)]
    remote: RemoteArgs,
    /// Go on after the page that said this is next.
    #[arg(long, value_name = "NEXT")]
    after: Option<String>,
    /// Print the page as JSON.
    #[arg(long)]
    json: bool,
}

/// Show a project.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam project show shop")]
struct ShowArgs {
    /// Its id or its name.
    project: String,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Print the project as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(
    args: &ProjectArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    match &args.command {
        ProjectCommand::Create(args) => create(args, context, out),
        ProjectCommand::Ls(args) => list(args, context, out),
        ProjectCommand::Show(args) => show(args, context, out),
    }
}

fn create(args: &CreateArgs, context: &Context, out: &mut dyn Write) -> Result<Exit, Failure> {
    let remote = args.remote.open(context)?;
    let text = |path: &PathBuf| {
        let path = match path.is_absolute() && !remote.client().is_here() {
            // What it leads to is for the other host to know.
            true => path.clone(),
            false => clean(&context.resolve(path)),
        };
        path.to_str().map(str::to_owned).ok_or_else(|| {
            Failure::usage(format!(
                "{} is not text: the API has no other paths",
                Inert::path(&path)
            ))
        })
    };
    let asked = NewProject {
        name: args.name.clone(),
        root_path: text(&args.root)?,
        allowed_paths: args.allow.iter().map(text).collect::<Result<_, _>>()?,
        max_running: args.max_running,
        default_role: args.default_role.clone(),
    };
    let project = remote.ask(remote.client().create_project(&asked))?;
    match args.json {
        true => json::print(out, &project)?,
        false => writeln!(out, "{} {}", project.id, Inert::line(&project.name))?,
    }
    Ok(Exit::Fine)
}

/// Without `.`, `..` and links, where it is there; else without the first two, as far as the words tell.
fn clean(path: &Path) -> PathBuf {
    std::fs::canonicalize(path)
        .ok()
        .or_else(|| clean_absolute(path))
        .unwrap_or_else(|| path.to_owned())
}

fn list(args: &LsArgs, context: &Context, out: &mut dyn Write) -> Result<Exit, Failure> {
    let remote = args.remote.open(context)?;
    let page = remote.ask(remote.client().projects(args.after.as_deref()))?;
    if args.json {
        json::print(out, &page)?;
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(&["PROJECT", "NAME", "ROOT"]);
    for Project { id, name, root_path, .. } in page.items {
        table.row([id.to_string(), name, root_path]);
    }
    table.print(out)?;
    if let Some(next) = &page.next {
        writeln!(out, "more: --after {}", Inert::line(next))?;
    }
    Ok(Exit::Fine)
}

fn show(args: &ShowArgs, context: &Context, out: &mut dyn Write) -> Result<Exit, Failure> {
    let remote = args.remote.open(context)?;
    let id = find(&remote, &args.project)?;
    let project = remote.ask(remote.client().project(id))?;
    if args.json {
        json::print(out, &project)?;
        return Ok(Exit::Fine);
    }
    let lines = [
        ("project", Some(project.id.to_string())),
        ("name", Some(project.name)),
        ("root", Some(project.root_path)),
        ("allowed", Some(project.allowed_paths.join(", ")).filter(|text| !text.is_empty())),
        ("at once", project.max_running.map(|most| most.to_string())),
        ("role", project.default_role),
        ("created", Some(project.created_at.to_string())),
    ];
    for (name, value) in lines {
        if let Some(value) = value {
            writeln!(out, "{name:<10} {}", Inert::line(&value))?;
        }
    }
    Ok(Exit::Fine)
}
