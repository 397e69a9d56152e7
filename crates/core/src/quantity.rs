//! Amounts as people write them: bytes (`512m`), cpus (`0.5`), spans of time (`90s`).

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Text that is not an amount, and what one looks like.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not {what}")]
pub struct NotAQuantity {
    text: String,
    what: &'static str,
}

/// A number of bytes. Written with a binary unit: `k`, `m`, `g`, `t`.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "String", into = "String")]
pub struct ByteSize(pub u64);

impl ByteSize {
    pub const KIB: u64 = 1 << 10;
    pub const MIB: u64 = 1 << 20;
    pub const GIB: u64 = 1 << 30;
    pub const TIB: u64 = 1 << 40;

    pub const fn mib(n: u64) -> Self {
        Self(n * Self::MIB)
    }
}

impl FromStr for ByteSize {
    type Err = NotAQuantity;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || NotAQuantity {
            text: text.to_owned(),
            what: "a size: write a whole number and k, m, g or t, as in 512m or 2g",
        };
        let unit = match text.chars().last().map(|c| c.to_ascii_lowercase()) {
            Some('k') => Self::KIB,
            Some('m') => Self::MIB,
            Some('g') => Self::GIB,
            Some('t') => Self::TIB,
            Some('0'..='9') => 1,
            _ => return Err(bad()),
        };
        let digits = if unit == 1 { text } else { &text[..text.len() - 1] };
        let count = parse_digits(digits).ok_or_else(bad)?;
        count.checked_mul(unit).map(Self).ok_or_else(bad)
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, sign) in [(Self::TIB, 't'), (Self::GIB, 'g'), (Self::MIB, 'm'), (Self::KIB, 'k')]
        {
            if self.0 != 0 && self.0.is_multiple_of(unit) {
                return write!(f, "{}{sign}", self.0 / unit);
            }
        }
        write!(f, "{}", self.0)
    }
}

/// A share of the host's processors, in thousandths of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cpus {
    pub millis: u32,
}

impl FromStr for Cpus {
    type Err = NotAQuantity;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || NotAQuantity {
            text: text.to_owned(),
            what: "a number of cpus: write one above 0 and up to 64, as in 2 or 0.5",
        };
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        if fraction.is_empty() || fraction.len() > 3 {
            return Err(bad());
        }
        let whole = parse_digits(whole).filter(|n| *n <= 64).ok_or_else(bad)?;
        let fraction = parse_digits(&format!("{fraction:0<3}")).ok_or_else(bad)?;
        let millis = u32::try_from(whole * 1000 + fraction).map_err(|_| bad())?;
        if millis == 0 || millis > 64_000 { Err(bad()) } else { Ok(Self { millis }) }
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.millis / 1000, self.millis % 1000);
        if fraction == 0 {
            write!(f, "{whole}")
        } else {
            f.write_str(format!("{whole}.{fraction:03}").trim_end_matches('0'))
        }
    }
}

/// A span of time, kept in whole milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Span {
    pub millis: u64,
}

impl Span {
    pub const fn secs(n: u64) -> Self {
        Self { millis: n * 1000 }
    }

    pub const fn duration(self) -> Duration {
        Duration::from_millis(self.millis)
    }

    /// The same as [`Span::from_str`], but a number alone is no span: for ages, where people think in days and seconds would
    /// do harm.
    pub fn with_unit(text: &str) -> Result<Self, NotAQuantity> {
        match parse_digits(text) {
            Some(_) => Err(NotAQuantity { text: text.to_owned(), what: SPAN }),
            None => text.parse(),
        }
    }
}

const SPAN: &str = "a span of time: write a whole number and ms, s, m, h or d, as in 90s or 1h30m";

impl FromStr for Span {
    type Err = NotAQuantity;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || NotAQuantity { text: text.to_owned(), what: SPAN };
        if let Some(seconds) = parse_digits(text) {
            return seconds.checked_mul(1000).map(|millis| Self { millis }).ok_or_else(bad);
        }
        let (mut rest, mut millis) = (text, 0u64);
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(bad)?;
            let unit_end = rest[digits..]
                .find(|c: char| c.is_ascii_digit())
                .map_or(rest.len(), |at| digits + at);
            let unit = match &rest[digits..unit_end] {
                "ms" => 1,
                "s" => 1000,
                "m" => 60_000,
                "h" => 3_600_000,
                "d" => 86_400_000,
                _ => return Err(bad()),
            };
            let part = parse_digits(&rest[..digits]).and_then(|n| n.checked_mul(unit));
            millis = part.and_then(|part| millis.checked_add(part)).ok_or_else(bad)?;
            rest = &rest[unit_end..];
        }
        if text.is_empty() { Err(bad()) } else { Ok(Self { millis }) }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.millis {
            0 => f.write_str("0s"),
            n if n.is_multiple_of(3_600_000) => write!(f, "{}h", n / 3_600_000),
            n if n.is_multiple_of(60_000) => write!(f, "{}m", n / 60_000),
            n if n.is_multiple_of(1000) => write!(f, "{}s", n / 1000),
            n => write!(f, "{n}ms"),
        }
    }
}

/// Decimal digits only: `u64::from_str` would also take a leading `+`.
fn parse_digits(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// The conversions that serde's `try_from`/`into` attributes ask for.
macro_rules! as_text {
    ($($kind:ty),+) => {$(
        impl TryFrom<String> for $kind {
            type Error = NotAQuantity;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$kind> for String {
            fn from(value: $kind) -> Self {
                value.to_string()
            }
        }
    )+};
}

as_text!(ByteSize, Cpus, Span);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!("512m".parse(), Ok(ByteSize::mib(512)));
        assert_eq!("2G".parse(), Ok(ByteSize(2 * ByteSize::GIB)));
        assert_eq!("4096".parse(), Ok(ByteSize(4096)));
        for bad in ["1q", "", "m", "-1m", "+1m", "1.5g", "99999999999t", "1 m", "1mb"] {
            assert!(bad.parse::<ByteSize>().is_err(), "{bad}");
        }
        assert_eq!(ByteSize::mib(2048).to_string(), "2g");
        assert_eq!(ByteSize(0).to_string(), "0");
    }

    #[test]
    fn cpus() {
        assert_eq!("2".parse(), Ok(Cpus { millis: 2000 }));
        assert_eq!("0.5".parse(), Ok(Cpus { millis: 500 }));
        assert_eq!("64".parse(), Ok(Cpus { millis: 64_000 }));
        for bad in ["0", "64.001", "65", "-1", "1.", ".5", "1e3", "nan", "0.0001"] {
            assert!(bad.parse::<Cpus>().is_err(), "{bad}");
        }
        assert_eq!(Cpus { millis: 1250 }.to_string(), "1.25");
    }

    #[test]
    fn spans() {
        assert_eq!("600s".parse(), Ok(Span::secs(600)));
        assert_eq!("1h30m".parse(), Ok(Span::secs(5400)));
        assert_eq!("250ms".parse(), Ok(Span { millis: 250 }));
        assert_eq!("10".parse(), Ok(Span::secs(10)));
        assert_eq!("2d".parse(), Ok(Span::secs(172_800)));
        for bad in ["", "s", "1w", "-1s", "1s ", "99999999999999999999s"] {
            assert!(bad.parse::<Span>().is_err(), "{bad}");
        }
        assert_eq!(Span::secs(600).to_string(), "10m");
    }
}
