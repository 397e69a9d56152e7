//! Tasks: made, listed, looked at and moved on.

use cofferdam_core::control::audit::{ChainVerdict, TaskAudit};
use cofferdam_core::control::id::{ProjectId, TaskId};
use cofferdam_core::control::page::Page;
use cofferdam_core::control::report::LogPiece;
use cofferdam_core::control::task::{Attempt, NewTask, Task};
use cofferdam_core::control::timeline::TimelineEvent;
use reqwest::Method;

use super::{Client, ClientError, Question};

/// Which tasks a list is of.
#[derive(Debug, Clone, Default)]
pub struct TaskQuery {
    pub project: Option<ProjectId>,
    pub state: Option<String>,
    pub text: Option<String>,
    pub limit: Option<u32>,
    pub after: Option<String>,
}

impl Client {
    /// The same key again makes no second one.
    pub async fn create_task(
        &self,
        task: &NewTask,
        key: Option<&str>,
    ) -> Result<Task, ClientError> {
        self.ask(Question::new(Method::POST, "/v1/tasks").with(task).key(key)).await
    }

    pub async fn tasks(&self, query: &TaskQuery) -> Result<Page<Task>, ClientError> {
        let question = Question::new(Method::GET, "/v1/tasks")
            .query("project", query.project)
            .query("state", query.state.as_ref())
            .query("text", query.text.as_ref())
            .query("limit", query.limit)
            .query("after", query.after.as_ref());
        self.ask(question).await
    }

    pub async fn task(&self, task: TaskId) -> Result<Task, ClientError> {
        self.get(format!("/v1/tasks/{task}")).await
    }

    pub async fn dispatch(&self, task: TaskId) -> Result<Task, ClientError> {
        self.move_on(task, "dispatch").await
    }

    pub async fn cancel(&self, task: TaskId) -> Result<Task, ClientError> {
        self.move_on(task, "cancel").await
    }

    pub async fn retry(&self, task: TaskId) -> Result<Task, ClientError> {
        self.move_on(task, "retry").await
    }

    async fn move_on(&self, task: TaskId, verb: &str) -> Result<Task, ClientError> {
        self.ask(Question::new(Method::POST, format!("/v1/tasks/{task}/{verb}"))).await
    }

    /// All of them.
    pub async fn attempts(&self, task: TaskId) -> Result<Page<Attempt>, ClientError> {
        self.every(&format!("/v1/tasks/{task}/attempts"), None).await
    }

    /// What the server's chain proves of it.
    pub async fn task_audit(&self, task: TaskId) -> Result<TaskAudit, ClientError> {
        self.get(format!("/v1/tasks/{task}/audit")).await
    }

    /// The server's timeline, or what of it is of one kind.
    pub async fn events(
        &self,
        kind: Option<&str>,
        after: Option<&str>,
    ) -> Result<Page<TimelineEvent>, ClientError> {
        let question = Question::new(Method::GET, "/v1/events").query("type", kind);
        self.ask(question.query("after", after)).await
    }

    /// Whether the server's chain of events holds.
    pub async fn verify(&self) -> Result<ChainVerdict, ClientError> {
        self.get("/v1/audit/verify").await
    }

    pub async fn task_events(
        &self,
        task: TaskId,
        after: Option<&str>,
    ) -> Result<Page<TimelineEvent>, ClientError> {
        let path = format!("/v1/tasks/{task}/events");
        self.ask(Question::new(Method::GET, path).query("after", after)).await
    }

    /// Log pieces after one, of an attempt or of the last.
    pub async fn logs(
        &self,
        task: TaskId,
        attempt: Option<u32>,
        after: Option<u64>,
    ) -> Result<Page<LogPiece>, ClientError> {
        let question = Question::new(Method::GET, format!("/v1/tasks/{task}/logs"))
            .query("attempt", attempt)
            .query("after", after);
        self.ask(question).await
    }
}
