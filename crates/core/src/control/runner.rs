//! Those who run tasks.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::RunnerId;
use crate::stamp::Stamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunnerState {
    Online,
    /// Takes nothing new.
    Draining,
    /// Not heard of for longer than a lease.
    Offline,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Runner {
    pub id: RunnerId,
    pub name: String,
    pub labels: Vec<String>,
    pub capacity: u32,
    pub running: u32,
    pub state: RunnerState,
    /// What its host can enforce: the answer of `doctor --json`.
    pub host: Option<serde_json::Value>,
    #[schema(value_type = String, format = DateTime)]
    pub seen_at: Stamp,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Stamp,
}
