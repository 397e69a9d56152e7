//! What is asked of a launcher, and what it answers. One answer to each question, in order.
//!
//! What is large stands below a question or an answer, on a line of its own, and need not be read at once. Most
//! profiles are the same as that before, and are known by their bytes; what was read back of a sandbox is looked at
//! when its command is under way.

use cofferdam_core::paths::ExactPath;
use cofferdam_core::receipt::Violation;
use cofferdam_native::witness::Witness;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// A sandbox of the profile below, whose changes end up in the run's directory.
    Take { run: String, dir: ExactPath },
    /// That sandbox is over. Another of its profile is to come with the answer, where one is wanted and ready.
    Finish { name: String, wants_next: bool },
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// With a descriptor of its first process, and one to give it its order through. Below: what was read back.
    Handed { name: String },
    /// In the words of the error, with its cause.
    Refused { message: String, remedy: String },
    /// Something that is forbidden succeeded in it.
    Violated { violation: Violation },
    /// With the next, as one that was asked for comes.
    Finished { left: Vec<String>, next: Option<Box<Next>> },
}

/// A sandbox that is handed out before anybody asks for it. Whoever uses it looks whether it is still as good as a new
/// one, and moves its layers into the run's directory.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Next {
    pub(super) name: String,
    /// Where its layers are.
    pub(super) dir: ExactPath,
    /// What the host looked like when it was made.
    pub(super) witness: Witness,
}

pub(super) fn bytes(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message)
        .unwrap_or_else(|_| unreachable!("messages are structs of text, numbers and lists"))
}

/// A message with what stands below it.
pub(super) fn with_below(message: &impl Serialize, below: &[u8]) -> Vec<u8> {
    [&bytes(message), below].join(&b'\n')
}

/// The message, and what stands below it.
pub(super) fn read<T: DeserializeOwned>(message: &[u8]) -> serde_json::Result<(T, &[u8])> {
    // In text the end of a line is written as two other characters.
    let end = message.iter().position(|byte| *byte == b'\n').unwrap_or(message.len());
    let (message, below) = message.split_at(end);
    Ok((serde_json::from_slice(message)?, below.strip_prefix(b"\n").unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_below_a_question_is_apart_from_it() {
        let request = Request::Take { run: "one\ntwo".to_owned(), dir: "/a\nb".into() };
        let message = with_below(&request, &bytes(&"below\nall"));
        let (again, below) = read::<Request>(&message).unwrap();
        let Request::Take { run, dir } = again else { panic!("{again:?}") };
        assert_eq!((run.as_str(), dir), ("one\ntwo", "/a\nb".into()));
        assert_eq!(serde_json::from_slice::<String>(below).unwrap(), "below\nall");

        let finish = bytes(&Request::Finish { name: "one".to_owned(), wants_next: true });
        let (again, below) = read::<Request>(&finish).unwrap();
        assert!(matches!(again, Request::Finish { name, wants_next: true } if name == "one"));
        assert!(below.is_empty());
        assert!(read::<Request>(b"{}\n{}").is_err());
    }
}
