//! Random interleavings of all that can happen: nothing illegal, nothing twice, nothing stuck.

use std::collections::HashMap;
use std::time::Duration;

use cofferdam_core::control::approval::{ApprovalState, Decision};
use cofferdam_core::control::page::Paging;
use cofferdam_core::control::report::{
    Claim, Heartbeat, Held, Registration, ReportedStatus, Taken,
};
use cofferdam_core::control::state::{Move, TaskState};
use cofferdam_core::control::task::Task;
use cofferdam_server::plane::{ApprovalFilter, EventFilter};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;

use crate::desk::{Desk, Worker};

#[derive(Debug, Clone)]
enum Act {
    Submit { retry: bool, approval: bool, held_back: bool },
    Claim { runner: usize, room: u32 },
    Report { claim: usize, skip: u64, status: ReportedStatus },
    Forge { claim: usize, status: ReportedStatus },
    Beat { runner: usize },
    Cancel { task: usize },
    Dispatch { task: usize },
    Retry { task: usize },
    Answer { yes: bool },
    Pass { seconds: u64 },
    Register { runner: usize },
    Restart,
}

fn status() -> impl Strategy<Value = ReportedStatus> {
    prop_oneof![
        4 => Just(ReportedStatus::Running),
        4 => Just(ReportedStatus::Succeeded),
        2 => Just(ReportedStatus::Failed),
        1 => Just(ReportedStatus::TimedOut),
        2 => Just(ReportedStatus::Canceled),
        1 => Just(ReportedStatus::Released),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let some = 0_usize..1000;
    prop_oneof![
        6 => (any::<bool>(), prop::bool::weighted(0.2), prop::bool::weighted(0.2))
            .prop_map(|(retry, approval, held_back)| Act::Submit { retry, approval, held_back }),
        6 => (0_usize..2, 1_u32..4).prop_map(|(runner, room)| Act::Claim { runner, room }),
        12 => (some.clone(), 0_u64..3, status()).prop_map(|(claim, skip, status)| Act::Report { claim, skip, status }),
        2 => (some.clone(), status()).prop_map(|(claim, status)| Act::Forge { claim, status }),
        2 => (0_usize..2).prop_map(|runner| Act::Beat { runner }),
        3 => some.clone().prop_map(|task| Act::Cancel { task }),
        2 => some.clone().prop_map(|task| Act::Dispatch { task }),
        2 => some.prop_map(|task| Act::Retry { task }),
        2 => any::<bool>().prop_map(|yes| Act::Answer { yes }),
        3 => (1_u64..40).prop_map(|seconds| Act::Pass { seconds }),
        1 => (0_usize..2).prop_map(|runner| Act::Register { runner }),
        1 => Just(Act::Restart),
    ]
}

struct Walk {
    desk: Desk,
    runners: Vec<Worker>,
    tasks: Vec<Task>,
    /// With its runner and the last number that was sent.
    claims: Vec<(usize, Claim, u64)>,
}

impl Walk {
    async fn act(&mut self, act: Act) {
        let desk = &mut self.desk;
        match act {
            Act::Submit { retry, approval, held_back } => {
                let retry = match retry {
                    true => json!({
                        "max_attempts": 3, "on": ["failed", "lost", "timed_out"], "backoff_ms": 1000,
                    }),
                    false => json!({"max_attempts": 1}),
                };
                let more = json!({
                    "retry": retry,
                    "requires_approval": approval, "dispatch": !held_back,
                });
                self.tasks.push(desk.submit(more).await);
            }
            Act::Claim { runner, room } => {
                for claim in self.runners[runner].claim(desk, room).await {
                    self.claims.push((runner, claim, 0));
                }
            }
            Act::Report { claim, skip, status } if !self.claims.is_empty() => {
                let at = claim % self.claims.len();
                let (runner, claim, seq) = &mut self.claims[at];
                // Behind, at and beyond what was sent: repeated, and with gaps.
                let send = (*seq + skip).saturating_sub(1);
                let answer = self.runners[*runner].report(desk, claim, send, status).await;
                if answer.taken == Taken::Accepted {
                    *seq = send + 1;
                }
            }
            Act::Forge { claim, status } if !self.claims.is_empty() => {
                let at = claim % self.claims.len();
                let (runner, claim, _) = &self.claims[at];
                let other = 1 - *runner;
                let answer = self.runners[other].report(desk, claim, 999, status).await;
                assert_eq!(answer.taken, Taken::Stale);
                let mut claim = claim.clone();
                claim.fence = "0".repeat(32);
                let answer = self.runners[*runner].report(desk, &claim, 999, status).await;
                assert_eq!(answer.taken, Taken::Stale);
            }
            Act::Beat { runner } => {
                let holding = self.held(runner);
                let id = self.runners[runner].registered.runner;
                let beat =
                    Heartbeat { runner: id, holding, draining: false, leaving: false, wait_ms: 0 };
                self.desk.plane.heartbeat(&self.runners[runner].caller, beat).await.unwrap();
            }
            Act::Cancel { task } if !self.tasks.is_empty() => {
                let id = self.tasks[task % self.tasks.len()].id;
                let answer = desk.plane.cancel(&desk.admin, id).await;
                assert!(answer.is_ok() || answer.unwrap_err().problem().status == 409);
            }
            Act::Dispatch { task } if !self.tasks.is_empty() => {
                let id = self.tasks[task % self.tasks.len()].id;
                let answer = desk.plane.dispatch(&desk.admin, id).await;
                assert!(answer.is_ok() || answer.unwrap_err().problem().status == 409);
            }
            Act::Retry { task } if !self.tasks.is_empty() => {
                let id = self.tasks[task % self.tasks.len()].id;
                let answer = desk.plane.retry(&desk.admin, id).await;
                assert!(answer.is_ok() || answer.unwrap_err().problem().status == 409);
            }
            Act::Answer { yes } => self.answer(yes).await,
            Act::Pass { seconds } => desk.pass(Duration::from_secs(seconds)).await,
            Act::Register { runner } => {
                let holding = self.held(runner);
                let asked = Registration {
                    name: format!("runner{runner}"),
                    labels: vec![],
                    capacity: 10,
                    host: None,
                    // It remembers every other one.
                    holding: holding.into_iter().step_by(2).collect(),
                    removed: vec![],
                };
                self.desk.plane.register(&self.runners[runner].caller, asked).await.unwrap();
            }
            Act::Restart => desk.restart().await,
            Act::Report { .. }
            | Act::Forge { .. }
            | Act::Cancel { .. }
            | Act::Dispatch { .. }
            | Act::Retry { .. } => {}
        }
    }

    fn held(&self, runner: usize) -> Vec<Held> {
        let own = self.claims.iter().filter(|(of, ..)| *of == runner);
        own.map(|(_, claim, _)| Held { task: claim.task.id, attempt: claim.attempt }).collect()
    }

    async fn answer(&self, yes: bool) {
        let desk = &self.desk;
        let filter =
            ApprovalFilter { state: Some(ApprovalState::Pending), ..ApprovalFilter::default() };
        let pending = desk.plane.approvals(&desk.admin, &filter, &Paging::default()).await.unwrap();
        for approval in pending.items.into_iter().take(3) {
            let decision = Decision { comment: None };
            if yes {
                desk.plane.approve(&desk.admin, approval.id, decision).await.unwrap();
            } else {
                desk.plane.reject(&desk.admin, approval.id, decision).await.unwrap();
            }
        }
    }

    /// From here on everybody does what they should: everything must come to an end.
    async fn finish(&mut self) {
        for _ in 0..40 {
            self.answer(true).await;
            for task in &self.tasks {
                if self.desk.state(task).await == "created" {
                    self.desk.plane.dispatch(&self.desk.admin, task.id).await.unwrap();
                }
            }
            self.desk.pass(Duration::from_secs(40)).await;
            let runner = &self.runners[0];
            for claim in runner.claim(&self.desk, 10).await {
                let answer = runner.report(&self.desk, &claim, 0, ReportedStatus::Succeeded).await;
                assert_eq!(answer.taken, Taken::Accepted);
            }
            let mut open = 0;
            for task in &self.tasks {
                let task = self.desk.plane.task(&self.desk.admin, task.id).await.unwrap();
                open += usize::from(!task.state.is_terminal());
            }
            if open == 0 {
                return;
            }
        }
        for task in &self.tasks {
            eprintln!("{} {:?}", self.desk.state(task).await, self.desk.kinds(task).await);
        }
        panic!("something is stuck");
    }

    /// Replays the timeline: every state followed from the one before by a legal move.
    async fn replay(&self) {
        let mut states: HashMap<String, TaskState> = HashMap::new();
        let mut won: HashMap<String, u32> = HashMap::new();
        let mut after = 0;
        loop {
            let filter = EventFilter { after, ..EventFilter::default() };
            let paging = Paging { limit: 500, after: None };
            let page = self.desk.plane.events(&self.desk.admin, &filter, &paging).await.unwrap();
            for event in &page.items {
                assert_eq!(event.seq, after + 1, "no gap");
                after = event.seq;
                let Some(task) = event.task.map(|task| task.to_string()) else { continue };
                let named = TaskState::ALL.into_iter().find(|s| event.kind == format!("task.{s}"));
                let Some(to) = named else { continue };
                if let Some(from) = states.insert(task.clone(), to) {
                    let legal = Move::ALL.iter().any(|by| from.after(*by) == Ok(to));
                    assert!(legal, "{task}: {from} → {to}");
                }
                *won.entry(task).or_default() += u32::from(to == TaskState::Succeeded);
            }
            if page.next.is_none() {
                break;
            }
        }
        let mut counted = [0_u64; TaskState::ALL.len()];
        for state in states.values() {
            counted[TaskState::ALL.iter().position(|s| s == state).unwrap()] += 1;
        }
        let tally = self.desk.plane.overview(&self.desk.admin).await.unwrap().tasks;
        for (state, count) in TaskState::ALL.into_iter().zip(counted) {
            assert_eq!(tally[&state], count, "{state}");
        }
        assert!(won.values().all(|count| *count <= 1), "succeeded twice");
        for task in &self.tasks {
            let kept = self.desk.plane.task(&self.desk.admin, task.id).await.unwrap();
            assert_eq!(states.get(&task.id.to_string()), Some(&kept.state));
            let attempts = self
                .desk
                .plane
                .attempts(&self.desk.admin, task.id, &Paging::default())
                .await
                .unwrap()
                .items;
            let succeeded = attempts.iter().filter(|a| a.state == TaskState::Succeeded).count();
            assert_eq!(succeeded, usize::from(kept.state == TaskState::Succeeded));
        }
    }
}

/// How many walks: more where the suite is asked to take its time.
fn walks() -> usize {
    if std::env::var_os("TEST_KILLS").is_some() { 60 } else { 6 }
}

pub(crate) async fn random_walks_are_legal_and_come_to_an_end(desk: Desk) {
    let runners = vec![desk.runner("runner0").await, desk.runner("runner1").await];
    let mut walk = Walk { desk, runners, tasks: Vec::new(), claims: Vec::new() };
    let mut source = TestRunner::new(Config::default());
    let acts = prop::collection::vec(act(), 120);
    for _ in 0..walks() {
        let acts = acts.new_tree(&mut source).unwrap().current();
        eprintln!("{acts:?}");
        walk.tasks.clear();
        walk.claims.clear();
        for act in acts {
            walk.act(act).await;
        }
        walk.finish().await;
        walk.replay().await;
        walk.desk.holds().await;
    }
}
