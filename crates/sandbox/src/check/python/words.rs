//! The words of rules, searched for in a source all at once.

use std::collections::BTreeMap;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::super::rules::Roots;

#[derive(Debug)]
pub(in super::super) struct Words {
    all: BTreeMap<String, Roots>,
    search: Option<AhoCorasick>,
    /// By the number that the search gives a word.
    roots: Vec<Roots>,
}

/// Where words stand in a source.
#[derive(Debug, Default)]
pub(super) struct Hits {
    /// Places that a rule may speak of whatever names stand for, in order.
    sure: Vec<usize>,
    /// Ends of paths, by where the path begins, in order: `load` of `x.y.load`. Of interest only if `x` is.
    paths: Vec<(usize, usize)>,
}

impl Words {
    pub(in super::super) fn new(words: &BTreeMap<String, Roots>) -> Self {
        let mut search = AhoCorasick::builder();
        // The fastest kind: every byte of every program goes through it.
        search.match_kind(MatchKind::LeftmostLongest).kind(Some(AhoCorasickKind::DFA));
        let search = search.build(words.keys());
        // A set of words that no automaton can hold is searched for by looking at everything.
        Self { all: words.clone(), search: search.ok(), roots: words.values().cloned().collect() }
    }

    /// A word that is a name counts only where it is not part of a longer one.
    pub(super) fn hits(&self, source: &str) -> Hits {
        let Some(search) = &self.search else {
            return Hits { sure: (0..source.len()).collect(), ..Hits::default() };
        };
        let bytes = source.as_bytes();
        let mut hits = Hits::default();
        for hit in search.find_iter(source) {
            let (start, end, word) = (hit.start(), hit.end(), hit.pattern().as_usize());
            let is_word = is_name(bytes[start]) && is_name(bytes[end - 1]);
            let before = start > 0 && is_name_part(bytes[start - 1]);
            let after = bytes.get(end).copied().is_some_and(is_name_part);
            if is_word && (before || after) {
                continue;
            }
            match (&self.roots[word], place(bytes, start)) {
                (Roots::Of(_), Place::Path(root)) => hits.paths.push((root, word)),
                // What the name stands for decides, and that is looked up for every name.
                (Roots::Of(_), Place::Alone) => {}
                (Roots::Any, _) | (_, Place::Unclear) => hits.sure.push(start),
            }
        }
        // Two paths may begin alike.
        hits.paths.sort_unstable();
        hits
    }

    /// Whether a path that begins with `name` can be one that a rule with this word speaks of.
    pub(super) fn may_begin(&self, word: usize, name: &str) -> bool {
        match &self.roots[word] {
            Roots::Any => true,
            Roots::Of(roots) => roots.contains(name),
        }
    }

    /// Whether one of the names in a path or an import is a word.
    pub(super) fn any_in(&self, text: &str) -> bool {
        let mut parts = text.split(|c: char| !(c.is_alphanumeric() || c == '_'));
        parts.any(|part| self.all.contains_key(part))
    }
}

impl Hits {
    pub(super) fn any_sure_in(&self, range: &std::ops::Range<usize>) -> bool {
        let next = self.sure.partition_point(|hit| *hit < range.start);
        self.sure.get(next).is_some_and(|hit| *hit < range.end)
    }

    /// The words at the ends of paths that begin at `at`.
    pub(super) fn paths_from(&self, at: usize) -> impl Iterator<Item = usize> {
        let first = self.paths.partition_point(|(root, _)| *root < at);
        self.paths[first..].iter().take_while(move |(root, _)| *root == at).map(|(_, word)| *word)
    }
}

/// What stands before a word.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// Names and dots without a gap, from here on.
    Path(usize),
    /// Nothing that it is a part of.
    Alone,
    /// Something that only a parser can tell.
    Unclear,
}

fn place(bytes: &[u8], start: usize) -> Place {
    let Some(before) = bytes[..start].last() else { return Place::Alone };
    if *before == b'.' {
        let path = bytes[..start].iter().rev().take_while(|b| **b == b'.' || is_name_part(**b));
        let root = start - path.count();
        let is_plain = bytes[root].is_ascii_alphabetic() || bytes[root] == b'_';
        let names = bytes[root..start].split(|b| *b == b'.');
        let is_ascii = names.clone().all(|name| name.iter().copied().all(is_name));
        let has_gap = names.rev().skip(1).any(<[u8]>::is_empty);
        // A bracket or a quote before the first dot is left to the parser, as is a letter with several spellings.
        return if is_plain && is_ascii && !has_gap { Place::Path(root) } else { Place::Unclear };
    }
    // `x. system` and `x.\` with the rest on the next line are paths, too.
    let gap = bytes[..start].iter().rev().take_while(|b| matches!(**b, b' ' | b'\t')).count();
    match bytes[..start - gap].last() {
        None => Place::Alone,
        Some(b'.' | b'\n' | b'\r' | b'\x0c' | b'\\') => Place::Unclear,
        Some(byte) if byte.is_ascii() => Place::Alone,
        Some(_) => Place::Unclear,
    }
}

const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Letters that are not ASCII may be part of a name.
const fn is_name_part(byte: u8) -> bool {
    is_name(byte) || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_before_a_word() {
        for (text, place_) in [
            ("os.WORD", Place::Path(0)),
            ("x = a.b.WORD", Place::Path(4)),
            ("x(os.WORD", Place::Path(2)),
            ("WORD", Place::Alone),
            ("f(WORD", Place::Alone),
            ("x = WORD", Place::Alone),
            ("os. WORD", Place::Unclear),
            ("(os.\n WORD", Place::Unclear),
            ("os.\\\nWORD", Place::Unclear),
            ("f().WORD", Place::Unclear),
            ("'x'.WORD", Place::Unclear),
            ("1.WORD", Place::Unclear),
            ("\u{fb01}.WORD", Place::Unclear),
            ("..WORD", Place::Unclear),
        ] {
            let at = text.find("WORD").unwrap();
            assert_eq!(place(text.as_bytes(), at), place_, "{text:?}");
        }
    }
}
