//! How a container ended, by what the engine says about it: a pure function.

use cofferdam_core::outcome::{Outcome, OutcomeClass, exit_code};
use cofferdam_core::plan::Plan;
use cofferdam_native::supervise::{Cause, Status};
use serde_json::{Value, json};

use super::watch::Watched;
use crate::backend::local;
use crate::engine::at;

/// As a shell tells it.
const KILLED: i32 = 137;

/// Who says how the command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// The container's first process, of the command itself.
    ByFirst(Status),
    /// The first process called, and ended without a word.
    Nothing,
    /// Nobody but the engine, of the first process.
    ByEngine,
}

/// `state` is what an engine has under `State`.
pub(super) fn outcome(plan: &Plan, state: &Value, watched: &Watched, told: Said) -> Outcome {
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
    let status = match told {
        Said::ByFirst(status) => status,
        Said::Nothing if code == i32::from(exit_code::NOT_RUN) => {
            return failed("the container's first process could not start it".to_owned());
        }
        Said::Nothing | Said::ByEngine => status(code),
    };
    let own = local::outcome(plan, status, canceled(cause, code));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::docker::tests::plan;

    #[test]
    fn ends_are_told_from_what_the_engine_says() {
        let plan = plan();
        let watched =
            |state: &Value, watched: Watched| outcome(&plan, state, &watched, Said::ByEngine);
        let of = |state: Value, cause| watched(&state, Watched { cause, ran_out: false });
        let ended = |code: i32| json!({ "Running": false, "ExitCode": code, "OOMKilled": false, "Error": "" });
        assert_eq!(of(ended(7), Cause::Own).process_exit_code(), 7);
        let killed = of(ended(139), Cause::Own);
        assert_eq!((killed.class, killed.signal), (OutcomeClass::Signaled, Some(11)));
        assert_eq!(of(ended(143), Cause::WallTimeout).class, OutcomeClass::TimedOut);
        assert_eq!(of(ended(42), Cause::Canceled(15)).process_exit_code(), 42);
        assert_eq!(of(ended(0), Cause::Canceled(2)).class, OutcomeClass::Exited);
        let mut oom = ended(137);
        oom["OOMKilled"] = json!(true);
        assert_eq!(of(oom, Cause::Own).class, OutcomeClass::Oom);
        // Seen by us where the engine does not say so, and only if that is how it ended.
        let seen = Watched { cause: Cause::Own, ran_out: true };
        assert_eq!(watched(&ended(137), seen).class, OutcomeClass::Oom);
        assert_eq!(watched(&ended(1), seen).class, OutcomeClass::Exited);
        for odd in [
            json!({}),
            json!({ "Running": true, "ExitCode": 0 }),
            json!({ "ExitCode": 127, "Error": "no such file" }),
        ] {
            assert_eq!(of(odd.clone(), Cause::Own).class, OutcomeClass::SandboxFailure, "{odd}");
        }
    }

    #[test]
    fn what_the_first_process_says_counts() {
        let plan = plan();
        let watched = Watched { cause: Cause::Own, ran_out: false };
        let state = |code: i32| json!({ "Running": false, "ExitCode": code, "Error": "" });
        let of = |code, said| outcome(&plan, &state(code), &watched, said);
        // A code as of a signal, and the command chose it itself.
        let own = of(143, Said::ByFirst(Status::Exited(143)));
        assert_eq!((own.class, own.exit_code), (OutcomeClass::Exited, Some(143)));
        let killed = of(143, Said::ByFirst(Status::Signaled(15)));
        assert_eq!((killed.class, killed.signal), (OutcomeClass::Signaled, Some(15)));
        assert_eq!(of(125, Said::ByFirst(Status::Exited(125))).class, OutcomeClass::Exited);
        // It came to nothing: that is no end of the command's.
        assert_eq!(of(125, Said::Nothing).class, OutcomeClass::SandboxFailure);
        assert_eq!(of(127, Said::Nothing).process_exit_code(), 127);
    }
}
