//! The words of rules, searched for in a source all at once.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, MatchKind};

#[derive(Debug)]
pub(in super::super) struct Words {
    all: BTreeSet<String>,
    search: Option<AhoCorasick>,
}

impl Words {
    pub(in super::super) fn new(words: &BTreeSet<String>) -> Self {
        let search = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(words);
        // A set of words that no automaton can hold is searched for by looking at everything.
        Self { all: words.clone(), search: search.ok() }
    }

    /// Where words stand, in order. A word that is a name counts only where it is not part of a longer one.
    pub(super) fn hits(&self, source: &str) -> Vec<usize> {
        let Some(search) = &self.search else {
            return (0..source.len()).collect();
        };
        let bytes = source.as_bytes();
        let whole = |start: usize, end: usize| {
            let is_name = is_name(bytes[start]) && is_name(bytes[end - 1]);
            let before = start > 0 && is_name_part(bytes[start - 1]);
            let after = bytes.get(end).copied().is_some_and(is_name_part);
            !is_name || !(before || after)
        };
        search.find_iter(source).filter(|m| whole(m.start(), m.end())).map(|m| m.start()).collect()
    }

    /// Whether one of the names in a path or an import is a word.
    pub(super) fn any_in(&self, text: &str) -> bool {
        text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|part| self.all.contains(part))
    }
}

const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Letters that are not ASCII may be part of a name.
const fn is_name_part(byte: u8) -> bool {
    is_name(byte) || byte >= 0x80
}
