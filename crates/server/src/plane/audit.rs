//! What can be proved of a task: its links, taken from the chain.

use std::collections::HashMap;

use cofferdam_core::control::audit::{AuditAct, AuditLink, AuditOutcome, AuditStep, TaskAudit};
use cofferdam_core::control::id::TaskId;
use cofferdam_core::control::page::Paging;
use cofferdam_core::control::timeline::TimelineEvent;
use serde_json::Value;

use super::Plane;
use super::caller::Caller;
use super::error::PlaneError;
use super::events::EventFilter;

impl Plane {
    pub async fn audit(&self, caller: &Caller, id: TaskId) -> Result<TaskAudit, PlaneError> {
        let task = self.task(caller, id).await?;
        let filter = EventFilter { task: Some(id), ..EventFilter::default() };
        let mut paging = Paging { limit: Paging::MOST, after: None };
        let mut links = Vec::new();
        let mut decided = Decided::default();
        loop {
            let page = self.events(caller, &filter, &paging).await?;
            for event in &page.items {
                decided.hear(event, links.len(), &mut links);
                links.extend(read(event));
            }
            match page.next {
                Some(next) => paging.after = Some(next),
                None => break,
            }
        }
        let failed = task
            .result
            .message
            .filter(|_| task.state != cofferdam_core::control::state::TaskState::Succeeded);
        Ok(TaskAudit {
            task: id,
            links,
            container_id: task.result.container_id,
            exit_code: task.result.exit_code,
            error: failed,
        })
    }
}

/// Decisions about changes whose answer is still to come, by errand: where their links stand.
#[derive(Debug, Default)]
struct Decided(HashMap<String, usize>);

impl Decided {
    /// Notes a decision whose link will stand `at`, or gives one that was noted what came of it.
    fn hear(&mut self, event: &TimelineEvent, at: usize, links: &mut [AuditLink]) {
        let Some(errand) = text(event, "errand") else { return };
        if event.kind == "changes.decided" {
            self.0.insert(errand, at);
            return;
        }
        let Some(outcome) = outcome(event) else { return };
        if let Some(link) = self.0.remove(&errand).and_then(|at| links.get_mut(at)) {
            link.outcome = Some(outcome);
        }
    }
}

fn outcome(event: &TimelineEvent) -> Option<AuditOutcome> {
    match event.kind.as_str() {
        "changes.applied" | "changes.undone" | "changes.discarded" => Some(AuditOutcome::Done),
        "changes.untouched" => Some(AuditOutcome::Nothing),
        "changes.refused" => Some(AuditOutcome::Refused),
        _ => None,
    }
}

fn text(event: &TimelineEvent, name: &str) -> Option<String> {
    event.data.get(name).and_then(Value::as_str).map(str::to_owned)
}

/// The links that an event proves.
fn read(event: &TimelineEvent) -> Vec<AuditLink> {
    let value = |name: &str| text(event, name);
    let found = match event.kind.as_str() {
        "task.created" => {
            vec![(AuditStep::Request, value("request")), (AuditStep::Policy, value("policy"))]
        }
        "task.claimed" => vec![(AuditStep::Policy, value("policy"))],
        "sandbox.rejected" => vec![(AuditStep::Policy, value("rule"))],
        "task.running" => vec![(AuditStep::Command, value("command"))],
        "task.succeeded" | "task.failed" | "task.timed_out" | "task.canceled" | "task.lost" => {
            vec![(AuditStep::ChangeSet, value("manifest"))]
        }
        "approval.approved" | "approval.rejected" => vec![(AuditStep::Decision, value("subject"))],
        "changes.decided" => {
            vec![(AuditStep::Decision, value("manifest").or_else(|| value("errand")))]
        }
        "changes.applied" => vec![(AuditStep::Applied, value("tree"))],
        "changes.undone" => vec![(AuditStep::Undone, value("tree"))],
        "changes.discarded" => vec![(AuditStep::Discarded, value("tree"))],
        "changes.untouched" => vec![(AuditStep::Untouched, value("tree"))],
        "changes.refused" => vec![(AuditStep::Refused, Some(reason(&event.data)))],
        _ => Vec::new(),
    };
    let link = |(step, value): (AuditStep, Option<String>)| {
        Some(AuditLink {
            step,
            what: act(event),
            paths: paths(&event.data),
            outcome: None,
            value: value?,
            attempt: event.attempt,
            actor: event.actor.clone(),
            ts: event.ts,
            seq: event.seq,
            hash: event.hash.clone(),
        })
    };
    found.into_iter().filter_map(link).collect()
}

fn act(event: &TimelineEvent) -> Option<AuditAct> {
    match (event.kind.as_str(), text(event, "decision").as_deref()) {
        ("approval.approved", _) => Some(AuditAct::Approve),
        ("approval.rejected", _) => Some(AuditAct::Reject),
        (_, Some("apply")) => Some(AuditAct::Apply),
        (_, Some("undo")) => Some(AuditAct::Undo),
        (_, Some("discard")) => Some(AuditAct::Discard),
        _ => None,
    }
}

/// The paths that a decision named, whole or by some of their hunks.
fn paths(data: &Value) -> Vec<String> {
    let whole = data["what"]["paths"].as_array().into_iter().flatten();
    let whole = whole.filter_map(Value::as_str).map(str::to_owned);
    let partly = data["what"]["hunks"].as_object().into_iter().flat_map(|hunks| hunks.keys());
    whole.chain(partly.cloned()).collect()
}

/// Why a decision was not carried out, in the words of whoever would have done so.
fn reason(data: &Value) -> String {
    let said = data["problem"]["detail"].as_str().or_else(|| data["result"]["reason"].as_str());
    said.unwrap_or("the gate let nothing of it pass").to_owned()
}
