//! One command of a session: what is asked for, and the session's plan narrowed down to it.
//!
//! A command may have less time and less kept output than the session gives each, never more. Memory,
//! processors and processes are held for the whole sandbox, so that they cannot be asked for here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Plan, rules, workdir};
use crate::command::Approval;
use crate::env::{EnvName, EnvValue};
use crate::paths::{Arg, ExactPath};
use crate::quantity::{ByteSize, Span};
use crate::refusal::{Refusal, Rule};
use crate::spec::Purpose;

/// A command for a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExecSpec {
    pub command: Vec<Arg>,
    /// Added to the session's own.
    pub env: BTreeMap<EnvName, String>,
    /// Relative to the workspace, or absolute inside the sandbox.
    pub workdir: Option<ExactPath>,
    pub timeout: Option<Span>,
    pub idle_timeout: Option<Span>,
    pub output_limit: Option<ByteSize>,
    /// Limits that somebody wanted for this command alone, by their settings' names. There are none such.
    pub limits: Vec<String>,
    /// Whether somebody has said yes to it, where it needs that.
    #[serde(skip_serializing_if = "Approval::is_asked")]
    pub approval: Approval,
}

impl ExecSpec {
    /// What is to be done, as a plan of the session's profile.
    pub fn plan(&self, session: &Plan) -> Result<Plan, Refusal> {
        rules::program(&self.command)?;
        if let Some(name) = self.limits.first() {
            return Err(Refusal {
                rule: Rule::Consistent,
                field: name.clone(),
                message: "all commands of a session share this limit".to_owned(),
                remedy:
                    "set it when the session is started, or use `cofferdam run` for this command"
                        .to_owned(),
            });
        }
        let mut limits = session.limits.clone();
        limits.timeout =
            tightened("timeout", self.timeout, Some(limits.timeout))?.unwrap_or(limits.timeout);
        limits.idle_timeout = tightened("idle_timeout", self.idle_timeout, limits.idle_timeout)?;
        limits.output = tightened("output_limit", self.output_limit, Some(limits.output))?
            .unwrap_or(limits.output);
        let mut env = session.env.clone();
        env.extend(
            self.env.iter().map(|(name, value)| (name.clone(), EnvValue::literal(name, value))),
        );
        for (name, value) in &self.env {
            if value.contains('\0') {
                return Err(Refusal {
                    rule: Rule::ValueForm,
                    field: "env".to_owned(),
                    message: format!("the value of {name} holds a NUL byte"),
                    remedy: "no program can be given one; leave it out".to_owned(),
                });
            }
        }
        let workdir = match &self.workdir {
            None => session.workdir.clone(),
            asked => workdir(asked.as_ref(), &session.workspace.target)?,
        };
        let command = self.command.clone();
        Ok(Plan { purpose: Purpose::Command, command, env, workdir, limits, ..session.clone() })
    }
}

/// What was asked for, unless that is more than there is.
fn tightened<T: Ord + Copy + std::fmt::Display>(
    field: &str,
    asked: Option<T>,
    most: Option<T>,
) -> Result<Option<T>, Refusal> {
    match (asked, most) {
        (Some(asked), Some(most)) if asked > most => Err(Refusal {
            rule: Rule::Ceiling,
            field: field.to_owned(),
            message: format!("{asked} is more than the session's {most}"),
            remedy: "ask for less, or start a session with more".to_owned(),
        }),
        (Some(asked), _) => Ok(Some(asked)),
        (None, most) => Ok(most),
    }
}
