//! Whether there is another attempt, and when.

use std::time::Duration;

use super::state::TaskState;
use super::task::{RetryCause, RetryPolicy};

/// However often it is doubled, nobody waits longer.
pub const LONGEST_BACKOFF: Duration = Duration::from_secs(3600);

/// Most attempts that a policy may ask for.
pub const MOST_ATTEMPTS: u32 = 100;

/// Why an attempt that ended so would be made again. `outcome` is the class of the run's outcome.
pub fn cause(state: TaskState, outcome: Option<&str>) -> Option<RetryCause> {
    match (state, outcome) {
        (TaskState::Lost, _) => Some(RetryCause::Lost),
        (TaskState::TimedOut, _) => Some(RetryCause::TimedOut),
        (TaskState::Failed, Some("oom")) => Some(RetryCause::Oom),
        (TaskState::Failed, Some("sandbox_failure")) => Some(RetryCause::SandboxFailure),
        // What policy refuses is refused again.
        (TaskState::Failed, Some("refused")) => None,
        (TaskState::Failed, _) => Some(RetryCause::Failed),
        _ => None,
    }
}

impl RetryPolicy {
    /// How long to wait before another attempt after this one; nothing where there is none.
    pub fn again(&self, attempt: u32, cause: RetryCause) -> Option<Duration> {
        if attempt >= self.max_attempts || !self.on.contains(&cause) {
            return None;
        }
        let doubled = 1_u64.checked_shl(attempt.saturating_sub(1)).unwrap_or(u64::MAX);
        let wait = Duration::from_millis(self.backoff_ms.saturating_mul(doubled));
        Some(wait.min(LONGEST_BACKOFF))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_for_its_causes_and_only_so_often() {
        let policy = RetryPolicy { max_attempts: 3, on: vec![RetryCause::Lost], backoff_ms: 100 };
        let wait = |attempt, cause| policy.again(attempt, cause).map(|wait| wait.as_millis());
        assert_eq!(wait(1, RetryCause::Lost), Some(100));
        assert_eq!(wait(2, RetryCause::Lost), Some(200));
        assert_eq!(wait(3, RetryCause::Lost), None);
        assert_eq!(wait(1, RetryCause::Failed), None);
        assert_eq!(RetryPolicy::default().again(1, RetryCause::Lost), None);
    }

    #[test]
    fn the_wait_is_doubled_and_ends_somewhere() {
        let on = vec![RetryCause::Oom];
        let policy = RetryPolicy { max_attempts: u32::MAX, on, backoff_ms: 1 };
        assert_eq!(policy.again(11, RetryCause::Oom).unwrap().as_millis(), 1024);
        for attempt in [64, 65, 1000] {
            assert_eq!(policy.again(attempt, RetryCause::Oom), Some(LONGEST_BACKOFF));
        }
    }

    #[test]
    fn causes_are_told_apart_by_the_outcome() {
        assert_eq!(cause(TaskState::Failed, Some("oom")), Some(RetryCause::Oom));
        assert_eq!(cause(TaskState::Failed, Some("exited")), Some(RetryCause::Failed));
        assert_eq!(cause(TaskState::Failed, Some("refused")), None);
        assert_eq!(cause(TaskState::Lost, None), Some(RetryCause::Lost));
        for ended in [TaskState::Succeeded, TaskState::Canceled, TaskState::Queued] {
            assert_eq!(cause(ended, None), None);
        }
    }
}
