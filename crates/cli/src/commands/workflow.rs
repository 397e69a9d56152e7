//! `cofferdam workflow`: steps of a server that wait for each other.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Subcommand};
use cofferdam_core::control::id::{TemplateId, WorkflowRunId};
use cofferdam_core::control::workflow::{NewTemplate, NewWorkflowRun, WorkflowRun};
use cofferdam_core::inert::Inert;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::remote::{PageArgs, RemoteArgs};
use crate::table::Table;

/// Workflows of a server: templates of steps, and runs of them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam workflow create release.json
  cofferdam workflow start 01k3… --title 'release 1.2'
  cofferdam workflow show 01k4…
  cofferdam workflow start 01k3… --of 01k4… --only test")]
pub(crate) struct WorkflowArgs {
    #[command(subcommand)]
    command: WorkflowCommand,
}

#[derive(Debug, Subcommand)]
enum WorkflowCommand {
    Create(CreateArgs),
    Templates(LsArgs),
    Start(StartArgs),
    Ls(RunsArgs),
    /// Show a run, with its steps and their tasks.
    #[command(after_help = "Examples:
  cofferdam workflow show 01k4…
  cofferdam workflow show 01k4… --json | jq -r '.steps[].task'")]
    Show(OneArgs),
    /// Let nothing more of a run begin. What runs goes on.
    #[command(after_help = "Examples:
  cofferdam workflow pause 01k4…")]
    Pause(OneArgs),
    /// Go on with a run that was paused.
    #[command(after_help = "Examples:
  cofferdam workflow resume 01k4…")]
    Resume(OneArgs),
    /// End a run, and the tasks of it that run.
    #[command(after_help = "Examples:
  cofferdam workflow abort 01k4…")]
    Abort(OneArgs),
}

/// Make a template of a file, as the API takes it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam workflow create release.json

A file of two steps, of which the second waits for the first and for a yes. PROJECT is an id, as
`cofferdam project ls` shows it; docs/usage/tasks.md has a longer one:
  {\"project\": \"PROJECT\", \"name\": \"release\", \"steps\": [
    {\"name\": \"test\",
     \"task\": {\"execution_mode\": \"isolated-worktree\", \"command\": [\"make\", \"test\"]}},
    {\"name\": \"pack\", \"depends_on\": [\"test\"],
     \"task\": {\"execution_mode\": \"isolated-worktree\", \"command\": [\"make\", \"pack\"],
              \"requires_approval\": true}}]}")]
struct CreateArgs {
    /// JSON with `project`, `name` and `steps`.
    file: PathBuf,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Print the template as JSON.
    #[arg(long)]
    json: bool,
}

/// List them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam workflow templates
  cofferdam workflow templates --json | jq -r '.items[].id'")]
struct LsArgs {
    #[command(flatten)]
    remote: RemoteArgs,
    /// Print the page as JSON.
    #[arg(long)]
    json: bool,
}

/// List runs, the newest first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam workflow ls
  cofferdam workflow ls --limit 200 --json | jq -r '.items[].state'")]
struct RunsArgs {
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(flatten)]
    page: PageArgs,
    /// Print the page as JSON.
    #[arg(long)]
    json: bool,
}

/// Run the steps of a template.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam workflow start 01k3… --title 'release 1.2'
  cofferdam workflow start 01k3… --of 01k4… --only test      # this step and what depends on it")]
struct StartArgs {
    /// The template's id.
    template: TemplateId,
    /// A title, for people.
    #[arg(long)]
    title: Option<String>,
    /// Repeat a part of this run.
    #[arg(long, value_name = "RUN", requires = "only")]
    of: Option<WorkflowRunId>,
    /// Only this step and what depends on it; may be given more than once.
    #[arg(long, value_name = "STEP")]
    only: Vec<String>,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Print the run as JSON.
    #[arg(long)]
    json: bool,
}

/// Look at a run, or move it on.
#[derive(Debug, Args)]
struct OneArgs {
    /// The run's id.
    run: WorkflowRunId,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Print the run as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(
    args: &WorkflowArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    match &args.command {
        WorkflowCommand::Create(args) => create(args, context, out),
        WorkflowCommand::Templates(args) => templates(args, context, out),
        WorkflowCommand::Start(args) => start(args, context, out),
        WorkflowCommand::Ls(args) => list(args, context, out),
        WorkflowCommand::Show(args) => one(args, None, context, out),
        WorkflowCommand::Pause(args) => one(args, Some("pause"), context, out),
        WorkflowCommand::Resume(args) => one(args, Some("resume"), context, out),
        WorkflowCommand::Abort(args) => one(args, Some("abort"), context, out),
    }
}

fn create(args: &CreateArgs, context: &Context, out: &mut dyn Write) -> Result<Exit, Failure> {
    let path = context.resolve(&args.file);
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", Inert::path(&path)))?;
    let asked: NewTemplate = serde_json::from_str(&text).map_err(|error| {
        Failure::usage(format!("{} is not a template: {error}", Inert::path(&path)))
            .hint("it has project, name and steps: [{name, depends_on, when, task}]")
    })?;
    let remote = args.remote.open(context)?;
    let template = remote.ask(remote.client().create_template(&asked))?;
    match args.json {
        true => json::print(out, &template)?,
        false => writeln!(out, "{} {}", template.id, Inert::line(&template.asked.name))?,
    }
    Ok(Exit::Fine)
}

fn templates(args: &LsArgs, context: &Context, out: &mut dyn Write) -> Result<Exit, Failure> {
    let remote = args.remote.open(context)?;
    let page = remote.ask(remote.client().templates())?;
    if args.json {
        json::print(out, &page)?;
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(&["TEMPLATE", "NAME", "STEPS"]);
    for template in page.items {
        let steps: Vec<String> = template.asked.steps.into_iter().map(|step| step.name).collect();
        table.row([template.id.to_string(), template.asked.name, steps.join(", ")]);
    }
    table.print(out)?;
    Ok(Exit::Fine)
}

fn start(args: &StartArgs, context: &Context, out: &mut dyn Write) -> Result<Exit, Failure> {
    let StartArgs { template, title, of, only, .. } = args;
    let asked =
        NewWorkflowRun { template: *template, title: title.clone(), only: only.clone(), of: *of };
    let remote = args.remote.open(context)?;
    let run = remote.ask(remote.client().start_workflow(&asked))?;
    print(&run, args.json, out)
}

fn list(args: &RunsArgs, context: &Context, out: &mut dyn Write) -> Result<Exit, Failure> {
    let remote = args.remote.open(context)?;
    let PageArgs { limit, after } = &args.page;
    let page = remote.ask(remote.client().workflow_runs(*limit, after.as_deref()))?;
    if args.json {
        json::print(out, &page)?;
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(&["RUN", "STATE", "CREATED", "TITLE"]);
    for run in &page.items {
        let title = run.title.clone().unwrap_or_default();
        table.row([run.id.to_string(), json::name(&run.state), run.created_at.to_string(), title]);
    }
    table.print(out)?;
    PageArgs::more(page.next.as_ref(), out)?;
    Ok(Exit::Fine)
}

fn one(
    args: &OneArgs,
    verb: Option<&str>,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let remote = args.remote.open(context)?;
    let run = match verb {
        None => remote.ask(remote.client().workflow_run(args.run)),
        Some(verb) => remote.ask(remote.client().move_workflow(args.run, verb)),
    }?;
    print(&run, args.json, out)
}

fn print(run: &WorkflowRun, as_json: bool, out: &mut dyn Write) -> Result<Exit, Failure> {
    if as_json {
        json::print(out, run)?;
        return Ok(Exit::Fine);
    }
    writeln!(out, "{} {}", run.id, json::name(&run.state))?;
    let mut table = Table::new(&["STEP", "STATE", "TASK"]);
    for step in &run.steps {
        let state =
            step.task_state.map_or_else(|| json::name(&step.state), |state| state.to_string());
        let task = step.task.map(|task| task.to_string()).unwrap_or_default();
        table.row([step.name.clone(), state, task]);
    }
    table.print(out)?;
    Ok(Exit::Fine)
}
