//! What may be asked for: a task judged before anything is taken for it.
//!
//! [`form`] looks at the task alone, [`admit`] holds what it asks for against host, project and role, and gives the
//! settings that it would run with; [`Admitted::mounts`] are to be looked up on the host and held against a
//! [`MountPolicy`](crate::policy::MountPolicy). All of it is asked when a task is made, when it is dispatched, when a
//! runner claims it, and by the runner itself. Facts about the host, such as where a link leads, come in as values.

mod form;
mod role;
mod said;
mod variables;

pub use form::{form, name};
pub use role::check as check_role;
pub use variables::let_in;

use std::collections::BTreeMap;
use std::path::Path;

use super::overview::EffectiveRule;
use super::role::Role;
use super::task::{ExecutionMode, NewTask};
use crate::backend::BackendChoice;
use crate::config::{
    Anchor, Entries, Key, Layer, Layers, Origin, Resolved, SandboxSettings, Trust, Value, resolve,
};
use crate::mount::MountRequest;
use crate::paths::ExactPath;
use crate::plan;
use crate::policy::{self, Ceiling};
use crate::refusal::{Refusal, Rule};
use crate::spec::{Limits, Mode};
use crate::stamp::Stamp;

/// A task that may be run, as far as this can be told without looking at the host's files.
#[derive(Debug, Clone)]
pub struct Admitted {
    /// Every setting with the value that stands, and whose it is.
    pub resolved: Resolved,
    /// The role's, without what was overridden with a reason, and that of the role of its name in the host file.
    pub ceiling: Ceiling,
    /// The fields of the task that settings were read from.
    fields: BTreeMap<Key, String>,
    /// How many mounts stand before those that the task names.
    before: usize,
}

/// What a task and its role say, not yet held against any host.
#[derive(Debug, Clone)]
pub struct Terms {
    /// What its role lets it begin with.
    pub begins: Entries,
    pub said: Entries,
    /// The role's, without what was overridden with a reason.
    pub ceiling: Ceiling,
    /// The fields of the task that settings were read from.
    fields: BTreeMap<Key, String>,
}

/// Reads a task and its role.
pub fn terms(role: Option<&Role>, task: &NewTask) -> Result<Terms, Refusal> {
    form(task)?;
    let (mut ceiling, begins) = match role {
        None => (Ceiling::default(), Entries::default()),
        Some(role) => (role::ceiling(role)?, role::settings(role)?),
    };
    let said = said::of(task)?;
    for (at, each) in task.overrides.iter().enumerate() {
        role::lift(role, &mut ceiling, &format!("overrides[{at}].setting"), &each.setting)?;
    }
    Ok(Terms { begins, said: said.entries, ceiling, fields: said.fields })
}

impl Terms {
    /// With mounts that start at the project's root, as they are judged where the task is asked for.
    pub fn rooted(mut self, root: &Path) -> Self {
        Anchor::mounts_in(root, &mut self.begins);
        Anchor::mounts_in(root, &mut self.said);
        self
    }
}

/// Holds a task against the host's settings and its role.
pub fn admit(host: &Entries, role: Option<&Role>, task: &NewTask) -> Result<Admitted, Refusal> {
    let Terms { begins, said, ceiling, fields } = terms(role, task)?;
    let own = match said.get(Key::SandboxMounts) {
        Some((Value::Mounts(mounts), _)) => mounts.len(),
        _ => 0,
    };
    let layers = Layers {
        host: host.clone(),
        project: begins,
        trust: Trust::Trusted,
        flags: said,
        ..Layers::default()
    };
    let named = |refusal| named(&fields, refusal);
    let resolved = resolve(layers).map_err(named)?;
    let settings = resolved.settings();
    let sandbox = &settings.sandbox;
    // A role of the same name in the host file holds beside this one, and no override lifts it.
    let here = role.and_then(|role| settings.policy.roles.get(&role.name)).map(Ceiling::from);
    let ceiling = ceiling.stricter(here.unwrap_or_default());
    ceiling.check(&limits(sandbox), sandbox.network, sandbox.mode).map_err(named)?;
    policy::wide_enough(settings.policy.network, sandbox.network).map_err(named)?;
    policy::may_relax(&settings.policy.relax, &sandbox.relax).map_err(named)?;
    let_in(host, &resolved).map_err(named)?;
    confined(task, &resolved).map_err(named)?;
    let before = sandbox.mounts.len().saturating_sub(own);
    let admitted = Admitted { resolved, ceiling, fields, before };
    admitted.placed(task)?;
    Ok(admitted)
}

fn limits(sandbox: &SandboxSettings) -> Limits {
    Limits {
        memory: sandbox.memory_limit,
        cpus: sandbox.cpu_limit,
        pids: sandbox.pids_limit,
        timeout: sandbox.timeout,
        idle_timeout: sandbox.idle_timeout,
        stop_grace: sandbox.stop_grace,
        output: sandbox.output_limit,
        disk_reserve: sandbox.disk_reserve,
    }
}

/// Whether there is time left to begin it.
pub fn in_time(task: &NewTask, now: Stamp) -> Result<(), Refusal> {
    match task.deadline {
        Some(deadline) if deadline <= now => Err(wrong(
            "deadline",
            format!("it was over at {deadline}, and nothing begins after its deadline"),
            "ask for a new task with a later one, or with none",
        )),
        _ => Ok(()),
    }
}

/// What holds before any task says anything: every setting, and the bounds of the role.
pub fn standing(host: &Entries, role: Option<&Role>) -> Result<Vec<EffectiveRule>, Refusal> {
    let begins = role.map_or(Ok(Entries::default()), role::settings)?;
    let layers =
        Layers { host: host.clone(), project: begins, trust: Trust::Trusted, ..Layers::default() };
    let resolved = resolve(layers)?;
    let whose = |origin: &Origin| match (origin.layer, role) {
        (Layer::Flag, Some(role)) => format!("role {}", role.name),
        _ => origin.to_string(),
    };
    let mut rules: Vec<EffectiveRule> = resolved
        .iter()
        .map(|(key, value, origin)| EffectiveRule {
            key: key.name().to_owned(),
            // What is said of it where nobody set it holds for those who run commands of their own.
            value: match key {
                Key::PolicyEnv if origin.layer != Layer::Host => serde_json::json!([]),
                _ => value.to_json(),
            },
            origin: whose(origin),
        })
        .collect();
    if let Some(role) = role {
        rules.extend(role.ceiling.iter().map(|(name, value)| EffectiveRule {
            key: format!("ceiling.{name}"),
            value: value.clone(),
            origin: format!("role {}", role.name),
        }));
    }
    Ok(rules)
}

impl Admitted {
    pub fn mounts(&self) -> Vec<MountRequest> {
        self.resolved.settings().sandbox.mounts
    }

    /// A refusal about one part of a mount, with the field of the task that has it.
    pub fn named_mount(&self, at: usize, part: &str, refusal: Refusal) -> Refusal {
        let field = match at.checked_sub(self.before) {
            Some(own) => format!("{}[{own}].{part}", self.named(refusal.clone()).field),
            // The role or the host file has it.
            None => format!("{}[{at}].{part}", refusal.field),
        };
        Refusal { field, ..refusal }
    }

    /// Where its command would begin and its mounts would stand, by the rules of the plan that is made of it.
    fn placed(&self, task: &NewTask) -> Result<(), Refusal> {
        let workdir = task.sandbox.as_ref().and_then(|block| block.workdir.as_ref());
        let workdir = workdir.map(|dir| ExactPath(dir.into()));
        plan::workdir(workdir.as_ref(), Path::new(plan::WORKSPACE))
            .map_err(|refusal| Refusal { field: "sandbox.workdir".to_owned(), ..refusal })?;
        let mounts = self.mounts();
        for (at, mount) in mounts.iter().enumerate() {
            plan::mount_target(&mount.target, mounts[..at].iter().map(|other| &other.target))
                .map_err(|refusal| self.named_mount(at, "target", refusal))?;
        }
        Ok(())
    }

    /// A refusal with the field of the task that it is about.
    pub fn named(&self, refusal: Refusal) -> Refusal {
        named(&self.fields, refusal)
    }
}

/// Every mode runs confined, and `docker-sandbox` in a container.
fn confined(task: &NewTask, resolved: &Resolved) -> Result<(), Refusal> {
    let settings = resolved.settings().sandbox;
    let container = task.execution_mode == ExecutionMode::DockerSandbox;
    if settings.mode == Mode::Direct && task.execution_mode != ExecutionMode::SharedWorkspace {
        return Err(Refusal {
            rule: Rule::Consistent,
            field: Key::SandboxMode.name().to_owned(),
            message: "only execution_mode shared-workspace works on the files themselves"
                .to_owned(),
            remedy: "set sandbox.mode to stage, or use execution_mode shared-workspace".to_owned(),
        });
    }
    let refuse = |message: &str, remedy: &str| {
        Err(Refusal {
            rule: Rule::Consistent,
            field: Key::SandboxBackend.name().to_owned(),
            message: message.to_owned(),
            remedy: remedy.to_owned(),
        })
    };
    match settings.backend {
        _ if !settings.enabled => refuse(
            "the host runs commands without a sandbox",
            "set sandbox.enabled in the host file",
        ),
        BackendChoice::Local => {
            refuse("a task always runs in a sandbox", "leave the backend out, or choose another")
        }
        BackendChoice::Native if container => refuse(
            "execution_mode docker-sandbox runs in a container",
            "choose docker or podman, or another execution mode",
        ),
        _ => Ok(()),
    }
}

fn named(fields: &BTreeMap<Key, String>, refusal: Refusal) -> Refusal {
    let field = Key::named(&refusal.field).and_then(|key| fields.get(&key)).cloned();
    Refusal { field: field.unwrap_or_else(|| refusal.field.clone()), ..refusal }
}

fn wrong(field: &str, message: impl Into<String>, remedy: &str) -> Refusal {
    Refusal {
        rule: Rule::ValueForm,
        field: field.to_owned(),
        message: message.into(),
        remedy: remedy.to_owned(),
    }
}

#[cfg(test)]
mod tests;
