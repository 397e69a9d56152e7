//! The command line: the only part that reads the environment and configuration files, and prints.
//!
//! `main` → [`run`] → one line a command. Each command is a file in [`commands`].

mod allowed;
mod asking;
mod commands;
mod confirm;
mod context;
mod desk;
mod exit;
mod failure;
mod faults;
mod json;
mod offered;
mod output;
mod pager;
mod progress;
mod remote;
mod rendered;
mod report;
mod sealed;
mod settings;
mod switch;
mod table;
mod ways;

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;

use clap::{Args as _, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use commands::{
    apply, approval, attack, attempt, audit, check, completions, config, diff, discard, doctor,
    drive, events, first, gate, gc, image, init, launcher, line, logs, mcp, policy, project,
    review, run as run_command, runner, runs, search, serve, session, shell, show, step, task,
    token, trust, undo, workflow,
};
use context::{Context, Whereabouts};
use exit::Exit;
use failure::Failure;
use output::Output;

/// A sandbox for AI coding agents: run anything inside; nothing reaches the host until you say so.
#[derive(Debug, Parser)]
#[command(
    name = "cofferdam",
    version,
    propagate_version = true,
    max_term_width = 100,
    after_help = "Examples:
  cofferdam run -- make test      # in a sandbox; what it changes is kept apart
  cofferdam diff                  # what it changed
  cofferdam apply                 # bring that to the workspace"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run_command::RunArgs>),
    Step(Box<step::StepArgs>),
    Shell(Box<shell::ShellArgs>),
    Session(session::SessionArgs),
    Mcp(Box<mcp::McpArgs>),
    Serve(Box<serve::ServeArgs>),
    Runner(runner::RunnerArgs),
    Task(task::TaskArgs),
    Project(project::ProjectArgs),
    Workflow(workflow::WorkflowArgs),
    Approval(approval::ApprovalArgs),
    Token(token::TokenCommands),
    Loop(Box<search::LoopArgs>),
    Runs(runs::RunsArgs),
    Show(show::ShowArgs),
    Logs(logs::LogsArgs),
    Diff(diff::DiffArgs),
    Review(review::ReviewArgs),
    Gate(gate::GateArgs),
    Apply(apply::ApplyArgs),
    Discard(discard::DiscardArgs),
    Undo(undo::UndoArgs),
    Check(check::CheckArgs),
    Policy(policy::PolicyArgs),
    Events(events::EventsArgs),
    Audit(audit::AuditArgs),
    Config(config::ConfigArgs),
    Trust(trust::TrustArgs),
    Doctor(doctor::DoctorArgs),
    Attack(attack::AttackArgs),
    Gc(gc::GcArgs),
    Init(init::InitArgs),
    Image(image::ImageArgs),
    Completions(completions::CompletionsArgs),
    #[command(hide = true)]
    Launcher(launcher::LauncherArgs),
    #[command(hide = true, name = cofferdam_sandbox::first::WORD)]
    First(first::FirstArgs),
    #[command(hide = true, name = cofferdam_sandbox::engine::LINE)]
    Line(line::LineArgs),
    #[command(hide = true, name = cofferdam_sandbox::terminal::WORD)]
    TerminalGuard,
    #[command(hide = true, name = cofferdam_sandbox::attack::trying::WORD)]
    Attempt(attempt::AttemptArgs),
    #[command(hide = true)]
    Drive(drive::DriveArgs),
}

fn main() -> ExitCode {
    #[cfg(feature = "weaken")]
    context::weaken();
    let cli = match parse() {
        Ok(cli) => cli,
        Err(error) => return wrong_usage(&error),
    };
    match run(&cli) {
        Ok(exit) => exit.into(),
        // Whoever read our output has gone, as after `| head`: nothing went wrong.
        Err(failure) if is_broken_pipe(&failure) => Exit::Fine.into(),
        Err(failure) => {
            // With standard error gone there is nobody left to tell.
            failure.print(&mut io::stderr().lock()).ok();
            failure.exit.into()
        }
    }
}

/// The words of all commands take longer to put together than those of the two that are started most. Where
/// those alone do not do, to help or to complain, all are asked.
fn parse() -> Result<Cli, clap::Error> {
    let words = context::words();
    if words.first().is_some_and(|word| word == "session")
        && let Some(session) = session::parse_exec(&words[1..])
    {
        return Ok(Cli { command: Command::Session(session) });
    }
    if words.first().is_some_and(|word| word == "run") {
        let parser = run_command::RunArgs::augment_args(clap::Command::new("run"));
        let args = parser.try_get_matches_from(words);
        if let Ok(args) = args.and_then(|m| run_command::RunArgs::from_arg_matches(&m)) {
            return Ok(Cli { command: Command::Run(Box::new(args)) });
        }
    }
    Cli::try_parse()
}

fn run(cli: &Cli) -> Result<Exit, Failure> {
    if let Command::Launcher(args) = &cli.command {
        // Has no environment, and is told all that it needs.
        return launcher::run(args);
    }
    if let Command::First(args) = &cli.command {
        return first::run(args);
    }
    if let Command::Line(args) = &cli.command {
        return line::run(args);
    }
    if let Command::Attempt(args) = &cli.command {
        return attempt::run(args);
    }
    if let Command::TerminalGuard = &cli.command {
        cofferdam_sandbox::terminal::guard()?;
        return Ok(Exit::Fine);
    }
    if let Command::Completions(args) = &cli.command {
        // Whoever packages this program has no home.
        return completions::run(args, &mut Cli::command(), &mut Output::hold());
    }
    let context = Context::from_environment(cli.command.whereabouts())
        .map_err(|error| Failure::new(or_not_run(Exit::Failed), error))?;
    if let Command::Mcp(args) = &cli.command {
        // Writes to standard output from threads of its own: nobody else may hold it.
        return mcp::run(args, &context);
    }
    if let Command::Serve(args) = &cli.command {
        return serve::run(args, &context);
    }
    let out = &mut Output::hold();
    match &cli.command {
        Command::Run(args) => run_command::run(args, &context, out),
        Command::Step(args) => step::run(args, &context, out),
        Command::Shell(args) => shell::run(args, &context),
        Command::Session(args) => session::run(args, &context, out),
        Command::Mcp(args) => mcp::run(args, &context),
        Command::Serve(args) => serve::run(args, &context),
        Command::Runner(args) => runner::run(args, &context),
        Command::Task(args) => task::run(args, &context, out),
        Command::Project(args) => project::run(args, &context, out),
        Command::Workflow(args) => workflow::run(args, &context, out),
        Command::Approval(args) => approval::run(args, &context, out),
        Command::Token(args) => token::run(args, &context, out),
        Command::Loop(args) => search::run(args, &context, out),
        Command::Runs(args) => runs::run(args, &context, out),
        Command::Show(args) => show::run(args, &context, out),
        Command::Logs(args) => logs::run(args, &context, out),
        Command::Diff(args) => diff::run(args, &context, out),
        Command::Review(args) => review::run(args, &context, out),
        Command::Gate(args) => gate::run(args, &context, out),
        Command::Apply(args) => apply::run(args, &context, out),
        Command::Discard(args) => discard::run(args, &context, out),
        Command::Undo(args) => undo::run(args, &context, out),
        Command::Check(args) => check::run(args, &context, out),
        Command::Policy(args) => policy::run(args, &context, out),
        Command::Events(args) => events::run(args, &context, out),
        Command::Audit(args) => audit::run(args, &context, out),
        Command::Config(args) => config::run(args, &context, out),
        Command::Trust(args) => trust::run(args, &context, out),
        Command::Doctor(args) => doctor::run(args, &context, out),
        Command::Attack(args) => attack::run(args, &context, out),
        Command::Gc(args) => gc::run(args, &context, out),
        Command::Image(args) => image::run(args, &context, out),
        Command::Init(args) => init::run(args, &context, out),
        Command::Completions(args) => completions::run(args, &mut Cli::command(), out),
        Command::Launcher(args) => launcher::run(args),
        Command::First(args) => first::run(args),
        Command::Line(args) => line::run(args),
        Command::Attempt(args) => attempt::run(args),
        Command::TerminalGuard => Ok(Exit::Fine),
        Command::Drive(args) => drive::run(args, &context, out),
    }
}

impl Command {
    /// Those that are about no directory are of use in one that was removed, too: they clean up after it.
    fn whereabouts(&self) -> Whereabouts {
        match self {
            Self::Runs(_) | Self::Gc(_) | Self::Audit(_) | Self::Doctor(_) => {
                Whereabouts::Indifferent
            }
            _ => Whereabouts::Needed,
        }
    }
}

/// Wrong use is 2, but for `run` it means that nothing ran. Help and version are no errors.
fn wrong_usage(error: &clap::Error) -> ExitCode {
    let terminal =
        if error.use_stderr() { io::stderr().is_terminal() } else { io::stdout().is_terminal() };
    let text = error.render();
    let colour = terminal && context::allows_colour();
    let text = if colour { text.ansi().to_string() } else { text.to_string() };
    if !error.use_stderr() {
        io::stdout().write_all(text.as_bytes()).ok();
        return Exit::Fine.into();
    }
    io::stderr().write_all(text.as_bytes()).ok();
    or_not_run(Exit::Usage).into()
}

/// How a command that did not get as far as to begin ends: where it was to run something, that did not run.
fn or_not_run(otherwise: Exit) -> Exit {
    let words = context::words();
    let mut words = words.iter().map(|word| word.to_str());
    match (words.next().flatten(), words.next().flatten()) {
        (Some("run" | "shell" | "step"), _) => Exit::NotRun,
        (Some("session"), Some("exec")) => Exit::NotRun,
        // It runs nothing of its own, and wrong use of it is that of any other command.
        (Some("session"), Some("start" | "hold")) if otherwise != Exit::Usage => Exit::NotRun,
        _ => otherwise,
    }
}

fn is_broken_pipe(failure: &Failure) -> bool {
    failure
        .error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
