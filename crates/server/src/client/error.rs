//! Why there is no answer, or not the one that was hoped for.

use std::error::Error;
use std::io;

use cofferdam_core::control::problem::Problem;

#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("cannot reach {url}")]
    Unreachable { url: String, source: Box<dyn std::error::Error + Send + Sync> },
    #[error("{url} does not speak TLS")]
    Clear { url: String },
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
            Self::Unreachable { .. } | Self::Clear { .. } => true,
            Self::Refused(problem) => matches!(problem.status, 429 | 500 | 502..=504),
            Self::Garbled { .. } | Self::TooLarge => false,
        }
    }

    /// Whether whoever answers there could not show that it is the server. Asking again changes that only if somebody acts.
    pub fn is_untrusted(&self) -> bool {
        match self {
            Self::Clear { .. } => true,
            Self::Unreachable { source, .. } => found(source.as_ref(), &|error| {
                matches!(error, rustls::Error::InvalidCertificate(_))
            }),
            _ => false,
        }
    }

    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Refused(problem) => Some(problem),
            _ => None,
        }
    }
}

/// Whether what came back from there was no TLS at all.
pub(super) fn is_clear(error: &(dyn Error + 'static)) -> bool {
    found(error, &|error| matches!(error, rustls::Error::InvalidMessage(_)))
}

/// An `io::Error` hides the error that it was made of from whoever asks for its source.
fn found(error: &(dyn Error + 'static), is_it: &dyn Fn(&rustls::Error) -> bool) -> bool {
    if let Some(error) = error.downcast_ref::<rustls::Error>() {
        return is_it(error);
    }
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inner) => found(inner, is_it),
        None => error.source().is_some_and(|source| found(source, is_it)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_found_however_deep_it_is_wrapped() {
        let unreachable = |source: Box<dyn Error + Send + Sync>| {
            ClientError::Unreachable { url: "https://h".to_owned(), source }.is_untrusted()
        };
        let bad = || rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer);
        assert!(unreachable(Box::new(bad())));
        assert!(unreachable(Box::new(io::Error::other(io::Error::other(bad())))));
        assert!(!unreachable(Box::new(io::Error::other(rustls::Error::HandshakeNotComplete))));
        assert!(!unreachable(Box::new(io::Error::from(io::ErrorKind::ConnectionRefused))));
    }
}
