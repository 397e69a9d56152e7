//! A loop that has candidates written, tries each in a sandbox and keeps the best, as values.
//!
//! [`LoopFile`] is what somebody asked for, read strictly. [`judge`] says what becomes of one candidate,
//! [`History::stop`] when it is enough, and [`input`] what a generator is told; all three depend on nothing but
//! their arguments, so that a loop that was killed goes on exactly as if it had not been.
//!
//! Deliberately absent: running anything, and the clock.

mod fields;
mod file;
mod history;
mod input;
mod judge;
mod objective;
mod settings;

pub use file::{Budget, ChangeBudget, LoopFile, StartFrom, Step};
pub use history::{History, Stop};
pub use input::{input, seed_of};
pub use judge::{Measured, Reason, Trial, Verdict, judge};
pub use objective::{Constraint, Goal, Objective};
pub use settings::Setting;

#[cfg(test)]
mod tests;
