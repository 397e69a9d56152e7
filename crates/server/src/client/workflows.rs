//! Workflows: templates of steps, and runs of them.

use cofferdam_core::control::id::WorkflowRunId;
use cofferdam_core::control::page::Page;
use cofferdam_core::control::workflow::{NewTemplate, NewWorkflowRun, Template, WorkflowRun};
use reqwest::Method;

use super::{Client, ClientError, Question};

impl Client {
    pub async fn create_template(&self, template: &NewTemplate) -> Result<Template, ClientError> {
        self.post("/v1/workflow-templates", template).await
    }

    /// All of them.
    pub async fn templates(&self) -> Result<Page<Template>, ClientError> {
        self.every("/v1/workflow-templates", None).await
    }

    pub async fn start_workflow(&self, run: &NewWorkflowRun) -> Result<WorkflowRun, ClientError> {
        self.post("/v1/workflow-runs", run).await
    }

    pub async fn workflow_runs(
        &self,
        limit: u32,
        after: Option<&str>,
    ) -> Result<Page<WorkflowRun>, ClientError> {
        let question = Question::new(Method::GET, "/v1/workflow-runs").query("limit", Some(limit));
        self.ask(question.query("after", after)).await
    }

    pub async fn workflow_run(&self, id: WorkflowRunId) -> Result<WorkflowRun, ClientError> {
        self.get(format!("/v1/workflow-runs/{id}")).await
    }

    /// `pause`, `resume` or `abort`.
    pub async fn move_workflow(
        &self,
        id: WorkflowRunId,
        verb: &str,
    ) -> Result<WorkflowRun, ClientError> {
        self.ask(Question::new(Method::POST, format!("/v1/workflow-runs/{id}/{verb}"))).await
    }
}
