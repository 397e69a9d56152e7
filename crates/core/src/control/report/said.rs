//! A report on a task as it is written: every field by its name, and no other.
//!
//! What a report shares with a task and an attempt is a part of it in the code, and a part that is flattened cannot say
//! which fields are not known. So it is read by way of this form, which can; the description of the API is made of it, too.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::{ReportedStatus, StatusReport};
use crate::control::task::{AttemptResult, ChangeCounts, OutputCounts};
use crate::stamp::Stamp;

/// `POST /v1/runner/tasks/{id}/status`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Said {
    attempt: u32,
    fence: String,
    /// Counts up within the attempt; a number that was seen changes nothing.
    seq: u64,
    status: ReportedStatus,
    /// The run in the runner's own store.
    run: Option<String>,
    backend: Option<String>,
    container_id: Option<String>,
    exit_code: Option<i32>,
    /// Why it failed, in words.
    message: Option<String>,
    /// Class of the outcome, as in a run's record: `exited`, `timed_out`, `oom`, …
    outcome: Option<String>,
    #[schema(value_type = Option<String>, format = DateTime)]
    started_at: Option<Stamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    finished_at: Option<Stamp>,
    output_tail: Option<String>,
    /// How much the command wrote, kept or not.
    output: Option<ReportedOutput>,
    changes: Option<ReportedChanges>,
    /// What was planned: backend, network, limits.
    plan: Option<Value>,
    /// Settings as read back and the receipt, as the run's record has them.
    effective: Option<Value>,
    receipt: Option<Value>,
    usage: Option<Value>,
    /// Events of the run since the last report, as its own log has them.
    #[serde(default)]
    events: Vec<Value>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ReportedOutput {
    stdout_bytes: u64,
    stderr_bytes: u64,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ReportedChanges {
    created: u64,
    modified: u64,
    deleted: u64,
    retyped: u64,
    /// Hash of the sealed manifest.
    manifest: Option<String>,
}

impl From<Said> for StatusReport {
    fn from(said: Said) -> Self {
        let result = AttemptResult {
            run: said.run,
            backend: said.backend,
            container_id: said.container_id,
            exit_code: said.exit_code,
            message: said.message,
            outcome: said.outcome,
            started_at: said.started_at,
            finished_at: said.finished_at,
            output_tail: said.output_tail,
            output: said.output.map(OutputCounts::from),
            changes: said.changes.map(ChangeCounts::from),
            plan: said.plan,
            effective: said.effective,
            receipt: said.receipt,
            usage: said.usage,
        };
        let Said { attempt, fence, seq, status, events, .. } = said;
        Self { attempt, fence, seq, status, result, events }
    }
}

impl From<ReportedOutput> for OutputCounts {
    fn from(said: ReportedOutput) -> Self {
        let ReportedOutput { stdout_bytes, stderr_bytes } = said;
        Self { stdout_bytes, stderr_bytes }
    }
}

impl From<ReportedChanges> for ChangeCounts {
    fn from(said: ReportedChanges) -> Self {
        let ReportedChanges { created, modified, deleted, retyped, manifest } = said;
        Self { created, modified, deleted, retyped, manifest }
    }
}

impl PartialSchema for StatusReport {
    fn schema() -> RefOr<Schema> {
        Said::schema()
    }
}

impl ToSchema for StatusReport {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("StatusReport")
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        Said::schemas(schemas);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field of a result that this form lacks would be lost on its way to the server.
    #[test]
    fn everything_that_a_runner_says_arrives() {
        let result = AttemptResult {
            run: Some("r".into()),
            backend: Some("native".into()),
            container_id: Some("c".into()),
            exit_code: Some(3),
            message: Some("m".into()),
            outcome: Some("exited".into()),
            started_at: Some(Stamp::new(jiff::Timestamp::UNIX_EPOCH)),
            finished_at: Some(Stamp::new(jiff::Timestamp::UNIX_EPOCH)),
            output_tail: Some("t".into()),
            output: Some(OutputCounts { stdout_bytes: 5, stderr_bytes: 6 }),
            changes: Some(ChangeCounts {
                created: 1,
                manifest: Some("h".into()),
                ..Default::default()
            }),
            plan: Some(1.into()),
            effective: Some(2.into()),
            receipt: Some(3.into()),
            usage: Some(4.into()),
        };
        let report = StatusReport {
            attempt: 1,
            fence: "f".into(),
            seq: 2,
            status: ReportedStatus::Failed,
            result,
            events: vec!["e".into()],
        };
        let text = serde_json::to_string(&report).expect("it can be written");
        assert_eq!(serde_json::from_str::<StatusReport>(&text).expect("and read"), report);
    }
}
