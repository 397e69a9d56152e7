//! What `run` asks of a command's result.

use std::path::{Path, PathBuf};

use clap::Args;
use cofferdam_core::inert::Inert;
use cofferdam_core::quantity::ByteSize;
use cofferdam_core::refusal::{Refusal, Rule};
use cofferdam_core::result::{MetricRule, ResultReport, ResultRule, ResultState};
use cofferdam_sandbox::result::check_schema;

use crate::asking::say;
use crate::context::Context;

/// Most bytes of a schema.
const LARGEST_SCHEMA: u64 = 1 << 20;

#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Result")]
pub(crate) struct ResultArgs {
    /// Give the command a file for a result of its own, named by $COFFERDAM_RESULT inside; it is read when
    /// the command is dead, and kept with the run.
    #[arg(long)]
    result: bool,
    /// Most bytes of the result [default: 1m].
    #[arg(long, value_name = "SIZE")]
    result_limit: Option<String>,
    /// A JSON Schema that the result must meet.
    #[arg(long, value_name = "FILE")]
    result_schema: Option<PathBuf>,
    /// A number to take out: `pointer:/JSON/POINTER`, `junit:FILE:failures` (a report beside the result), or
    /// `stdout:REGEX` (repeatable).
    #[arg(long, value_name = "NAME=RULE")]
    metric: Vec<String>,
}

impl ResultArgs {
    /// The rule, where anything was asked for.
    pub(crate) fn rule(&self, context: &Context) -> Result<Option<ResultRule>, Refusal> {
        let Self { result, result_limit, result_schema, metric } = self;
        let asked =
            *result || result_limit.is_some() || result_schema.is_some() || !metric.is_empty();
        if !asked {
            return Ok(None);
        }
        let mut rule = ResultRule::default();
        if let Some(text) = result_limit {
            rule.limit = limit(text)?;
        }
        if let Some(path) = result_schema {
            rule.schema = Some(schema(&context.resolve(path))?);
        }
        rule.metrics = metric.iter().map(|text| self::metric(text)).collect::<Result<_, _>>()?;
        if rule.metrics.len() < metric.len() {
            return Err(wrong(
                "--metric",
                "a name is given twice",
                "give each number its own name",
            ));
        }
        Ok(Some(rule))
    }
}

/// Says what is wrong with a result. The exit code stays the command's.
pub(super) fn warn(report: &ResultReport) {
    // Numbers may stand elsewhere, and then nobody misses a file.
    let is_enough = report.state == ResultState::Missing && !report.metrics.is_empty();
    if report.state != ResultState::Good && !is_enough {
        let why = report.message.as_deref().unwrap_or("its record says no more");
        say(&format!("warning: the result is {}: {}", report.state, Inert::line(why)));
    }
    for (name, why) in &report.missing {
        say(&format!("warning: there is no number for {name}: {}", Inert::line(why)));
    }
}

/// The numbers that were found, in a line.
pub(super) fn numbers(report: &ResultReport) -> Option<String> {
    let numbers: Vec<_> =
        report.metrics.iter().map(|(name, number)| format!("{name} = {number}")).collect();
    (!numbers.is_empty()).then(|| format!("result: {}", numbers.join(", ")))
}

fn limit(text: &str) -> Result<ByteSize, Refusal> {
    let size: ByteSize =
        text.parse().map_err(|error| wrong("--result-limit", error, "write it as in 64k or 1m"))?;
    if size.0 == 0 || size > ResultRule::LARGEST_LIMIT {
        let most = ResultRule::LARGEST_LIMIT;
        return Err(wrong(
            "--result-limit",
            format!("{size} is out of range"),
            format!("ask for 1 to {most}"),
        ));
    }
    Ok(size)
}

fn metric(text: &str) -> Result<(String, MetricRule), Refusal> {
    let (name, rule) = text.split_once('=').ok_or_else(|| {
        wrong("--metric", format!("{text:?} has no name"), "write it as in score=pointer:/score")
    })?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        let message = format!("{name:?} is no name for a number");
        return Err(wrong("--metric", message, "use letters, digits, _ . and -"));
    }
    let rule = rule
        .parse()
        .map_err(|error| wrong("--metric", error, "see `cofferdam run --help` for the forms"))?;
    Ok((name.to_owned(), rule))
}

fn schema(path: &Path) -> Result<serde_json::Value, Refusal> {
    let at = |what: String| {
        let message = format!("{}: {what}", path.display());
        wrong("--result-schema", message, "name a file with a JSON Schema")
    };
    let size = std::fs::metadata(path).map_err(|error| at(error.to_string()))?.len();
    if size > LARGEST_SCHEMA {
        return Err(at(format!("{size} bytes are too many for a schema")));
    }
    let text = std::fs::read(path).map_err(|error| at(error.to_string()))?;
    let schema = serde_json::from_slice(&text).map_err(|error| at(error.to_string()))?;
    check_schema(&schema).map_err(at)?;
    Ok(schema)
}

fn wrong(flag: &str, message: impl ToString, remedy: impl Into<String>) -> Refusal {
    Refusal {
        rule: Rule::ValueForm,
        field: flag.to_owned(),
        message: message.to_string(),
        remedy: remedy.into(),
    }
}
