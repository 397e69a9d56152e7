//! What attempts took of time, memory and processors, as spreads for those who watch a server.
//!
//! [`Spent::of`] reads it from an attempt's result: usage, and the limits that the receipt says were read back. What a runner did not
//! report is not guessed.

use serde_json::Value;

use super::task::AttemptResult;

/// How often a value was no greater than each bound.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    pub bounds: &'static [f64],
    /// One for each bound, and one for what is greater than all. Each counts its own.
    pub counts: Vec<u64>,
    pub sum: f64,
}

impl Spread {
    pub fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len() + 1], sum: 0.0 }
    }

    pub fn add(&mut self, value: f64) {
        let at = self.bounds.iter().position(|bound| value <= *bound).unwrap_or(self.bounds.len());
        self.counts[at] += 1;
        self.sum += value;
    }
}

/// Of one attempt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spent {
    pub seconds: Option<f64>,
    /// The most memory that it had, as a share of what it was allowed.
    pub memory: Option<f64>,
    /// The same for processors, over the whole time.
    pub cpu: Option<f64>,
}

impl Spent {
    pub fn of(result: &AttemptResult) -> Self {
        let used = |name: &str| result.usage.as_ref()?.get(name)?.as_f64();
        let limit = |guarantee| limits(result.receipt.as_ref(), guarantee);
        let share = |used: f64, limit: f64| (limit > 0.0).then_some(used / limit);
        let cpu = || {
            let (wall, cpu) = (used("wall_ms")?, used("user_ms")? + used("system_ms")?);
            share(cpu, wall * cpus(&limit("cpu_limit"))?)
        };
        let memory = || {
            let limit = limit("memory_limit").first()?.1.trim().parse().ok()?;
            share(used("max_rss_bytes")?, limit)
        };
        let between = || {
            let (from, to) = (result.started_at?, result.finished_at?);
            #[expect(clippy::cast_precision_loss, reason = "milliseconds of a run are few")]
            Some(to.unix_millis().saturating_sub(from.unix_millis()) as f64)
        };
        let millis = used("wall_ms").or_else(between);
        Self { seconds: millis.map(|millis| millis / 1000.0), memory: memory(), cpu: cpu() }
    }
}

/// Mechanism and what was read back of it, for each line of the receipt about a guarantee.
fn limits<'a>(receipt: Option<&'a Value>, guarantee: &str) -> Vec<(&'a str, &'a str)> {
    let lines = receipt.and_then(Value::as_array).into_iter().flatten();
    let about = lines.filter(|line| line["guarantee"] == guarantee);
    about
        .filter_map(|line| Some((line["mechanism"].as_str()?, line["read_back"].as_str()?)))
        .collect()
}

/// Of one group: a quota and its period; a quota and a period in one; or billionths, as engines have it.
fn cpus(lines: &[(&str, &str)]) -> Option<f64> {
    let of = |end: &str| {
        lines.iter().find(|(name, _)| name.ends_with(end)).map(|(_, value)| value.trim())
    };
    if let (Some(quota), Some(period)) = (of("cpu.cfs_quota_us"), of("cpu.cfs_period_us")) {
        return Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?);
    }
    if let Some((quota, period)) = of("cpu.max").and_then(|value| value.split_once(' ')) {
        return Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?);
    }
    let (_, billionths) = lines.first()?;
    Some(billionths.trim().parse::<f64>().ok()? / 1e9)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spent(receipt: Value) -> Spent {
        let usage =
            json!({"wall_ms": 2000, "user_ms": 900, "system_ms": 100, "max_rss_bytes": 1 << 20});
        Spent::of(&AttemptResult {
            usage: Some(usage),
            receipt: Some(receipt),
            ..AttemptResult::default()
        })
    }

    fn line(guarantee: &str, mechanism: &str, read_back: &str) -> Value {
        json!({"guarantee": guarantee, "mechanism": mechanism, "read_back": read_back, "state": "enforced"})
    }

    #[test]
    fn limits_are_those_that_were_read_back_wherever_it_ran() {
        let memory = line("memory_limit", "cgroup v2 memory.max", "2097152");
        let want = Spent { seconds: Some(2.0), memory: Some(0.5), cpu: Some(0.25) };
        let old = [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "200000")];
        let [period, quota] =
            old.map(|(name, value)| line("cpu_limit", &format!("cgroup v1 {name}"), value));
        assert_eq!(spent(json!([memory, period, quota])), want);
        assert_eq!(
            spent(json!([line("cpu_limit", "cgroup v2 cpu.max", "200000 100000"), memory])),
            want
        );
        assert_eq!(
            spent(json!([memory, line("cpu_limit", "the engine's control group", "2000000000")])),
            want
        );
    }

    #[test]
    fn what_was_not_reported_is_not_guessed() {
        let none = Spent { seconds: None, memory: None, cpu: None };
        assert_eq!(Spent::of(&AttemptResult::default()), none);
        for odd in [
            json!([]),
            json!("x"),
            json!([line("memory_limit", "m", "max"), line("cpu_limit", "cpu.max", "max 100000")]),
        ] {
            assert_eq!(spent(odd), Spent { seconds: Some(2.0), ..none });
        }
    }

    #[test]
    fn a_spread_counts_each_value_once() {
        let mut spread = Spread::new(&[1.0, 2.0]);
        [0.5, 1.0, 1.5, 9.0].into_iter().for_each(|value| spread.add(value));
        assert_eq!((spread.counts, spread.sum), (vec![2, 1, 1], 12.0));
    }
}
