//! How a runner reaches its server: the seven things that they say to each other.
//!
//! Over HTTP it is the typed [`Client`]; inside the server it is a call. The runner does not know which.

use std::future::Future;

use cofferdam_core::control::artifact::Artifact;
use cofferdam_core::control::id::{TaskId, TokenId};
use cofferdam_core::control::problem::Problem;
use cofferdam_core::control::report::{
    Beat, ClaimAsk, Claims, ErrandAnswer, Heartbeat, LogChunk, Registered, Registration,
    StatusAnswer, StatusReport, Taken,
};
use cofferdam_core::control::token::Scope;

use crate::client::{Client, ClientError};
use crate::plane::{Caller, NewArtifact, Plane, PlaneError};

pub trait Link: std::fmt::Debug + Send + Sync + 'static {
    fn register(&self, registration: &Registration) -> impl Answer<Registered>;
    fn claim(&self, ask: &ClaimAsk) -> impl Answer<Claims>;
    fn heartbeat(&self, beat: &Heartbeat) -> impl Answer<Beat>;
    fn report(&self, task: TaskId, report: &StatusReport) -> impl Answer<StatusAnswer>;
    fn log(&self, task: TaskId, chunk: &LogChunk) -> impl Answer<Taken>;
    fn artifact(&self, task: TaskId, new: &NewArtifact) -> impl Answer<Artifact>;
    fn errand_done(&self, id: &str, answer: &ErrandAnswer) -> impl Answer<()>;
}

/// An answer that is waited for, on whatever thread.
pub trait Answer<T>: Future<Output = Result<T, LinkError>> + Send {}

impl<T, F: Future<Output = Result<T, LinkError>> + Send> Answer<T> for F {}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// It may come if the same is said again.
    #[error("the server cannot be reached: {0}")]
    Away(String),
    /// It is not who it should be, or cannot show it.
    #[error("whoever answers there is not trusted: {0}")]
    Untrusted(String),
    /// It answers in the clear where TLS was asked for.
    #[error("{0}")]
    Clear(String),
    #[error(transparent)]
    Refused(Box<Problem>),
}

impl LinkError {
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Away(_) | Self::Untrusted(_) | Self::Clear(_))
    }

    /// Whether a runner that has nothing yet should give up.
    pub fn is_untrusted(&self) -> bool {
        matches!(self, Self::Untrusted(_) | Self::Clear(_))
    }

    /// Whether less of it would be taken.
    pub fn is_too_large(&self) -> bool {
        matches!(self, Self::Refused(problem) if problem.status == 413)
    }

    /// Whether the server does not know what was spoken of.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Refused(problem) if matches!(problem.status, 404 | 410))
    }
}

impl From<ClientError> for LinkError {
    fn from(error: ClientError) -> Self {
        match error {
            error @ ClientError::Clear { .. } => Self::Clear(error.to_string()),
            error if error.is_untrusted() => Self::Untrusted(chain(&error)),
            error if error.is_passing() => Self::Away(error.to_string()),
            ClientError::Refused(problem) => Self::Refused(problem),
            error => Self::Away(error.to_string()),
        }
    }
}

/// What went wrong, down to the first cause.
fn chain(error: &ClientError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

impl Link for Client {
    async fn register(&self, registration: &Registration) -> Result<Registered, LinkError> {
        Ok(Client::register(self, registration).await?)
    }

    async fn claim(&self, ask: &ClaimAsk) -> Result<Claims, LinkError> {
        Ok(Client::claim(self, ask).await?)
    }

    async fn heartbeat(&self, beat: &Heartbeat) -> Result<Beat, LinkError> {
        Ok(Client::heartbeat(self, beat).await?)
    }

    async fn report(&self, task: TaskId, report: &StatusReport) -> Result<StatusAnswer, LinkError> {
        Ok(Client::report(self, task, report).await?)
    }

    async fn log(&self, task: TaskId, chunk: &LogChunk) -> Result<Taken, LinkError> {
        Ok(Client::log(self, task, chunk).await?)
    }

    async fn artifact(&self, task: TaskId, new: &NewArtifact) -> Result<Artifact, LinkError> {
        Ok(Client::send_artifact(self, task, new).await?)
    }

    async fn errand_done(&self, id: &str, answer: &ErrandAnswer) -> Result<(), LinkError> {
        Ok(Client::errand_done(self, id, answer).await?)
    }
}

/// The plane in the same process. It has no token: whoever has the process has the plane.
#[derive(Debug, Clone)]
pub struct Near {
    plane: Plane,
    caller: Caller,
}

impl Near {
    pub fn new(plane: Plane) -> Self {
        let caller = Caller {
            actor: "server".to_owned(),
            // No token that was ever made has this name.
            token: TokenId::from_parts(0, 0),
            scopes: vec![Scope::Runner],
            projects: None,
        };
        Self { plane, caller }
    }
}

impl From<PlaneError> for LinkError {
    fn from(error: PlaneError) -> Self {
        let problem = error.problem();
        match problem.status {
            500.. => Self::Away(error.to_string()),
            _ => Self::Refused(Box::new(problem)),
        }
    }
}

impl Link for Near {
    async fn register(&self, registration: &Registration) -> Result<Registered, LinkError> {
        Ok(self.plane.register(&self.caller, registration.clone()).await?)
    }

    async fn claim(&self, ask: &ClaimAsk) -> Result<Claims, LinkError> {
        Ok(self.plane.claim(&self.caller, *ask).await?)
    }

    async fn heartbeat(&self, beat: &Heartbeat) -> Result<Beat, LinkError> {
        Ok(self.plane.heartbeat(&self.caller, beat.clone()).await?)
    }

    async fn report(&self, task: TaskId, report: &StatusReport) -> Result<StatusAnswer, LinkError> {
        Ok(self.plane.report(&self.caller, task, report.clone()).await?)
    }

    async fn log(&self, task: TaskId, chunk: &LogChunk) -> Result<Taken, LinkError> {
        Ok(self.plane.log(&self.caller, task, chunk.clone()).await?)
    }

    async fn artifact(&self, task: TaskId, new: &NewArtifact) -> Result<Artifact, LinkError> {
        Ok(self.plane.put_artifact(&self.caller, task, new.clone()).await?)
    }

    async fn errand_done(&self, id: &str, answer: &ErrandAnswer) -> Result<(), LinkError> {
        Ok(self.plane.errand_done(&self.caller, id, answer.clone()).await?)
    }
}
