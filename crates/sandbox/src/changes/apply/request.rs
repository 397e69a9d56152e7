//! What is asked of apply, and who says what may be applied.

use cofferdam_core::changes::Entry;

use super::Site;
use super::faults::Faults;
use crate::changes::selection::Selection;

/// What is to be applied, and how.
pub struct ApplyRequest<'a> {
    pub site: Site<'a>,
    pub selection: &'a Selection,
    pub extent: Extent,
    pub merging: Merging,
    pub intent: Intent,
    pub judge: &'a mut dyn Judge,
    pub faults: &'a mut dyn Faults,
    /// Told now and then how far it is.
    pub progress: &'a mut dyn FnMut(Progress),
}

impl std::fmt::Debug for ApplyRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ApplyRequest").field("site", &self.site).finish_non_exhaustive()
    }
}

/// What becomes of the rest where something cannot be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Nothing is applied.
    Whole,
    /// What can be is applied; the rest stays pending.
    Rest,
}

/// What is done about a text that was changed on the host meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Merging {
    Never,
    /// It is merged where both sides did not touch the same lines.
    Clean,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    Perform,
    /// Say what would be done, and write nothing.
    Check,
}

/// Says what may be applied.
pub trait Judge {
    fn entry(&mut self, entry: &Entry) -> Opinion;

    /// Objections to all that was said to be fine together, asked once at the end.
    fn whole(&mut self) -> Vec<String>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opinion {
    Fine,
    /// Not now, and nobody needs to be told.
    Later,
    /// Not without another yes; why, in words.
    Blocked(Vec<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Staged(u64),
    Made(u64),
}
