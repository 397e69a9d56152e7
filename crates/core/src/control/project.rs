//! A directory tree that tasks may work in, and what of the host they may see beside it.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::ProjectId;
use crate::stamp::Stamp;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Project {
    pub id: ProjectId,
    pub name: String,
    /// Absolute, on the runners' host.
    pub root_path: String,
    /// Mount sources that tasks may ask for beside the root; absolute. The host's own forbidden places stay forbidden.
    pub allowed_paths: Vec<String>,
    /// How many of its tasks may run at once; absent: as many as the server allows at all.
    pub max_running: Option<u32>,
    /// The role of tasks that name none. It is no bound for those that name another: what holds for all is in the host file.
    pub default_role: Option<String>,
    pub version: u64,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Stamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewProject {
    pub name: String,
    pub root_path: String,
    #[serde(default)]
    pub allowed_paths: Vec<String>,
    #[serde(default)]
    pub max_running: Option<u32>,
    #[serde(default)]
    pub default_role: Option<String>,
}
