//! Numbers, found as the rules say.

use cofferdam_core::record::KeptStream;
use cofferdam_core::result::{MetricRule, Stream};
use regex::bytes::Regex;
use serde_json::Value;

use super::{Delivery, junit};
use crate::runs::KeptOutput;

/// What numbers are found in.
pub(super) struct Sources<'a> {
    /// Where there is one, and it is JSON.
    pub(super) result: Option<&'a Value>,
    pub(super) report: &'a dyn Fn(&str) -> Result<Vec<u8>, String>,
    pub(super) delivery: Delivery<'a>,
}

impl Sources<'_> {
    pub(super) fn number(&self, rule: &MetricRule) -> Result<f64, String> {
        match rule {
            MetricRule::Pointer(pointer) => {
                let value = self.result.ok_or("there is no result to look in")?;
                let found = value.pointer(pointer).ok_or("nothing is there")?;
                finite(found.as_f64().ok_or("what is there is no number")?)
            }
            MetricRule::Junit { file, count } => {
                let text = String::from_utf8((self.report)(file)?)
                    .map_err(|_| format!("{file} is not UTF-8"))?;
                finite(junit::count(&text, *count)?)
            }
            MetricRule::Printed { stream, pattern } => self.printed(*stream, pattern),
        }
    }

    fn printed(&self, stream: Stream, pattern: &str) -> Result<f64, String> {
        let Delivery { dir, output, .. } = self.delivery;
        let (name, kept): (_, &KeptStream) = match stream {
            Stream::Stdout => ("stdout", &output.stdout),
            Stream::Stderr => ("stderr", &output.stderr),
        };
        let regex = Regex::new(pattern).map_err(|error| error.to_string())?;
        let kept = KeptOutput::read(&dir.join(name), kept).map_err(|error| error.to_string())?;
        // What was dropped in between belongs to neither part.
        let last = |part: &[u8]| {
            let found = regex.captures_iter(part).last()?;
            Some(String::from_utf8_lossy(found.get(1)?.as_bytes()).into_owned())
        };
        let text = last(&kept.tail).or_else(|| last(&kept.head)).ok_or("nothing matches")?;
        finite(text.trim().parse().map_err(|_| "what matches is no number".to_owned())?)
    }
}

fn finite(number: f64) -> Result<f64, String> {
    if number.is_finite() { Ok(number) } else { Err("it is no finite number".to_owned()) }
}
