//! The words of rules, searched for in a source all at once.

use std::collections::BTreeMap;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Match, MatchKind};
use foldhash::HashMap;

use super::super::rules::Sites;

/// How a rule could speak of something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Interest {
    #[default]
    None,
    /// Only where there is a text in the same piece.
    BesideText,
    Sure,
}

#[derive(Debug)]
pub(in super::super) struct Words {
    /// The number that the search gives a word.
    all: HashMap<String, usize>,
    search: Option<AhoCorasick>,
    sites: Vec<Sites>,
}

/// Where words stand in a source.
#[derive(Debug, Default)]
pub(super) struct Hits {
    /// Places that a rule may speak of whatever names stand for, in order.
    sure: Vec<usize>,
    /// Places that count where they are in a text, in order.
    in_text: Vec<usize>,
    /// Ends of paths, by where the path begins, in order: `load` of `x.y.load`. Of interest only if `x` is.
    paths: Vec<(usize, usize)>,
}

impl Words {
    pub(in super::super) fn new(words: &BTreeMap<String, Sites>) -> Self {
        let mut search = AhoCorasick::builder();
        // The fastest kind: every byte of every program goes through it.
        search.match_kind(MatchKind::LeftmostLongest).kind(Some(AhoCorasickKind::DFA));
        let search = search.build(words.keys());
        // A set of words that no automaton can hold is searched for by looking at everything.
        let all = words.keys().cloned().enumerate().map(|(at, word)| (word, at)).collect();
        Self { all, search: search.ok(), sites: words.values().cloned().collect() }
    }

    pub(super) fn hits(&self, source: &str) -> Hits {
        let Some(search) = &self.search else {
            return Hits { sure: (0..source.len()).collect(), ..Hits::default() };
        };
        let bytes = source.as_bytes();
        let mut hits = Hits::default();
        for hit in search.find_iter(source).filter(|hit| is_whole(bytes, hit)) {
            let (start, word) = (hit.start(), hit.pattern().as_usize());
            let sites = &self.sites[word];
            if sites.anywhere || sites.alone {
                hits.sure.push(start);
                continue;
            }
            if sites.in_text {
                hits.in_text.push(start);
            }
            if !sites.after.is_empty() || !sites.beside_text.is_empty() {
                match place(bytes, start) {
                    Place::Path(root) => hits.paths.push((root, word)),
                    // What the name stands for decides, and that is looked up for every name.
                    Place::Alone => {}
                    Place::Unclear => hits.sure.push(start),
                }
            }
        }
        // Two paths may begin alike.
        hits.paths.sort_unstable();
        hits
    }

    /// Whether a path that begins with `name` can be one that a rule with this word speaks of.
    pub(super) fn may_begin(&self, word: usize, name: &str) -> Interest {
        self.sites[word].after(name)
    }

    /// Whether a rule may speak of something that a name stands for.
    pub(super) fn any_in_path(&self, path: &str) -> Interest {
        let mut names = names(path);
        let Some(root) = names.next() else { return Interest::None };
        let is_sure = |sites: &Sites| sites.anywhere || (sites.alone && root == path);
        if self.sites(root).is_some_and(is_sure) {
            return Interest::Sure;
        }
        let rest = names.filter_map(|name| self.sites(name)).map(|sites| sites.after(root));
        rest.max().unwrap_or_default()
    }

    /// Whether a rule may speak of what a whole expression stands for, which can be assigned to.
    pub(super) fn any_in_fold(&self, path: &str) -> Interest {
        let interest = |sites: &Sites| match sites {
            Sites { anywhere: true, .. } | Sites { alone: true, .. } => Interest::Sure,
            Sites { after, .. } if !after.is_empty() => Interest::Sure,
            Sites { beside_text, .. } if !beside_text.is_empty() => Interest::BesideText,
            _ => Interest::None,
        };
        names(path).filter_map(|name| self.sites(name)).map(interest).max().unwrap_or_default()
    }

    /// Whether a rule may speak of an import, in which there are no paths.
    pub(super) fn any_in_import(&self, text: &str) -> bool {
        names(text).filter_map(|name| self.sites(name)).any(|sites| sites.anywhere)
    }

    fn sites(&self, name: &str) -> Option<&Sites> {
        self.all.get(name).map(|word| &self.sites[*word])
    }
}

impl Sites {
    /// For a word in a path that begins with `root`.
    fn after(&self, root: &str) -> Interest {
        if self.anywhere || self.after.contains(root) {
            Interest::Sure
        } else if self.beside_text.contains(root) {
            Interest::BesideText
        } else {
            Interest::None
        }
    }
}

fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
}

/// A word that is a name is not part of a longer one.
fn is_whole(bytes: &[u8], hit: &Match) -> bool {
    let (start, end) = (hit.start(), hit.end());
    let is_word = is_name(bytes[start]) && is_name(bytes[end - 1]);
    let before = start > 0 && is_name_part(bytes[start - 1]);
    let after = bytes.get(end).copied().is_some_and(is_name_part);
    !(is_word && (before || after))
}

impl Hits {
    pub(super) fn any_sure_in(&self, range: &Range<usize>) -> bool {
        any_in(&self.sure, range)
    }

    /// For the range of a text.
    pub(super) fn any_in_text(&self, range: &Range<usize>) -> bool {
        any_in(&self.in_text, range)
    }

    /// The words at the ends of paths that begin at `at`.
    pub(super) fn paths_from(&self, at: usize) -> impl Iterator<Item = usize> {
        let first = self.paths.partition_point(|(root, _)| *root < at);
        self.paths[first..].iter().take_while(move |(root, _)| *root == at).map(|(_, word)| *word)
    }
}

fn any_in(places: &[usize], range: &Range<usize>) -> bool {
    let next = places.partition_point(|place| *place < range.start);
    places.get(next).is_some_and(|place| *place < range.end)
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
