//! Roles: what may be asked for at most, and what tasks begin with.

use cofferdam_core::control::admission;
use cofferdam_core::control::id::{ProjectId, RoleId};
use cofferdam_core::control::page::{Page, Paging};
use cofferdam_core::control::role::{NewRole, Role};
use cofferdam_core::control::token::Scope;
use serde_json::json;
use sqlx::AnyConnection;

use super::caller::Caller;
use super::error::PlaneError;
use super::keys::{IdempotencyKey, Once};
use super::turn::{About, Turn};
use super::{Plane, policy, projects, rows};
use crate::store::{Sql, run, scalar, to_doc};

const NOUN: &str = "role";

impl Plane {
    pub async fn create_role(
        &self,
        caller: &Caller,
        asked: NewRole,
        key: Option<IdempotencyKey>,
    ) -> Result<Role, PlaneError> {
        caller.needs(Scope::Admin)?;
        policy::knows(caller, asked.project)?;
        admission::check_role(&asked)?;
        let once = Once::new(caller, key, NOUN, &asked)?;
        let caller = caller.clone();
        self.write(move |turn| {
            Box::pin(async move {
                if let Some(id) = once.made(turn).await? {
                    return get(turn.db().await?, &id).await;
                }
                place(turn, &asked, None).await?;
                let (millis, random) = turn.id()?;
                let role = built(RoleId::from_parts(millis, random), asked, 1, turn);
                let sql = Sql::new("INSERT INTO roles (id, project, name, version, doc) VALUES ($1, $2, $3, 1, $4)");
                let sql = sql.text(role.id).maybe(role.project).text(&role.name).text(to_doc(&role, "roles")?);
                run(turn.db().await?, sql).await?;
                once.keep(turn, &role.id).await?;
                tell(turn, &caller, &role, "role.created").await?;
                Ok(role)
            })
        })
        .await
    }

    pub async fn role(&self, caller: &Caller, id: RoleId) -> Result<Role, PlaneError> {
        caller.reads()?;
        let mut db = self.inner.store.reader().await?;
        let role = get(&mut db, &id.to_string()).await?;
        seen(caller, &role)?;
        Ok(role)
    }

    /// Of one project and those of all, or all that the caller may know of.
    pub async fn roles(
        &self,
        caller: &Caller,
        project: Option<ProjectId>,
        paging: &Paging,
    ) -> Result<Page<Role>, PlaneError> {
        caller.reads()?;
        let sql = Sql::new("SELECT doc FROM roles WHERE 1 = 1");
        let mut sql = rows::known(sql, caller, " AND project IN (''");
        if let Some(project) = project {
            sql = sql.and(" AND project IN ('', ?)").text(project);
        }
        let sql = rows::newest_first(sql, paging)?;
        let mut db = self.inner.store.reader().await?;
        let items = rows::all(&mut db, "roles", sql).await?;
        Ok(rows::page(items, paging, |role: &Role| role.id.to_string()))
    }

    pub async fn replace_role(
        &self,
        caller: &Caller,
        id: RoleId,
        asked: NewRole,
        if_version: Option<u64>,
    ) -> Result<Role, PlaneError> {
        caller.needs(Scope::Admin)?;
        policy::knows(caller, asked.project)?;
        admission::check_role(&asked)?;
        let caller = caller.clone();
        self.write(move |turn| {
            Box::pin(async move {
                let before = get(turn.db().await?, &id.to_string()).await?;
                caller.finds(before.project, NOUN)?;
                rows::same_version(before.version, if_version)?;
                place(turn, &asked, Some(id)).await?;
                let mut role = built(id, asked, before.version + 1, turn);
                role.created_at = before.created_at;
                let sql = Sql::new("UPDATE roles SET project = $1, name = $2, version = $3, doc = $4 WHERE id = $5");
                let sql = sql.maybe(role.project).text(&role.name).number(role.version);
                run(turn.db().await?, sql.text(to_doc(&role, "roles")?).text(id)).await?;
                tell(turn, &caller, &role, "role.replaced").await?;
                Ok(role)
            })
        })
        .await
    }

    pub async fn remove_role(
        &self,
        caller: &Caller,
        id: RoleId,
        if_version: Option<u64>,
    ) -> Result<(), PlaneError> {
        caller.needs(Scope::Admin)?;
        let caller = caller.clone();
        self.write(move |turn| {
            Box::pin(async move {
                let role = get(turn.db().await?, &id.to_string()).await?;
                caller.finds(role.project, NOUN)?;
                rows::same_version(role.version, if_version)?;
                run(turn.db().await?, Sql::new("DELETE FROM roles WHERE id = $1").text(id)).await?;
                tell(turn, &caller, &role, "role.removed").await
            })
        })
        .await
    }
}

/// The role of that name: the project's own, else the one of all projects.
pub(super) async fn named(
    db: &mut AnyConnection,
    project: Option<ProjectId>,
    name: &str,
) -> Result<Option<Role>, PlaneError> {
    let sql = Sql::new(
        "SELECT doc FROM roles WHERE name = $1 AND project IN ('', $2) ORDER BY project DESC LIMIT 1",
    );
    rows::find(db, "roles", sql.text(name).maybe(project)).await
}

/// A role of all projects is known to everybody, and changed only by those who know all projects.
fn seen(caller: &Caller, role: &Role) -> Result<(), PlaneError> {
    match role.project {
        None => Ok(()),
        project => caller.finds(project, NOUN),
    }
}

async fn get(db: &mut AnyConnection, id: &str) -> Result<Role, PlaneError> {
    let sql = Sql::new("SELECT doc FROM roles WHERE id = $1").text(id);
    rows::find(db, "roles", sql).await?.ok_or(PlaneError::NotFound(NOUN))
}

/// Its project is there, and its name is free in it.
async fn place(turn: &mut Turn, asked: &NewRole, own: Option<RoleId>) -> Result<(), PlaneError> {
    if let Some(project) = asked.project {
        projects::get(turn.db().await?, &project.to_string()).await?;
    }
    let sql = Sql::new("SELECT COUNT(*) FROM roles WHERE project = $1 AND name = $2 AND id <> $3");
    let sql = sql.maybe(asked.project).text(&asked.name).maybe(own);
    if scalar(turn.db().await?, sql).await? == 0 {
        return Ok(());
    }
    let message = format!("a role is called {} already", asked.name);
    Err(PlaneError::Conflict { message, remedy: "choose another name, or replace that one" })
}

fn built(id: RoleId, asked: NewRole, version: u64, turn: &Turn) -> Role {
    Role {
        id,
        project: asked.project,
        name: asked.name,
        ceiling: asked.ceiling,
        settings: asked.settings,
        overridable: asked.overridable,
        version,
        created_at: turn.now,
    }
}

async fn tell(turn: &mut Turn, caller: &Caller, role: &Role, kind: &str) -> Result<(), PlaneError> {
    let about = About { project: role.project, ..About::default() };
    turn.tell(&about, &caller.actor, kind, json!(role)).await?;
    Ok(())
}
