//! The part of a plan that a sandbox is made of, apart from what is then run in it.

use serde::{Deserialize, Serialize};

use super::Plan;
use crate::command::CommandRules;
use crate::spec::{Purpose, Terminal};

/// A plan without its command, environment, working directory and terminal. A sandbox that was prepared
/// for one profile may serve every plan of that same profile, and no other. Compared by value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Profile(Plan);

impl Profile {
    pub fn of(plan: &Plan) -> Self {
        // Field by field: whoever adds one to the plan has to decide here what it is part of.
        let Plan {
            version,
            backend,
            purpose: _,
            command: _,
            workdir: _,
            workspace,
            repository,
            from,
            result,
            root,
            mounts,
            toolchains,
            tmpfs,
            blocked,
            env: _,
            network,
            allow_hosts,
            limits,
            seccomp,
            proof,
            runtime,
            terminal: _,
            commands: _,
            relaxed,
            overrides,
        } = plan.clone();
        Self(Plan {
            version,
            backend,
            purpose: Purpose::Command,
            command: Vec::new(),
            workdir: "/".into(),
            workspace,
            repository,
            from,
            result,
            root,
            mounts,
            toolchains,
            tmpfs,
            blocked,
            env: std::collections::BTreeMap::new(),
            network,
            allow_hosts,
            limits,
            seccomp,
            proof,
            runtime,
            terminal: Terminal::Streams,
            commands: CommandRules::default(),
            relaxed,
            overrides,
        })
    }

    /// As a plan that runs nothing.
    pub fn plan(&self) -> &Plan {
        &self.0
    }
}
