//! Which pieces of a stream of output are kept: those of its beginning, and the last ones.
//!
//! The end moves on in strides: the one under way and the one before it are kept. So what lies between goes by one order to the
//! store, and of the pieces only a few numbers are remembered.

use std::ops::Range;

/// One stream of one attempt.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bounded {
    /// Bytes that came, and that are there.
    pub(crate) total: u64,
    pub(crate) kept: u64,
    /// Whether some pieces are not there any more.
    pub(crate) is_cut: bool,
    end: Option<End>,
}

#[derive(Debug, Clone, Copy)]
struct End {
    before: Stride,
    now: Stride,
}

#[derive(Debug, Clone, Copy)]
struct Stride {
    first: i64,
    bytes: u64,
}

impl Bounded {
    /// One more piece, with its number. Gives the numbers among which the pieces of this stream are no longer kept.
    pub(crate) fn take(&mut self, seq: i64, bytes: u64, limit: u64) -> Option<Range<i64>> {
        let (head, stride) = (limit / 4 * 3, limit / 8);
        self.total += bytes;
        self.kept += bytes;
        let Some(end) = &mut self.end else {
            if self.kept > head {
                let (before, now) = (Stride { first: seq, bytes: 0 }, Stride { first: seq, bytes });
                self.end = Some(End { before, now });
            }
            return None;
        };
        if end.now.bytes + bytes <= stride {
            end.now.bytes += bytes;
            return None;
        }
        let (gone, next) = (end.before, end.now);
        *end = End { before: next, now: Stride { first: seq, bytes } };
        self.kept -= gone.bytes;
        self.is_cut |= gone.bytes > 0;
        (gone.bytes > 0).then_some(gone.first..next.first)
    }

    /// Pieces are missing in the store. They are of a stream that is longer than its beginning.
    pub(crate) fn found_with_a_gap(&mut self) {
        self.is_cut |= self.end.is_some();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// What is there after so many pieces of one size.
    fn kept(pieces: i64, bytes: u64, limit: u64) -> (Bounded, BTreeMap<i64, u64>) {
        let (mut bounded, mut there) = (Bounded::default(), BTreeMap::new());
        for seq in 0..pieces {
            there.insert(seq, bytes);
            if let Some(gone) = bounded.take(seq, bytes, limit) {
                there.retain(|seq, _| !gone.contains(seq));
            }
            assert_eq!(bounded.kept, there.values().sum::<u64>());
            assert!(bounded.kept <= limit, "{} of {limit}", bounded.kept);
        }
        (bounded, there)
    }

    #[test]
    fn the_beginning_and_the_end_stay_and_never_more_than_the_limit() {
        for bytes in [1, 7, 64, 100] {
            let (bounded, there) = kept(5000, bytes, 800);
            assert_eq!((bounded.total, bounded.is_cut), (5000 * bytes, true));
            let head =
                there.iter().zip(0..).take_while(|((seq, _), at)| **seq == *at).count() as u64;
            assert!(head * bytes + bytes >= 600, "{head} of {bytes}");
            let tail = there.keys().rev().zip((0..5000).rev()).take_while(|(seq, at)| *seq == at);
            let tail = tail.count() as u64 * bytes;
            assert!((100 - bytes.min(99)..=200).contains(&tail), "{tail} of {bytes}");
        }
    }

    #[test]
    fn what_fits_into_beginning_and_one_stride_is_there_whole() {
        let (bounded, there) = kept(87, 8, 800);
        assert_eq!((there.len(), bounded.kept, bounded.is_cut), (87, 696, false));
    }
}
