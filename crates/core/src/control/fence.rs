//! What a runner's report may do: whether it speaks for an attempt that is still its own, and which moves follow.
//!
//! Late, repeated, reordered and forged reports end here. An accepted one has a number higher than any before it in
//! its attempt, so that nothing is taken twice and nothing goes back.

use std::cmp::Ordering;

use super::report::{ReportedStatus, Taken};
use super::state::{Move, TaskState};

/// How many reports that changed nothing are written down, of each task, and so many again that were known: one who
/// repeats itself for hours, or makes numbers up, must not fill the store.
pub const MOST_NOTED: usize = 100;

/// The attempt that a report claims to speak for, as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Of the task, now.
    pub state: TaskState,
    /// Whether the attempt is the task's latest.
    pub latest: bool,
    /// Whether fence and runner are those of the attempt.
    pub own: bool,
    /// Highest number taken so far; absent before the first.
    pub seq: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// The task makes these moves, in this order; none: only what is known of the attempt changes.
    Accepted(Vec<Move>),
    Repeated,
    /// And why.
    Refused(&'static str),
}

impl Judgement {
    pub fn taken(&self) -> Taken {
        match self {
            Self::Accepted(_) => Taken::Accepted,
            Self::Repeated => Taken::Repeated,
            Self::Refused(_) => Taken::Stale,
        }
    }
}

/// What is written down of a report that changed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noted {
    Plainly,
    /// With the word that those after it are left out.
    AsLast,
    Not,
}

impl Noted {
    /// Of one that comes after so many of its kind.
    pub fn after(before: usize) -> Self {
        match (before + 1).cmp(&MOST_NOTED) {
            Ordering::Less => Self::Plainly,
            Ordering::Equal => Self::AsLast,
            Ordering::Greater => Self::Not,
        }
    }
}

pub fn judge(standing: &Standing, seq: u64, status: ReportedStatus) -> Judgement {
    if !standing.own {
        return Judgement::Refused("it does not have the fence of that attempt");
    }
    if standing.seq.is_some_and(|taken| seq <= taken) {
        return Judgement::Repeated;
    }
    if !standing.latest {
        return Judgement::Refused("there is a later attempt");
    }
    if !standing.state.is_held() {
        return Judgement::Refused("the attempt is over");
    }
    let moves = match (standing.state, status) {
        (TaskState::Claimed, ReportedStatus::Running) => vec![Move::Start],
        (_, ReportedStatus::Running) => Vec::new(),
        // The word that it had started was lost or comes later.
        (TaskState::Claimed, ReportedStatus::Succeeded) => vec![Move::Start, Move::Succeed],
        (TaskState::Claimed, ReportedStatus::TimedOut) => vec![Move::Start, Move::TimeOut],
        (_, ReportedStatus::Succeeded) => vec![Move::Succeed],
        (_, ReportedStatus::Failed) => vec![Move::Fail],
        (_, ReportedStatus::TimedOut) => vec![Move::TimeOut],
        (TaskState::CancelRequested, ReportedStatus::Canceled) => vec![Move::ConfirmCanceled],
        // Nobody asked for its end: its runner gave it up, as one does that has to go.
        (_, ReportedStatus::Canceled) => vec![Move::Lose],
        // It was to be stopped and never began: that is the same.
        (TaskState::CancelRequested, ReportedStatus::Released) => vec![Move::ConfirmCanceled],
        (_, ReportedStatus::Released) => vec![Move::Release],
    };
    let walk = moves.iter().try_fold(standing.state, |state, by| state.after(*by));
    match walk {
        Ok(_) => Judgement::Accepted(moves),
        Err(_) => Judgement::Refused("that cannot follow what is known"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(state: TaskState) -> Standing {
        Standing { state, latest: true, own: true, seq: Some(3) }
    }

    const STATUSES: [ReportedStatus; 6] = [
        ReportedStatus::Running,
        ReportedStatus::Succeeded,
        ReportedStatus::Failed,
        ReportedStatus::TimedOut,
        ReportedStatus::Canceled,
        ReportedStatus::Released,
    ];

    #[test]
    fn whatever_is_accepted_is_legal_and_only_while_it_is_held() {
        for state in TaskState::ALL {
            for status in STATUSES {
                match judge(&standing(state), 4, status) {
                    Judgement::Accepted(moves) => {
                        assert!(state.is_held(), "{state} {status:?}");
                        let end = moves.iter().try_fold(state, |s, by| s.after(*by));
                        assert!(end.is_ok(), "{state} {status:?}");
                    }
                    Judgement::Repeated => panic!("{state} {status:?}: 4 was not seen"),
                    Judgement::Refused(_) => {}
                }
            }
        }
    }

    #[test]
    fn forged_late_and_repeated_ones_do_nothing() {
        for status in STATUSES {
            let mut other = standing(TaskState::Running);
            other.own = false;
            assert_eq!(judge(&other, 9, status).taken(), Taken::Stale);
            let mut late = standing(TaskState::Running);
            late.latest = false;
            assert_eq!(judge(&late, 9, status).taken(), Taken::Stale);
            assert_eq!(judge(&standing(TaskState::Running), 3, status), Judgement::Repeated);
            assert_eq!(judge(&standing(TaskState::Succeeded), 2, status), Judgement::Repeated);
            assert_eq!(judge(&standing(TaskState::Succeeded), 4, status).taken(), Taken::Stale);
        }
    }

    #[test]
    fn only_so_many_are_written_down_and_the_last_says_so() {
        let noted: Vec<Noted> = (0..MOST_NOTED + 2).map(Noted::after).collect();
        let (plainly, rest) = noted.split_at(MOST_NOTED - 1);
        assert!(plainly.iter().all(|noted| *noted == Noted::Plainly));
        assert_eq!(rest, [Noted::AsLast, Noted::Not, Noted::Not]);
    }

    #[test]
    fn an_end_without_a_beginning_counts_as_both() {
        let judged = judge(&standing(TaskState::Claimed), 4, ReportedStatus::Succeeded);
        assert_eq!(judged, Judgement::Accepted(vec![Move::Start, Move::Succeed]));
    }

    #[test]
    fn what_was_not_asked_to_stop_is_lost_and_not_canceled() {
        let judged = judge(&standing(TaskState::Running), 4, ReportedStatus::Canceled);
        assert_eq!(judged, Judgement::Accepted(vec![Move::Lose]));
        let judged = judge(&standing(TaskState::CancelRequested), 4, ReportedStatus::Canceled);
        assert_eq!(judged, Judgement::Accepted(vec![Move::ConfirmCanceled]));
    }
}
