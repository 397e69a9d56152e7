//! What a runner says and asks.

use cofferdam_core::control::id::TaskId;
use cofferdam_core::control::page::Page;
use cofferdam_core::control::report::{
    Beat, ClaimAsk, Claims, ErrandAnswer, Heartbeat, LogChunk, Registered, Registration,
    StatusAnswer, StatusReport, Taken,
};
use cofferdam_core::control::runner::Runner;
use reqwest::Method;

use super::{Client, ClientError, Question};

impl Client {
    pub async fn register(&self, registration: &Registration) -> Result<Registered, ClientError> {
        self.post("/v1/runner/register", registration).await
    }

    /// Waits for work, as long as it says.
    pub async fn claim(&self, ask: &ClaimAsk) -> Result<Claims, ClientError> {
        self.ask(Question::new(Method::POST, "/v1/runner/claim").with(ask).waits(ask.wait_ms)).await
    }

    /// Waits for news, as long as it says.
    pub async fn heartbeat(&self, beat: &Heartbeat) -> Result<Beat, ClientError> {
        let question = Question::new(Method::POST, "/v1/runner/heartbeat");
        self.ask(question.with(beat).waits(beat.wait_ms)).await
    }

    pub async fn report(
        &self,
        task: TaskId,
        report: &StatusReport,
    ) -> Result<StatusAnswer, ClientError> {
        self.post(format!("/v1/runner/tasks/{task}/status"), report).await
    }

    pub async fn log(&self, task: TaskId, chunk: &LogChunk) -> Result<Taken, ClientError> {
        #[derive(serde::Deserialize)]
        struct LogAnswer {
            taken: Taken,
        }
        let answer: LogAnswer = self.post(format!("/v1/runner/tasks/{task}/logs"), chunk).await?;
        Ok(answer.taken)
    }

    pub async fn errand_done(&self, id: &str, answer: &ErrandAnswer) -> Result<(), ClientError> {
        let path = format!("/v1/runner/errands/{id}");
        self.raw(Question::new(Method::POST, path).with(answer)).await.map(drop)
    }

    /// All of them.
    pub async fn runners(&self) -> Result<Page<Runner>, ClientError> {
        self.every("/v1/runners", None).await
    }
}
