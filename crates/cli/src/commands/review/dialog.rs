//! Questions. Nothing is done before one of them was answered with yes.

use std::collections::VecDeque;

use cofferdam_core::changes::ChangePath;

use super::order::{Deed, Order};

/// What stands in front of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Dialog {
    Help,
    /// Something to be read and closed.
    Told(Vec<String>),
    /// Files that need a yes of their own, one after the other, by their number in the list.
    OwnYes {
        waiting: VecDeque<usize>,
        agreed: Vec<ChangePath>,
    },
    Sure(Deed),
    /// The gate found it too much.
    OverBudget {
        words: Vec<String>,
        order: Order,
    },
    Leave,
}

pub(super) const HELP: &[(&str, &str)] = &[
    ("j k, arrows", "down, up"),
    ("J K", "next, previous file"),
    ("} {", "next, previous hunk"),
    ("g G", "start, end"),
    ("tab", "other pane"),
    ("space", "choose or unchoose: the file, or the hunk"),
    ("enter", "into the file; on a hunk: choose it"),
    ("y n", "choose or not, and go on"),
    ("a d", "choose all from here on, or none"),
    ("s", "into the hunks of this file"),
    ("/ n N", "search, next, previous; esc ends it"),
    ("A", "apply what is chosen"),
    ("D", "discard what is chosen"),
    ("u", "undo the latest apply"),
    ("q", "leave"),
];
