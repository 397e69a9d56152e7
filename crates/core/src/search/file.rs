//! The file of a loop, read strictly: every key known, every value of its form, every error with its line.

use std::collections::BTreeMap;

use super::fields::{Fields, text_of};
use super::objective::{Constraint, Goal, Objective};
use super::settings::{self, Setting};
use crate::changes::ChangePath;
use crate::changes::glob::Globs;
use crate::check::Profile;
use crate::config::error::Problems;
use crate::config::{ConfigError, MAX_FILE_BYTES, yaml};
use crate::quantity::{ByteSize, Span};
use crate::result::{MetricRule, ResultRule};

/// A loop, as somebody asked for it.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopFile {
    pub generator: Step,
    /// What the generator prints becomes this file.
    pub writes: Option<ChangePath>,
    /// What is looked for in a candidate's text before it runs.
    pub check: Profile,
    pub run: Step,
    pub expect_exit: i32,
    pub score: Option<Step>,
    /// For all steps; each may add its own.
    pub sandbox: Vec<Setting>,
    pub result_limit: ByteSize,
    pub metrics: BTreeMap<String, MetricRule>,
    pub objective: Objective,
    pub constraints: Vec<Constraint>,
    pub budget: Budget,
    pub changes: ChangeBudget,
    pub protected: Vec<String>,
    pub start_from: StartFrom,
    pub seed: u64,
    /// How many earlier trials a generator is told of.
    pub history: usize,
    /// How many of the latest trials keep their runs, besides the champion.
    pub keep: usize,
}

/// A command and its sandbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub command: Vec<String>,
    pub timeout: Option<Span>,
    pub sandbox: Vec<Setting>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Budget {
    pub iterations: u64,
    pub wall_time: Option<Span>,
    /// For all steps of one candidate together.
    pub iteration_time: Option<Span>,
    /// How many candidates are tried at once. They are told the same history.
    pub parallel: u64,
    /// The loop ends after so many trials without a new champion.
    pub no_progress: Option<u64>,
}

/// The most that a candidate may differ from the workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeBudget {
    pub files: u64,
    pub bytes: ByteSize,
}

/// What a generator finds in its workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartFrom {
    Workspace,
    Champion,
}

const MOST_ITERATIONS: u64 = 1_000_000;
const MOST_PARALLEL: u64 = 64;

impl LoopFile {
    /// Reads a file; `source` is its name. All that is wrong is returned, not only the first.
    pub fn parse(text: &str, source: &str) -> Result<Self, Vec<ConfigError>> {
        let mut problems = Problems::of(source);
        let file = match text.len() > MAX_FILE_BYTES {
            true => {
                problems.general(None, "larger than 1 MiB, which no loop is");
                None
            }
            false => read(text, &mut problems),
        };
        let errors = problems.into_errors();
        match file {
            Some(file) if errors.is_empty() => Ok(file),
            _ => Err(errors),
        }
    }

    /// What is asked of the run whose result counts.
    pub fn result_rule(&self) -> ResultRule {
        ResultRule { limit: self.result_limit, schema: None, metrics: self.metrics.clone() }
    }
}

fn read(text: &str, problems: &mut Problems) -> Option<LoopFile> {
    let Some(root) = yaml::read(text, problems) else {
        problems.general(None, "there is nothing in it: name a generator, a run and an objective");
        return None;
    };
    let mut top = Fields::of(String::new(), &root, problems)?;
    let generator = top.map("generator", problems);
    let generator = top.must("generator", generator, problems);
    let (generator, writes) = generator.map_or((None, None), |mut fields| {
        let writes = path(&mut fields, "writes", problems);
        (step(fields, problems), writes)
    });
    let run = top.map("run", problems);
    let run = top.must("run", run, problems);
    let (run, expect_exit) = run.map_or((None, None), |mut fields| {
        let exit = fields.number("expect_exit", 0..=255, problems);
        (step(fields, problems), exit)
    });
    let scored = top.get("score").is_some();
    let score = top.map("score", problems).and_then(|fields| step(fields, problems));
    let check = match (top.get("check"), top.text("check", problems)) {
        (Some(node), Some(text)) => Profile::parse(text).unwrap_or_else(|| {
            let names = Profile::NAMES.join(", ");
            problems.about("check", node.line, format!("{text:?} is none of {names}"));
            Profile::Off
        }),
        _ => Profile::Off,
    };
    let sandbox = settings::read(&mut top, problems);
    let metrics = metrics(&mut top, problems);
    let objective = top.map("objective", problems);
    let objective = top.must("objective", objective, problems);
    let objective = objective.and_then(|fields| objective_of(fields, &metrics, problems));
    let constraints = constraints(&mut top, &metrics, problems);
    let budget = top.map("budget", problems);
    let budget =
        top.must("budget", budget, problems).and_then(|fields| budget_of(fields, problems));
    let changes = top.map("changes", problems).map(|mut fields| {
        let files = fields.number("files", 1..=1_000_000, problems);
        let bytes = fields.parsed::<ByteSize>("bytes", problems);
        fields.finish(problems);
        ChangeBudget {
            files: files.unwrap_or(ChangeBudget::DEFAULT.files),
            bytes: bytes.unwrap_or(ChangeBudget::DEFAULT.bytes),
        }
    });
    let protected = top.texts("protected", problems).unwrap_or_default();
    for pattern in &protected {
        if let Err(error) = Globs::check(pattern) {
            let line = top.get("protected").map_or(root.line, |node| node.line);
            problems.about("protected", line, error.to_string());
        }
    }
    let start_from = match (top.get("start_from"), top.text("start_from", problems)) {
        (_, None | Some("workspace")) => StartFrom::Workspace,
        (_, Some("champion")) => StartFrom::Champion,
        (node, Some(_)) => {
            let line = node.map_or(root.line, |node| node.line);
            problems.about("start_from", line, "write workspace or champion");
            StartFrom::Workspace
        }
    };
    let seed = top.number("seed", 0..=u64::MAX, problems).unwrap_or(0);
    let history = top.number("history", 0..=10_000, problems).unwrap_or(50);
    let keep = top.number("keep", 0..=10_000, problems).unwrap_or(5);
    let result_limit = top.parsed::<ByteSize>("result_limit", problems);
    if result_limit.is_some_and(|size| size.0 == 0 || size > ResultRule::LARGEST_LIMIT) {
        let line = top.get("result_limit").map_or(root.line, |node| node.line);
        let message = format!("ask for 1 to {}", ResultRule::LARGEST_LIMIT);
        problems.about("result_limit", line, message);
    }
    top.finish(problems);
    if scored && score.is_none() {
        return None;
    }
    Some(LoopFile {
        generator: generator?,
        writes,
        check,
        run: run?,
        expect_exit: i32::try_from(expect_exit.unwrap_or(0)).unwrap_or(0),
        score,
        sandbox,
        result_limit: result_limit.unwrap_or(ResultRule::DEFAULT_LIMIT),
        metrics,
        objective: objective?,
        constraints,
        budget: budget?,
        changes: changes.unwrap_or(ChangeBudget::DEFAULT),
        protected,
        start_from,
        seed,
        history: usize::try_from(history).unwrap_or(usize::MAX),
        keep: usize::try_from(keep).unwrap_or(usize::MAX),
    })
}

impl ChangeBudget {
    pub const DEFAULT: Self = Self { files: 100, bytes: ByteSize::mib(1) };
}

fn step(mut fields: Fields<'_>, problems: &mut Problems) -> Option<Step> {
    let command = fields.texts("command", problems);
    let command = fields.must("command", command, problems);
    if command.as_ref().is_some_and(Vec::is_empty) {
        problems.general(None, format!("{} has no words", fields.name("command")));
    }
    let timeout = fields.parsed::<Span>("timeout", problems);
    let sandbox = settings::read(&mut fields, problems);
    fields.finish(problems);
    Some(Step { command: command?, timeout, sandbox })
}

fn path(fields: &mut Fields<'_>, key: &'static str, problems: &mut Problems) -> Option<ChangePath> {
    let line = fields.get(key)?.line;
    match ChangePath::new(fields.text(key, problems)?) {
        Ok(path) => Some(path),
        Err(error) => {
            problems.about(&fields.name(key), line, error.to_string());
            None
        }
    }
}

fn metrics(top: &mut Fields<'_>, problems: &mut Problems) -> BTreeMap<String, MetricRule> {
    let fields = top.map("metrics", problems);
    let Some(fields) = top.must("metrics", fields, problems) else { return BTreeMap::new() };
    let mut metrics = BTreeMap::new();
    for pair in fields.pairs() {
        let name = fields.name(&pair.key);
        let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        if pair.key.is_empty() || pair.key.len() > 64 || !pair.key.chars().all(plain) {
            problems.about(&name, pair.line, "a number's name has letters, digits, _ . and -");
            continue;
        }
        match text_of(&pair.value).unwrap_or_default().parse::<MetricRule>() {
            Ok(rule) => drop(metrics.insert(pair.key.clone(), rule)),
            Err(error) => problems.about(&name, pair.line, error.to_string()),
        }
    }
    metrics
}

fn objective_of(
    mut fields: Fields<'_>,
    metrics: &BTreeMap<String, MetricRule>,
    problems: &mut Problems,
) -> Option<Objective> {
    let metric = fields.text("metric", problems);
    let metric = fields.must("metric", metric, problems).map(str::to_owned);
    let goal = fields.parsed::<Goal>("goal", problems);
    let goal = fields.must("goal", goal, problems);
    let target = finite(&mut fields, "target", problems);
    let min_gain = finite(&mut fields, "min_gain", problems).unwrap_or(0.0);
    if let Some(line) = fields.get("min_gain").map(|node| node.line).filter(|_| min_gain < 0.0) {
        problems.about("objective.min_gain", line, "it cannot be negative");
    }
    if let Some(name) = metric.as_ref().filter(|name| !metrics.contains_key(*name)) {
        let line = fields.get("metric").map_or(0, |node| node.line);
        problems.about("objective.metric", line, format!("{name:?} is none of the metrics"));
    }
    fields.finish(problems);
    Some(Objective { metric: metric?, goal: goal?, target, min_gain })
}

fn finite(fields: &mut Fields<'_>, key: &'static str, problems: &mut Problems) -> Option<f64> {
    let line = fields.get(key)?.line;
    let number: f64 = fields.parsed(key, problems)?;
    if !number.is_finite() {
        problems.about(&fields.name(key), line, "write a finite number");
    }
    Some(number)
}

fn constraints(
    top: &mut Fields<'_>,
    metrics: &BTreeMap<String, MetricRule>,
    problems: &mut Problems,
) -> Vec<Constraint> {
    let line = top.get("constraints").map_or(0, |node| node.line);
    let mut constraints = Vec::new();
    for text in top.texts("constraints", problems).unwrap_or_default() {
        match text.parse::<Constraint>() {
            Ok(constraint) if metrics.contains_key(&constraint.metric) => {
                constraints.push(constraint);
            }
            Ok(constraint) => {
                let message = format!("{:?} is none of the metrics", constraint.metric);
                problems.about("constraints", line, message);
            }
            Err(error) => problems.about("constraints", line, format!("{text:?}: {error}")),
        }
    }
    constraints
}

fn budget_of(mut fields: Fields<'_>, problems: &mut Problems) -> Option<Budget> {
    let iterations = fields.number("iterations", 1..=MOST_ITERATIONS, problems);
    let iterations = fields.must("iterations", iterations, problems);
    let wall_time = fields.parsed::<Span>("wall_time", problems);
    let iteration_time = fields.parsed::<Span>("iteration_time", problems);
    let parallel = fields.number("parallel", 1..=MOST_PARALLEL, problems).unwrap_or(1);
    let no_progress = fields.number("no_progress", 1..=MOST_ITERATIONS, problems);
    fields.finish(problems);
    Some(Budget { iterations: iterations?, wall_time, iteration_time, parallel, no_progress })
}
