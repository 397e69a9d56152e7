//! What a runner says of one attempt, in numbered reports, until it is heard.
//!
//! A server that takes no report of a size is told less, and that it is less: the end of an attempt is never lost for what
//! else there was to say.

use std::sync::Arc;

use cofferdam_core::control::id::TaskId;
use cofferdam_core::control::report::{
    Claim, Held, ReportedStatus, StatusAnswer, StatusReport, Taken,
};
use cofferdam_core::control::task::AttemptResult;
use cofferdam_core::id::RunId;
use serde_json::Value;

use super::artifacts::Wanted;
use super::backoff::Backoff;
use super::journal::{Line, Note};
use super::parcels::{lighten, parcels};
use super::{Link, Runner, RunnerError};

/// Says something about an attempt until it is heard. A no is an answer, too.
pub(super) async fn deliver<L: Link>(
    link: &L,
    task: TaskId,
    mut report: StatusReport,
) -> StatusAnswer {
    let mut backoff = Backoff::default();
    loop {
        match link.report(task, &report).await {
            Ok(answer) => return answer,
            Err(error) if error.is_passing() => backoff.wait().await,
            // It was not looked at: its number is still new.
            Err(error) if error.is_too_large() && lighten(&mut report) => {}
            Err(_) => return StatusAnswer { taken: Taken::Stale, cancel: false },
        }
    }
}

/// Says it in as many reports as its events need; the last has the status. Answers with that one's number, too.
async fn deliver_all<L: Link>(link: &L, task: TaskId, report: StatusReport) -> (StatusAnswer, u64) {
    let StatusReport { attempt, fence, mut seq, status, result, events } = report;
    let mut parcels = parcels(events);
    let last = parcels.pop().unwrap_or_default();
    let mut cancel = false;
    // Only what has begun has so much to tell; until the last report it goes on.
    for events in parcels {
        let (status, result) = (ReportedStatus::Running, AttemptResult::default());
        let fence = fence.clone();
        let part = StatusReport { attempt, fence, seq, status, result, events };
        cancel |= deliver(link, task, part).await.cancel;
        seq += 1;
    }
    let end = StatusReport { attempt, fence, seq, status, result, events: last };
    let StatusAnswer { taken, cancel: late } = deliver(link, task, end).await;
    (StatusAnswer { taken, cancel: cancel || late }, seq)
}

/// Tells the server of one attempt.
pub(super) struct Telling<'a, L> {
    pub(super) runner: &'a Arc<Runner<L>>,
    pub(super) claim: &'a Claim,
    pub(super) note: &'a Arc<Note>,
    /// The number of the last report.
    seq: u64,
}

impl<'a, L: Link> Telling<'a, L> {
    pub(super) fn of(runner: &'a Arc<Runner<L>>, claim: &'a Claim, note: &'a Arc<Note>) -> Self {
        Self { runner, claim, note, seq: 0 }
    }

    pub(super) async fn say(
        &mut self,
        status: ReportedStatus,
        result: AttemptResult,
        events: Vec<Value>,
    ) -> StatusAnswer {
        let Claim { attempt, fence, .. } = self.claim;
        let (attempt, fence, seq) = (*attempt, fence.clone(), self.seq + 1);
        let report = StatusReport { attempt, fence, seq, status, result, events };
        let (answer, seq) = deliver_all(&self.runner.link, self.claim.task.id, report).await;
        self.seq = seq;
        answer
    }

    /// Whether nothing was said yet.
    pub(super) fn is_silent(&self) -> bool {
        self.seq == 0
    }

    fn held(&self) -> Held {
        Held { task: self.claim.task.id, attempt: self.claim.attempt }
    }

    /// What is written down of it once it starts.
    pub(super) fn line(&self, run: RunId) -> Line {
        let (held, fence, wanted) = (self.held(), self.claim.fence.clone(), Wanted::of(self.claim));
        // More than will be said in this life, so that the next is listened to.
        Line { held, fence, seq: self.seq + 1000, run: Some(run), is_heard: false, wanted }
    }

    /// Writes down that it starts, before anybody is told.
    pub(super) fn note(&self, run: RunId) -> Result<(), RunnerError> {
        Ok(self.note.write(&self.line(run))?)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use cofferdam_core::control::artifact::Artifact;
    use cofferdam_core::control::problem::Problem;
    use cofferdam_core::control::report::{
        Beat, ClaimAsk, Claims, ErrandAnswer, Heartbeat, LogChunk, Registered, Registration,
    };
    use serde_json::json;

    use super::*;
    use crate::plane::NewArtifact;
    use crate::runner::LinkError;

    /// A server that takes reports up to a size, and nothing else.
    #[derive(Debug)]
    struct Narrow {
        most: usize,
        taken: Mutex<Vec<StatusReport>>,
    }

    impl Narrow {
        fn new(most: usize) -> Self {
            Self { most, taken: Mutex::default() }
        }
    }

    fn refused(status: u16) -> LinkError {
        LinkError::Refused(Box::new(Problem {
            kind: "urn:cofferdam:problem:too-large".to_owned(),
            title: "Too large".to_owned(),
            status,
            detail: String::new(),
            field: None,
            rule: None,
            remedy: None,
            request_id: None,
        }))
    }

    impl Link for Narrow {
        async fn register(&self, _: &Registration) -> Result<Registered, LinkError> {
            Err(refused(404))
        }

        async fn claim(&self, _: &ClaimAsk) -> Result<Claims, LinkError> {
            Err(refused(404))
        }

        async fn heartbeat(&self, _: &Heartbeat) -> Result<Beat, LinkError> {
            Err(refused(404))
        }

        async fn report(&self, _: TaskId, said: &StatusReport) -> Result<StatusAnswer, LinkError> {
            if serde_json::to_vec(said).unwrap().len() > self.most {
                return Err(refused(413));
            }
            self.taken.lock().unwrap().push(said.clone());
            Ok(StatusAnswer { taken: Taken::Accepted, cancel: false })
        }

        async fn log(&self, _: TaskId, _: &LogChunk) -> Result<Taken, LinkError> {
            Err(refused(404))
        }

        async fn artifact(&self, _: TaskId, _: &NewArtifact) -> Result<Artifact, LinkError> {
            Err(refused(404))
        }

        async fn errand_done(&self, _: &str, _: &ErrandAnswer) -> Result<(), LinkError> {
            Err(refused(404))
        }
    }

    fn task() -> TaskId {
        TaskId::from_parts(1, 1)
    }

    fn end(events: Vec<Value>) -> StatusReport {
        StatusReport {
            attempt: 1,
            fence: "f".to_owned(),
            seq: 3,
            status: ReportedStatus::Succeeded,
            result: AttemptResult { exit_code: Some(0), ..AttemptResult::default() },
            events,
        }
    }

    const SERVER: usize = 1 << 20;

    #[tokio::test]
    async fn what_is_too_large_for_one_report_comes_in_several() {
        let words = vec!["\\u{202e}".repeat(30_000); 9];
        let event = |kind: &str| json!({ "type": kind, "command": words });
        let plain = |kind: &str| json!({ "type": kind, "text": "x".repeat(200_000) });
        let mut events = vec![event("sandbox.mode_selected"), event("sandbox.started")];
        events.extend((0..10).map(|_| plain("sandbox.stopped")));
        let kinds = |events: &[Value]| events.iter().map(|e| e["type"].clone()).collect::<Vec<_>>();
        let link = Narrow::new(SERVER);
        let (answer, seq) = deliver_all(&link, task(), end(events.clone())).await;
        assert_eq!(answer.taken, Taken::Accepted);
        let taken = link.taken.into_inner().unwrap();
        let (last, before) = taken.split_last().unwrap();
        assert_eq!((last.status, last.seq), (ReportedStatus::Succeeded, seq));
        assert!(!before.is_empty());
        assert!(before.iter().all(|part| part.status == ReportedStatus::Running));
        assert!(taken.is_sorted_by(|one, two| one.seq + 1 == two.seq));
        let came: Vec<Value> = taken.iter().flat_map(|part| part.events.clone()).collect();
        assert_eq!(kinds(&came), kinds(&events));
    }

    #[tokio::test]
    async fn an_end_is_told_whatever_a_server_takes() {
        let events = vec![json!({ "type": "sandbox.stopped", "text": "x".repeat(5000) }); 4];
        let link = Narrow::new(2000);
        let (answer, _) = deliver_all(&link, task(), end(events)).await;
        assert_eq!(answer.taken, Taken::Accepted);
        let taken = link.taken.into_inner().unwrap();
        assert_eq!((taken.len(), taken[0].status), (1, ReportedStatus::Succeeded));
        assert_eq!(taken[0].result.exit_code, Some(0));
        assert_eq!(taken[0].events[0]["events"], 4, "how many were left out is said");
    }
}
