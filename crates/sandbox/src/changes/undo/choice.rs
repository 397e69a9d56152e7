//! Which entries of an apply are undone: those selected, and the directories that they need back.

use cofferdam_core::changes::{ChangePath, Node};

use crate::changes::ChangeSet;
use crate::changes::apply::ApplyError;
use crate::changes::ranges::Ranges;
use crate::changes::selection::{Part, Selection};

pub(super) fn choose(
    set: &mut ChangeSet,
    selection: &Selection,
    standing: &Ranges,
) -> Result<Ranges, ApplyError> {
    let mut missing: Vec<&ChangePath> = selection.named().collect();
    let mut open: Vec<(ChangePath, usize)> = Vec::new();
    let (mut chosen, mut above) = (Vec::new(), Vec::new());
    for (number, entry) in set.entries()?.enumerate() {
        let entry = entry?;
        while open.last().is_some_and(|(path, _)| !entry.path.is_within(path)) {
            open.pop();
        }
        let stands = standing.contains(number as u64);
        let meant = stands && selection.part(&entry.path) != Part::Nothing;
        if meant {
            missing.retain(|named| !entry.path.is_within(named));
        }
        chosen.push(meant);
        above.push(open.last().map(|(_, number)| *number));
        // A directory that was removed: what was in it needs it back first.
        if stands && matches!(entry.before, Some(Node::Directory { .. })) {
            open.push((entry.path, number));
        }
    }
    if let Some(path) = missing.first() {
        return Err(ApplyError::NotApplied { path: (*path).clone() });
    }
    for number in (0..chosen.len()).rev() {
        if let (true, Some(above)) = (chosen[number], above[number]) {
            chosen[above] = true;
        }
    }
    let numbers = (0u64..).zip(chosen).filter(|(_, chosen)| *chosen);
    Ok(numbers.map(|(number, _)| number).collect())
}
