//! Sets of numbers that mostly come in a row.

use serde::{Deserialize, Serialize};

/// Numbers of entries, as ranges from the first to the last of a row. A million in a row is one range.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub struct Ranges(Vec<(u64, u64)>);

impl Ranges {
    pub fn contains(&self, number: u64) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= number);
        after > 0 && self.0[after - 1].1 >= number
    }

    pub fn len(&self) -> u64 {
        self.0.iter().map(|(first, last)| last - first + 1).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn last(&self) -> Option<u64> {
        self.0.last().map(|(_, last)| *last)
    }

    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter().flat_map(|(first, last)| *first..=*last)
    }

    /// Adds a number that is larger than all in it.
    pub(crate) fn push(&mut self, number: u64) {
        match self.0.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            Some((_, last)) if *last >= number => unreachable!("numbers are added in order"),
            _ => self.0.push((number, number)),
        }
    }

    /// All that is in one of the two.
    pub(crate) fn union(&self, other: &Self) -> Self {
        let mut all: Vec<_> = self.0.iter().chain(&other.0).copied().collect();
        all.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::with_capacity(all.len());
        for (first, last) in all {
            match joined.last_mut() {
                Some((_, end)) if *end + 1 >= first => *end = (*end).max(last),
                _ => joined.push((first, last)),
            }
        }
        Self(joined)
    }

    /// What is in this and not in `other`.
    pub(crate) fn without(&self, other: &Self) -> Self {
        let mut left = Vec::new();
        let mut cuts = other.0.iter().peekable();
        for &(mut first, last) in &self.0 {
            while cuts.peek().is_some_and(|(_, end)| *end < first) {
                cuts.next();
            }
            let mut here = cuts.clone();
            while let Some(&&(from, to)) = here.peek() {
                if from > last {
                    break;
                }
                if from > first {
                    left.push((first, from - 1));
                }
                first = first.max(to + 1);
                here.next();
            }
            if first <= last {
                left.push((first, last));
            }
        }
        Self(left)
    }
}

impl From<Ranges> for Vec<(u64, u64)> {
    fn from(ranges: Ranges) -> Self {
        ranges.0
    }
}

impl TryFrom<Vec<(u64, u64)>> for Ranges {
    type Error = &'static str;

    fn try_from(ranges: Vec<(u64, u64)>) -> Result<Self, Self::Error> {
        let each = ranges.iter().all(|(first, last)| first <= last && *last < u64::MAX);
        let order = ranges.windows(2).all(|pair| pair[0].1 < pair[1].0);
        if each && order { Ok(Self(ranges)) } else { Err("ranges are not in order") }
    }
}

impl FromIterator<u64> for Ranges {
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Self {
        let mut ranges = Self::default();
        numbers.into_iter().for_each(|number| ranges.push(number));
        ranges
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_row_is_one_range() {
        let row: Ranges = (0..1_000_000).collect();
        assert_eq!(serde_json::to_string(&row).unwrap(), "[[0,999999]]");
        assert_eq!((row.len(), row.last()), (1_000_000, Some(999_999)));
    }

    #[test]
    fn what_is_out_of_order_is_not_read() {
        for bad in
            ["[[2,1]]", "[[0,1],[1,2]]", "[[5,6],[0,1]]", "[[0]]", "[[0,18446744073709551615]]"]
        {
            assert!(serde_json::from_str::<Ranges>(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn ranges_are_sets(a in prop::collection::btree_set(0u64..40, 0..20),
                           b in prop::collection::btree_set(0u64..40, 0..20)) {
            let (left, right): (Ranges, Ranges) = (a.iter().copied().collect(), b.iter().copied().collect());
            let set = |ranges: &Ranges| ranges.iter().collect::<BTreeSet<_>>();
            prop_assert_eq!(set(&left.union(&right)), a.union(&b).copied().collect::<BTreeSet<_>>());
            prop_assert_eq!(set(&left.without(&right)), a.difference(&b).copied().collect::<BTreeSet<_>>());
            for number in 0..40 {
                prop_assert_eq!(left.contains(number), a.contains(&number));
            }
        }
    }
}
