//! The states of a task, and the only moves between them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// Accepted, not yet to be run.
    Created,
    /// Nothing is taken for it until somebody says yes.
    AwaitingApproval,
    /// May be claimed.
    Queued,
    /// A runner holds it and has not started yet.
    Claimed,
    Running,
    /// Its runner is told to stop it; it is not `canceled` before that is confirmed.
    CancelRequested,
    Succeeded,
    Failed,
    TimedOut,
    Canceled,
    /// Its runner was not heard of until the lease was over.
    Lost,
}

/// What happens to a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Move {
    Dispatch,
    AskApproval,
    Approve,
    Reject,
    Claim,
    Start,
    Succeed,
    Fail,
    TimeOut,
    Cancel,
    /// The runner confirms that nothing of it is left.
    ConfirmCanceled,
    /// The lease is over.
    Lose,
    /// Another attempt, where its retry policy has one left.
    Retry,
    /// The runner gives it back unstarted, as it does when it drains.
    Release,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a task that is {from} cannot {by}")]
pub struct Illegal {
    pub from: TaskState,
    pub by: Move,
}

impl Move {
    pub const ALL: [Self; 14] = [
        Self::Dispatch,
        Self::AskApproval,
        Self::Approve,
        Self::Reject,
        Self::Claim,
        Self::Start,
        Self::Succeed,
        Self::Fail,
        Self::TimeOut,
        Self::Cancel,
        Self::ConfirmCanceled,
        Self::Lose,
        Self::Retry,
        Self::Release,
    ];
}

impl TaskState {
    pub const ALL: [Self; 11] = [
        Self::Created,
        Self::AwaitingApproval,
        Self::Queued,
        Self::Claimed,
        Self::Running,
        Self::CancelRequested,
        Self::Succeeded,
        Self::Failed,
        Self::TimedOut,
        Self::Canceled,
        Self::Lost,
    ];

    /// Nothing moves it any more but another attempt.
    pub fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::Succeeded | Self::Failed | Self::TimedOut | Self::Canceled | Self::Lost
        )
    }

    /// A runner answers for it.
    pub fn is_held(self) -> bool {
        matches!(self, Self::Claimed | Self::Running | Self::CancelRequested)
    }

    /// Where a move leads. The whole machine: what is not here is illegal.
    pub fn after(self, by: Move) -> Result<Self, Illegal> {
        use TaskState as S;
        let to = match (self, by) {
            // A yes that no longer fits what is asked for is asked for again.
            (S::Created | S::Queued, Move::AskApproval) => S::AwaitingApproval,
            (S::Created, Move::Dispatch) | (S::AwaitingApproval, Move::Approve) => S::Queued,
            (S::AwaitingApproval, Move::Reject) => S::Canceled,
            (S::Queued, Move::Claim) => S::Claimed,
            (S::Claimed, Move::Release) => S::Queued,
            (S::Claimed, Move::Start) => S::Running,
            (S::Running, Move::Succeed) => S::Succeeded,
            // From the queue: policy was changed meanwhile and says no.
            (S::Queued | S::Claimed | S::Running, Move::Fail) => S::Failed,
            (S::Running, Move::TimeOut) => S::TimedOut,
            // Nobody holds it: there is nothing to wait for.
            (S::Created | S::AwaitingApproval | S::Queued, Move::Cancel) => S::Canceled,
            (S::Claimed | S::Running, Move::Cancel) => S::CancelRequested,
            // It was over before the word reached the runner: what happened is what is said.
            (S::CancelRequested, Move::Succeed) => S::Succeeded,
            (S::CancelRequested, Move::Fail) => S::Failed,
            (S::CancelRequested, Move::TimeOut) => S::TimedOut,
            (S::CancelRequested, Move::ConfirmCanceled) => S::Canceled,
            (S::Claimed | S::Running | S::CancelRequested, Move::Lose) => S::Lost,
            (S::Failed | S::TimedOut | S::Lost, Move::Retry) => S::Queued,
            (from, by) => return Err(Illegal { from, by }),
        };
        Ok(to)
    }
}

impl std::fmt::Display for TaskState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Created => "created",
            Self::AwaitingApproval => "awaiting_approval",
            Self::Queued => "queued",
            Self::Claimed => "claimed",
            Self::Running => "running",
            Self::CancelRequested => "cancel_requested",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Canceled => "canceled",
            Self::Lost => "lost",
        })
    }
}

impl Move {
    /// Whether it is how a runner says that an attempt is over.
    pub fn ends(self) -> bool {
        matches!(self, Self::Succeed | Self::Fail | Self::TimeOut | Self::ConfirmCanceled)
    }
}

impl std::fmt::Display for Move {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Dispatch => "be dispatched",
            Self::AskApproval => "wait for an approval",
            Self::Approve => "be approved",
            Self::Reject => "be rejected",
            Self::Claim => "be claimed",
            Self::Start => "start",
            Self::Succeed => "succeed",
            Self::Fail => "fail",
            Self::TimeOut => "time out",
            Self::Cancel => "be canceled",
            Self::ConfirmCanceled => "be confirmed as canceled",
            Self::Lose => "be lost",
            Self::Retry => "be tried again",
            Self::Release => "be given back",
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn random_walks_keep_the_order_of_a_life(moves in prop::collection::vec(0..Move::ALL.len(), 1..80)) {
            let (mut state, mut held, mut approved) = (TaskState::Created, false, true);
            for by in moves.into_iter().map(|at| Move::ALL[at]) {
                let Ok(to) = state.after(by) else { continue };
                // Nothing is run that nobody claimed, and nothing is claimed that waits for a yes.
                if to == TaskState::Running {
                    prop_assert!(held);
                }
                if to == TaskState::Claimed {
                    prop_assert!(approved && state == TaskState::Queued);
                }
                // What succeeded or was canceled stays so.
                prop_assert!(!matches!(state, TaskState::Succeeded | TaskState::Canceled));
                // Only another attempt leads out of an end.
                prop_assert!(!state.is_terminal() || by == Move::Retry);
                // What a runner holds is canceled by its word and by nothing else.
                if to == TaskState::Canceled && state.is_held() {
                    prop_assert_eq!((state, by), (TaskState::CancelRequested, Move::ConfirmCanceled));
                }
                approved = to != TaskState::AwaitingApproval;
                held = to.is_held();
                state = to;
            }
        }
    }

    #[test]
    fn every_state_can_be_reached_and_every_one_that_is_no_end_leads_to_one() {
        let next = |state: TaskState| Move::ALL.iter().filter_map(move |by| state.after(*by).ok());
        let from = |start: TaskState| {
            let mut seen = vec![start];
            let mut at = 0;
            while at < seen.len() {
                let more: Vec<_> = next(seen[at]).filter(|state| !seen.contains(state)).collect();
                seen.extend(more);
                at += 1;
            }
            seen
        };
        let reached = from(TaskState::Created);
        assert!(TaskState::ALL.iter().all(|state| reached.contains(state)), "{reached:?}");
        for state in TaskState::ALL {
            assert!(from(state).iter().any(|end| end.is_terminal()), "{state} is a dead end");
        }
    }
}
