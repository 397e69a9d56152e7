//! `cofferdam policy`: what the rules for commands say.

use std::ffi::OsString;
use std::io::{self, Write};

use clap::{Args, Subcommand};
use cofferdam_core::command::{BUILT_IN, CommandPolicy, Decision, Part, Verdict};
use cofferdam_core::config::Entries;
use cofferdam_core::inert::Inert;
use cofferdam_core::paths::Arg;
use cofferdam_sandbox::shell;
use serde_json::json as object;

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::settings;
use crate::table::Table;

/// See what the rules for commands say: allow, review or deny.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam policy explain -- 'curl x | sh'
  cofferdam policy rules")]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
enum PolicyCommand {
    Explain(ExplainArgs),
    Rules(RulesArgs),
}

/// Take a command apart and show which rule decides on it. Nothing is run.
///
/// One word is a line for a shell; several are a program and its arguments. The built-in rules are shown whether or not
/// `policy.commands.builtin` has them hold. Exits with 0 where the command is allowed, 3 where somebody must say yes, 1
/// where it is denied.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam policy explain -- 'echo hi && curl x | sh'
  cofferdam policy explain -- git push --force
  cofferdam policy explain --json -- \"sudo env A=1 sh -c 'rm -rf /'\"")]
struct ExplainArgs {
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
    /// The command.
    #[arg(trailing_var_arg = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// List the built-in rules for commands.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam policy rules
  cofferdam policy rules --json")]
struct RulesArgs {
    /// Print them as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(
    args: &PolicyArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    match &args.command {
        PolicyCommand::Explain(args) => explain(args, context, out),
        PolicyCommand::Rules(args) => rules(args, out),
    }
}

fn explain(args: &ExplainArgs, context: &Context, out: &mut dyn Write) -> Result<Exit, Failure> {
    let settings = settings::load(context, &context.cwd, Entries::default())
        .map_err(|error| error.failure(Exit::Failed))?
        .settings();
    let policy = settings.policy.commands;
    let line = match args.command.as_slice() {
        [only] => match only.to_str() {
            Some(text) => shell::line(text),
            None => return Err(Failure::usage("the line is not UTF-8 text")),
        },
        words => shell::argv(&words.iter().cloned().map(Arg).collect::<Vec<_>>()),
    };
    let shown = CommandPolicy { builtin: true, ..policy.clone() }.judge(&line);
    let held = policy.judge(&line).verdict;
    if args.json {
        let mut value = serde_json::to_value(&shown)?;
        value["enforced"] = object!(held);
        json::print(out, &value)?;
    } else {
        show(&shown, out)?;
        if held != shown.verdict {
            writeln!(
                out,
                "The built-in rules do not hold here (policy.commands.builtin is false): a run would {}.",
                in_words(held)
            )?;
        }
    }
    Ok(match shown.verdict {
        Verdict::Allow => Exit::Fine,
        Verdict::Review => Exit::Undecided,
        Verdict::Deny => Exit::Failed,
    })
}

const fn in_words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "go ahead",
        Verdict::Review => "need a yes",
        Verdict::Deny => "be refused",
    }
}

fn show(decision: &Decision, out: &mut dyn Write) -> io::Result<()> {
    for Part { text, command, verdict, rules } in &decision.parts {
        writeln!(out, "{:<7} {}", verdict.name(), Inert::line(text))?;
        if !command.via.is_empty() {
            writeln!(out, "        started by {}", Inert::line(&command.via.join(", ")))?;
        }
        if !command.fed_by.is_empty() {
            writeln!(
                out,
                "        gets the output of {}",
                Inert::line(&command.fed_by.join(", "))
            )?;
        }
        for hit in rules {
            writeln!(
                out,
                "        {}: {}: {}",
                hit.verdict,
                Inert::line(&hit.rule),
                Inert::line(&hit.reason)
            )?;
        }
    }
    for hit in &decision.rules {
        writeln!(out, "{:<7} {}: {}", hit.verdict.name(), hit.rule, Inert::line(&hit.reason))?;
    }
    let ground = decision.ground().filter(|_| decision.verdict > Verdict::Allow);
    let by = ground.map(|(_, hit)| format!(", by {}", Inert::line(&hit.rule))).unwrap_or_default();
    writeln!(out, "verdict: {}{by}", decision.verdict)
}

fn rules(args: &RulesArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    if args.json {
        let rules: Vec<_> = BUILT_IN
            .iter()
            .map(|rule| {
                object!({ "rule": rule.id, "verdict": rule.verdict, "reason": rule.reason, "matches": rule.matches, "passes": rule.passes })
            })
            .collect();
        json::print(out, &rules)?;
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(&["RULE", "VERDICT", "REASON"]);
    for rule in BUILT_IN {
        table.row([rule.id.to_owned(), rule.verdict.to_string(), rule.reason.to_owned()]);
    }
    table.print(out)?;
    Ok(Exit::Fine)
}
