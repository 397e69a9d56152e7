//! Which backend the claims of this process are about.

use crate::docker::{Engine, Which};

/// Native, or an engine that all tests share.
#[derive(Debug, Clone)]
pub enum Backend {
    Native,
    Container(Engine),
}

impl Backend {
    /// As `TEST_BACKEND` says. A name that nobody knows is a failure, not the usual backend.
    pub(crate) fn of_the_tests() -> Self {
        match std::env::var("TEST_BACKEND").as_deref() {
            Err(std::env::VarError::NotPresent) | Ok("native") => Self::Native,
            Ok("docker") => Self::Container(Engine::shared(Which::Docker)),
            Ok("podman") => Self::Container(Engine::shared(Which::Podman)),
            other => panic!("TEST_BACKEND is native, docker or podman, not {other:?}"),
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Container(engine) => engine.name(),
        }
    }

    pub fn engine(&self) -> Option<&Engine> {
        match self {
            Self::Native => None,
            Self::Container(engine) => Some(engine),
        }
    }
}
