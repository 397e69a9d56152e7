//! What a task changed, looked at and decided where it lies.

use cofferdam_core::control::id::TaskId;
use reqwest::Method;
use serde_json::Value;

use super::{Client, ClientError, Question};

/// The server waits for the runner that has the changes.
const RUNNER_MS: u64 = 60_000;

impl Client {
    pub async fn changes(&self, task: TaskId) -> Result<Value, ClientError> {
        let path = format!("/v1/tasks/{task}/changes");
        self.ask(Question::new(Method::GET, path).waits(RUNNER_MS)).await
    }

    pub async fn diff(&self, task: TaskId, path: Option<&str>) -> Result<Value, ClientError> {
        let question = Question::new(Method::GET, format!("/v1/tasks/{task}/diff"));
        self.ask(question.query("path", path).waits(RUNNER_MS)).await
    }

    pub async fn apply(&self, task: TaskId, apply: &Value) -> Result<Value, ClientError> {
        self.decide(task, "apply", apply).await
    }

    pub async fn discard(&self, task: TaskId, paths: &[String]) -> Result<Value, ClientError> {
        self.decide(task, "discard", &serde_json::json!({ "paths": paths })).await
    }

    pub async fn undo(&self, task: TaskId) -> Result<Value, ClientError> {
        let question = Question::new(Method::POST, format!("/v1/tasks/{task}/undo"));
        self.ask(question.waits(RUNNER_MS)).await
    }

    async fn decide(&self, task: TaskId, verb: &str, body: &Value) -> Result<Value, ClientError> {
        let question = Question::new(Method::POST, format!("/v1/tasks/{task}/{verb}"));
        self.ask(question.with(body).waits(RUNNER_MS)).await
    }
}
