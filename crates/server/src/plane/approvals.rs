//! Questions that people answer before anything is taken for a task.
//!
//! A yes holds for what was asked and for the rules it was asked under, by their hash. When a runner claims the task,
//! the hash is made again; another one voids the yes, and it is asked for anew.

use cofferdam_core::control::approval::{Approval, ApprovalState, Decision};
use cofferdam_core::control::id::{ApprovalId, ProjectId, TaskId};
use cofferdam_core::control::page::{Page, Paging};
use cofferdam_core::control::question::question;
use cofferdam_core::control::state::Move;
use cofferdam_core::control::task::{NewTask, Task};
use cofferdam_core::control::token::Scope;
use serde_json::json;
use sqlx::AnyConnection;

use super::caller::Caller;
use super::error::PlaneError;
use super::moves::{Step, advance};
use super::policy::Judged;
use super::turn::{About, Turn};
use super::{Plane, rows, workflows};
use crate::store::{Sql, run, to_doc};

const NOUN: &str = "approval";

#[derive(Debug, Clone, Default)]
pub struct ApprovalFilter {
    pub project: Option<ProjectId>,
    pub task: Option<TaskId>,
    pub state: Option<ApprovalState>,
}

impl Plane {
    pub async fn approvals(
        &self,
        caller: &Caller,
        filter: &ApprovalFilter,
        paging: &Paging,
    ) -> Result<Page<Approval>, PlaneError> {
        caller.reads()?;
        let mut sql = rows::visible(Sql::new("SELECT doc FROM approvals WHERE 1 = 1"), caller);
        if let Some(project) = filter.project {
            sql = sql.and(" AND project = ?").text(project);
        }
        if let Some(task) = filter.task {
            sql = sql.and(" AND task = ?").text(task);
        }
        if let Some(state) = filter.state {
            sql = sql.and(" AND state = ?").text(state_name(state));
        }
        let sql = rows::newest_first(sql, paging)?;
        let mut db = self.inner.store.reader().await?;
        let items = rows::all(&mut db, "approvals", sql).await?;
        Ok(rows::page(items, paging, |approval: &Approval| approval.id.to_string()))
    }

    pub async fn approval(&self, caller: &Caller, id: ApprovalId) -> Result<Approval, PlaneError> {
        caller.reads()?;
        let mut db = self.inner.store.reader().await?;
        let approval = get(&mut db, id).await?;
        caller.finds(approval.project, NOUN)?;
        Ok(approval)
    }

    pub async fn approve(
        &self,
        caller: &Caller,
        id: ApprovalId,
        decision: Decision,
    ) -> Result<Approval, PlaneError> {
        self.decide(caller, id, decision, ApprovalState::Approved).await
    }

    pub async fn reject(
        &self,
        caller: &Caller,
        id: ApprovalId,
        decision: Decision,
    ) -> Result<Approval, PlaneError> {
        self.decide(caller, id, decision, ApprovalState::Rejected).await
    }

    async fn decide(
        &self,
        caller: &Caller,
        id: ApprovalId,
        decision: Decision,
        state: ApprovalState,
    ) -> Result<Approval, PlaneError> {
        caller.needs(Scope::Review)?;
        if decision.comment.as_ref().is_some_and(|comment| comment.chars().count() > 2000) {
            let message = "it is longer than 2000 characters";
            return Err(PlaneError::field("comment", message, "make it shorter"));
        }
        let caller = caller.clone();
        self.write(move |turn| {
            Box::pin(async move {
                let mut approval = get(turn.db().await?, id).await?;
                caller.finds(approval.project, NOUN)?;
                let mut task = turn.task(approval.task).await?;
                if approval.state != ApprovalState::Pending {
                    let data = json!({"approval": id});
                    turn.tell(&About::task(&task), &caller.actor, "approval.refused", data).await?;
                    return Err(PlaneError::Conflict {
                        message: "it was answered already, or nobody asks any more".to_owned(),
                        remedy: "look at the task",
                    });
                }
                if state == ApprovalState::Approved {
                    workflows::goes_on(turn, &task, Move::Approve, &caller.actor).await?;
                }
                approval.state = state;
                approval.actor = Some(caller.actor.clone());
                approval.comment = decision.comment;
                approval.decided_at = Some(turn.now);
                put(turn, &approval).await?;
                let (kind, by) = match state {
                    ApprovalState::Approved => ("approval.approved", Move::Approve),
                    _ => ("approval.rejected", Move::Reject),
                };
                let data = json!({"approval": id, "subject": approval.subject, "comment": approval.comment});
                turn.tell(&About::task(&task), &caller.actor, kind, data).await?;
                advance(turn, &mut task, Step::new(by, &caller.actor)).await?;
                Ok(approval)
            })
        })
        .await
    }
}

async fn get(db: &mut AnyConnection, id: ApprovalId) -> Result<Approval, PlaneError> {
    let sql = Sql::new("SELECT doc FROM approvals WHERE id = $1").text(id);
    rows::find(db, "approvals", sql).await?.ok_or(PlaneError::NotFound(NOUN))
}

/// The question that still waits for its answer, or the yes that was given: a task has one at most.
pub(super) async fn standing(
    db: &mut AnyConnection,
    task: TaskId,
) -> Result<Option<Approval>, PlaneError> {
    let sql =
        Sql::new("SELECT doc FROM approvals WHERE task = $1 AND state IN ('pending', 'approved')");
    let sql = sql.text(task);
    rows::find(db, "approvals", sql).await
}

/// The hash of what is asked for.
pub(super) fn hash(asked: &NewTask) -> Result<String, PlaneError> {
    let text = to_doc(asked, "tasks")?;
    Ok(blake3::hash(text.as_bytes()).to_hex().to_string())
}

/// What a yes is about: the task, and the rules that hold for it.
pub(super) fn subject(asked: &NewTask, rules: &str) -> Result<String, PlaneError> {
    let both = format!("{}\n{rules}", hash(asked)?);
    Ok(blake3::hash(both.as_bytes()).to_hex().to_string())
}

/// Asks for a yes.
pub(super) async fn ask(
    turn: &mut Turn,
    task: &mut Task,
    actor: &str,
    judged: &Judged,
) -> Result<(), PlaneError> {
    withdraw(turn, task, "server").await?;
    let (millis, random) = turn.id()?;
    let block = task.asked.sandbox.as_ref().map(|block| &block.command);
    let command = block.unwrap_or(&task.asked.command);
    let question = question(command, task.asked.title.as_deref(), judged.look.as_deref());
    let approval = Approval {
        id: ApprovalId::from_parts(millis, random),
        task: task.id,
        project: task.asked.project,
        question,
        state: ApprovalState::Pending,
        subject: subject(&task.asked, &judged.rules)?,
        actor: None,
        comment: None,
        created_at: turn.now,
        decided_at: None,
    };
    put(turn, &approval).await?;
    let data = json!({"approval": approval.id, "subject": approval.subject});
    turn.tell(&About::task(task), actor, "approval.asked", data).await?;
    advance(turn, task, Step::new(Move::AskApproval, actor)).await
}

/// Nobody has to answer any more, and what was answered no longer counts.
pub(super) async fn withdraw(turn: &mut Turn, task: &Task, actor: &str) -> Result<(), PlaneError> {
    let Some(mut standing) = standing(turn.db().await?, task.id).await? else { return Ok(()) };
    standing.state = ApprovalState::Withdrawn;
    standing.decided_at = Some(turn.now);
    put(turn, &standing).await?;
    let data = json!({"approval": standing.id});
    turn.tell(&About::task(task), actor, "approval.withdrawn", data).await?;
    Ok(())
}

fn state_name(state: ApprovalState) -> &'static str {
    match state {
        ApprovalState::Pending => "pending",
        ApprovalState::Approved => "approved",
        ApprovalState::Rejected => "rejected",
        ApprovalState::Withdrawn => "withdrawn",
    }
}

async fn put(turn: &mut Turn, approval: &Approval) -> Result<(), PlaneError> {
    let sql = Sql::new(
        "INSERT INTO approvals (id, project, task, state, doc) VALUES ($1, $2, $3, $4, $5) \
         ON CONFLICT (id) DO UPDATE SET state = excluded.state, doc = excluded.doc",
    );
    let sql = sql.text(approval.id).maybe(approval.project).text(approval.task);
    let sql = sql.text(state_name(approval.state)).text(to_doc(approval, "approvals")?);
    run(turn.db().await?, sql).await?;
    Ok(())
}
