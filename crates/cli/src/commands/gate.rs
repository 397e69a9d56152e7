//! `cofferdam gate`: what would become of a run's changes, and why.
//!
//! Entries are judged and written one after the other; nothing is collected. Deliberately absent: whether
//! the host's files changed meanwhile. `apply --check` looks at them.

mod listing;
mod tally;

use std::io::{BufWriter, Write};

use anyhow::Context as _;
use clap::Args;
use cofferdam_core::changes::{Budgets, Gate, class};
use cofferdam_sandbox::changes::{EntryState, Inspector, Ledger, count_paths};

use crate::allowed::Allowed;
use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::sealed::{Sealed, Words};
use crate::settings;
use crate::ways;
use listing::Listing;
use tally::Tally;

/// Judge what a run changed: what passes, and what needs a yes of its own.
///
/// Exits 0 when `cofferdam apply` would take all of it, and 3 when something is blocked: it is denied,
/// it will later be executed and nobody allowed that, it holds a secret, or there is too much of it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  cofferdam gate                          # the newest run of this workspace
  cofferdam gate --allow-class ci --allow-path scripts/
  cofferdam gate 4k2m9x7q --json | jq -r '.entries[] | select(.blocks != []) | .path'
  cofferdam gate --classes                # the handoff classes, and what is in them")]
pub(crate) struct GateArgs {
    #[command(flatten)]
    words: Words,
    #[command(flatten)]
    allowed: Allowed,
    /// Print a JSON object.
    #[arg(long)]
    json: bool,
    /// Print the page of handoff classes, and judge nothing.
    #[arg(long, exclusive = true)]
    classes: bool,
}

pub(crate) fn run(
    args: &GateArgs,
    context: &Context,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    if args.classes {
        write!(out, "{}", class::page())?;
        return Ok(Exit::Fine);
    }
    let mut sealed = Sealed::open(&args.words, context)?;
    let workspace = &sealed.record.workspace;
    let resolved =
        settings::load_to_judge(context, workspace).map_err(|error| error.failure(Exit::Failed))?;
    settings::print_warnings(&resolved, &mut std::io::stderr().lock())?;
    let rules = resolved.settings().changes;
    let gate = Gate::new(&rules, &args.allowed.allowances(workspace, &context.cwd)?)?;
    let inspector = Inspector::new(gate, sealed.set.objects()).on(workspace);
    let ledger = Ledger::load(&sealed.set)?;

    let mut out = BufWriter::new(out);
    let mut listing = Listing::begin(args.json, &sealed, &mut out)?;
    let mut tally = Tally::default();
    for (index, entry) in (0..).zip(sealed.set.entries()?) {
        let entry = entry?;
        // What was applied or discarded is decided; of what was applied in part the rest is not.
        let open = matches!(ledger.state(index), EntryState::Pending | EntryState::Partly { .. });
        if sealed.paths.take(&entry.path) && open {
            let judged = inspector
                .judge(&entry)
                .with_context(|| format!("cannot look into the content of {}", entry.path))?;
            tally.count(&entry, &judged);
            listing.entry(&entry, &judged, &mut out)?;
        }
    }
    sealed.paths.check_all_matched(&sealed.record)?;

    let budgets = Budgets::from(&rules.budget);
    let tree = match budgets.tree_worth_counting(&tally.totals) {
        Some(limit) if workspace.is_dir() => Some(count_paths(workspace, limit)?),
        // Of a directory that is not there nothing is a share.
        _ => None,
    };
    let breaches = budgets.breaches(&tally.totals, tree);
    tally.commits = tally.commits && ways::are_there_commits(&sealed.record, context);
    let again = ways::command(&sealed.record, &sealed.paths) + &args.allowed.as_flags();
    let budget_allowed = args.allowed.allow_budget;
    let sum = tally::Sum { tally, budgets, tree, breaches, budget_allowed, again };
    listing.end(&sealed, &sum, &mut out)?;
    out.flush()?;
    Ok(if sum.passes() { Exit::Fine } else { Exit::Undecided })
}
