//! How a command fails: an exit code, what went wrong, and what to do about it.

use std::io::{self, Write};

use cofferdam_core::inert::Inert;
use cofferdam_core::refusal::{Refusal, Rule};
use cofferdam_sandbox::runs::FindError;

use crate::exit::Exit;
use crate::output::Unwritten;

/// What to do about a full disk, where the error comes with nothing better.
const MAKE_ROOM: &str = "make room: `cofferdam discard` throws away what a run changed, and `cofferdam gc --older-than \
                         1h` removes runs";

/// The same where it is not a disk of ours: nothing that we keep has to go for it.
const MAKE_ROOM_THERE: &str =
    "standard output goes to where there is no room: make some there, or send it elsewhere";

/// Whether a disk was full.
fn is_for_want_of_space(error: &anyhow::Error) -> bool {
    let kinds = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    kinds.map(io::Error::kind).any(|kind| kind == io::ErrorKind::StorageFull)
}

/// What to do about an error that comes without a hint.
fn remedy(error: &anyhow::Error) -> Option<&'static str> {
    let find = error.chain().find_map(|cause| cause.downcast_ref::<FindError>());
    match find {
        Some(FindError::Unknown(_)) => Some("`cofferdam runs` lists all that there are"),
        Some(FindError::NoneHere(_)) => Some(
            "start one with `cofferdam run -- COMMAND`; or name one by its id, or go where it ran: `cofferdam runs` \
             lists all that there are",
        ),
        Some(FindError::Ambiguous { .. }) => Some("say more of its id"),
        Some(FindError::State(_)) | None => {
            let remedy = if Unwritten::is_in(error) { MAKE_ROOM_THERE } else { MAKE_ROOM };
            is_for_want_of_space(error).then_some(remedy)
        }
    }
}

/// An error on its way to the user. Printed once, in `main`.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) error: anyhow::Error,
    pub(crate) hints: Vec<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self { exit, error: error.into(), hints: Vec::new() }
    }

    /// Wrong use of the command line.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, anyhow::Error::msg(message.into()))
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// `error: …`, its causes, and the remedies, each on its own line and inert: an error may carry a
    /// file name or a message that somebody else chose.
    pub(crate) fn print(&self, to: &mut dyn Write) -> std::io::Result<()> {
        let chain: Vec<String> = self.error.chain().map(ToString::to_string).collect();
        let mut text = format!("error: {}\n", Inert::block(&chain.join(": ")));
        let usual = self.hints.is_empty().then(|| remedy(&self.error)).flatten();
        for hint in self.hints.iter().map(String::as_str).chain(usual) {
            text.push_str(&format!("remedy: {}\n", Inert::block(hint)));
        }
        to.write_all(text.as_bytes())
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::new(Exit::Failed, error)
    }
}

/// A refusal as a failure: nothing was run, or not before somebody has decided.
pub(crate) fn refused(refusal: &Refusal) -> Failure {
    let message = format!("refused by {}: {refusal}", refusal.rule);
    let exit = match refusal.rule {
        Rule::CommandReviewed => Exit::Undecided,
        _ => Exit::NotRun,
    };
    Failure::new(exit, anyhow::Error::msg(message)).hint(&refusal.remedy)
}
