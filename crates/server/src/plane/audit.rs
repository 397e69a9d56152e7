//! What can be proved of a task: its links, taken from the chain.

use cofferdam_core::control::audit::{AuditLink, AuditStep, TaskAudit};
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
        loop {
            let page = self.events(caller, &filter, &paging).await?;
            links.extend(page.items.iter().flat_map(read));
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

/// The links that an event proves.
fn read(event: &TimelineEvent) -> Vec<AuditLink> {
    let value = |name: &str| event.data.get(name).and_then(Value::as_str).map(str::to_owned);
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
        "approval.approved" => vec![(AuditStep::Decision, value("subject"))],
        "approval.rejected" => vec![(AuditStep::Decision, value("subject"))],
        "changes.decided" => vec![(AuditStep::Decision, value("manifest"))],
        "changes.applied" | "changes.undone" | "changes.discarded" => {
            vec![(AuditStep::Applied, value("tree"))]
        }
        _ => Vec::new(),
    };
    let link = |(step, value): (AuditStep, Option<String>)| {
        Some(AuditLink {
            step,
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
