//! What somebody who acts in a role may ask for at most.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::{ProjectId, RoleId};
use crate::stamp::Stamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Role {
    pub id: RoleId,
    /// Absent: holds in every project.
    pub project: Option<ProjectId>,
    pub name: String,
    /// Ceilings by the names that `policy.roles` has, as `memory_limit`; what a task asks for above one is refused.
    pub ceiling: BTreeMap<String, serde_json::Value>,
    /// Settings that tasks in this role begin with, by configuration key, as `sandbox.network`.
    pub settings: BTreeMap<String, serde_json::Value>,
    /// Keys that a task may override with a reason, up to the host's own ceiling.
    pub overridable: Vec<String>,
    pub version: u64,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Stamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRole {
    #[serde(default)]
    pub project: Option<ProjectId>,
    pub name: String,
    #[serde(default)]
    pub ceiling: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    pub settings: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    pub overridable: Vec<String>,
}
