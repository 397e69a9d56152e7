//! A body that comes line by line over a long time, in chunks or not: how an engine tells of its progress.

use super::{Framing, Head, Trouble, find, garbled};

/// No engine says more than this on one line.
pub(super) const LINE_MOST: usize = 256 << 10;

/// Where in such a body we are.
#[derive(Debug)]
pub(super) struct Lines {
    is_chunked: bool,
    /// Bytes of the chunk that are still to come, its end included.
    left: usize,
    cut: Cut,
    line: Vec<u8>,
}

/// Where a body is cut into pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    AtLines,
    /// Wherever it comes apart by itself.
    Anywhere,
}

const END: usize = 2;

impl Lines {
    pub(super) fn new(head: &Head, cut: Cut) -> Self {
        let is_chunked = matches!(head.framing, Framing::Chunked);
        Self { is_chunked, left: 0, cut, line: Vec::new() }
    }

    /// Whether the far end closing is how such a body ends.
    pub(super) fn may_just_end(&self) -> bool {
        !self.is_chunked
    }

    /// Takes what it can from `seen`; whether that was the end.
    pub(super) fn take(
        &mut self,
        seen: &mut Vec<u8>,
        line: &mut dyn FnMut(&[u8]),
    ) -> Result<bool, Trouble> {
        if !self.is_chunked {
            self.add(seen, line)?;
            seen.clear();
            return Ok(false);
        }
        loop {
            if self.left > END {
                let piece = (self.left - END).min(seen.len());
                self.add(&seen[..piece], line)?;
                seen.drain(..piece);
                self.left -= piece;
            }
            if (1..=END).contains(&self.left) {
                let piece = self.left.min(seen.len());
                seen.drain(..piece);
                self.left -= piece;
            }
            if self.left > 0 {
                return Ok(false);
            }
            let Some(end) = find(seen, b"\r\n") else { return Ok(false) };
            let size = std::str::from_utf8(&seen[..end]).ok();
            let size = size.and_then(|text| text.split(';').next());
            let size = size.and_then(|text| usize::from_str_radix(text.trim(), 16).ok());
            let size = size.and_then(|size| size.checked_add(END));
            let Some(size) = size else { return Err(garbled(seen)) };
            seen.drain(..end + END);
            if size == END {
                return Ok(true);
            }
            self.left = size;
        }
    }

    fn add(&mut self, bytes: &[u8], line: &mut dyn FnMut(&[u8])) -> Result<(), Trouble> {
        if self.cut == Cut::Anywhere {
            line(bytes);
            return Ok(());
        }
        for byte in bytes {
            if *byte != b'\n' {
                self.line.push(*byte);
            } else if !self.line.is_empty() {
                line(&self.line);
                self.line.clear();
            }
        }
        if self.line.len() > LINE_MOST { Err(Trouble::TooLong) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(framing: Framing, pieces: &[&[u8]]) -> (Vec<String>, bool) {
        let mut lines =
            Lines::new(&Head { status: 200, framing, end: 0, is_raw: false }, Cut::AtLines);
        let (mut seen, mut all, mut end) = (Vec::new(), Vec::new(), false);
        for piece in pieces {
            seen.extend_from_slice(piece);
            let mut note = |line: &[u8]| all.push(String::from_utf8_lossy(line).into_owned());
            end = lines.take(&mut seen, &mut note).unwrap();
            if end {
                break;
            }
        }
        (all, end)
    }

    #[test]
    fn chunks_cut_anywhere_are_the_same_lines() {
        let whole: &[u8] = b"5\r\none\nt\r\n6;x=y\r\nwo\nthr\r\n3\r\nee\n\r\n0\r\n\r\n";
        let expected = ["one", "two", "three"].map(str::to_owned).to_vec();
        assert_eq!(told(Framing::Chunked, &[whole]), (expected.clone(), true));
        let bytes: Vec<&[u8]> = whole.chunks(1).collect();
        assert_eq!(told(Framing::Chunked, &bytes).0, expected);
        assert!(!told(Framing::Chunked, &[&whole[..whole.len() - 5]]).1);
    }

    #[test]
    fn without_chunks_a_body_ends_when_the_far_end_does() {
        let (lines, end) = told(Framing::UntilClosed, &[b"a\nb", b"c\n"]);
        assert_eq!((lines.as_slice(), end), (&["a".to_owned(), "bc".to_owned()][..], false));
    }

    #[test]
    fn nonsense_is_said_to_be_that() {
        let head = Head { status: 200, framing: Framing::Chunked, end: 0, is_raw: false };
        let mut lines = Lines::new(&head, Cut::AtLines);
        assert!(lines.take(&mut b"zz\r\n".to_vec(), &mut |_| {}).is_err());
        assert!(lines.take(&mut b"ffffffffffffffff\r\n".to_vec(), &mut |_| {}).is_err());
    }
}
