//! What is asked of a launcher, and what it answers. One answer to each question, in order.

use cofferdam_core::paths::ExactPath;
use cofferdam_core::plan::Profile;
use cofferdam_core::receipt::Violation;
use cofferdam_native::confined::Notes;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// A sandbox of this profile whose changes end up in the run's directory.
    Take { profile: Box<Profile>, run: String, dir: ExactPath },
    /// That sandbox is over.
    Finish { name: String },
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// With a descriptor of its first process, and one to give it its order through.
    Handed {
        name: String,
        notes: Box<Notes>,
    },
    /// In the words of the error, with its cause.
    Refused {
        message: String,
        remedy: String,
    },
    /// Something that is forbidden succeeded in it.
    Violated {
        violation: Violation,
    },
    Finished {
        left: Vec<String>,
    },
}

pub(super) fn bytes(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message)
        .unwrap_or_else(|_| unreachable!("messages are structs of text, numbers and lists"))
}
