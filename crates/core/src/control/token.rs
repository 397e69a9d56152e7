//! Who may ask. A token is shown once; what is kept is its hash.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::id::{ProjectId, TokenId};
use crate::stamp::Stamp;

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Everything.
    Admin,
    /// Reads, and makes tasks and workflow runs.
    Submit,
    /// Reads, decides approvals, applies and discards changes.
    Review,
    /// Claims and reports; reads only what it has claimed.
    Runner,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Token {
    pub id: TokenId,
    pub name: String,
    pub scopes: Vec<Scope>,
    /// The only projects it knows; absent: all.
    pub projects: Option<Vec<ProjectId>>,
    #[schema(value_type = String, format = DateTime)]
    pub created_at: Stamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Stamp>,
    #[schema(value_type = Option<String>, format = DateTime)]
    pub revoked_at: Option<Stamp>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    pub name: String,
    pub scopes: Vec<Scope>,
    #[serde(default)]
    pub projects: Option<Vec<ProjectId>>,
    #[serde(default)]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Stamp>,
}

/// The answer to the making of one: the only time that its text is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MadeToken {
    #[serde(flatten)]
    pub token: Token,
    pub secret: String,
}
