//! What is better, and what is not allowed at all.

use std::fmt;
use std::str::FromStr;

use crate::result::Metrics;

/// The number that is to be as large, or as small, as can be.
#[derive(Debug, Clone, PartialEq)]
pub struct Objective {
    pub metric: String,
    pub goal: Goal,
    /// Where it is reached the loop ends.
    pub target: Option<f64>,
    /// How much better a candidate must be to take the champion's place.
    pub min_gain: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    Max,
    Min,
}

impl Objective {
    /// Whether `value` is better than what stands. By more than the least gain, so that noise and rounding
    /// take nobody's place.
    pub fn is_better(&self, value: f64, standing: f64) -> bool {
        match self.goal {
            Goal::Max => value > standing + self.min_gain,
            Goal::Min => value < standing - self.min_gain,
        }
    }

    pub fn is_reached(&self, value: f64) -> bool {
        self.target.is_some_and(|target| match self.goal {
            Goal::Max => value >= target,
            Goal::Min => value <= target,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write max or min")]
pub struct NotAGoal;

impl FromStr for Goal {
    type Err = NotAGoal;

    fn from_str(text: &str) -> Result<Self, NotAGoal> {
        match text {
            "max" => Ok(Self::Max),
            "min" => Ok(Self::Min),
            _ => Err(NotAGoal),
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Max => "max",
            Self::Min => "min",
        })
    }
}

/// `drawdown <= 0.2`: a candidate that does not meet it cannot win.
#[derive(Debug, Clone, PartialEq)]
pub struct Constraint {
    pub metric: String,
    relation: Relation,
    bound: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    AtMost,
    Below,
    AtLeast,
    Above,
    Equal,
}

/// Longer signs first: `<=` begins with `<`.
const SIGNS: [(&str, Relation); 5] = [
    ("<=", Relation::AtMost),
    (">=", Relation::AtLeast),
    ("==", Relation::Equal),
    ("<", Relation::Below),
    (">", Relation::Above),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write NAME, one of <= < >= > ==, and a number")]
pub struct NotAConstraint;

impl Constraint {
    /// A number that is missing meets nothing.
    pub fn is_met(&self, metrics: &Metrics) -> bool {
        metrics.get(&self.metric).is_some_and(|value| match self.relation {
            Relation::AtMost => *value <= self.bound,
            Relation::Below => *value < self.bound,
            Relation::AtLeast => *value >= self.bound,
            Relation::Above => *value > self.bound,
            // Counts are what is compared so, and they come out exactly.
            Relation::Equal => value.total_cmp(&self.bound).is_eq(),
        })
    }
}

impl FromStr for Constraint {
    type Err = NotAConstraint;

    fn from_str(text: &str) -> Result<Self, NotAConstraint> {
        let (sign, relation) =
            *SIGNS.iter().find(|(sign, _)| text.contains(sign)).ok_or(NotAConstraint)?;
        let (metric, bound) = text.split_once(sign).ok_or(NotAConstraint)?;
        let (metric, bound) = (metric.trim().to_owned(), bound.trim());
        let bound: f64 =
            bound.parse().ok().filter(|b: &f64| b.is_finite()).ok_or(NotAConstraint)?;
        if metric.is_empty() {
            return Err(NotAConstraint);
        }
        // Zero is zero, whatever its sign.
        Ok(Self { metric, relation, bound: bound + 0.0 })
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = SIGNS.iter().find(|(_, relation)| *relation == self.relation).map(|(s, _)| *s);
        write!(f, "{} {} {}", self.metric, sign.unwrap_or_default(), self.bound)
    }
}
