//! Which variables of a host a task may be given: those that the host owner named, and never Cofferdam's own.
//!
//! What `policy.env` is by default was made for people who pass their own variables to their own commands. Whoever sends a task asks
//! for somebody else's: those of the server's or the runner's process, with a database's password among them.

use crate::config::{Entries, Key, Resolved, Value};
use crate::env::EnvName;
use crate::policy;
use crate::refusal::{Refusal, Rule};

/// Whether every host variable that would be passed in may be, by what stands in the host file itself.
pub fn let_in(host: &Entries, resolved: &Resolved) -> Result<(), Refusal> {
    let named = match host.get(Key::PolicyEnv) {
        Some((Value::Texts(patterns), _)) => patterns.as_slice(),
        _ => &[],
    };
    let passed = resolved.settings().sandbox.env_passthrough;
    passed.iter().try_for_each(|name| one(named, name))
}

fn one(named: &[String], name: &EnvName) -> Result<(), Refusal> {
    let refuse = |message: String, remedy: String| Refusal {
        rule: Rule::EnvAllowed,
        field: Key::SandboxEnvPassthrough.name().to_owned(),
        message,
        remedy,
    };
    if name.as_str().starts_with("COFFERDAM_") {
        let message = format!("{name} is Cofferdam's own, and no task is given it");
        return Err(refuse(message, "leave it out, or set another variable".to_owned()));
    }
    policy::let_in(named, name).map_err(|_| {
        refuse(
            format!("host policy does not let {name} into tasks"),
            format!(
                "the host owner has to name it in the host file, of the server and of the runner: policy.env: [{name}]"
            ),
        )
    })
}
