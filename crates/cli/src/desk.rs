//! Tasks of a server, asked for on this host: by the host's own files, as a run is.
//!
//! A task is judged here by the same code as in the server ([`admit`]), but by this host's file. What it wants then speaks as flags do, and
//! what its role begins with as variables do; the project's own file counts as it does for a run. A project's root may be
//! mounted from. Its allowed paths count where the host file names none; where it does, a path must be allowed by both. A role of the same name in the
//! host file holds beside the server's.

use std::path::{Path, PathBuf};

use cofferdam_core::command::Approval;
use cofferdam_core::config::{Anchor, Key, Layer, Resolved, Settings};
use cofferdam_core::control::admission::{admit, let_in, terms};
use cofferdam_core::paths::{Arg, ExactPath};
use cofferdam_core::plan::Guarded;
use cofferdam_core::refusal::Refusal;
use cofferdam_core::result::ResultRule;
use cofferdam_core::spec::{Purpose, Terminal};
use cofferdam_sandbox::request::{Ask, Request, assemble};
use cofferdam_server::runner::{Desk, Order};

use crate::asking::{Turned, passed, places};
use crate::commands::image::on_demand;
use crate::context::Context;
use crate::settings::{Files, LoadError, Typed, host_entries, real};

/// This host, as a runner asks it.
#[derive(Debug)]
pub(crate) struct HostDesk {
    pub(crate) context: Context,
}

impl Desk for HostDesk {
    fn request(&self, order: &Order<'_>) -> Result<Request, Refusal> {
        self.asked(order).map_err(|turned| turned.refusal)
    }
}

impl HostDesk {
    fn asked(&self, order: &Order<'_>) -> Result<Request, Box<Turned>> {
        let context = &self.context;
        let workspace = real(order.workspace).map_err(LoadError::from)?;
        let anchor =
            Anchor { base: &context.config_dir, home: &context.home, workspace: &workspace };
        let host = host_entries(context, &anchor)?;
        let admitted = admit(&host, order.role, order.task)?;
        let wants = terms(order.role, order.task)?;
        // Relative paths of a task start where it works, those of mounts at the project's root.
        let wants = match order.root {
            Some(root) => wants.rooted(root),
            None => wants,
        };
        let typed = Typed { base: &workspace, variables: wants.begins, flags: wants.said };
        let resolved = Files::read(context, &workspace)?.join(context, typed);
        let resolved = resolved.map_err(|error| match error {
            LoadError::Refused(refusal) => LoadError::Refused(admitted.named(refusal)),
            error => error,
        })?;
        // The project's own file may pass variables, too.
        let_in(&host, &resolved).map_err(|refusal| admitted.named(refusal))?;
        let mut settings = resolved.settings();
        settings.policy.allowed_paths = allowed(&settings, &resolved, order);
        if settings.images.auto_build
            && settings.sandbox.enabled
            && settings.sandbox.image.is_none()
        {
            on_demand::build_for_task(&settings, &workspace, order.task.execution_mode, context)?;
        }
        let workdir = order.task.sandbox.as_ref().and_then(|block| block.workdir.as_ref());
        let ask = Ask {
            purpose: Purpose::Command,
            command: order.command.iter().map(|word| Arg(word.into())).collect(),
            workspace,
            workdir: workdir.map(|dir| ExactPath(dir.into())),
            terminal: Terminal::Streams,
            role: None,
            result: order.task.result.then(ResultRule::default),
            approval: match order.approval {
                Some(_) => Approval::Reviewed,
                None => Approval::Asked,
            },
            from: None,
            explicit: resolved.explicit(),
            host_env: context.place().collect(),
            passed: passed(context, &settings)?,
            homes: context.tool_homes(),
            places: places(context),
        };
        let mut request = assemble(&settings, ask)?;
        past_no_review(order, &request)?;
        if let Some(role) = order.role {
            let roles = &mut request.policy.roles;
            let here = roles.remove(&role.name).unwrap_or_default();
            roles.insert(role.name.clone(), here.stricter(wants.ceiling));
            request.spec.role = Some(role.name.clone());
        }
        Ok(request)
    }
}

/// A project's tree is allowed as the source of mounts wherever a task works, and is staged there all the same.
fn past_no_review(order: &Order<'_>, request: &Request) -> Result<(), Refusal> {
    let Some(root) = order.root else { return Ok(()) };
    let tree = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let mode = order.task.execution_mode.writes();
    let tree = Guarded { name: "the project", tree: &tree, mode, blocked: &request.spec.blocked };
    request.spec.mounts.iter().try_for_each(|mount| tree.check(mount))
}

/// What may be mounted beside the workspace. The project's root is one of them, as where it is the workspace: unless the
/// host file says what is.
fn allowed(settings: &Settings, resolved: &Resolved, order: &Order<'_>) -> Vec<ExactPath> {
    let host = &settings.policy.allowed_paths;
    let is_of_host = |key: Key| resolved.get(key).1.layer == Layer::Host;
    let root = order.root.filter(|_| !is_of_host(Key::PolicyRoot));
    let root = root.map(|root| ExactPath(root.to_owned()));
    let project: Vec<PathBuf> = order.allowed.iter().map(PathBuf::from).collect();
    if !is_of_host(Key::PolicyAllowedPaths) {
        return root.into_iter().chain(project.into_iter().map(ExactPath)).collect();
    }
    let known = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let both = |inner: &Path, outer: &Path| known(inner).starts_with(known(outer));
    let narrow = project.iter().filter(|path| host.iter().any(|outer| both(path, outer)));
    let wide = host.iter().filter(|path| project.iter().any(|outer| both(path, outer)));
    root.into_iter().chain(narrow.cloned().map(ExactPath)).chain(wide.cloned()).collect()
}

#[cfg(test)]
mod tests {
    use cofferdam_core::control::task::NewTask;
    use cofferdam_core::refusal::Rule;
    use serde_json::{Value, json};

    use super::*;
    use crate::context::Whereabouts;
    use crate::settings::project::ProjectFile;
    use crate::settings::trust::TrustStore;

    /// A host of its own, with `PGPASSWORD` and `COFFERDAM_DATABASE` in its environment.
    fn desk(dir: &Path, host_file: &str) -> HostDesk {
        let mut context = Context::from_environment(Whereabouts::Indifferent).unwrap();
        context.home = dir.join("home");
        context.config_dir = dir.join("config");
        context.state_dir = dir.join("state");
        for made in [&context.home, &context.config_dir, &context.state_dir] {
            std::fs::create_dir_all(made).unwrap();
        }
        std::fs::write(context.config_dir.join("config.yaml"), host_file).unwrap();
        for name in ["PGPASSWORD", "COFFERDAM_DATABASE"] {
            context.variables.push((name.into(), "s3cr3t".into()));
        }
        HostDesk { context }
    }

    fn refused(desk: &HostDesk, workspace: &Path, settings: Value) -> Option<Rule> {
        let task =
            json!({"execution_mode": "no-workspace", "command": ["true"], "settings": settings});
        let task: NewTask = serde_json::from_value(task).unwrap();
        let workspace = workspace.to_owned();
        let order = Order {
            task: &task,
            role: None,
            command: &task.command,
            workspace: &workspace,
            root: None,
            allowed: &[],
            approval: None,
        };
        desk.request(&order).err().map(|refusal| refusal.rule)
    }

    #[test]
    fn a_task_is_given_only_variables_that_this_hosts_owner_named() {
        let pass = |name: &str| json!({"sandbox.env_passthrough": [name]});
        for (host, name, expected) in [
            ("", "PGPASSWORD", Some(Rule::EnvAllowed)),
            ("policy: {env: [PGPASSWORD]}", "PGPASSWORD", None),
            ("policy: {env: ['*']}", "PGPASSWORD", None),
            ("policy: {env: ['*']}", "COFFERDAM_DATABASE", Some(Rule::EnvAllowed)),
        ] {
            let dir = tempfile::tempdir().unwrap();
            let workspace = dir.path().join("work");
            std::fs::create_dir(&workspace).unwrap();
            let desk = desk(dir.path(), host);
            assert_eq!(refused(&desk, &workspace, pass(name)), expected, "{host} {name}");
        }
    }

    #[test]
    fn nor_does_a_trusted_projects_file_let_any_in() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = dir.path().canonicalize().unwrap().join("work");
        std::fs::create_dir(&workspace).unwrap();
        let file = "sandbox: {env_passthrough: [PGPASSWORD]}";
        std::fs::write(workspace.join("cofferdam.yaml"), file).unwrap();
        let desk = desk(dir.path(), "");
        let found = ProjectFile::find(&workspace, &desk.context.home).unwrap().unwrap();
        TrustStore::beneath(&desk.context.state_dir).accept(&found).unwrap();
        assert_eq!(refused(&desk, &workspace, json!({})), Some(Rule::EnvAllowed));
    }
}
