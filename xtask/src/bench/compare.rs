//! Figures of today against those of another day, by what does not depend on how fast the machine is, and hardly on what else it
//! does: the ratio of a case to the base of its own table, of the quickest tenth of their times where that is known.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

/// A ratio may grow so far before it is called slower: below that, runs of the same program differ.
const SHARE: f64 = 1.25;

/// What `--json` printed before.
#[derive(Debug)]
pub(crate) struct Old(BTreeMap<(String, String), f64>);

impl Old {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("{} is not what --json prints", path.display()))
    }

    pub(super) fn parse(text: &str) -> Result<Self> {
        let mut all = BTreeMap::new();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            all.extend(costs(&serde_json::from_str(line)?));
        }
        if all.is_empty() {
            anyhow::bail!("there are no figures in it");
        }
        Ok(Self(all))
    }

    /// Cases of a bench that cost more than they did, as lines. One that was not there before is no news. `None` where none of
    /// them was, as of what is done once and has no base.
    pub(crate) fn slower(&self, json: &str) -> Result<Option<Vec<String>>> {
        let mut new = costs(&serde_json::from_str(json)?);
        new.retain(|(key, _)| self.0.contains_key(key));
        if new.is_empty() {
            return Ok(None);
        }
        let grown = new.into_iter().filter_map(|(key, now)| {
            let before = *self.0.get(&key)?;
            let (bench, case) = &key;
            (now > before * SHARE)
                .then(|| format!("{bench}: {case}: {before:.2} before, {now:.2} now"))
        });
        Ok(Some(grown.collect()))
    }
}

/// What each case costs, in units of its base. A rate that halves is a cost that doubles.
fn costs(table: &Value) -> Vec<((String, String), f64)> {
    let bench = table["bench"].as_str().unwrap_or_default();
    let cases = table["cases"].as_array().map(Vec::as_slice).unwrap_or_default();
    let base_rate = cases.first().and_then(|case| case["per_second"].as_f64());
    let cost = |case: &Value| {
        let name = case["case"].as_str()?.to_owned();
        if !case["skipped"].is_null() {
            return None;
        }
        let by_rate = || Some(base_rate? / case["per_second"].as_f64()?);
        let low = case["low_ratio"].as_f64();
        let cost = low.or_else(by_rate).or_else(|| case["ratio"].as_f64())?;
        Some(((bench.to_owned(), name), cost))
    };
    cases.iter().filter_map(cost).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(ratio: f64, rate: f64) -> String {
        format!(
            r#"{{"bench":"start","cases":[{{"case":"base","ratio":1.0,"per_second":null,"skipped":null}},
            {{"case":"ours","ratio":{ratio},"per_second":null,"skipped":null}}]}}"#
        )
        .replace('\n', "")
            + "\n"
            + &format!(
                r#"{{"bench":"many","cases":[{{"case":"base","ratio":1.0,"per_second":100.0,"skipped":null}},{{"case":"ours","ratio":9.0,"per_second":{rate},"skipped":null}}]}}"#
            )
    }

    #[test]
    fn what_grew_by_more_than_the_share_is_named() {
        let old = Old::parse(&table(2.0, 50.0)).unwrap();
        let slower = |ratio: f64, rate: f64| -> Vec<String> {
            table(ratio, rate).lines().flat_map(|line| old.slower(line).unwrap().unwrap()).collect()
        };
        assert_eq!(slower(2.4, 45.0), Vec::<String>::new());
        assert_eq!(slower(2.6, 50.0), ["start: ours: 2.00 before, 2.60 now"]);
        assert_eq!(slower(1.0, 30.0), ["many: ours: 2.00 before, 3.33 now"]);
    }

    #[test]
    fn a_busy_machine_is_no_slower_program() {
        let with = |ratio: f64, low: f64| {
            format!(
                r#"{{"bench":"start","cases":[{{"case":"ours","ratio":{ratio},"low_ratio":{low},"skipped":null}}]}}"#
            )
        };
        let old = Old::parse(&with(2.0, 2.0)).unwrap();
        let slower = |json: &str| old.slower(json).unwrap();
        assert_eq!(slower(&with(9.0, 2.1)), Some(Vec::new()));
        assert_eq!(slower(&with(2.0, 4.0)).unwrap(), ["start: ours: 2.00 before, 4.00 now"]);
        assert_eq!(slower("{\"bench\":\"server\",\"table\":\"| x |\"}"), None);
    }

    #[test]
    fn a_file_without_figures_is_refused() {
        assert!(Old::parse("").is_err());
        assert!(Old::parse("{\"bench\":\"x\"}").is_err());
        assert!(Old::parse("| table |").is_err());
    }
}
