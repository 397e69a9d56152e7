//! How much two files have in common, by their lines.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};

/// A larger file is not compared.
const LARGEST: u64 = 512 * 1024;

/// What may still be spent on looking for moves.
#[derive(Debug)]
pub(super) struct Budget {
    bytes: u64,
    steps: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { bytes: 32 * 1024 * 1024, steps: 40_000_000 }
    }
}

/// The lines of a file as sorted hashes, each with its length.
#[derive(Debug)]
pub(super) struct Prints {
    lines: Vec<(u64, u32)>,
    size: u64,
}

impl Budget {
    pub(super) fn prints(
        &mut self,
        size: u64,
        read: impl FnOnce() -> Option<Vec<u8>>,
    ) -> Option<Prints> {
        if size > LARGEST {
            return None;
        }
        self.bytes = self.bytes.checked_sub(size)?;
        Some(Prints::of(&read()?))
    }

    /// In percent of the larger of the two. Nothing where their sizes tell already, or nothing is left to
    /// spend.
    pub(super) fn compare(&mut self, a: &Prints, b: &Prints) -> Option<u8> {
        let (small, large) = (a.size.min(b.size), a.size.max(b.size));
        if large == 0 || small * 2 < large {
            return None;
        }
        self.steps = self.steps.checked_sub(a.lines.len() + b.lines.len())?;
        u8::try_from(a.shared(b) * 100 / large).ok()
    }
}

impl Prints {
    fn of(bytes: &[u8]) -> Self {
        let print = |line: &[u8]| {
            let mut hasher = DefaultHasher::new();
            line.hash(&mut hasher);
            (hasher.finish(), u32::try_from(line.len()).unwrap_or(u32::MAX))
        };
        let mut lines: Vec<_> = bytes.split_inclusive(|byte| *byte == b'\n').map(print).collect();
        lines.sort_unstable();
        Self { lines, size: bytes.len() as u64 }
    }

    /// Bytes in lines that both have, each as often as both have it.
    fn shared(&self, other: &Self) -> u64 {
        let (mut a, mut b) = (self.lines.iter().peekable(), other.lines.iter().peekable());
        let mut shared = 0;
        while let (Some(x), Some(y)) = (a.peek(), b.peek()) {
            match x.cmp(y) {
                std::cmp::Ordering::Less => drop(a.next()),
                std::cmp::Ordering::Greater => drop(b.next()),
                std::cmp::Ordering::Equal => {
                    shared += u64::from(x.1);
                    a.next();
                    b.next();
                }
            }
        }
        shared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(a: &str, b: &str) -> Option<u8> {
        Budget::default().compare(&Prints::of(a.as_bytes()), &Prints::of(b.as_bytes()))
    }

    #[test]
    fn likeness_is_what_both_have() {
        assert_eq!(alike("a\nb\nc\nd\n", "a\nb\nc\nx\n"), Some(75));
        assert_eq!(alike("a\nb\n", "b\na\n"), Some(100));
        assert_eq!(alike("a\na\na\na\n", "a\nx\ny\nz\n"), Some(25));
        assert_eq!(alike("a\n", "a\nb\nc\n"), None);
        assert_eq!(alike("", ""), None);
    }

    #[test]
    fn nothing_is_read_beyond_the_budget() {
        let mut budget = Budget { bytes: 10, steps: 3 };
        let small = budget.prints(6, || Some(b"a\nb\nc\n".to_vec())).unwrap();
        assert!(budget.prints(6, || panic!("read")).is_none());
        assert!(Budget::default().prints(LARGEST + 1, || panic!("read")).is_none());
        assert_eq!(budget.compare(&small, &small), None);
    }
}
