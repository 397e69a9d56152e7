//! A file that a task left for others: its result, its patch, its report.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::{ArtifactId, TaskId};
use crate::stamp::Stamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Artifact {
    pub id: ArtifactId,
    pub task: TaskId,
    pub attempt: u32,
    pub name: String,
    pub media_type: String,
    pub size: u64,
    /// BLAKE3 of its bytes.
    pub hash: String,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Stamp,
}
