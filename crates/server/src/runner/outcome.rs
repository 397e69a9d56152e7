//! How a run went, in the words of a report.

use cofferdam_core::config::Key;
use cofferdam_core::control::report::ReportedStatus;
use cofferdam_core::control::task::{AttemptResult, ChangeCounts, OutputCounts};
use cofferdam_core::outcome::OutcomeClass;
use cofferdam_core::plan::Plan;
use cofferdam_core::record::Record;
use cofferdam_core::refusal::{Refusal, Rule};
use serde_json::{Value, json};

/// What is reported of an attempt that has ended.
pub(super) fn of_record(record: &Record) -> (ReportedStatus, AttemptResult) {
    let class = record.outcome.as_ref().map(|outcome| outcome.class);
    let code = record.outcome.as_ref().and_then(|outcome| outcome.exit_code);
    let status = match class {
        Some(OutcomeClass::Exited) if code == Some(0) => ReportedStatus::Succeeded,
        Some(OutcomeClass::TimedOut) => ReportedStatus::TimedOut,
        // No program can end so by itself. Where nobody asked, the server takes it for given up.
        Some(OutcomeClass::Canceled) => ReportedStatus::Canceled,
        _ => ReportedStatus::Failed,
    };
    let mut result = AttemptResult {
        run: Some(record.run.to_string()),
        backend: record.backend.map(|backend| backend.name().to_owned()),
        container_id: None,
        exit_code: code,
        message: record.outcome.as_ref().and_then(|outcome| outcome.message.clone()),
        outcome: class.map(name),
        started_at: Some(record.started_at),
        finished_at: record.finished_at,
        output_tail: None,
        output: Some(OutputCounts {
            stdout_bytes: record.output.stdout_bytes,
            stderr_bytes: record.output.stderr_bytes,
        }),
        changes: record.changes.as_ref().map(|changes| ChangeCounts {
            created: changes.created,
            modified: changes.modified,
            deleted: changes.deleted,
            retyped: changes.retyped,
            manifest: Some(changes.manifest.clone()),
        }),
        plan: record.plan.as_ref().map(planned),
        effective: Some(Value::Object(record.effective.clone())),
        receipt: serde_json::to_value(&record.receipt).ok(),
        usage: record.usage.as_ref().and_then(|usage| serde_json::to_value(usage).ok()),
    };
    if let (None, Some(unsealed)) = (&result.message, &record.unsealed) {
        result.message = Some(format!("what it changed is not sealed yet: {}", unsealed.reason));
    }
    if result.message.is_none() && status == ReportedStatus::Failed {
        let signal = record.outcome.as_ref().and_then(|outcome| outcome.signal);
        result.message = match (code, signal) {
            (_, Some(signal)) => Some(format!("the command was killed by signal {signal}")),
            (Some(code), None) => Some(format!("the command exited with {code}")),
            (None, None) => None,
        };
    }
    (status, result)
}

/// What of a plan is worth comparing with what was in effect. Paths, variables and identities stay with the run.
fn planned(plan: &Plan) -> Value {
    json!({
        "backend": plan.backend, "network": plan.network, "allow_hosts": plan.allow_hosts, "limits": plan.limits,
        "seccomp": plan.seccomp, "runtime": plan.runtime, "relaxed": plan.relaxed,
        "workspace": { "mode": plan.workspace.mode },
    })
}

/// What policy refuses is refused again. That an engine does not answer, or has no such image, is the host's lack: another attempt
/// may go well.
pub(super) fn of_refusal(refusal: &Refusal) -> OutcomeClass {
    let lacks =
        [Key::SandboxBackend, Key::SandboxImage].iter().any(|key| key.name() == refusal.field);
    match refusal.rule {
        Rule::BackendUsable if lacks => OutcomeClass::SandboxFailure,
        _ => OutcomeClass::Refused,
    }
}

/// The event of a task that this host will not run.
pub(super) fn rejected(refusal: &Refusal) -> Value {
    json!({
        "type": "sandbox.rejected", "rule": refusal.rule, "field": refusal.field,
        "message": refusal.message, "remedy": refusal.remedy,
    })
}

/// The event of a sandbox that this host could not make: no run of its own tells of it.
pub(super) fn failed(message: &str) -> Value {
    let status = name(OutcomeClass::SandboxFailure);
    json!({ "type": "sandbox.failed", "status": status, "message": message })
}

pub(super) fn name(class: OutcomeClass) -> String {
    serde_json::to_value(class).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}
