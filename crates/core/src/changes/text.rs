//! Contents of files as lines: what differs, taking only some of it, and joining two sides.
//!
//! - [`hunks`]: the differences between two texts, with lines around them, numbered from 1.
//! - [`pick`]: the old text with only some of those hunks applied.
//! - [`merge`]: what two sides made of the same text, where they did not touch the same lines.
//! - [`Sight`]: whether a content is for reading at all.
//!
//! A line is its bytes with its end, so that `\r\n` and a last line without end are exact. Time is
//! bounded for any input up to [`LARGEST`]: a program chose these bytes, and may have chosen them to make
//! us slow. Deliberately absent: encodings. Text is bytes in lines; how they are shown is the caller's.

mod anchors;
mod edits;
mod hunk;
mod merge;
mod pick;

pub use edits::{Edit, Sides};
pub use hunk::{Hunk, Line, hunks};
pub use merge::{Overlap, Place, merge};
pub use pick::pick;

/// A larger file is not compared line by line.
pub const LARGEST: u64 = 4 * 1024 * 1024;
/// A line that is longer than this was not written to be read.
pub const LONGEST_LINE: usize = 1024 * 1024;
/// How many lines stand around a change where nobody asked for another number. Hunks have the numbers
/// that they get with this.
pub const CONTEXT: usize = 3;

/// Whether bytes are for reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    Text,
    Binary,
    /// More than [`LARGEST`].
    TooLarge,
}

impl Sight {
    /// Of a file with this size, whose bytes need not be read where it is too large.
    pub fn by_size(size: u64) -> Option<Self> {
        (size > LARGEST).then_some(Self::TooLarge)
    }

    pub fn of(bytes: &[u8]) -> Self {
        match Self::by_size(bytes.len() as u64) {
            Some(large) => large,
            None if is_binary(bytes) => Self::Binary,
            None => Self::Text,
        }
    }
}

/// Whether this is nothing to show as lines: a NUL byte, wherever it is (text at the start proves
/// nothing), the mark of UTF-16 or UTF-32, or a line of more than [`LONGEST_LINE`].
pub fn is_binary(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe")
        || bytes.starts_with(b"\xfe\xff")
        || bytes.contains(&0)
        || bytes.split(|byte| *byte == b'\n').any(|line| line.len() > LONGEST_LINE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_text_and_the_rest_is_not() {
        let wide = "x".repeat(LONGEST_LINE);
        for text in ["", "a", "a\r\nb", "日本語\n", "\u{1b}[2J", &wide, "\u{feff}bom"] {
            assert!(!is_binary(text.as_bytes()), "{text:.20?}");
        }
        assert!(!is_binary(b"latin \xe9\n"));
        let pretends = [vec![b'a'; 9000], vec![0]].concat();
        for other in [&b"\0"[..], b"\xff\xfea\0", b"\xfe\xff\0a", &pretends] {
            assert!(is_binary(other), "{other:.20?}");
        }
        assert!(is_binary(format!("a\n{wide}x\n").as_bytes()));
    }

    #[test]
    fn size_decides_before_content() {
        let large = vec![b'\n'; usize::try_from(LARGEST).unwrap() + 1];
        assert_eq!(Sight::of(&large), Sight::TooLarge);
        assert_eq!(Sight::of(&large[1..]), Sight::Text);
        assert_eq!(Sight::by_size(u64::MAX), Some(Sight::TooLarge));
    }
}
