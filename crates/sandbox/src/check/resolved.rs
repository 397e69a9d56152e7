//! A text made of pieces of another, with names replaced, and the way back from it.

use std::ops::Range;

/// Pieces of a source, rewritten, one after the other.
#[derive(Debug, Default)]
pub(super) struct Resolved {
    text: String,
    segments: Vec<Segment>,
}

#[derive(Debug)]
struct Segment {
    /// Where it begins in our text.
    at: usize,
    /// What it is of the source.
    from: Range<usize>,
    kind: Kind,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    /// The source's own bytes.
    Copied,
    /// Something else in their place.
    Replaced,
}

/// A part of the source, and what stands there instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

impl Resolved {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Adds the part `range` of `source` with `edits`, which lie in it, in order and apart.
    pub(super) fn piece(&mut self, source: &str, range: Range<usize>, edits: &[Edit]) {
        let mut at = range.start;
        for edit in edits {
            if edit.range.start < at || edit.range.end > range.end {
                continue;
            }
            self.copy(source, at..edit.range.start);
            self.replace(edit.range.clone(), &edit.text);
            at = edit.range.end;
        }
        self.copy(source, at..range.end);
    }

    /// Adds text that stands for `range` of the source.
    pub(super) fn replace(&mut self, range: Range<usize>, text: &str) {
        self.segments.push(Segment { at: self.text.len(), from: range, kind: Kind::Replaced });
        self.text.push_str(text);
    }

    fn copy(&mut self, source: &str, range: Range<usize>) {
        if !range.is_empty() {
            self.segments.push(Segment {
                at: self.text.len(),
                from: range.clone(),
                kind: Kind::Copied,
            });
            self.text.push_str(&source[range]);
        }
    }

    /// The part of the source that a part of our text comes from.
    pub(super) fn source(&self, range: Range<usize>) -> Range<usize> {
        let start = self.origin(range.start).start;
        let end = self.origin(range.end.saturating_sub(1).max(range.start)).end;
        start..end.max(start)
    }

    fn origin(&self, at: usize) -> Range<usize> {
        let next = self.segments.partition_point(|segment| segment.at <= at);
        match next.checked_sub(1).map(|index| &self.segments[index]) {
            None => 0..0,
            Some(Segment { from, kind: Kind::Replaced, .. }) => from.clone(),
            Some(Segment { at: begin, from, kind: Kind::Copied }) => {
                let start = (from.start + (at - begin)).min(from.end);
                start..(start + 1).min(from.end)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_replaced_leads_back() {
        let source = "s(x); y";
        let mut resolved = Resolved::default();
        resolved.piece(source, 0..4, &[Edit { range: 0..1, text: "os.system".into() }]);
        assert_eq!(resolved.text(), "os.system(x)");
        assert_eq!(resolved.source(0..9), 0..1);
        assert_eq!(resolved.source(0..12), 0..4);
        assert_eq!(resolved.source(10..11), 2..3);
    }
}
