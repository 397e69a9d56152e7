//! The judgements written down, for people and for programs.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cofferdam_core::changes::{Change, Entry, Judgement, Node, Verdict};
use cofferdam_core::inert::{self, Inert};
use serde_json::{Map, Value, json};

use super::tally::Sum;
use crate::sealed::Sealed;
use crate::ways::{Way, Ways};

/// Written as entries come.
#[derive(Debug)]
pub(super) enum Listing {
    Words,
    Json { entries: u64 },
}

impl Listing {
    pub(super) fn begin(json: bool, sealed: &Sealed, out: &mut dyn Write) -> io::Result<Self> {
        if !json {
            return Ok(Self::Words);
        }
        let (run, manifest) = (sealed.record.run, sealed.set.hash());
        write!(out, "{{\n  \"run\": {}", json!(run))?;
        write!(out, ",\n  \"manifest\": {},\n  \"entries\": [", json!(manifest))?;
        Ok(Self::Json { entries: 0 })
    }

    pub(super) fn entry(
        &mut self,
        entry: &Entry,
        judged: &Judgement,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match self {
            Self::Words => words(entry, judged, out),
            Self::Json { entries } => {
                let comma = if *entries == 0 { "" } else { "," };
                *entries += 1;
                let text = serde_json::to_string(&object(entry, judged))?;
                write!(out, "{comma}\n    {}", inert::json(&text))
            }
        }
    }

    pub(super) fn end(self, sealed: &Sealed, sum: &Sum, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Words => summary(sealed, sum, out),
            Self::Json { entries } => {
                let close = if entries == 0 { "]" } else { "\n  ]" };
                let budget = json!({
                    "limits": sum.budgets,
                    "found": sum.tally.totals,
                    "tree": sum.tree,
                    "breaches": sum.breaches,
                    "allowed": sum.budget_allowed,
                });
                let budget = inert::json(&budget.to_string());
                write!(
                    out,
                    "{close},\n  \"budget\": {budget},\n  \"blocked\": {}",
                    sum.tally.blocked
                )?;
                let verdict = json!(sum.tally.verdict());
                writeln!(out, ",\n  \"verdict\": {verdict},\n  \"passes\": {}\n}}", sum.passes())
            }
        }
    }
}

fn words(entry: &Entry, judged: &Judgement, out: &mut dyn Write) -> io::Result<()> {
    let state = match judged.verdict {
        Verdict::Auto | Verdict::Review if judged.is_blocked() => "blocked",
        verdict => verdict.name(),
    };
    writeln!(out, "{state:<8} {:<9} {}", change(entry.change), entry.path)?;
    judged.reasons.iter().try_for_each(|reason| {
        let blocks = if judged.blocks.contains(reason) { "✗" } else { "·" };
        writeln!(out, "         {blocks} {}", Inert::line(reason))
    })
}

fn summary(sealed: &Sealed, sum: &Sum, out: &mut dyn Write) -> io::Result<()> {
    let tally = &sum.tally;
    if tally.entries == 0 {
        return writeln!(out, "nothing is left to apply");
    }
    writeln!(
        out,
        "{} {}: {} auto, {} review, {} deny; {} blocked",
        tally.entries,
        if tally.entries == 1 { "change" } else { "changes" },
        tally.auto,
        tally.review,
        tally.deny,
        tally.blocked
    )?;
    for breach in &sum.breaches {
        let state = if sum.budget_allowed { "allowed" } else { "blocked" };
        writeln!(out, "budget, {state}: {}", breach.message)?;
    }
    if sum.passes() {
        return Ok(());
    }
    writeln!(out, "\nWhat can be done:")?;
    let ways = Ways {
        record: &sealed.record,
        again: &sum.again,
        missing: &tally.missing,
        denies: tally.deny > 0,
        is_over_budget: sum.is_over_budget(),
        commits: tally.commits,
        rests: false,
    };
    let has_others = tally.blocked > 0 && tally.blocked < tally.entries;
    let mut all = ways.to_have_it();
    all.extend(ways.to_leave_it().filter(|_| has_others));
    all.push(ways.to_discard_it());
    let width = all.iter().map(|way| way.typed.len()).max().unwrap_or(0);
    all.iter().try_for_each(|Way { what, typed }| writeln!(out, "  {typed:<width$}   # {what}"))
}

fn change(change: Change) -> &'static str {
    match change {
        Change::Created => "created",
        Change::Modified => "modified",
        Change::Deleted => "deleted",
        Change::Retyped => "retyped",
    }
}

fn object(entry: &Entry, judged: &Judgement) -> Map<String, Value> {
    let mut object = Map::new();
    let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
    let path = entry.path.as_bytes();
    put("path", json!(String::from_utf8_lossy(path)));
    if std::str::from_utf8(path).is_err() {
        put("path_b64", json!(STANDARD.encode(path)));
    }
    put("change", json!(change(entry.change)));
    if let Some(node) = entry.after.as_ref().or(entry.before.as_ref()) {
        put("kind", json!(node.kind()));
        if let Some(mode) = node.mode() {
            put("mode", json!(format!("{:04o}", mode.bits())));
        }
        if let Node::File(file) = node {
            put("size", json!(file.size));
        }
    }
    put("classes", json!(judged.classes));
    put("verdict", json!(judged.verdict));
    put("reasons", json!(judged.reasons));
    put("blocks", json!(judged.blocks));
    object
}
