//! Workflow templates: steps with a name, to be run again and again.

use cofferdam_core::control::admission;
use cofferdam_core::control::graph;
use cofferdam_core::control::id::{ProjectId, TemplateId};
use cofferdam_core::control::page::{Page, Paging};
use cofferdam_core::control::token::Scope;
use cofferdam_core::control::workflow::{NewTemplate, Template};
use serde_json::json;
use sqlx::AnyConnection;

use super::caller::Caller;
use super::error::PlaneError;
use super::keys::{IdempotencyKey, Once};
use super::steps::{self, Plan};
use super::turn::{About, Turn};
use super::{Plane, policy, projects, rows};
use crate::store::{Sql, run, scalar, to_doc};

const NOUN: &str = "workflow template";

impl Plane {
    pub async fn create_template(
        &self,
        caller: &Caller,
        asked: NewTemplate,
        key: Option<IdempotencyKey>,
    ) -> Result<Template, PlaneError> {
        caller.needs(Scope::Submit)?;
        policy::knows(caller, Some(asked.project))?;
        let asked = checked(asked)?;
        let once = Once::new(caller, key, NOUN, &asked)?;
        let caller = caller.clone();
        self.write(move |turn| {
            Box::pin(async move {
                if let Some(id) = once.made(turn).await? {
                    return get(turn.db().await?, &id).await;
                }
                place(turn, &asked, None).await?;
                steps::judge(turn, asked.project, &asked.steps, Plan::Template, &caller.actor).await?;
                let (millis, random) = turn.id()?;
                let id = TemplateId::from_parts(millis, random);
                let template = Template { id, asked, version: 1, created_at: turn.now };
                let sql = Sql::new("INSERT INTO templates (id, project, name, version, doc) VALUES ($1, $2, $3, 1, $4)");
                let sql = sql.text(id).text(template.asked.project).text(&template.asked.name);
                run(turn.db().await?, sql.text(to_doc(&template, "templates")?)).await?;
                once.keep(turn, &id).await?;
                tell(turn, &caller, &template, "template.created").await?;
                Ok(template)
            })
        })
        .await
    }

    pub async fn template(&self, caller: &Caller, id: TemplateId) -> Result<Template, PlaneError> {
        caller.reads()?;
        let mut db = self.inner.store.reader().await?;
        let template = get(&mut db, &id.to_string()).await?;
        caller.finds(Some(template.asked.project), NOUN)?;
        Ok(template)
    }

    pub async fn templates(
        &self,
        caller: &Caller,
        project: Option<ProjectId>,
        paging: &Paging,
    ) -> Result<Page<Template>, PlaneError> {
        caller.reads()?;
        let mut sql = rows::visible(Sql::new("SELECT doc FROM templates WHERE 1 = 1"), caller);
        if let Some(project) = project {
            sql = sql.and(" AND project = ?").text(project);
        }
        let sql = rows::newest_first(sql, paging)?;
        let mut db = self.inner.store.reader().await?;
        let items = rows::all(&mut db, "templates", sql).await?;
        Ok(rows::page(items, paging, |template: &Template| template.id.to_string()))
    }

    pub async fn replace_template(
        &self,
        caller: &Caller,
        id: TemplateId,
        asked: NewTemplate,
        if_version: Option<u64>,
    ) -> Result<Template, PlaneError> {
        caller.needs(Scope::Submit)?;
        policy::knows(caller, Some(asked.project))?;
        let asked = checked(asked)?;
        let caller = caller.clone();
        self.write(move |turn| {
            Box::pin(async move {
                let before = get(turn.db().await?, &id.to_string()).await?;
                caller.finds(Some(before.asked.project), NOUN)?;
                rows::same_version(before.version, if_version)?;
                place(turn, &asked, Some(id)).await?;
                steps::judge(turn, asked.project, &asked.steps, Plan::Template, &caller.actor).await?;
                let version = before.version + 1;
                let template = Template { id, asked, version, created_at: before.created_at };
                let sql = Sql::new("UPDATE templates SET project = $1, name = $2, version = $3, doc = $4 WHERE id = $5");
                let sql = sql.text(template.asked.project).text(&template.asked.name).number(version);
                run(turn.db().await?, sql.text(to_doc(&template, "templates")?).text(id)).await?;
                tell(turn, &caller, &template, "template.replaced").await?;
                Ok(template)
            })
        })
        .await
    }

    pub async fn remove_template(
        &self,
        caller: &Caller,
        id: TemplateId,
        if_version: Option<u64>,
    ) -> Result<(), PlaneError> {
        caller.needs(Scope::Submit)?;
        let caller = caller.clone();
        self.write(move |turn| {
            Box::pin(async move {
                let template = get(turn.db().await?, &id.to_string()).await?;
                caller.finds(Some(template.asked.project), NOUN)?;
                rows::same_version(template.version, if_version)?;
                run(turn.db().await?, Sql::new("DELETE FROM templates WHERE id = $1").text(id))
                    .await?;
                tell(turn, &caller, &template, "template.removed").await
            })
        })
        .await
    }
}

pub(super) async fn get(db: &mut AnyConnection, id: &str) -> Result<Template, PlaneError> {
    let sql = Sql::new("SELECT doc FROM templates WHERE id = $1").text(id);
    rows::find(db, "templates", sql).await?.ok_or(PlaneError::NotFound(NOUN))
}

/// Steps that can be run, each in the template's own project.
fn checked(mut asked: NewTemplate) -> Result<NewTemplate, PlaneError> {
    admission::name("name", &asked.name)?;
    graph::check(&asked.steps).map_err(|fault| {
        PlaneError::field(
            &fault.field(),
            fault.to_string(),
            "mend the steps and what they depend on",
        )
    })?;
    for (at, step) in asked.steps.iter_mut().enumerate() {
        let project = step.task.project.get_or_insert(asked.project);
        let within = |field: &str| format!("steps[{at}].task.{field}");
        if *project != asked.project {
            let message = "a step works in the template's own project";
            return Err(PlaneError::field(&within("project"), message, "leave it out"));
        }
        admission::form(&step.task).map_err(|refusal| {
            let field = within(&refusal.field);
            cofferdam_core::refusal::Refusal { field, ..refusal }
        })?;
    }
    Ok(asked)
}

async fn place(
    turn: &mut Turn,
    asked: &NewTemplate,
    own: Option<TemplateId>,
) -> Result<(), PlaneError> {
    projects::get(turn.db().await?, &asked.project.to_string()).await?;
    let sql =
        Sql::new("SELECT COUNT(*) FROM templates WHERE project = $1 AND name = $2 AND id <> $3");
    let sql = sql.text(asked.project).text(&asked.name).maybe(own);
    if scalar(turn.db().await?, sql).await? == 0 {
        return Ok(());
    }
    let message = format!("a workflow template is called {} already", asked.name);
    Err(PlaneError::Conflict { message, remedy: "choose another name, or replace that one" })
}

async fn tell(
    turn: &mut Turn,
    caller: &Caller,
    template: &Template,
    kind: &str,
) -> Result<(), PlaneError> {
    let steps: Vec<&str> = template.asked.steps.iter().map(|step| step.name.as_str()).collect();
    let data = json!({"template": template.id, "name": template.asked.name, "version": template.version, "steps": steps});
    turn.tell(&About::project(template.asked.project), &caller.actor, kind, data).await?;
    Ok(())
}
