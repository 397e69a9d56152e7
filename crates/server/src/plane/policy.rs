//! What policy says of a task: asked when it is made, when it is dispatched, and when a runner claims it.
//!
//! The decisions are core's. Here the facts are looked up: the project, the role, where paths of this host lead, and what a
//! command would run.

use std::path::{Path, PathBuf};

use cofferdam_core::command::{Approval, CommandPolicy};
use cofferdam_core::config::Key;
use cofferdam_core::control::admission::{self, Admitted};
use cofferdam_core::control::id::ProjectId;
use cofferdam_core::control::overview::EffectiveRule;
use cofferdam_core::control::project::{NewProject, Project};
use cofferdam_core::control::role::Role;
use cofferdam_core::control::task::NewTask;
use cofferdam_core::mount::{HostKind, HostPath, Identity, Mount};
use cofferdam_core::paths::{Arg, clean_absolute};
use cofferdam_core::plan::Guarded;
use cofferdam_core::policy::{Forbidden, MountPolicy};
use cofferdam_core::refusal::{Refusal, Rule};
use cofferdam_core::spec::Mode;
use cofferdam_sandbox::host::look_up;
use cofferdam_sandbox::shell;
use serde_json::json;
use sqlx::AnyConnection;

use super::caller::Caller;
use super::error::PlaneError;
use super::settings::PlaneSettings;
use super::turn::{About, Turn};
use super::{Plane, projects, roles};
use crate::store::to_doc;

/// A yes, and what it rests on.
#[derive(Debug, Clone)]
pub(super) struct Judged {
    pub(super) project: Option<Project>,
    pub(super) role: Option<Role>,
    /// Hash of the rules.
    pub(super) rules: String,
    /// Exceptions that were needed.
    pub(super) overrides: Vec<String>,
    /// Why somebody has to look at the command first, where a rule says so.
    pub(super) look: Option<String>,
}

impl Judged {
    /// Whether the task waits until somebody has said yes to it.
    pub(super) fn needs_yes(&self, asked: &NewTask) -> bool {
        asked.requires_approval || self.look.is_some()
    }
}

impl Plane {
    /// What holds for tasks of a project, in a role, and where each of it comes from.
    pub async fn effective_policy(
        &self,
        caller: &Caller,
        project: ProjectId,
        role: Option<&str>,
    ) -> Result<Vec<EffectiveRule>, PlaneError> {
        let project = self.project(caller, project).await?;
        let mut db = self.inner.store.reader().await?;
        let role = role_of(&mut db, Some(&project), role).await?;
        let rules = admission::standing(&self.inner.settings.host, role.as_ref())?;
        let of_project = |key: &str, value| EffectiveRule {
            key: key.to_owned(),
            value,
            origin: format!("project {}", project.name),
        };
        let own = [
            of_project("project.root_path", json!(project.root_path)),
            of_project("project.allowed_paths", json!(project.allowed_paths)),
            of_project("project.max_running", json!(project.max_running)),
        ];
        Ok(own.into_iter().chain(rules).collect())
    }

    /// Whether a project's places may be given to programs at all.
    pub(super) fn look(&self, asked: &NewProject) -> Result<(), PlaneError> {
        let forbidden = Forbidden::new(&self.inner.settings.places);
        let all = std::iter::once(("root_path".to_owned(), &asked.root_path));
        let more = asked.allowed_paths.iter().enumerate();
        for (field, path) in
            all.chain(more.map(|(at, path)| (format!("allowed_paths[{at}]"), path)))
        {
            let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.into());
            for name in [Path::new(path), &real] {
                if let Some(why) = forbidden.reason(name) {
                    return Err(PlaneError::from(Refusal {
                        rule: Rule::WorkspaceAllowed,
                        field,
                        message: format!("{} cannot be given to tasks: {why}", name.display()),
                        remedy: "name a directory that holds only what the tasks need".to_owned(),
                    }));
                }
            }
        }
        Ok(())
    }
}

/// Whether the caller may ask for something in this project. Unknown and not to be known are the same.
pub(super) fn knows(caller: &Caller, project: Option<ProjectId>) -> Result<(), PlaneError> {
    if caller.sees(project) { Ok(()) } else { Err(no_project()) }
}

/// Whether there is room for another task of a project. Only whoever asks for something new is asked: what goes on by itself, such as
/// the next step of a workflow, is not stopped halfway.
pub(super) fn has_room(turn: &Turn, project: Option<ProjectId>) -> Result<(), PlaneError> {
    let (waiting, most) = (turn.memory.tally.waiting(project), turn.settings.max_waiting);
    if waiting < most { Ok(()) } else { Err(PlaneError::Crowded { waiting, most }) }
}

fn no_project() -> PlaneError {
    PlaneError::field("project", "there is no such project", "name one that you can list")
}

/// Judges what is asked for by the rules as they are now.
pub(super) async fn judge(turn: &mut Turn, asked: &NewTask) -> Result<Judged, PlaneError> {
    let db = turn.db().await?;
    let project = match asked.project {
        None => None,
        Some(id) => match projects::get(db, &id.to_string()).await {
            Err(PlaneError::NotFound(_)) => return Err(no_project()),
            found => Some(found?),
        },
    };
    let role = role_of(db, project.as_ref(), asked.role.as_deref()).await?;
    let admitted = admission::admit(&turn.settings.host, role.as_ref(), asked)?;
    let look = command(&admitted, asked)?;
    let overrides = match &project {
        Some(project) => mounts(&turn.settings, project, asked.execution_mode.writes(), &admitted)?,
        None => homeless(&admitted)?,
    };
    let rules = to_doc(&(&project, &role, &turn.host), "projects")?;
    let rules = blake3::hash(rules.as_bytes()).to_hex().to_string();
    Ok(Judged { project, role, rules, overrides, look })
}

async fn role_of(
    db: &mut AnyConnection,
    project: Option<&Project>,
    asked: Option<&str>,
) -> Result<Option<Role>, PlaneError> {
    let default = project.and_then(|project| project.default_role.as_deref());
    let Some(name) = asked.or(default) else { return Ok(None) };
    let found = roles::named(db, project.map(|project| project.id), name).await?;
    found.map(Some).ok_or_else(|| {
        PlaneError::from(Refusal {
            rule: Rule::RoleKnown,
            field: "role".to_owned(),
            message: format!("no role is called {name:?}"),
            remedy: "use one of the project's roles, or define it".to_owned(),
        })
    })
}

/// Holds the command against the rules for commands that this server knows of. A runner holds it against its own.
fn command(admitted: &Admitted, asked: &NewTask) -> Result<Option<String>, PlaneError> {
    let policy = admitted.resolved.settings().policy.commands;
    if policy.is_silent() {
        return Ok(None);
    }
    let (field, words) = match &asked.sandbox {
        Some(block) => ("sandbox.command", &block.command),
        None => ("command", &asked.command),
    };
    let words: Vec<Arg> = words.iter().map(|word| Arg(word.into())).collect();
    let decision = policy.judge(&shell::argv(&words));
    if let Some(no) = CommandPolicy::refusal(&decision, Approval::Reviewed) {
        return Err(PlaneError::from(Refusal { field: field.to_owned(), ..no }));
    }
    Ok(CommandPolicy::refusal(&decision, Approval::Asked).map(|look| look.message))
}

/// Without a project there is no place that anything could be mounted from.
fn homeless(admitted: &Admitted) -> Result<Vec<String>, PlaneError> {
    if admitted.mounts().is_empty() {
        return Ok(Vec::new());
    }
    Err(PlaneError::from(admitted.named(Refusal {
        rule: Rule::MountAllowed,
        field: Key::SandboxMounts.name().to_owned(),
        message: "a task without a project mounts nothing".to_owned(),
        remedy: "name a project".to_owned(),
    })))
}

/// Every mount by where it really leads; gives the exceptions of the host file that were needed.
fn mounts(
    settings: &PlaneSettings,
    project: &Project,
    mode: Mode,
    admitted: &Admitted,
) -> Result<Vec<String>, PlaneError> {
    let asked = admitted.mounts();
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let root = Path::new(&project.root_path);
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let allowed: Vec<PathBuf> = std::iter::once(&project.root_path)
        .chain(&project.allowed_paths)
        .map(|path| real(Path::new(path)))
        .collect();
    let settled = admitted.resolved.settings();
    let policy = MountPolicy {
        allowed,
        exceptions: settled.policy.exceptions,
        forbidden: Forbidden::new(&settings.places),
    };
    let tree =
        Guarded { name: "the project", tree: &real(root), mode, blocked: &settled.sandbox.blocked };
    let mut used = Vec::new();
    for (at, mount) in asked.into_iter().enumerate() {
        let named = |refusal: Refusal| admitted.named_mount(at, "source", refusal);
        let asked = mount.source_in(root);
        let source = match look_up(&asked) {
            Ok(source) => source,
            // The project is on another host: the runner there follows the links.
            Err(_) if !root.exists() => HostPath {
                asked: asked.clone().into(),
                real: clean_absolute(&asked).unwrap_or(asked).into(),
                kind: HostKind::Directory,
                identity: Identity { device: 0, inode: 0 },
            },
            Err(error) => {
                return Err(PlaneError::from(named(Refusal {
                    rule: Rule::MountSource,
                    field: Key::SandboxMounts.name().to_owned(),
                    message: format!("{error}: {}", error.source),
                    remedy: "a mount source must exist; make it, or leave the mount out".to_owned(),
                })));
            }
        };
        let mount = Mount { source, target: mount.target, access: mount.access };
        if let Some(exception) = policy.check(&mount).map_err(named)? {
            used.push(format!("{}: {}", exception.path.display(), exception.reason));
        }
        tree.check(&mount).map_err(named)?;
        let within = |allowed: &Vec<PathBuf>| {
            allowed.iter().any(|path| mount.source.real.starts_with(real(path)))
        };
        if !admitted.ceiling.allowed_paths.as_ref().is_none_or(within) {
            return Err(PlaneError::from(named(Refusal {
                rule: Rule::Ceiling,
                field: Key::SandboxMounts.name().to_owned(),
                message: format!("the role may not mount {}", mount.source.real.display()),
                remedy: "add the path to the role's allowed_paths".to_owned(),
            })));
        }
    }
    Ok(used)
}

/// Leaves a refusal in the timeline.
pub(super) async fn or_tell(
    turn: &mut Turn,
    asked: &NewTask,
    about: &About,
    actor: &str,
    judged: Result<Judged, PlaneError>,
) -> Result<Judged, PlaneError> {
    if let Err(PlaneError::Refused(refusal)) = &judged {
        let data = json!({
            "rule": refusal.rule, "field": refusal.field, "message": refusal.message, "title": asked.title,
        });
        turn.tell(about, actor, "sandbox.rejected", data).await?;
    }
    judged
}
