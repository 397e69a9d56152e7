//! How a container ended, by what the engine says about it: a pure function.

use cofferdam_core::outcome::{Outcome, OutcomeClass};
use cofferdam_core::plan::Plan;
use cofferdam_native::supervise::{Cause, Status};
use serde_json::{Value, json};

use super::watch::Watched;
use crate::backend::local;
use crate::engine::at;

/// As a shell tells it.
const KILLED: i32 = 137;

/// `state` is what an engine has under `State`.
pub(super) fn outcome(plan: &Plan, state: &Value, watched: &Watched) -> Outcome {
    let Watched { cause, ran_out } = *watched;
    let failed = |message: String| Outcome::ended(OutcomeClass::SandboxFailure, None, message);
    let said = at(state, &["Error"]).as_str().unwrap_or_default();
    if !said.is_empty() {
        let said = cofferdam_core::inert::Inert::line(said).to_string();
        return failed(format!("the engine could not run it: {said}"));
    }
    if at(state, &["Running"]) == &json!(true) {
        return failed("the engine says that it still runs".to_owned());
    }
    let Some(code) = at(state, &["ExitCode"]).as_i64().and_then(|code| i32::try_from(code).ok())
    else {
        return failed("the engine does not say how it ended".to_owned());
    };
    let own = local::outcome(plan, status(code), canceled(cause, code));
    // A command that goes on after one of its own was killed ended as it ended.
    let is_oom = at(state, &["OOMKilled"]) == &json!(true) || (ran_out && code == KILLED);
    if is_oom && cause == Cause::Own {
        let message = Some(format!("more memory was used than {}", plan.limits.memory));
        return Outcome { class: OutcomeClass::Oom, message, ..own };
    }
    own
}

/// An engine tells a death by signal as a code, like a shell.
fn status(code: i32) -> Status {
    match code {
        129..=192 => Status::Signaled(code - 128),
        code => Status::Exited(code),
    }
}

/// An interrupt that we passed on, and that the command made nothing of, did not cancel it.
fn canceled(cause: Cause, code: i32) -> Cause {
    match cause {
        Cause::Canceled(2) if code != 130 && code != 137 => Cause::Own,
        cause => cause,
    }
}
