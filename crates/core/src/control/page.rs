//! Lists that do not end on one page.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// To be sent as `after` for the next page; absent on the last.
    pub next: Option<String>,
}
