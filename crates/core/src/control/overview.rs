//! What somebody who looks in wants to know first.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::spent::{Spent, Spread};
use super::state::TaskState;
use super::task::Task;
use super::token::{Scope, Token};
use crate::stamp::Stamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Overview {
    #[schema(value_type = std::collections::BTreeMap<String, u64>)]
    pub tasks: BTreeMap<TaskState, u64>,
    /// Approvals that wait for an answer.
    pub approvals: u64,
    /// Finished tasks whose changes nobody has applied or discarded.
    pub to_review: Vec<Task>,
    pub failures: Vec<Task>,
    /// The last hours, the oldest first.
    pub hours: Vec<Hour>,
    pub runners_online: u64,
    /// Number of the newest event: who wants to hear only of what is new follows from there.
    pub newest: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Hour {
    #[schema(value_type = String, format = DateTime)]
    pub from: Stamp,
    pub succeeded: u64,
    pub failed: u64,
}

/// Who the caller is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Me {
    pub actor: String,
    pub scopes: Vec<Scope>,
    pub token: Token,
}

/// Counts for those who watch the server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counts {
    pub tasks: BTreeMap<TaskState, u64>,
    pub waiting: u64,
    pub held: u64,
    pub runners_online: u64,
    /// Since the server started, by type of event.
    pub events: BTreeMap<String, u64>,
    /// Refusals since the server started, by rule.
    pub rejections: BTreeMap<String, u64>,
    /// Newest event.
    pub seq: u64,
    /// Of attempts that ended since the server started.
    pub attempts: Attempts,
}

/// How long attempts took, and how near they came to their limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempts {
    pub seconds: Spread,
    pub memory: Spread,
    pub cpu: Spread,
}

impl Default for Attempts {
    fn default() -> Self {
        let shares = || Spread::new(&[0.1, 0.25, 0.5, 0.75, 0.9, 1.0]);
        let seconds = Spread::new(&[0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0]);
        Self { seconds, memory: shares(), cpu: shares() }
    }
}

impl Attempts {
    pub fn add(&mut self, spent: Spent) {
        for (spread, value) in [
            (&mut self.seconds, spent.seconds),
            (&mut self.memory, spent.memory),
            (&mut self.cpu, spent.cpu),
        ] {
            value.into_iter().for_each(|value| spread.add(value));
        }
    }
}

/// A setting with its value and where that comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EffectiveRule {
    pub key: String,
    pub value: serde_json::Value,
    /// `built-in default`, the host file with the line, as in `/etc/cofferdam/config.yaml:12`, `role NAME`, or `project NAME`.
    pub origin: String,
}
