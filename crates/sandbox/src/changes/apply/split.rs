//! Moves of which only one half would be applied: the file would be under neither name.
//!
//! Which deletions and creations belong together is found as it is for a diff. Deliberately absent: a creation whose
//! deletion is left, because nothing is lost by that; and a deletion that somebody named himself, or without its other half.

use std::collections::HashMap;

use cofferdam_core::changes::{Change, ChangePath};

use super::survey::Survey;
use super::{ApplyError, Held};
use crate::changes::ChangeSet;
use crate::changes::diff::{Contents, find_moves};
use crate::changes::selection::Selection;

/// Leaves each file where it is that moved to where it is not put.
pub(super) fn hold_back(
    set: &mut ChangeSet,
    selection: &Selection,
    survey: &mut Survey,
) -> Result<(), ApplyError> {
    if survey.left == 0 || survey.summary().deleted == 0 {
        return Ok(());
    }
    let contents = Contents::of(set);
    let mut meant = |index, entry| (survey.takes(index) || survey.leaves(index)).then_some(entry);
    let moves = find_moves(set, &contents, &mut meant)?;
    if moves.is_empty() {
        return Ok(());
    }
    let mut going: HashMap<ChangePath, u64> = HashMap::new();
    let mut left: Vec<(ChangePath, ChangePath)> = Vec::new();
    for (index, entry) in (0u64..).zip(set.entries()?) {
        let entry = entry?;
        match entry.change {
            Change::Deleted
                if moves.moved_away(&entry.path)
                    && survey.takes(index)
                    && !survey.has_already(index) =>
            {
                going.insert(entry.path, index);
            }
            Change::Created if survey.leaves(index) => {
                if let Some(origin) = moves.origin(&entry.path) {
                    left.push((origin.from.path.clone(), entry.path));
                }
            }
            _ => {}
        }
    }
    for (path, to) in left {
        if let Some(index) = going.get(&path).filter(|_| !selection.names(&path)) {
            survey.hold(*index, Held { path, to });
        }
    }
    Ok(())
}
