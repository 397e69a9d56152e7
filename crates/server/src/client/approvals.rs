//! Questions that wait for somebody.

use cofferdam_core::control::approval::{Approval, Decision};
use cofferdam_core::control::id::ApprovalId;
use cofferdam_core::control::page::Page;

use super::{Client, ClientError};

impl Client {
    /// All of them.
    pub async fn approvals(&self, state: Option<&str>) -> Result<Page<Approval>, ClientError> {
        self.every("/v1/approvals", state.map(|state| ("state", state))).await
    }

    pub async fn approve(&self, id: ApprovalId, said: &Decision) -> Result<Approval, ClientError> {
        self.post(format!("/v1/approvals/{id}/approve"), said).await
    }

    pub async fn reject(&self, id: ApprovalId, said: &Decision) -> Result<Approval, ClientError> {
        self.post(format!("/v1/approvals/{id}/reject"), said).await
    }
}
