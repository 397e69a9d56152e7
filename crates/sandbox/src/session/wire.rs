//! What clients ask and what they are answered: one message of JSON each, with descriptors where there are some.

use cofferdam_core::id::RunId;
use cofferdam_core::plan::ExecSpec;
use cofferdam_core::refusal::Refusal;
use serde::{Deserialize, Serialize};

use super::job::Job;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Question {
    /// Run this. The descriptors of the streams that are given come along, in their order.
    Exec {
        spec: Box<ExecSpec>,
        name: Option<String>,
        given: Vec<Stream>,
        stay: Stay,
    },
    Jobs,
    /// A signal for a command that runs. For one that has ended, everything that it left running is killed.
    Kill {
        job: String,
        signal: i32,
    },
    Stop,
    /// End, and begin anew from that look.
    Rollback {
        look: RunId,
    },
}

/// The standard streams that a client hands over. Without one, output is only kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stream {
    Stdin,
    Stdout,
    Stderr,
}

/// Whether the client stays for the end of its command. One that stays and goes away takes it along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stay {
    ToTheEnd,
    UntilItRuns,
}

/// What a client hears.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// A command was given this number, and runs unless the next answer says otherwise.
    Began(u64),
    Ended(Box<Job>),
    Jobs(Vec<Job>),
    /// It is done, or under way.
    Done,
    Refused(Refusal),
    /// It could not be done.
    Failed(String),
}

pub(super) fn bytes(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message)
        .unwrap_or_else(|_| unreachable!("messages are structs of text, numbers and lists"))
}
