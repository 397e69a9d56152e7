//! Bounds that whoever asks must stay within: the role's ceiling, the widest network, the variables that are let in.
//!
//! A plan is held against them where it is made, and a task of the control plane already when it is asked for.

use std::collections::BTreeSet;

use super::{Ceiling, matches_glob};
use crate::env::EnvName;
use crate::refusal::{Refusal, Rule};
use crate::spec::{Limits, Mode, Network, Relax};

fn refuse(rule: Rule, field: &str, message: String, remedy: &str) -> Refusal {
    Refusal { rule, field: field.to_owned(), message, remedy: remedy.to_owned() }
}

impl Ceiling {
    /// Whether what is asked for is no more than the role may have.
    pub fn check(&self, limits: &Limits, network: Network, mode: Mode) -> Result<(), Refusal> {
        let over = |field: &str, asked: String, most: String| {
            refuse(
                Rule::Ceiling,
                field,
                format!("{asked} is more than the role's ceiling of {most}"),
                "ask for less, or raise the role's ceiling in the host file",
            )
        };
        if let Some(most) = self.memory.filter(|most| limits.memory > *most) {
            return Err(over("sandbox.memory_limit", limits.memory.to_string(), most.to_string()));
        }
        if let Some(most) = self.cpus.filter(|most| limits.cpus > *most) {
            return Err(over("sandbox.cpu_limit", limits.cpus.to_string(), most.to_string()));
        }
        if let Some(most) = self.pids.filter(|most| limits.pids > *most) {
            return Err(over("sandbox.pids_limit", limits.pids.to_string(), most.to_string()));
        }
        if let Some(most) = self.timeout.filter(|most| limits.timeout > *most) {
            return Err(over("sandbox.timeout", limits.timeout.to_string(), most.to_string()));
        }
        if let Some(most) = self.network.filter(|most| network < *most) {
            return Err(over("sandbox.network", network.to_string(), most.to_string()));
        }
        if let Some(most) = self.mode.filter(|most| mode < *most) {
            return Err(over("sandbox.mode", mode.to_string(), most.to_string()));
        }
        Ok(())
    }
}

/// Whether a network is no wider than the widest that host policy allows.
pub fn wide_enough(widest: Network, asked: Network) -> Result<(), Refusal> {
    if asked >= widest {
        return Ok(());
    }
    Err(refuse(
        Rule::NetworkAllowed,
        "sandbox.network",
        format!("network {asked} is wider than host policy allows ({widest})"),
        "set policy.network in the host file to the widest network that a run may ask for",
    ))
}

/// Whether a host variable of this name may be passed in.
pub fn let_in(patterns: &[String], name: &EnvName) -> Result<(), Refusal> {
    if patterns.iter().any(|pattern| matches_glob(pattern, name.as_str())) {
        return Ok(());
    }
    Err(refuse(
        Rule::EnvAllowed,
        "sandbox.env_passthrough",
        format!("host policy does not let {name} in"),
        "add the name to policy.env in the host file",
    ))
}

/// Whether host policy permits to do without these.
pub fn may_relax(permitted: &BTreeSet<Relax>, asked: &BTreeSet<Relax>) -> Result<(), Refusal> {
    match asked.difference(permitted).next() {
        None => Ok(()),
        Some(name) => Err(refuse(
            Rule::RelaxAllowed,
            "sandbox.relax",
            format!("host policy does not permit relaxing {name}"),
            "add it to policy.relax in the host file",
        )),
    }
}
