//! What a generator is told, as JSON on its standard input.

use serde_json::{Value, json};

use super::file::LoopFile;
use super::history::History;

/// The input of one iteration. `known` is what the iteration may know: see [`History::before_batch_of`].
pub fn input(file: &LoopFile, known: &History, iteration: u64) -> Value {
    let trials = known.trials();
    let told = &trials[trials.len().saturating_sub(file.history)..];
    json!({
        "version": 1,
        "iteration": iteration,
        "seed": seed_of(file.seed, iteration),
        "objective": {
            "metric": file.objective.metric,
            "goal": file.objective.goal.to_string(),
        },
        "history": told,
        "last": trials.last(),
        "champion": known.champion(),
    })
}

/// The seed of an iteration: spread by SplitMix64, and small enough that every reader of JSON has it exactly.
pub fn seed_of(seed: u64, iteration: u64) -> u64 {
    let mut z = seed.wrapping_add(iteration.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) >> 11
}
