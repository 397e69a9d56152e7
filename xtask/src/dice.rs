//! Random numbers from a seed (xorshift64): good enough to shuffle cases and to choose moments, and the
//! same again from the same seed.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    /// From a seed that nobody chose: the standard library seeds its hashers at random.
    pub(crate) fn new() -> Self {
        Self::seeded(RandomState::new().build_hasher().finish())
    }

    /// Neighbouring seeds give unlike numbers. Zero is the one state that stays put.
    pub(crate) fn seeded(seed: u64) -> Self {
        let mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        Self((mixed ^ (mixed >> 31)) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end.max(1) as u64).unwrap_or(0)
    }

    pub(crate) fn shuffle<T>(&mut self, order: &mut [T]) {
        for last in (1..order.len()).rev() {
            order.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_does_not() {
        let row = |seed: u64| {
            let mut dice = Dice::seeded(seed);
            (0..20).map(|_| dice.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(row(7), row(7));
        assert_ne!(row(7), row(8));
        assert!(row(0).iter().any(|number| *number != row(0)[0]), "zero would stay put");
        assert!(row(3).iter().all(|number| *number < 1000));
    }
}
