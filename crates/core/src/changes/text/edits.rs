//! Which lines of two texts differ.

use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};

use super::anchors::anchors;

/// A run of old lines and the new ones that stand in their place. Numbers of lines count from 0 here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub old: Range<usize>,
    pub new: Range<usize>,
}

/// Up to this many lines, both sides together, the reading order of lines is found by the method that
/// people like best. Its time grows with the square of the lines.
const BY_HISTOGRAM: usize = 8_000;
/// The same for a piece of a text that is larger than that, of which there may be many.
const PIECE: usize = 2_000;

/// Two texts, cut into lines, and where they differ.
#[derive(Debug)]
pub struct Sides<'a> {
    pub old: Vec<&'a [u8]>,
    pub new: Vec<&'a [u8]>,
    /// In order. Between two of them there is at least one line that is the same.
    pub edits: Vec<Edit>,
}

impl<'a> Sides<'a> {
    pub fn compare(old: &'a [u8], new: &'a [u8]) -> Self {
        let mut sides = Self { old: lines(old), new: lines(new), edits: Vec::new() };
        let whole = Edit { old: 0..sides.old.len(), new: 0..sides.new.len() };
        let middle = sides.without_ends(whole);
        if middle.lines() <= BY_HISTOGRAM {
            sides.compare_piece(middle);
        } else {
            sides.compare_large(middle);
        }
        sides
    }

    /// Cuts a large stretch at lines that are there once on both sides, and looks at what is between.
    fn compare_large(&mut self, stretch: Edit) {
        let mut from = (stretch.old.start, stretch.new.start);
        let kept = anchors(&self.old[stretch.old.clone()], &self.new[stretch.new.clone()]);
        for (old, new) in kept {
            let (old, new) = (stretch.old.start + old, stretch.new.start + new);
            self.compare_gap(Edit { old: from.0..old, new: from.1..new });
            from = (old + 1, new + 1);
        }
        self.compare_gap(Edit { old: from.0..stretch.old.end, new: from.1..stretch.new.end });
    }

    fn compare_gap(&mut self, gap: Edit) {
        let gap = self.without_ends(gap);
        if gap.lines() <= PIECE {
            self.compare_piece(gap);
        } else {
            // Nobody would read it line by line, and nobody has to wait for it.
            self.edits.push(gap);
        }
    }

    fn compare_piece(&mut self, piece: Edit) {
        if piece.old.is_empty() || piece.new.is_empty() {
            self.edits.extend((piece.lines() > 0).then_some(piece));
            return;
        }
        let mut input = InternedInput::default();
        input.update_before(self.old[piece.old.clone()].iter().copied());
        input.update_after(self.new[piece.new.clone()].iter().copied());
        let mut diff = Diff::compute(Algorithm::Histogram, &input);
        diff.postprocess_lines(&input);
        self.edits.extend(diff.hunks().map(|hunk| Edit {
            old: shifted(&hunk.before, piece.old.start),
            new: shifted(&hunk.after, piece.new.start),
        }));
    }

    /// The stretch without the lines that are the same at its start and at its end.
    fn without_ends(&self, stretch: Edit) -> Edit {
        let (old, new) = (&self.old[stretch.old.clone()], &self.new[stretch.new.clone()]);
        let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let (old, new) = (&old[head..], &new[head..]);
        let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
        Edit {
            old: stretch.old.start + head..stretch.old.end - tail,
            new: stretch.new.start + head..stretch.new.end - tail,
        }
    }
}

impl Edit {
    fn lines(&self) -> usize {
        self.old.len() + self.new.len()
    }
}

/// Lines with their ends; the last may have none.
pub(super) fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

fn shifted(range: &Range<u32>, by: usize) -> Range<usize> {
    range.start as usize + by..range.end as usize + by
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// What is said to be the same is the same, and nothing is left out.
    fn check(old: &[u8], new: &[u8]) -> Sides<'static> {
        let (old, new) = (old.to_vec().leak(), new.to_vec().leak());
        let sides = Sides::compare(old, new);
        let (mut at_old, mut at_new) = (0, 0);
        for edit in &sides.edits {
            assert!(edit.lines() > 0);
            assert_eq!(sides.old[at_old..edit.old.start], sides.new[at_new..edit.new.start]);
            (at_old, at_new) = (edit.old.end, edit.new.end);
        }
        assert_eq!(sides.old[at_old..], sides.new[at_new..]);
        sides
    }

    fn numbered(count: usize, line: impl Fn(usize) -> String) -> Vec<u8> {
        (0..count).map(line).collect::<String>().into_bytes()
    }

    #[test]
    fn a_large_file_with_few_edits_has_few_edits() {
        let old = numbered(60_000, |n| if n % 3 == 0 { "}\n".into() } else { format!("{n}\n") });
        let new = numbered(60_000, |n| match n {
            10 | 30_001 => "changed\n".into(),
            59_000 => String::new(),
            n if n % 3 == 0 => "}\n".into(),
            n => format!("{n}\n"),
        });
        assert_eq!(check(&old, &new).edits.len(), 3);
    }

    /// Inputs on which one or the other method would take minutes.
    #[test]
    #[expect(clippy::disallowed_methods, reason = "time is what is tested")]
    fn no_input_makes_it_slow() {
        let count = 150_000;
        let bit = |seed: usize, n: usize| format!("{}\n", ((n * n * seed) >> 7) & 1);
        let pairs: [(Vec<u8>, Vec<u8>); 5] = [
            (
                numbered(count, |n| format!("{n:x}\n")),
                numbered(count, |n| format!("{:x}\n", n ^ 1)),
            ),
            (
                numbered(count, |n| format!("{n:x}\nx{n:x}\n")),
                numbered(count, |n| format!("{n:x}\ny{n:x}\n")),
            ),
            (
                numbered(count, |n| format!("{}\n", n * 7919 % 101)),
                numbered(count, |n| format!("{}\n", n * 104_729 % 97)),
            ),
            (numbered(count, |n| bit(3, n)), numbered(count, |n| bit(5, n))),
            (
                numbered(count, |n| format!("{n:x}\n")),
                numbered(count, |n| format!("{:x}\n", count - n)),
            ),
        ];
        for (old, new) in pairs {
            let start = Instant::now();
            check(&old, &new);
            assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
        }
    }
}
