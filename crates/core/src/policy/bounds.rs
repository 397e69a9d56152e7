//! Bounds that whoever asks must stay within: the role's ceiling, the widest network, the variables that are let in.
//!
//! A plan is held against them where it is made, and a task of the control plane already when it is asked for.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::{Ceiling, matches_glob};
use crate::config::RoleSettings;
use crate::env::EnvName;
use crate::paths::ExactPath;
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

    /// What both allow.
    pub fn stricter(self, other: Self) -> Self {
        fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
            a.into_iter().chain(b).min()
        }
        // The narrower network and the stricter mode are the greater ones.
        fn most<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
            a.into_iter().chain(b).max()
        }
        let within =
            |path: &PathBuf, outer: &[PathBuf]| outer.iter().any(|top| path.starts_with(top));
        Self {
            memory: least(self.memory, other.memory),
            cpus: least(self.cpus, other.cpus),
            pids: least(self.pids, other.pids),
            timeout: least(self.timeout, other.timeout),
            network: most(self.network, other.network),
            mode: most(self.mode, other.mode),
            allowed_paths: match (self.allowed_paths, other.allowed_paths) {
                (Some(one), Some(two)) => {
                    let inner = one.iter().filter(|path| within(path, &two));
                    let outer = two.iter().filter(|path| within(path, &one));
                    Some(inner.chain(outer).cloned().collect())
                }
                (one, two) => one.or(two),
            },
        }
    }
}

impl From<&RoleSettings> for Ceiling {
    fn from(role: &RoleSettings) -> Self {
        let paths = |paths: &Vec<ExactPath>| paths.iter().map(|path| path.0.clone()).collect();
        Self {
            memory: role.memory_limit,
            cpus: role.cpu_limit,
            pids: role.pids_limit,
            timeout: role.timeout,
            network: role.network,
            mode: role.mode,
            allowed_paths: role.allowed_paths.as_ref().map(paths),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::ByteSize;

    #[test]
    fn of_two_ceilings_the_stricter_holds() {
        let here = Ceiling {
            memory: Some(ByteSize::mib(512)),
            network: Some(Network::Bridge),
            allowed_paths: Some(vec!["/a".into(), "/b/c".into()]),
            ..Ceiling::default()
        };
        let there = Ceiling {
            memory: Some(ByteSize::mib(1024)),
            network: Some(Network::None),
            mode: Some(Mode::Stage),
            allowed_paths: Some(vec!["/a/x".into(), "/b".into(), "/d".into()]),
            ..Ceiling::default()
        };
        let both = here.stricter(there);
        assert_eq!(both.memory, Some(ByteSize::mib(512)));
        assert_eq!(both.network, Some(Network::None));
        assert_eq!(both.mode, Some(Mode::Stage));
        assert_eq!(both.allowed_paths.unwrap(), [PathBuf::from("/b/c"), "/a/x".into()]);
    }
}
