//! `cofferdam token`: who may ask a server for what.

use std::io::Write;

use clap::{Args, Subcommand, ValueEnum};
use cofferdam_core::control::id::TokenId;
use cofferdam_core::control::token::{NewToken, Scope, Token};
use cofferdam_core::quantity::Span;
use cofferdam_core::stamp::Stamp;
use jiff::Timestamp;

use super::task::project as find_project;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::json;
use crate::remote::RemoteArgs;
use crate::table::Table;

/// Tokens of a server.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam token create ci --scope submit --project shop
  cofferdam token create visitor --scope review --expires 8h
  cofferdam token create host-1 --scope runner > ~/.runner-token
  cofferdam token ls
  cofferdam token revoke 01k3…")]
pub(crate) struct TokenCommands {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    Create(CreateArgs),
    Ls(LsArgs),
    Revoke(RevokeArgs),
}

/// Make a token. It is printed this once and never again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam token create ci --scope submit --project shop
  cofferdam token create host-1 --scope runner > ~/.runner-token
  cofferdam token create visitor --scope review --expires 8h --json")]
struct CreateArgs {
    /// Its name: what it does is recorded under it.
    name: String,
    /// What it may do; may be given more than once.
    #[arg(long, value_name = "SCOPE", required = true)]
    scope: Vec<ScopeName>,
    /// The only projects that it knows, by id or name; may be given more than once [default: all].
    #[arg(long, value_name = "PROJECT")]
    project: Vec<String>,
    /// How long it counts, from now on, as in 8h or 30d [default: until it is revoked].
    #[arg(long, value_name = "SPAN")]
    expires: Option<Span>,
    #[command(flatten)]
    remote: RemoteArgs,
    /// Print all about it as JSON.
    #[arg(long)]
    json: bool,
}

/// List tokens, without their secrets.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam token ls
  cofferdam token ls --json | jq -r '.items[].name'")]
struct LsArgs {
    #[command(flatten)]
    remote: RemoteArgs,
    /// Print the page as JSON.
    #[arg(long)]
    json: bool,
}

/// Have a token count no longer.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam token revoke 01k3…")]
struct RevokeArgs {
    /// The token's id.
    token: TokenId,
    #[command(flatten)]
    remote: RemoteArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ScopeName {
    /// Everything.
    Admin,
    /// Reads, and makes tasks and workflow runs.
    Submit,
    /// Reads, decides approvals, applies and discards changes.
    Review,
    /// Claims tasks and reports on them.
    Runner,
}

impl From<ScopeName> for Scope {
    fn from(name: ScopeName) -> Self {
        match name {
            ScopeName::Admin => Self::Admin,
            ScopeName::Submit => Self::Submit,
            ScopeName::Review => Self::Review,
            ScopeName::Runner => Self::Runner,
        }
    }
}

pub(crate) fn run(
    args: &TokenCommands,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    match &args.command {
        TokenCommand::Create(args) => create(args, context, out),
        TokenCommand::Ls(args) => list(args, context, out),
        TokenCommand::Revoke(args) => {
            let remote = args.remote.open(context)?;
            remote.ask(remote.client().revoke_token(args.token))?;
            writeln!(out, "{} revoked", args.token)?;
            Ok(Exit::Fine)
        }
    }
}

fn create(args: &CreateArgs, context: &Context, out: &mut dyn Write) -> Result<Exit, Failure> {
    let expires_at = args.expires.map(from_now).transpose()?;
    let remote = args.remote.open(context)?;
    let projects: Vec<_> =
        args.project.iter().map(|name| find_project(&remote, name)).collect::<Result<_, _>>()?;
    let asked = NewToken {
        name: args.name.clone(),
        scopes: args.scope.iter().map(|scope| Scope::from(*scope)).collect(),
        projects: (!projects.is_empty()).then_some(projects),
        expires_at,
    };
    let made = remote.ask(remote.client().make_token(&asked))?;
    match args.json {
        true => json::print(out, &made)?,
        false => writeln!(out, "{}", made.secret)?,
    }
    Ok(Exit::Fine)
}

fn from_now(span: Span) -> Result<Stamp, Failure> {
    let end = Timestamp::now().checked_add(span.duration()).ok().filter(|_| span.millis > 0);
    end.map(Stamp::new)
        .ok_or_else(|| Failure::usage("--expires: a token counts for a while, and not for ever"))
}

fn list(args: &LsArgs, context: &Context, out: &mut dyn Write) -> Result<Exit, Failure> {
    let remote = args.remote.open(context)?;
    let page = remote.ask(remote.client().tokens())?;
    if args.json {
        json::print(out, &page)?;
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(&["TOKEN", "NAME", "SCOPES", "PROJECTS", "STATE"]);
    let now = Stamp::new(Timestamp::now());
    for Token { id, name, scopes, projects, expires_at, revoked_at, .. } in page.items {
        let scopes: Vec<String> = scopes.iter().map(json::name).collect();
        let projects = projects.map_or("all".to_owned(), |all| all.len().to_string());
        let state = match (revoked_at, expires_at) {
            (Some(_), _) => "revoked".to_owned(),
            (None, Some(end)) if end <= now => "expired".to_owned(),
            (None, Some(end)) => format!("good until {end}"),
            (None, None) => "good".to_owned(),
        };
        table.row([id.to_string(), name, scopes.join(","), projects, state]);
    }
    table.print(out)?;
    Ok(Exit::Fine)
}
