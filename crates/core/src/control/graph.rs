//! The steps of a workflow as a graph: whether it is one, and which steps go on.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::workflow::{Condition, Step, WorkflowState};

/// Most steps of one workflow.
pub const MOST_STEPS: usize = 500;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GraphFault {
    #[error("a workflow needs a step")]
    Empty,
    #[error("a workflow has at most {MOST_STEPS} steps")]
    TooMany,
    #[error("the name of a step is 1 to 64 letters, digits, `-`, `_` or `.`")]
    Name { step: usize },
    #[error("two steps are called {name}")]
    Twice { step: usize, name: String },
    #[error("no step is called {name:?}")]
    Unknown { step: usize, at: usize, name: String },
    #[error("{name} waits for itself, by way of the steps it depends on")]
    Cycle { step: usize, name: String },
}

impl GraphFault {
    /// The field that is wrong.
    pub fn field(&self) -> String {
        match self {
            Self::Empty | Self::TooMany => "steps".to_owned(),
            Self::Name { step } | Self::Twice { step, .. } => format!("steps[{step}].name"),
            Self::Unknown { step, at, .. } => format!("steps[{step}].depends_on[{at}]"),
            Self::Cycle { step, .. } => format!("steps[{step}].depends_on"),
        }
    }
}

/// Whether these steps can be run at all, each after those it depends on.
pub fn check(steps: &[Step]) -> Result<(), GraphFault> {
    if steps.is_empty() {
        return Err(GraphFault::Empty);
    }
    if steps.len() > MOST_STEPS {
        return Err(GraphFault::TooMany);
    }
    let mut places = HashMap::new();
    for (step, each) in steps.iter().enumerate() {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if each.name.is_empty() || each.name.len() > 64 || !each.name.chars().all(plain) {
            return Err(GraphFault::Name { step });
        }
        if places.insert(each.name.as_str(), step).is_some() {
            return Err(GraphFault::Twice { step, name: each.name.clone() });
        }
    }
    for (step, each) in steps.iter().enumerate() {
        for (at, name) in each.depends_on.iter().enumerate() {
            if !places.contains_key(name.as_str()) {
                return Err(GraphFault::Unknown { step, at, name: name.clone() });
            }
        }
    }
    // Whatever is left when nothing can be taken away any more is in a cycle, or behind one.
    let mut left: BTreeSet<usize> = (0..steps.len()).collect();
    while !left.is_empty() {
        let free: Vec<usize> = left
            .iter()
            .copied()
            .filter(|step| {
                steps[*step].depends_on.iter().all(|name| !left.contains(&places[name.as_str()]))
            })
            .collect();
        if free.is_empty() {
            let step = left.first().copied().unwrap_or_default();
            return Err(GraphFault::Cycle { step, name: steps[step].name.clone() });
        }
        for step in free {
            left.remove(&step);
        }
    }
    Ok(())
}

/// The steps that these names mean together with all that depends on them.
pub fn with_dependents<'a>(steps: &'a [Step], names: &[String]) -> HashSet<&'a str> {
    let mut found: HashSet<&str> = steps
        .iter()
        .map(|step| step.name.as_str())
        .filter(|name| names.iter().any(|wanted| wanted == name))
        .collect();
    loop {
        let more: Vec<&str> = steps
            .iter()
            .filter(|step| !found.contains(step.name.as_str()))
            .filter(|step| step.depends_on.iter().any(|name| found.contains(name.as_str())))
            .map(|step| step.name.as_str())
            .collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

/// Where a step stands, as far as those that depend on it care.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stage {
    Waiting,
    /// It is not over.
    Underway,
    Succeeded,
    /// It ended in another way.
    Failed,
    Skipped,
}

/// A step with its stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing<'a> {
    pub name: &'a str,
    pub depends_on: &'a [String],
    pub when: Condition,
    pub stage: Stage,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// These may begin, and these never will; the rest waits.
    Going { ready: Vec<usize>, skipped: Vec<usize> },
    /// Nothing is left to wait for; these never began.
    Over { skipped: Vec<usize>, state: WorkflowState },
}

/// What follows from where the steps stand.
pub fn progress(steps: &[Standing<'_>]) -> Progress {
    let mut stages: HashMap<&str, Stage> =
        steps.iter().map(|step| (step.name, step.stage)).collect();
    let (mut ready, mut skipped) = (Vec::new(), Vec::new());
    loop {
        let mut changed = false;
        for (at, step) in steps.iter().enumerate() {
            if stages.get(step.name) != Some(&Stage::Waiting) {
                continue;
            }
            match turn(step, &stages) {
                Turn::Wait => {}
                Turn::Go => {
                    stages.insert(step.name, Stage::Underway);
                    ready.push(at);
                    changed = true;
                }
                Turn::Skip => {
                    stages.insert(step.name, Stage::Skipped);
                    skipped.push(at);
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    if stages.values().any(|stage| matches!(stage, Stage::Waiting | Stage::Underway)) {
        return Progress::Going { ready, skipped };
    }
    // A failure that another step was there to handle does not fail the whole.
    let handled = |failed: &str| {
        steps.iter().any(|step| {
            step.when != Condition::AllSucceeded
                && step.depends_on.iter().any(|name| name == failed)
                && stages.get(step.name) == Some(&Stage::Succeeded)
        })
    };
    let failed = steps
        .iter()
        .any(|step| stages.get(step.name) == Some(&Stage::Failed) && !handled(step.name));
    let state = if failed { WorkflowState::Failed } else { WorkflowState::Succeeded };
    Progress::Over { skipped, state }
}

enum Turn {
    Wait,
    Go,
    Skip,
}

fn turn(step: &Standing<'_>, stages: &HashMap<&str, Stage>) -> Turn {
    let before: Vec<Stage> = step
        .depends_on
        .iter()
        .map(|name| stages.get(name.as_str()).copied().unwrap_or(Stage::Skipped))
        .collect();
    let pending = before.iter().any(|stage| matches!(stage, Stage::Waiting | Stage::Underway));
    match step.when {
        Condition::AllSucceeded => {
            if before.iter().any(|stage| matches!(stage, Stage::Failed | Stage::Skipped)) {
                Turn::Skip
            } else if pending {
                Turn::Wait
            } else {
                Turn::Go
            }
        }
        Condition::AnyFailed if before.contains(&Stage::Failed) => Turn::Go,
        Condition::AnyFailed if pending => Turn::Wait,
        Condition::AnyFailed => Turn::Skip,
        Condition::Always if pending => Turn::Wait,
        Condition::Always => Turn::Go,
    }
}

#[cfg(test)]
mod tests;
