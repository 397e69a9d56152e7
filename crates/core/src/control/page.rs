//! Lists that do not end on one page.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// To be sent as `after` for the next page; absent on the last.
    pub next: Option<String>,
}

/// Which page is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paging {
    pub limit: u32,
    /// What the page before said was next.
    pub after: Option<String>,
}

impl Paging {
    pub const MOST: u32 = 500;
}

impl Default for Paging {
    fn default() -> Self {
        Self { limit: 50, after: None }
    }
}
