//! What somebody who looks in wants to know first.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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
}

/// A setting with its value and where that comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EffectiveRule {
    pub key: String,
    pub value: serde_json::Value,
    /// `built-in default`, `host`, `role NAME`, `project NAME`.
    pub origin: String,
}
