//! What can go wrong with a question to an engine.

use std::io;

use cofferdam_core::inert::Inert;
use serde::Deserialize;

use super::endpoint::Endpoint;
use super::http::{Response, Trouble};
use super::login::HelperError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum EngineError {
    #[error("cannot reach the engine at {at} for {call}: {source}")]
    Unreached { call: String, at: Endpoint, source: io::Error },
    #[error("the engine did not answer {call} in time")]
    Hung { call: String },
    #[error("the engine broke off at {call}: {why}")]
    BrokenOff { call: String, why: String },
    #[error("the engine refused {call}: {message} (status {status})")]
    Refused { call: String, status: u16, message: String },
    #[error("the engine's answer to {call} cannot be read: {source}")]
    Unreadable { call: String, source: serde_json::Error },
    #[error("the login at the registry is not to be had: {0}")]
    Login(#[from] HelperError),
}

impl EngineError {
    pub(crate) fn said(call: String, response: &Response) -> Self {
        #[derive(Deserialize)]
        struct Said {
            message: String,
        }
        let message = match serde_json::from_slice::<Said>(&response.body) {
            Ok(said) => said.message,
            Err(_) => String::from_utf8_lossy(&response.body).into_owned(),
        };
        Self::in_words(call, response.status, &message)
    }

    /// Other people's text, and a paragraph of it is enough.
    pub(crate) fn in_words(call: String, status: u16, message: &str) -> Self {
        let message: String = message.chars().take(500).collect();
        let message = Inert::line(message.trim()).to_string();
        Self::Refused { call, status, message }
    }

    pub(crate) fn trouble(call: String, trouble: Trouble) -> Self {
        match trouble {
            Trouble::Hung => Self::Hung { call },
            Trouble::TooLong => Self::BrokenOff { call, why: "an answer without end".to_owned() },
            Trouble::Garbled(seen) if seen.is_empty() => {
                Self::BrokenOff { call, why: "the connection was closed".to_owned() }
            }
            Trouble::Garbled(_) => Self::BrokenOff { call, why: "an answer cut short".to_owned() },
            Trouble::Carried(why) => Self::BrokenOff { call, why },
            Trouble::Io(error) => Self::BrokenOff { call, why: error.to_string() },
        }
    }

    /// What was asked about is not there.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }

    /// It is being done already, or was done.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused { status: 409, .. })
    }

    /// It failed at something that it could do.
    pub(crate) fn is_failure(&self) -> bool {
        matches!(self, Self::Refused { status: 500..=599, .. })
    }

    /// The engine answered, whatever it said.
    pub(crate) fn is_answer(&self) -> bool {
        matches!(self, Self::Refused { .. } | Self::Unreadable { .. })
    }
}
