//! From times to a table.

use std::time::Duration;

use serde_json::json;

use super::rounds::Times;

#[derive(Debug)]
pub(crate) struct Table {
    bench: String,
    rounds: usize,
    host: String,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    name: String,
    median: Duration,
    p99: Duration,
    /// Of the median to the base case's.
    ratio: f64,
    /// Of the time that the quickest tenth took to the base case's: what else the machine does hardly shows in it.
    low_ratio: f64,
    /// Where one time is many starts.
    per_second: Option<f64>,
    skipped: Option<String>,
}

impl Table {
    /// The first of `cases` is the base.
    pub(crate) fn new(bench: &str, cases: &[Times]) -> Self {
        let base =
            |percent| cases.first().map_or(Duration::ZERO, |base| rank(&base.times, percent));
        let (base, low_base) = (base(50), base(10));
        let rows = cases.iter().map(|case| {
            let median = rank(&case.times, 50);
            let ratio = median.as_secs_f64() / base.as_secs_f64();
            let low_ratio = rank(&case.times, 10).as_secs_f64() / low_base.as_secs_f64();
            let (name, skipped) = (case.name.clone(), case.skipped.clone());
            #[expect(clippy::cast_precision_loss, reason = "a few hundred starts")]
            let rate = || case.starts as f64 / median.as_secs_f64();
            let per_second = (case.starts > 1).then(rate);
            let p99 = rank(&case.times, 99);
            Row { name, median, p99, ratio, low_ratio, per_second, skipped }
        });
        let rounds = cases.iter().map(|case| case.times.len()).max().unwrap_or(0);
        Self { bench: bench.to_owned(), rounds, host: host(), rows: rows.collect() }
    }

    pub(crate) fn markdown(&self) -> String {
        let mut text = if self.rows.iter().any(|row| row.per_second.is_some()) {
            String::from("| case | a second |\n|---|---:|\n")
        } else {
            String::from("| case | median | p99 | ratio |\n|---|---:|---:|---:|\n")
        };
        for Row { name, median, p99, ratio, per_second, skipped, .. } in &self.rows {
            let (median, p99) = (milliseconds(*median), milliseconds(*p99));
            text += &match (per_second, skipped) {
                (_, Some(reason)) => format!("| {name} | skipped: {reason} | | |\n"),
                (Some(rate), None) => format!("| {name} | {rate:.0} |\n"),
                (None, None) => {
                    format!("| {name} | {median:.2} ms | {p99:.2} ms | {ratio:.2} |\n")
                }
            };
        }
        text + &format!("\n{} interleaved rounds; {}.", self.rounds, self.host)
    }

    /// Name and median of every case that was measured.
    pub(crate) fn medians(&self) -> Vec<(&str, f64)> {
        let measured = self.rows.iter().filter(|row| row.skipped.is_none());
        measured.map(|row| (row.name.as_str(), milliseconds(row.median))).collect()
    }

    pub(crate) fn json(&self) -> String {
        let rows: Vec<_> = self
            .rows
            .iter()
            .map(|row| {
                json!({
                    "case": row.name,
                    "median_ms": milliseconds(row.median),
                    "p99_ms": milliseconds(row.p99),
                    "ratio": row.ratio,
                    "low_ratio": row.low_ratio,
                    "per_second": row.per_second,
                    "skipped": row.skipped,
                })
            })
            .collect();
        json!({
            "bench": self.bench,
            "rounds": self.rounds,
            "host": self.host,
            "cases": rows,
        })
        .to_string()
    }
}

/// The time that `percent` of all do not exceed (nearest rank).
pub(super) fn rank(times: &[Duration], percent: usize) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let at = (sorted.len() * percent).div_ceil(100).saturating_sub(1);
    sorted.get(at).copied().unwrap_or_default()
}

pub(super) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// What the figures depend on, as far as the host tells.
pub(super) fn host() -> String {
    let cpus = std::thread::available_parallelism().map_or(0, usize::from);
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("unknown processor", |(_, model)| model);
    let kernel = read("/proc/sys/kernel/osrelease");
    // The part behind the version names whoever built the kernel.
    let kernel = kernel.split(['-', '+', '\n']).next().unwrap_or_default();
    let unified = std::path::Path::new("/sys/fs/cgroup/cgroup.controllers").exists();
    let groups = if unified { "v2" } else { "v1" };
    format!("{cpus} CPUs ({model}), Linux {kernel}, control groups {groups}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(name: &str, milliseconds: impl Iterator<Item = u64>) -> Times {
        let times = milliseconds.map(Duration::from_millis).collect();
        Times { name: name.to_owned(), times, starts: 1, skipped: None }
    }

    fn table() -> Table {
        let cases = [times("base", (1..=200).rev()), times("twice", (1..=200).map(|n| n * 2))];
        Table::new("start", &cases)
    }

    #[test]
    fn median_and_percentile_are_by_rank_and_the_base_is_one() {
        let text = table().markdown();
        assert!(text.contains("| base | 100.00 ms | 198.00 ms | 1.00 |\n"), "{text}");
        assert!(text.contains("| twice | 200.00 ms | 396.00 ms | 2.00 |\n"), "{text}");
        assert_eq!(rank(&[Duration::from_secs(1)], 99), Duration::from_secs(1));
    }

    #[test]
    fn many_starts_are_counted_by_the_second_and_a_skipped_case_says_why() {
        let many = Times { starts: 50, ..times("many", [100, 100].into_iter()) };
        let text = Table::new("throughput", &[many]).markdown();
        assert!(
            text.contains("| case | a second |\n") && text.contains("| many | 500 |\n"),
            "{text}"
        );
        let skipped = Times { skipped: Some("no engine".into()), ..times("x", [].into_iter()) };
        let text = Table::new("engine", &[times("base", 1..=2), skipped]).markdown();
        assert!(text.contains("| x | skipped: no engine | | |\n"), "{text}");
    }

    #[test]
    fn json_has_the_same_figures() {
        let json: serde_json::Value = serde_json::from_str(&table().json()).unwrap();
        assert_eq!(json["cases"][1]["median_ms"], 200.0);
        assert_eq!(json["cases"][1]["ratio"], 2.0);
        assert_eq!(json["cases"][1]["low_ratio"], 2.0);
        assert_eq!(json["bench"], "start");
    }
}
