//! Lines that hold two large texts together.

use std::collections::HashMap;

/// Pairs of line numbers, rising on both sides, of lines that stand exactly once in each text: as many as
/// there can be in order. Linear but for a search in what was found so far.
pub(super) fn anchors(old: &[&[u8]], new: &[&[u8]]) -> Vec<(usize, usize)> {
    let mut seen: HashMap<&[u8], Seen> = HashMap::new();
    for (n, line) in old.iter().enumerate() {
        seen.entry(line).or_default().old.count(n);
    }
    for (n, line) in new.iter().enumerate() {
        if let Some(seen) = seen.get_mut(line) {
            seen.new.count(n);
        }
    }
    let pairs = old.iter().enumerate().filter_map(|(n, line)| match seen.get(line) {
        Some(Seen { old: Times::Once(_), new: Times::Once(at) }) => Some((n, *at)),
        _ => None,
    });
    longest_rising(&pairs.collect::<Vec<_>>())
}

#[derive(Default)]
struct Seen {
    old: Times,
    new: Times,
}

#[derive(Default)]
enum Times {
    #[default]
    Never,
    Once(usize),
    Often,
}

impl Times {
    fn count(&mut self, at: usize) {
        *self = match self {
            Self::Never => Self::Once(at),
            Self::Once(_) | Self::Often => Self::Often,
        };
    }
}

/// The longest part of `pairs`, which rise by their first, that rises by its second too.
fn longest_rising(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // `ends[k]` is the pair with the lowest second that can end a part of k + 1.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (n, (_, second)) in pairs.iter().enumerate() {
        let at = ends.partition_point(|&end| pairs[end].1 < *second);
        before.push(at.checked_sub(1).map(|at| ends[at]));
        match ends.get_mut(at) {
            Some(end) => *end = n,
            None => ends.push(n),
        }
    }
    let mut longest = Vec::with_capacity(ends.len());
    let mut at = ends.last().copied();
    while let Some(n) = at {
        longest.push(pairs[n]);
        at = before[n];
    }
    longest.reverse();
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(old: &str, new: &str) -> Vec<(usize, usize)> {
        let lines =
            |text: &'static str| -> Vec<&[u8]> { text.split(' ').map(str::as_bytes).collect() };
        anchors(&lines(old.to_owned().leak()), &lines(new.to_owned().leak()))
    }

    #[test]
    fn only_lines_that_are_there_once_on_both_sides() {
        assert_eq!(found("a b } c }", "} a x c b }"), [(0, 1), (3, 3)]);
        assert_eq!(found("a a b", "b b a"), []);
        assert_eq!(found("a b c", "c b a").len(), 1);
        assert_eq!(found("a b c d", "b c d a"), [(1, 0), (2, 1), (3, 2)]);
    }
}
