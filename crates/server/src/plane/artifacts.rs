//! Files that tasks leave for others. Their bytes are rows, like logs, and bounded.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cofferdam_core::control::artifact::{Artifact, MOST, is_name};
use cofferdam_core::control::id::{ArtifactId, ProjectId, TaskId};
use cofferdam_core::control::page::{Page, Paging};
use cofferdam_core::control::token::Scope;
use serde_json::json;
use sqlx::Row as _;

use super::caller::Caller;
use super::error::PlaneError;
use super::turn::About;
use super::{Plane, reports, rows, tasks};
use crate::store::{Sql, StoreError, first, run, scalar, to_doc};

/// Which artifacts a list is of.
#[derive(Debug, Clone, Default)]
pub struct ArtifactFilter {
    pub project: Option<ProjectId>,
    pub task: Option<TaskId>,
    pub name: Option<String>,
}

/// A file that a runner hands in.
#[derive(Debug, Clone)]
pub struct NewArtifact {
    pub attempt: u32,
    pub fence: String,
    pub name: String,
    pub media_type: String,
    pub bytes: Vec<u8>,
}

impl Plane {
    /// Those of a task, by attempt and name.
    pub async fn artifacts(
        &self,
        caller: &Caller,
        id: TaskId,
        paging: &Paging,
    ) -> Result<Page<Artifact>, PlaneError> {
        let mut db = self.inner.store.reader().await?;
        tasks::seen(&mut db, caller, id).await?;
        let sql =
            Sql::new("SELECT doc FROM artifacts WHERE task = $1 ORDER BY attempt, name").text(id);
        let all = rows::all(&mut db, "artifacts", sql).await?;
        rows::page_of(all, paging, |artifact: &Artifact| artifact.id.to_string())
    }

    /// Those of all tasks that the caller may know of, the newest first.
    pub async fn all_artifacts(
        &self,
        caller: &Caller,
        filter: &ArtifactFilter,
        paging: &Paging,
    ) -> Result<Page<Artifact>, PlaneError> {
        caller.reads()?;
        let sql = rows::newest_first(listed(caller, filter), paging)?;
        let mut db = self.inner.store.reader().await?;
        let items = rows::all(&mut db, "artifacts", sql).await?;
        Ok(rows::page(items, paging, |artifact: &Artifact| artifact.id.to_string()))
    }

    /// The file itself, if it is still what its hash says.
    pub async fn artifact(
        &self,
        caller: &Caller,
        id: ArtifactId,
    ) -> Result<(Artifact, Vec<u8>), PlaneError> {
        caller.reads()?;
        let mut db = self.inner.store.reader().await?;
        let sql = Sql::new("SELECT doc FROM artifacts WHERE id = $1").text(id);
        let found: Option<Artifact> = rows::find(&mut db, "artifacts", sql).await?;
        let artifact = found.ok_or(PlaneError::NotFound("artifact"))?;
        let task = tasks::get(&mut db, &artifact.task.to_string()).await?;
        caller.finds(task.asked.project, "artifact")?;
        let sql = Sql::new("SELECT data FROM artifact_bytes WHERE artifact = $1").text(id);
        let row = first(&mut db, sql).await?.ok_or(PlaneError::NotFound("artifact"))?;
        let data: String =
            row.try_get(0).map_err(|source| StoreError::Query { what: "read", source })?;
        let bytes = STANDARD.decode(&data).unwrap_or_default();
        if blake3::hash(&bytes).to_hex().as_str() != artifact.hash {
            return Err(PlaneError::from(StoreError::Altered { artifact: id.to_string() }));
        }
        Ok((artifact, bytes))
    }

    pub async fn put_artifact(
        &self,
        caller: &Caller,
        id: TaskId,
        new: NewArtifact,
    ) -> Result<Artifact, PlaneError> {
        caller.needs(Scope::Runner)?;
        let most = self.inner.settings.artifact_limit;
        let size = new.bytes.len() as u64;
        if size > most {
            return Err(PlaneError::TooLarge { what: "an artifact", most });
        }
        if !is_name(&new.name) {
            let message = "a name is a path below the workspace, with at most 200 bytes";
            return Err(PlaneError::field("name", message, "choose another name"));
        }
        let kind = &new.media_type;
        if kind.is_empty() || kind.len() > 100 || !kind.bytes().all(|b| matches!(b, b' '..=b'~')) {
            let message = "it is not a media type";
            return Err(PlaneError::field("media_type", message, "write one such as text/plain"));
        }
        let caller = caller.clone();
        self.write(move |turn| {
            Box::pin(async move {
                let known = reports::known(turn, &caller, id, new.attempt, &new.fence).await?;
                let Some(known) = known.filter(|known| known.own) else {
                    return Err(PlaneError::NotFound(tasks::NOUN));
                };
                let hash = blake3::hash(&new.bytes).to_hex().to_string();
                let sql = Sql::new("SELECT doc FROM artifacts WHERE task = $1 AND attempt = $2 AND name = $3");
                let sql = sql.text(id).number(new.attempt).text(&new.name);
                let before: Option<Artifact> = rows::find(turn.db().await?, "artifacts", sql).await?;
                match before {
                    // The answer was lost, and it is sent again.
                    Some(before) if before.hash == hash => return Ok(before),
                    Some(_) => {
                        return Err(PlaneError::Conflict {
                            message: "the attempt has another artifact of that name".to_owned(),
                            remedy: "choose another name",
                        });
                    }
                    None => {}
                }
                let task = turn.task(id).await?;
                let about = About { attempt: Some(new.attempt), ..About::task(&task) };
                if task.attempt != new.attempt || !task.state.is_held() {
                    let data = json!({"artifact": new.name, "state": task.state, "reason": "the attempt is over"});
                    reports::write_down(turn, &about, &known.actor, reports::REFUSED, data).await?;
                    return Err(PlaneError::Conflict {
                        message: "the attempt is over, and keeps nothing more".to_owned(),
                        remedy: "hand artifacts in before the end is reported",
                    });
                }
                let sql = Sql::new("SELECT COUNT(*) FROM artifacts WHERE task = $1 AND attempt = $2");
                let count = scalar(turn.db().await?, sql.text(id).number(new.attempt)).await?;
                // One more than a task can name: its result.
                if usize::try_from(count).unwrap_or(usize::MAX) > MOST {
                    return Err(PlaneError::Conflict {
                        message: format!("the attempt has {count} artifacts already"),
                        remedy: "pack them into one file",
                    });
                }
                let sql = Sql::new("SELECT CAST(SUM(size) AS BIGINT) FROM artifacts WHERE task = $1 AND attempt = $2");
                let sum = scalar(turn.db().await?, sql.text(id).number(new.attempt)).await?;
                if sum.unsigned_abs() + size > most {
                    return Err(PlaneError::TooLarge { what: "all artifacts of an attempt", most });
                }
                let (millis, random) = turn.id()?;
                let artifact = Artifact {
                    id: ArtifactId::from_parts(millis, random),
                    task: id,
                    attempt: new.attempt,
                    name: new.name,
                    media_type: new.media_type,
                    size,
                    hash,
                    created_at: turn.now,
                };
                let sql = Sql::new("INSERT INTO artifacts (id, task, attempt, name, size, doc) VALUES ($1, $2, $3, $4, $5, $6)");
                let sql = sql.text(artifact.id).text(id).number(artifact.attempt).text(&artifact.name);
                run(turn.db().await?, sql.number(size).text(to_doc(&artifact, "artifacts")?)).await?;
                let sql = Sql::new("INSERT INTO artifact_bytes (artifact, data) VALUES ($1, $2)");
                run(turn.db().await?, sql.text(artifact.id).text(STANDARD.encode(&new.bytes))).await?;
                turn.tell(&about, &known.actor, "artifact.stored", json!(artifact)).await?;
                Ok(artifact)
            })
        })
        .await
    }
}

/// Of which project an artifact is stands with its task.
fn listed(caller: &Caller, filter: &ArtifactFilter) -> Sql {
    let mut sql = Sql::new(
        "SELECT doc FROM (SELECT a.id AS id, a.doc AS doc, a.task AS task, a.name AS name, t.project AS project \
         FROM artifacts a JOIN tasks t ON t.id = a.task) AS listed WHERE 1 = 1",
    );
    sql = rows::visible(sql, caller);
    if let Some(project) = filter.project {
        sql = sql.and(" AND project = ?").text(project);
    }
    if let Some(task) = filter.task {
        sql = sql.and(" AND task = ?").text(task);
    }
    if let Some(name) = &filter.name {
        sql = sql.and(" AND name = ?").text(name);
    }
    sql
}
