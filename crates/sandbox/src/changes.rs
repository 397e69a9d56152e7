//! What runs changed: found, sealed, looked at, and applied or thrown away.
//!
//! - [`ChangeSet`]: a sealed manifest with its objects; never written to once it is sealed.
//! - [`diff`]: what there is to look at.
//! - [`Inspector`]: what settings say about an entry and its content; [`count_paths`], for a share of the tree.
//! - [`Objects`]: contents by their hashes.
//! - [`seal`]: makes a set of what a run left behind, by way of `capture`.
//! - [`resume`]: lets a run begin with what an earlier one changed.
//! - [`copy`]: a place to work in where there can be no overlay.
//! - `bases`: what the host's files held before both sides changed them.
//! - [`History`]: commits that were made inside.
//! - [`Inspector`]: what settings say about an entry and its content; [`count_paths`], for a share of the tree.
//! - [`Selection`], [`Hunks`]: which changes of a set are meant; [`ignored()`]: which of them git ignores.
//! - [`Ledger`]: what became of a set's entries; [`landed()`]: what stands on the host wherever a set speaks of it.
//! - [`Workspace`]: the directory that changes are applied to, and the one way to paths below it.
//! - [`conflict`]: whether the host still has what a run began with.
//! - [`apply`], [`undo`], [`discard`]: what can be done with a set; [`recover`]: after a crash.
//!
//! A sealed set is a directory that holds `manifest` and `objects/`. It can be copied to another host.
//! Beside them are `ledger.json` and `applies/`, which are of this host.

mod aliases;
pub mod apply;
pub(crate) mod bases;
mod beneath;
mod capture;
mod census;
pub mod conflict;
pub mod copy;
mod crew;
mod deposit;
pub mod diff;
pub mod discard;
mod duplicate;
mod git;
pub mod halt;
mod history;
mod hunks;
mod ignored;
mod inspection;
mod landed;
mod ledger;
pub(crate) mod objects;
mod ranges;
pub mod recover;
pub mod resume;
mod rights;
pub mod seal;
mod seen;
mod selection;
mod set;
pub(crate) mod settled;
mod touched;
pub mod turn;
pub mod undo;
pub mod worktree;

pub use beneath::{Workspace, WorkspaceError};
pub use capture::CaptureError;
pub use census::{CensusError, count_paths};
pub use git::GitError;
pub use history::{
    Commit, History, HistoryError, Imported, Importing, Left, ObjectFormat, Tip, short_name,
    submodules_in_words,
};
pub use hunks::{Counted, Hunks, Mark};
pub use ignored::{IgnoreError, ignored};
pub use inspection::Inspector;
pub use landed::{LandedError, landed};
pub(crate) use ledger::known_hashes;
pub use ledger::{EntryState, Ledger, LedgerError, Operation, OperationKind};
pub use objects::Objects;
pub use ranges::Ranges;
pub use rights::{as_put, mode_difference};
pub use seal::{SealError, SealRequest, Sealed};
pub use selection::{Part, Selection};
pub(crate) use set::OBJECTS;
pub use set::{ChangeSet, REPOSITORY, SetError};
pub use settled::{Look, carry_checkpoints, looks};
pub use touched::{Touched, touched};
pub(crate) use turn::Turn;
pub use turn::TurnError;
