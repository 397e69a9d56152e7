//! How figures change as something grows: a table with a row for each size, and JSON that `--compare` understands, in
//! which each figure stands against that of the smallest size.

use std::time::Duration;

use serde_json::json;

use super::figures::{host, milliseconds};

#[derive(Debug)]
pub(crate) struct Curve {
    /// What grows.
    pub(crate) across: &'static str,
    pub(crate) series: Vec<Series>,
    /// How it was measured, in a sentence.
    pub(crate) note: String,
}

/// One thing that takes time, at each size.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) name: &'static str,
    pub(crate) points: Vec<(usize, Duration)>,
}

impl Curve {
    pub(crate) fn markdown(&self) -> String {
        let mut text = format!("| {} |", self.across);
        self.series.iter().for_each(|series| text += &format!(" {} |", series.name));
        text += "\n|---:|";
        text += &"---:|".repeat(self.series.len());
        for size in self.sizes() {
            text += &format!("\n| {} |", grouped(size));
            for series in &self.series {
                let cell = series.at(size).map(|time| format!("{:.2} ms", milliseconds(time)));
                // Of a size that there was no time for, there is nothing to say.
                text += &format!(" {} |", cell.unwrap_or_else(|| "–".to_owned()));
            }
        }
        text + &format!("\n\n{}; {}.", self.note, host())
    }

    pub(crate) fn json(&self, bench: &str) -> String {
        let cases = self.series.iter().flat_map(|series| {
            let first = series.points.first().map_or(0.0, |(_, time)| milliseconds(*time));
            series.points.iter().map(move |(size, time)| {
                let time = milliseconds(*time);
                let case = format!("{}: {size}", series.name);
                json!({ "case": case, "median_ms": time, "ratio": time / first, "skipped": null })
            })
        });
        let cases: Vec<_> = cases.collect();
        json!({ "bench": bench, "across": self.across, "host": host(), "cases": cases }).to_string()
    }

    /// Every size that any of them has, in order.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        let mut sizes: Vec<usize> =
            self.series.iter().flat_map(|series| series.points.iter().map(|(at, _)| *at)).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }
}

impl Series {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, points: Vec::new() }
    }

    fn at(&self, size: usize) -> Option<Duration> {
        self.points.iter().find(|(at, _)| *at == size).map(|(_, time)| *time)
    }
}

/// As people write it: 100,000.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
pub(crate) fn example() -> Curve {
    let points = |times: &[(usize, u64)]| {
        times.iter().map(|(at, ms)| (*at, Duration::from_millis(*ms))).collect()
    };
    let series = vec![
        Series { name: "sealed", points: points(&[(10, 4), (100_000, 4000)]) },
        Series { name: "listed", points: points(&[(10, 2)]) },
    ];
    Curve { across: "changes", series, note: "once".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::super::compare::Old;
    use super::*;

    #[test]
    fn a_table_has_a_row_for_each_size_and_a_gap_where_nothing_was_measured() {
        let text = example().markdown();
        assert!(text.starts_with("| changes | sealed | listed |\n|---:|---:|---:|\n"), "{text}");
        assert!(
            text.contains("\n| 10 | 4.00 ms | 2.00 ms |\n| 100,000 | 4000.00 ms | – |\n"),
            "{text}"
        );
    }

    #[test]
    fn a_steeper_curve_than_before_is_named() {
        let (before, mut now) = (example(), example());
        let old = Old::parse(&before.json("growth")).unwrap();
        assert_eq!(old.slower(&now.json("growth")).unwrap(), Some(Vec::new()));
        now.series[0].points[1].1 *= 2;
        let slower = old.slower(&now.json("growth")).unwrap().unwrap();
        assert_eq!(slower, ["growth: sealed: 100000: 1000.00 before, 2000.00 now"]);
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([7, 100, 1000, 1_234_567].map(grouped), ["7", "100", "1,000", "1,234,567"]);
    }
}
