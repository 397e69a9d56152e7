//! How the plane says no, and how that becomes a problem of the API: here, and nowhere else.

use std::sync::Arc;

use cofferdam_core::control::problem::Problem;
use cofferdam_core::control::state::Illegal;
use cofferdam_core::control::token::Scope;
use cofferdam_core::refusal::Refusal;

use crate::store::StoreError;

#[derive(Debug, Clone, thiserror::Error)]
pub enum PlaneError {
    /// There is no such thing, or the caller may not know of it: the same words for both.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    #[error("this needs the scope {0:?}")]
    Scope(Scope),
    /// It has the scope, for its own projects alone.
    #[error("{message}")]
    Bound { message: &'static str, remedy: &'static str },
    #[error("{0}")]
    Refused(Box<Refusal>),
    #[error(transparent)]
    Illegal(#[from] Illegal),
    /// It stands in the way of another.
    #[error("{message}")]
    Conflict { message: String, remedy: &'static str },
    #[error("it was changed meanwhile: it has version {version} now")]
    Version { version: u64 },
    #[error("this idempotency key was used for another request")]
    KeyReused,
    #[error("{what} is larger than {most} bytes")]
    TooLarge { what: &'static str, most: u64 },
    /// There is no room for another.
    #[error("{waiting} tasks of this project wait already, and no more than {most} may")]
    Crowded { waiting: u64, most: u64 },
    /// The runner that has the changes did not answer in time.
    #[error("the runner did not answer in time")]
    NoAnswer,
    /// Nobody is there who could answer for the changes.
    #[error("{0}")]
    Away(&'static str),
    /// What a runner said about an errand.
    #[error("{0}")]
    Answered(Box<Problem>),
    #[error("the server is shutting down")]
    Stopped,
    #[error("the store failed")]
    Store(#[source] Arc<StoreError>),
}

impl From<StoreError> for PlaneError {
    fn from(error: StoreError) -> Self {
        Self::Store(Arc::new(error))
    }
}

impl From<Refusal> for PlaneError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

impl PlaneError {
    pub(crate) fn field(field: &str, message: impl Into<String>, remedy: &str) -> Self {
        Self::from(Refusal {
            rule: cofferdam_core::refusal::Rule::ValueForm,
            field: field.to_owned(),
            message: message.into(),
            remedy: remedy.to_owned(),
        })
    }

    pub(crate) fn is_of_the_store(&self) -> bool {
        matches!(self, Self::Store(_))
    }

    /// The error as the API answers it. What failed inside is not told: that is for the log.
    pub fn problem(&self) -> Problem {
        let (name, title, status, remedy) = match self {
            Self::NotFound(_) => ("not-found", "Not found", 404, None),
            Self::Scope(_) => {
                ("forbidden", "Not allowed", 403, Some("use a token that has this scope"))
            }
            Self::Bound { remedy, .. } => ("forbidden", "Not allowed", 403, Some(*remedy)),
            Self::Refused(_) => ("refused", "Refused", 422, None),
            Self::Illegal(_) => (
                "illegal-transition",
                "Not possible now",
                409,
                Some("look at its state and events"),
            ),
            Self::Conflict { remedy, .. } => ("conflict", "In the way", 409, Some(*remedy)),
            Self::Version { .. } => (
                "changed",
                "Changed meanwhile",
                412,
                Some("read it again, and send its new version"),
            ),
            Self::KeyReused => {
                ("key-reused", "Key used before", 422, Some("use a new key for a new request"))
            }
            Self::TooLarge { .. } => ("too-large", "Too large", 413, Some("send less")),
            Self::Crowded { .. } => (
                "too-many",
                "Too many",
                429,
                Some("wait until some of them have run, or cancel what is not needed"),
            ),
            Self::NoAnswer => (
                "no-answer",
                "No answer",
                504,
                Some("see whether its runner is online, and ask again"),
            ),
            Self::Away(_) => (
                "no-answer",
                "No answer",
                504,
                Some("start the runner again, it keeps what it ran; then ask again"),
            ),
            Self::Answered(problem) => return (**problem).clone(),
            Self::Stopped => ("stopped", "Shutting down", 503, Some("ask again")),
            Self::Store(_) => {
                ("internal", "Something failed inside", 500, Some("look into the server's log"))
            }
        };
        let mut problem = Problem {
            kind: format!("urn:cofferdam:problem:{name}"),
            title: title.to_owned(),
            status,
            detail: self.to_string(),
            field: None,
            rule: None,
            remedy: remedy.map(str::to_owned),
            request_id: None,
        };
        if let Self::Refused(refusal) = self {
            problem.detail = refusal.message.clone();
            problem.field = Some(refusal.field.clone());
            problem.rule = Some(refusal.rule.to_string());
            problem.remedy = Some(refusal.remedy.clone());
        }
        problem
    }
}
