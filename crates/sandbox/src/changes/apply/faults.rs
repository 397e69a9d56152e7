//! A door for tests: what happens when the disk is full, or we are killed, right before any step.

use std::io;

/// Asked before everything that reaches the disk.
pub trait Faults {
    /// An error is what the step would have failed with.
    fn before(&mut self, point: Point) -> io::Result<()>;
}

/// What is about to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// Something new is prepared beside the workspace.
    Stage,
    /// The journal is closed, after which steps are made.
    Commit,
    /// One step in the workspace.
    Step,
    /// All steps are made and are about to be called done.
    Done,
    Ledger,
    Event,
    /// What is no longer needed is removed.
    Clean,
    /// One step is taken back.
    Back,
}

/// None, as it is for users.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFaults;

impl Faults for NoFaults {
    fn before(&mut self, _: Point) -> io::Result<()> {
        Ok(())
    }
}
