//! Versions that a project's files name, as numbers and nothing else.
//!
//! Whatever reaches an instruction of a Dockerfile from a project's files goes through [`Version`], whose text is
//! made of its numbers. So no text of somebody else's can become an instruction. [`Wish`] is what is asked for:
//! one version, or bounds that known release lines are held against.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    pub major: u32,
    pub minor: Option<u32>,
    pub patch: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("that is not a version")]
pub struct NotAVersion;

/// No version of anything is longer.
const MOST: usize = 64;
const MOST_NUMBER: u32 = 99_999;

impl Version {
    /// A release line: what bases are named by.
    pub const fn line(major: u32, minor: u32) -> Self {
        Self { major, minor: Some(minor), patch: None }
    }

    pub const fn major(major: u32) -> Self {
        Self { major, minor: None, patch: None }
    }

    /// Major and minor, as far as they are known.
    pub fn tag(self) -> String {
        match self.minor {
            Some(minor) => format!("{}.{minor}", self.major),
            None => self.major.to_string(),
        }
    }

    /// What is left of it in a tag.
    pub fn pinned(self) -> Self {
        Self { patch: None, ..self }
    }

    fn pair(self) -> (u32, u32) {
        (self.major, self.minor.unwrap_or(0))
    }
}

impl FromStr for Version {
    type Err = NotAVersion;

    /// `1`, `1.2`, `1.2.3`, with `v` or `go` before it and a pre-release or build after it.
    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        let text = text.trim();
        if text.len() > MOST {
            return Err(NotAVersion);
        }
        let text = text.strip_prefix("go").or_else(|| text.strip_prefix('v')).unwrap_or(text);
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (numbers, rest) = text.split_at(end);
        if !rest.bytes().all(|b| b.is_ascii_alphanumeric() || b".+-_".contains(&b)) {
            return Err(NotAVersion);
        }
        // Of `1.22rc1` and `18.0.0-rc.1` the numbers before count.
        let numbers = if rest.is_empty() { numbers } else { numbers.trim_end_matches('.') };
        let mut parts = numbers.split('.').map(number);
        let major = parts.next().ok_or(NotAVersion)??;
        let minor = parts.next().transpose()?;
        let patch = parts.next().transpose()?;
        // A fourth number, as of Ruby and Java, changes no tag; still it has to be one.
        parts.try_for_each(|part| part.map(drop))?;
        Ok(Self { major, minor, patch })
    }
}

fn number(text: &str) -> Result<u32, NotAVersion> {
    let number: u32 = text.parse().map_err(|_| NotAVersion)?;
    let is_plain = text.bytes().all(|b| b.is_ascii_digit()) && number <= MOST_NUMBER;
    is_plain.then_some(number).ok_or(NotAVersion)
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tag())?;
        self.patch.map_or(Ok(()), |patch| write!(f, ".{patch}"))
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

/// What a project asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wish {
    Exactly(Version),
    /// One of these, each all of its bounds.
    Within(Vec<Vec<Bound>>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    op: Op,
    than: Version,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    AtLeast,
    Above,
    AtMost,
    Below,
    /// The numbers that are given are these.
    Is,
    IsNot,
    /// The leftmost number that is not zero stays.
    Caret,
    /// The minor stays, where there is one.
    Tilde,
    /// All but the last number stay.
    Compatible,
}

/// Longer first.
const OPS: &[(&str, Op)] = &[
    ("===", Op::Is),
    (">=", Op::AtLeast),
    ("<=", Op::AtMost),
    ("==", Op::Is),
    ("!=", Op::IsNot),
    ("~=", Op::Compatible),
    ("~>", Op::Compatible),
    (">", Op::Above),
    ("<", Op::Below),
    ("=", Op::Is),
    ("^", Op::Caret),
    ("~", Op::Tilde),
];

impl FromStr for Wish {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        if text.len() > 4 * MOST {
            return Err(NotAVersion);
        }
        if let Ok(version) = text.parse() {
            return Ok(Self::Exactly(version));
        }
        let either: Result<Vec<_>, _> = text.split("||").map(bounds).collect();
        Ok(Self::Within(either?))
    }
}

fn bounds(text: &str) -> Result<Vec<Bound>, NotAVersion> {
    if let Some((low, high)) = text.split_once(" - ") {
        let (low, high) = (low.parse()?, high.parse()?);
        let bound = |op, than| Bound { op, than };
        return Ok(vec![bound(Op::AtLeast, low), bound(Op::AtMost, high)]);
    }
    let mut found = Vec::new();
    let mut words = text.split([',', ' ']).filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        let op = OPS.iter().find(|(sign, _)| word.starts_with(sign));
        let (op, rest) = match op {
            Some((sign, op)) if *sign == word => (*op, words.next().ok_or(NotAVersion)?),
            Some((sign, op)) => (*op, &word[sign.len()..]),
            None => (Op::Is, word),
        };
        if !matches!(rest, "*" | "x" | "X") {
            let rest = [".*", ".x", ".X"].iter().fold(rest, |rest, end| rest.trim_end_matches(end));
            found.push(Bound { op, than: rest.parse()? });
        }
    }
    Ok(found)
}

impl Wish {
    /// The newest of the known lines that it allows. Where it allows none of them, it names its own.
    pub fn pick(&self, known: &[Version]) -> Option<Version> {
        match self {
            Self::Exactly(version) if version.minor.is_some() => Some(*version),
            Self::Exactly(version) => {
                let of_it = known.iter().filter(|line| line.major == version.major);
                Some(of_it.max().copied().unwrap_or(*version))
            }
            Self::Within(either) => {
                let allowed = |line: &&Version| {
                    either.iter().any(|all| all.iter().all(|bound| bound.allows(**line)))
                };
                let newest = known.iter().filter(allowed).max().copied();
                newest.or_else(|| self.lowest())
            }
        }
    }

    fn lowest(&self) -> Option<Version> {
        let Self::Within(either) = self else { return None };
        let names = |bound: &&Bound| !matches!(bound.op, Op::Below | Op::AtMost | Op::IsNot);
        either.iter().flatten().filter(names).map(|bound| bound.than).max()
    }
}

impl Bound {
    /// Whether some release of the line is within it.
    fn allows(self, line: Version) -> bool {
        let than = self.than;
        let same_major = line.major == than.major;
        let same = same_major && (than.minor.is_none() || line.minor == than.minor);
        let at_least = line.pair() >= than.pair();
        match self.op {
            Op::AtLeast => at_least,
            Op::Above => line.pair() > than.pair() || (same && than.patch.is_some()),
            Op::AtMost => same || line.pair() <= than.pair(),
            Op::Below => line.pair() < than.pair() || (same && than.patch.is_some_and(|p| p > 0)),
            Op::Is => same,
            Op::IsNot => !same || than.patch.is_some(),
            Op::Caret if than.major == 0 => same,
            Op::Caret => same_major && at_least,
            Op::Tilde => same,
            Op::Compatible if than.patch.is_some() => same,
            Op::Compatible => same_major && at_least,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn versions_that_people_write() {
        for (text, shown) in [
            ("1.22", "1.22"),
            ("v18.19.0\n", "18.19.0"),
            ("go1.21.3", "1.21.3"),
            ("20", "20"),
            ("1.22rc1", "1.22"),
            ("3.13.0-rc.1+b2", "3.13.0"),
            ("17.0.8.1", "17.0.8"),
        ] {
            assert_eq!(text.parse::<Version>().unwrap().to_string(), shown);
        }
        for bad in [
            "",
            "x",
            "1.2\nRUN x",
            "1 2",
            "1.$(x)",
            "1\"",
            "\u{feff}1.2",
            "123456789",
            "1..2",
            "-1",
            "1.2 #",
        ] {
            assert!(bad.parse::<Version>().is_err(), "{bad:?}");
        }
        assert!("1".repeat(100).parse::<Version>().is_err());
    }

    #[test]
    fn the_newest_line_within_bounds() {
        let known: Vec<_> = (8..=13).map(|minor| Version::line(3, minor)).collect();
        let pick = |text: &str| text.parse::<Wish>().unwrap().pick(&known).map(|v| v.to_string());
        for (text, picked) in [
            (">=3.9", "3.13"),
            (">=3.9,<3.12", "3.11"),
            (">= 3.9, < 3.11.4", "3.11"),
            ("~=3.10", "3.13"),
            ("~=3.10.2", "3.10"),
            ("==3.11.*", "3.11"),
            ("^3.10", "3.13"),
            ("3.8 || 3.10", "3.10"),
            ("3.9 - 3.10", "3.10"),
            (">=3.9,!=3.13.*", "3.12"),
            (">=4.1", "4.1"),
            ("3", "3.13"),
            ("3.7", "3.7"),
            ("*", "3.13"),
        ] {
            assert_eq!(pick(text).as_deref(), Some(picked), "{text}");
        }
        assert!(">=3.9; os_name".parse::<Wish>().is_err());
        assert!("lts/iron".parse::<Wish>().is_err());
    }

    proptest! {
        #[test]
        fn a_version_is_shown_by_its_numbers_alone(text in any::<String>()) {
            if let Ok(version) = text.parse::<Version>() {
                prop_assert!(version.to_string().bytes().all(|b| b.is_ascii_digit() || b == b'.'));
            }
            if let Ok(wish) = text.parse::<Wish>() {
                wish.pick(&[Version::line(1, 2)]);
            }
        }
    }
}
