//! Projects: what tasks may work in.

use std::path::Path;

use cofferdam_core::control::admission;
use cofferdam_core::control::id::ProjectId;
use cofferdam_core::control::page::{Page, Paging};
use cofferdam_core::control::project::{NewProject, Project};
use cofferdam_core::control::token::Scope;
use cofferdam_core::paths::clean_absolute;
use serde_json::json;
use sqlx::AnyConnection;

use super::caller::Caller;
use super::error::PlaneError;
use super::keys::{IdempotencyKey, Once};
use super::turn::{About, Turn};
use super::{Plane, rows};
use crate::store::{Sql, run, scalar, to_doc};

const NOUN: &str = "project";

impl Plane {
    pub async fn create_project(
        &self,
        caller: &Caller,
        asked: NewProject,
        key: Option<IdempotencyKey>,
    ) -> Result<Project, PlaneError> {
        caller.needs(Scope::Admin)?;
        caller.decides_places()?;
        check(&asked)?;
        self.look(&asked)?;
        let once = Once::new(caller, key, NOUN, &asked)?;
        let caller = caller.clone();
        self.write(move |turn| {
            Box::pin(async move {
                if let Some(id) = once.made(turn).await? {
                    return get(turn.db().await?, &id).await;
                }
                free(turn, &asked.name, None).await?;
                let (millis, random) = turn.id()?;
                let id = ProjectId::from_parts(millis, random);
                let project = built(id, asked, 1, turn);
                let sql = Sql::new(
                    "INSERT INTO projects (id, name, version, doc) VALUES ($1, $2, $3, $4)",
                );
                let sql =
                    sql.text(id).text(&project.name).number(1).text(to_doc(&project, "projects")?);
                run(turn.db().await?, sql).await?;
                once.keep(turn, &id).await?;
                turn.memory.settle(&project);
                turn.tell(&About::project(id), &caller.actor, "project.created", json!(project))
                    .await?;
                Ok(project)
            })
        })
        .await
    }

    pub async fn project(&self, caller: &Caller, id: ProjectId) -> Result<Project, PlaneError> {
        caller.reads()?;
        caller.finds(Some(id), NOUN)?;
        let mut db = self.inner.store.reader().await?;
        get(&mut db, &id.to_string()).await
    }

    pub async fn projects(
        &self,
        caller: &Caller,
        paging: &Paging,
    ) -> Result<Page<Project>, PlaneError> {
        caller.reads()?;
        let sql = Sql::new("SELECT doc FROM projects WHERE 1 = 1");
        let sql = rows::known(sql, caller, " AND id IN ('-'");
        let sql = rows::newest_first(sql, paging)?;
        let mut db = self.inner.store.reader().await?;
        let items = rows::all(&mut db, "projects", sql).await?;
        Ok(rows::page(items, paging, |project: &Project| project.id.to_string()))
    }

    pub async fn replace_project(
        &self,
        caller: &Caller,
        id: ProjectId,
        asked: NewProject,
        if_version: Option<u64>,
    ) -> Result<Project, PlaneError> {
        caller.needs(Scope::Admin)?;
        caller.finds(Some(id), NOUN)?;
        check(&asked)?;
        self.look(&asked)?;
        let caller = caller.clone();
        self.write(move |turn| {
            Box::pin(async move {
                let before = get(turn.db().await?, &id.to_string()).await?;
                rows::same_version(before.version, if_version)?;
                if (&asked.root_path, &asked.allowed_paths)
                    != (&before.root_path, &before.allowed_paths)
                {
                    caller.decides_places()?;
                }
                free(turn, &asked.name, Some(id)).await?;
                let mut project = built(id, asked, before.version + 1, turn);
                project.created_at = before.created_at;
                let sql =
                    Sql::new("UPDATE projects SET name = $1, version = $2, doc = $3 WHERE id = $4");
                let sql = sql.text(&project.name).number(project.version);
                let sql = sql.text(to_doc(&project, "projects")?).text(id);
                run(turn.db().await?, sql).await?;
                turn.memory.settle(&project);
                turn.memory.work = true;
                turn.tell(&About::project(id), &caller.actor, "project.replaced", json!(project))
                    .await?;
                Ok(project)
            })
        })
        .await
    }

    /// Removes a project that nothing of waits or runs. Its tasks and events stay.
    pub async fn remove_project(
        &self,
        caller: &Caller,
        id: ProjectId,
        if_version: Option<u64>,
    ) -> Result<(), PlaneError> {
        caller.needs(Scope::Admin)?;
        caller.finds(Some(id), NOUN)?;
        let caller = caller.clone();
        self.write(move |turn| {
            Box::pin(async move {
                let project = get(turn.db().await?, &id.to_string()).await?;
                rows::same_version(project.version, if_version)?;
                let busy = Sql::new("SELECT COUNT(*) FROM tasks WHERE project = $1 AND ");
                let busy = busy.and(rows::NOT_OVER).text(id);
                if scalar(turn.db().await?, busy).await? > 0 {
                    return Err(PlaneError::Conflict {
                        message: "the project has tasks that are not over".to_owned(),
                        remedy: "cancel them, or wait for their end",
                    });
                }
                for table in [
                    "DELETE FROM templates WHERE project = $1",
                    "DELETE FROM roles WHERE project = $1",
                    "DELETE FROM projects WHERE id = $1",
                ] {
                    run(turn.db().await?, Sql::new(table).text(id)).await?;
                }
                let data = json!({"name": project.name});
                turn.tell(&About::project(id), &caller.actor, "project.removed", data).await?;
                Ok(())
            })
        })
        .await
    }
}

pub(super) async fn get(db: &mut AnyConnection, id: &str) -> Result<Project, PlaneError> {
    let sql = Sql::new("SELECT doc FROM projects WHERE id = $1").text(id);
    rows::find(db, "projects", sql).await?.ok_or(PlaneError::NotFound(NOUN))
}

fn check(asked: &NewProject) -> Result<(), PlaneError> {
    admission::name("name", &asked.name)?;
    let absolute = |field: &str, path: &str| {
        // To a comparison of paths a `.` is not there; to whoever reads the project it is.
        if path.starts_with('/') && path.split('/').any(|part| [".", ".."].contains(&part)) {
            let message = format!("{path:?} has `.` or `..` in it");
            return Err(PlaneError::field(field, message, "write the path that it stands for"));
        }
        let clean = clean_absolute(Path::new(path)).filter(|clean| clean == Path::new(path));
        if clean.is_some() && !path.contains('\0') {
            return Ok(());
        }
        let message = format!("{path:?} is not an absolute path");
        Err(PlaneError::field(field, message, "write it from `/`, without `.` and `..`"))
    };
    absolute("root_path", &asked.root_path)?;
    for (at, path) in asked.allowed_paths.iter().enumerate() {
        absolute(&format!("allowed_paths[{at}]"), path)?;
    }
    if asked.max_running == Some(0) {
        let remedy = "write 1 or more, or leave it out";
        return Err(PlaneError::field("max_running", "nothing could ever run", remedy));
    }
    if let Some(role) = &asked.default_role {
        admission::name("default_role", role)?;
    }
    Ok(())
}

fn built(id: ProjectId, asked: NewProject, version: u64, turn: &Turn) -> Project {
    Project {
        id,
        name: asked.name,
        root_path: asked.root_path,
        allowed_paths: asked.allowed_paths,
        max_running: asked.max_running,
        default_role: asked.default_role,
        version,
        created_at: turn.now,
    }
}

async fn free(turn: &mut Turn, name: &str, own: Option<ProjectId>) -> Result<(), PlaneError> {
    let sql = Sql::new("SELECT COUNT(*) FROM projects WHERE name = $1 AND id <> $2")
        .text(name)
        .maybe(own);
    if scalar(turn.db().await?, sql).await? == 0 {
        return Ok(());
    }
    let message = format!("a project is called {name} already");
    Err(PlaneError::Conflict { message, remedy: "choose another name" })
}
