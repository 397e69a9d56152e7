//! What tasks leave for others.

use cofferdam_core::control::artifact::Artifact;
use cofferdam_core::control::id::{ArtifactId, TaskId};
use cofferdam_core::control::page::Page;
use reqwest::Method;

use super::{Client, ClientError, Question};
use crate::plane::NewArtifact;

impl Client {
    /// All of one task.
    pub async fn task_artifacts(&self, task: TaskId) -> Result<Page<Artifact>, ClientError> {
        self.every(&format!("/v1/tasks/{task}/artifacts"), None).await
    }

    /// Of all tasks, the newest first.
    pub async fn artifacts(&self, after: Option<&str>) -> Result<Page<Artifact>, ClientError> {
        self.ask(Question::new(Method::GET, "/v1/artifacts").query("after", after)).await
    }

    /// Its bytes.
    pub async fn artifact(&self, artifact: ArtifactId) -> Result<Vec<u8>, ClientError> {
        self.raw(Question::new(Method::GET, format!("/v1/artifacts/{artifact}"))).await
    }

    /// Hands one in, for an attempt of the caller's.
    pub async fn send_artifact(
        &self,
        task: TaskId,
        new: &NewArtifact,
    ) -> Result<Artifact, ClientError> {
        let question = Question::new(Method::POST, format!("/v1/runner/tasks/{task}/artifacts"))
            .query("attempt", Some(new.attempt))
            .query("name", Some(&new.name))
            .query("media_type", Some(&new.media_type));
        self.ask(question.carrying(new.bytes.clone(), &new.fence)).await
    }
}
