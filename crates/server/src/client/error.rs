//! Why there is no answer, or not the one that was hoped for.

use cofferdam_core::control::problem::Problem;

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("cannot reach {url}")]
    Unreachable { url: String, source: Box<dyn std::error::Error + Send + Sync> },
    #[error(transparent)]
    Refused(Box<Problem>),
    #[error("the server's answer is not what this version understands")]
    Garbled { source: serde_json::Error },
    #[error("the server's answer is larger than anything that was asked for")]
    TooLarge,
}

impl ClientError {
    /// Whether the same question may be answered a moment later.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } => true,
            Self::Refused(problem) => matches!(problem.status, 429 | 500 | 502..=504),
            Self::Garbled { .. } | Self::TooLarge => false,
        }
    }

    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Refused(problem) => Some(problem),
            _ => None,
        }
    }
}
