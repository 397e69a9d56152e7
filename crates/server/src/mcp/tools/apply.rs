//! The tool that brings changes to the user's files, where the host owner allows it: what needs no look, and no more.
//!
//! It is `cofferdam apply --auto`. Nothing that would need a yes is given one here; the answer says who has to.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::{tool, tool_router};
use serde_json::{Value, json};

use super::Answer;
use crate::mcp::answer::{bad, good};
use crate::mcp::held::{Held, complete};
use crate::mcp::params::PathParams;
use crate::mcp::server::Server;
use crate::own::{Said, Work};

/// So many of those that wait are told one by one.
const TOLD: usize = 100;
/// Bytes of an answer that are read.
const MOST_READ: usize = 16 << 20;
/// The exit code of a command that somebody must decide about.
const UNDECIDED: i32 = 3;

#[tool_router(router = apply_tools, vis = "pub(in crate::mcp)")]
impl Server {
    #[tool(
        description = "Bring changes of the session to the user's files: those that the user's rules let pass without a look. \
        All others stay pending; the result names each with the reasons, and who decides about it. You cannot.",
        annotations(destructive_hint = true)
    )]
    async fn apply(&self, Parameters(params): Parameters<PathParams>) -> Answer {
        Ok(match applied(&self.held, &params.below()).await {
            Ok(value) => good(words(&value), value),
            Err(why) => bad(&why),
        })
    }
}

async fn applied(held: &Held, paths: &[String]) -> Result<Value, String> {
    let done = held.own(Work::Act, &["apply", "--auto", "--json"], paths, MOST_READ).await?;
    let done = answer(&done)?;
    // What is decided does not show any more in what the session is judged by.
    let judged = held.own(Work::Look, &["gate", "--json"], paths, MOST_READ).await?;
    let judged = match judged.code() {
        Some(0 | UNDECIDED) => answer(&judged)?,
        None => return complete(&judged).map(|_| Value::Null),
        // The paths that were named have nothing left to judge.
        Some(_) => Value::Null,
    };
    let conflicts: Vec<&Value> = refused(&done, "conflict");
    let entries = judged["entries"].as_array().map_or(&[][..], Vec::as_slice);
    let pending: Vec<Value> =
        entries.iter().take(TOLD).map(|entry| waiting(entry, &conflicts)).collect();
    let budget: Vec<&Value> =
        refused(&done, "budget").into_iter().map(|refused| &refused["reasons"]).collect();
    Ok(json!({
        "outcome": done["outcome"],
        "run": done["run"],
        "applied": done["changes"],
        "pending": pending,
        "pending_in_all": entries.len(),
        "over_budget": budget,
    }))
}

/// What a command printed, where it did what it was asked or left something to be decided about.
fn answer(said: &Said) -> Result<Value, String> {
    let text = match said.code() {
        Some(UNDECIDED) if !said.stdout.is_empty() => &said.stdout,
        _ => complete(said)?,
    };
    serde_json::from_slice(text).map_err(|error| error.to_string())
}

fn refused<'a>(done: &'a Value, why: &str) -> Vec<&'a Value> {
    let all = done["refused"].as_array().map_or(&[][..], Vec::as_slice);
    all.iter().filter(|refused| refused["why"] == why).collect()
}

/// A change that was not applied: why, and whose word is needed.
fn waiting(entry: &Value, conflicts: &[&Value]) -> Value {
    let conflict = conflicts.iter().find(|conflict| conflict["path"] == entry["path"]);
    let blocks = entry["blocks"].as_array().is_some_and(|blocks| !blocks.is_empty());
    let (state, decides) = match (conflict, entry["verdict"].as_str()) {
        (Some(_), _) => ("conflict", "user: the file was changed outside of the sandbox meanwhile"),
        (None, Some("deny")) => {
            ("denied", "nobody here: the rules of the host or the project deny it")
        }
        (None, _) if blocks => ("blocked", "user: it needs a yes of its own"),
        (None, Some("review")) => ("review", "user: it needs a look"),
        (None, _) => ("waits", "user: all of it together is more than passes at once"),
    };
    let reasons = conflict.map_or(&entry["reasons"], |conflict| &conflict["reasons"]);
    json!({
        "path": entry["path"], "change": entry["change"], "classes": entry["classes"],
        "state": state, "reasons": reasons, "decides": decides,
    })
}

fn words(value: &Value) -> String {
    let count = |name: &str| value["applied"][name].as_u64().unwrap_or(0);
    let mut text = format!(
        "{}: {} created, {} modified, {} deleted",
        value["outcome"].as_str().unwrap_or_default(),
        count("created"),
        count("modified"),
        count("deleted")
    );
    let left = value["pending_in_all"].as_u64().unwrap_or(0);
    if left > 0 {
        text.push_str(&format!(
            "\n{left} changes wait for the user, who reviews them with `cofferdam review` and applies them with \
             `cofferdam apply`:"
        ));
        for entry in value["pending"].as_array().into_iter().flatten() {
            let part = |name: &str| entry[name].as_str().unwrap_or_default();
            text.push_str(&format!("\n  {}: {}", part("state"), part("path")));
        }
    }
    cofferdam_core::inert::Inert::block(&text).to_string()
}
