//! Curves: what happens to a time as something else grows, each over several sizes.
//!
//! Every one of them ends in a minute or two on two cores, but that of a million tasks. What one of them measures is proved before it is timed, as
//! everywhere; sizes that there was no time for are gaps in the table and not guesses.

mod at_once;
mod changed;
mod stored;
mod workspace;

pub(crate) use at_once::concurrency;
pub(crate) use changed::changes;
pub(crate) use stored::{million_tasks, tasks};
pub(crate) use workspace::files;

use std::time::Duration;

use super::figures::rank;
use super::rounds::Times;

/// The median of each case, at the size that it stands for.
fn medians(sizes: &[usize], times: &[Times]) -> Vec<(usize, Duration)> {
    sizes.iter().zip(times).map(|(size, case)| (*size, rank(&case.times, 50))).collect()
}
