//! Why a sandbox did not come to be. In each case nothing ran.

use std::io;
use std::path::PathBuf;

use cofferdam_core::caps::{Guarantee, Lack};
use cofferdam_core::receipt::Violation;

use crate::recipe::Step;
use crate::sys::SysError;

#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// The caller has threads; a copy of it could find locks held for ever.
    #[error("a process with {count} threads cannot start a sandbox")]
    Threads { count: u64 },
    #[error("the native backend cannot give {what}")]
    Unsupported { what: &'static str },
    /// Owned by somebody whom a user namespace of ours does not know.
    #[error(
        "the workspace holds files of another user or group: {}",
        paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ")
    )]
    Strangers { paths: Vec<PathBuf> },
    #[error("{guarantee} cannot be held: {}", lack.reason)]
    Limit { guarantee: Guarantee, lack: Lack },
    #[error(
        "cannot {}: {call}{}",
        step.doing(),
        subject.as_deref().map(|s| format!(" ({s})")).unwrap_or_default()
    )]
    Step {
        step: Step,
        call: String,
        subject: Option<String>,
        source: io::Error,
        remedy: &'static str,
    },
    #[error("{violation}")]
    Violated { violation: Violation },
    #[error("the command with its environment takes {bytes} bytes")]
    OrderTooLarge { bytes: usize },
    /// As the process said that was to make it.
    #[error("{message}")]
    Reported { message: String, remedy: String },
    #[error("the sandbox's first process ended without a word")]
    Died,
    #[error("the sandbox did not come up within a minute")]
    Stuck,
    #[error(transparent)]
    Sys(#[from] SysError),
}

impl ConfineError {
    /// What would help.
    pub fn remedy(&self) -> String {
        match self {
            Self::Threads { .. } => {
                "start sandboxes from a process of their own that has one thread".to_owned()
            }
            Self::Unsupported { .. } => "use the docker or podman backend".to_owned(),
            Self::Strangers { .. } => {
                "give them to the user who runs the sandbox (chown, chgrp), run as their owner, or use \
                 --mode direct or --mode readonly"
                    .to_owned()
            }
            Self::Limit { lack, .. } => format!("{}; or use --relax limits", lack.remedy),
            Self::OrderTooLarge { .. } => format!(
                "keep them below {} MiB: put long arguments into a file in the workspace",
                crate::channel::LARGEST >> 20
            ),
            Self::Reported { remedy, .. } => remedy.clone(),
            Self::Step { remedy, .. } => (*remedy).to_owned(),
            Self::Violated { .. } => {
                "do not run anything in this sandbox: see what else it lets through with `cofferdam attack`, \
                 and report it"
                    .to_owned()
            }
            Self::Died => {
                "see the kernel's log for what ended it; with a very small memory limit, raise it"
                    .to_owned()
            }
            Self::Stuck => "see whether a network file system hangs".to_owned(),
            Self::Sys(error) => match (error.call, error.source.raw_os_error()) {
                ("clone", Some(libc::EPERM | libc::EACCES)) => {
                    "this user may not make namespaces: run `cofferdam doctor` to see why".to_owned()
                }
                ("clone", Some(libc::ENOSPC)) => {
                    "the limit of namespaces is reached: raise user.max_user_namespaces".to_owned()
                }
                _ => "run `cofferdam doctor` to see what this host can enforce".to_owned(),
            },
        }
    }
}
