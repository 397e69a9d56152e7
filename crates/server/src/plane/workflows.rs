//! Workflow runs: steps become tasks as soon as those they depend on are over.

use std::collections::{HashMap, HashSet};

use cofferdam_core::control::graph::{self, Progress, Stage, Standing};
use cofferdam_core::control::id::{ProjectId, TaskId, WorkflowRunId};
use cofferdam_core::control::page::{Page, Paging};
use cofferdam_core::control::rerun;
use cofferdam_core::control::state::{Move, TaskState};
use cofferdam_core::control::task::Task;
use cofferdam_core::control::token::Scope;
use cofferdam_core::control::workflow::{
    NewWorkflowRun, Step, StepState, StepStatus, Way, WorkflowRun, WorkflowState,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::AnyConnection;

use super::caller::Caller;
use super::error::PlaneError;
use super::keys::{IdempotencyKey, Once};
use super::memory::{Lined, lined};
use super::moves::{self, advance};
use super::steps::{self, Plan};
use super::tasks::Membership;
use super::turn::{About, Turn};
use super::{Ahead, Plane, policy, rows, tasks, templates};
use crate::store::{Sql, StoreError, from_doc, rows as all_rows, run as execute, to_doc};

const NOUN: &str = "workflow run";

#[derive(Debug, Clone, Default)]
pub struct WorkflowFilter {
    pub project: Option<ProjectId>,
    pub state: Option<WorkflowState>,
}

/// A run, with the steps as the template had them when it began.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kept {
    run: WorkflowRun,
    steps: Vec<Step>,
}

impl Plane {
    pub async fn create_workflow_run(
        &self,
        caller: &Caller,
        asked: NewWorkflowRun,
        key: Option<IdempotencyKey>,
    ) -> Result<WorkflowRun, PlaneError> {
        caller.needs(Scope::Submit)?;
        let once = Once::new(caller, key, NOUN, &asked)?;
        let caller = caller.clone();
        self.write(move |turn| {
            Box::pin(async move {
                if let Some(id) = once.made(turn).await? {
                    let kept = get(turn, &id).await?;
                    return shown(turn.db().await?, kept).await;
                }
                let kept = begin(turn, &caller, asked).await?;
                once.keep(turn, &kept.run.id).await?;
                let id = kept.run.id;
                progress(turn, id).await?;
                let kept = get(turn, &id.to_string()).await?;
                shown(turn.db().await?, kept).await
            })
        })
        .await
    }

    pub async fn workflow_run(
        &self,
        caller: &Caller,
        id: WorkflowRunId,
    ) -> Result<WorkflowRun, PlaneError> {
        caller.reads()?;
        let mut db = self.inner.store.reader().await?;
        let kept = read(&mut db, &id.to_string()).await?;
        caller.finds(Some(kept.run.project), NOUN)?;
        shown(&mut db, kept).await
    }

    pub async fn workflow_runs(
        &self,
        caller: &Caller,
        filter: &WorkflowFilter,
        paging: &Paging,
    ) -> Result<Page<WorkflowRun>, PlaneError> {
        caller.reads()?;
        let mut sql = rows::visible(Sql::new("SELECT doc FROM workflow_runs WHERE 1 = 1"), caller);
        if let Some(project) = filter.project {
            sql = sql.and(" AND project = ?").text(project);
        }
        if let Some(state) = filter.state {
            sql = sql.and(" AND state = ?").text(state_name(state));
        }
        let sql = rows::newest_first(sql, paging)?;
        let mut db = self.inner.store.reader().await?;
        let found: Vec<Kept> = rows::all(&mut db, "workflow_runs", sql).await?;
        let page = rows::page(found, paging, |kept: &Kept| kept.run.id.to_string());
        let mut items = Vec::new();
        for kept in page.items {
            items.push(shown(&mut db, kept).await?);
        }
        Ok(Page { items, next: page.next })
    }

    pub async fn pause(
        &self,
        caller: &Caller,
        id: WorkflowRunId,
    ) -> Result<WorkflowRun, PlaneError> {
        self.turn_to(caller, id, WorkflowState::Paused).await
    }

    pub async fn resume(
        &self,
        caller: &Caller,
        id: WorkflowRunId,
    ) -> Result<WorkflowRun, PlaneError> {
        self.turn_to(caller, id, WorkflowState::Running).await
    }

    /// Cancels what is not over, and begins nothing more.
    pub async fn abort(
        &self,
        caller: &Caller,
        id: WorkflowRunId,
    ) -> Result<WorkflowRun, PlaneError> {
        self.turn_to(caller, id, WorkflowState::Aborted).await
    }

    async fn turn_to(
        &self,
        caller: &Caller,
        id: WorkflowRunId,
        to: WorkflowState,
    ) -> Result<WorkflowRun, PlaneError> {
        caller.needs(Scope::Submit)?;
        let caller = caller.clone();
        self.write(move |turn| {
            Box::pin(async move {
                let mut kept = get(turn, &id.to_string()).await?;
                caller.finds(Some(kept.run.project), NOUN)?;
                let from = kept.run.state;
                if from == to {
                    return shown(turn.db().await?, kept).await;
                }
                if !matches!(from, WorkflowState::Running | WorkflowState::Paused) {
                    let data = json!({"from": from, "to": to});
                    turn.tell(
                        &about(&kept.run),
                        &caller.actor,
                        "workflow.transition_refused",
                        data,
                    )
                    .await?;
                    return Err(PlaneError::Conflict {
                        message: format!("a workflow run that is {} stays so", state_name(from)),
                        remedy: "begin another run of it",
                    });
                }
                kept.run.state = to;
                let mut skipped = Vec::new();
                if to == WorkflowState::Aborted {
                    kept.run.finished_at = Some(turn.now);
                    let waiting = |step: &&mut StepStatus| step.state == StepState::Waiting;
                    for step in kept.run.steps.iter_mut().filter(waiting) {
                        step.state = StepState::Skipped;
                        skipped.push(step.name.clone());
                    }
                }
                put(turn, &mut kept).await?;
                let kind = format!("workflow.{}", state_name(to));
                turn.tell(&about(&kept.run), &caller.actor, &kind, json!({"from": from})).await?;
                for step in skipped {
                    let data = json!({"step": step});
                    let kind = "workflow.step_skipped";
                    turn.tell(&about(&kept.run), &caller.actor, kind, data).await?;
                }
                match to {
                    WorkflowState::Paused => {
                        turn.memory.pause(id);
                        line_up(turn, id).await?;
                    }
                    WorkflowState::Running => {
                        turn.memory.resume(id);
                        line_up(turn, id).await?;
                        progress(turn, id).await?;
                    }
                    _ => {
                        turn.memory.resume(id);
                        cancel_all(turn, id, &caller.actor).await?;
                    }
                }
                let kept = get(turn, &id.to_string()).await?;
                shown(turn.db().await?, kept).await
            })
        })
        .await
    }
}

fn about(run: &WorkflowRun) -> About {
    About { project: Some(run.project), workflow_run: Some(run.id), ..About::default() }
}

pub(super) fn state_name(state: WorkflowState) -> &'static str {
    match state {
        WorkflowState::Running => "running",
        WorkflowState::Paused => "paused",
        WorkflowState::Succeeded => "succeeded",
        WorkflowState::Failed => "failed",
        WorkflowState::Aborted => "aborted",
    }
}

async fn read(db: &mut AnyConnection, id: &str) -> Result<Kept, PlaneError> {
    let sql = Sql::new("SELECT doc FROM workflow_runs WHERE id = $1").text(id);
    rows::find(db, "workflow_runs", sql).await?.ok_or(PlaneError::NotFound(NOUN))
}

async fn get(turn: &mut Turn, id: &str) -> Result<Kept, PlaneError> {
    read(turn.db().await?, id).await
}

async fn put(turn: &mut Turn, kept: &mut Kept) -> Result<(), PlaneError> {
    kept.run.version += 1;
    let sql = Sql::new("UPDATE workflow_runs SET state = $1, doc = $2 WHERE id = $3");
    let sql =
        sql.text(state_name(kept.run.state)).text(to_doc(kept, "workflow_runs")?).text(kept.run.id);
    execute(turn.db().await?, sql).await?;
    Ok(())
}

async fn tasks_of(db: &mut AnyConnection, id: WorkflowRunId) -> Result<Vec<Task>, PlaneError> {
    rows::all(db, "tasks", tasks_in(id)).await
}

/// The second condition is that of the index, which SQLite uses only where it is said.
pub(super) fn tasks_in(id: WorkflowRunId) -> Sql {
    Sql::new("SELECT doc FROM tasks WHERE workflow_run = $1 AND workflow_run <> '' ORDER BY id")
        .text(id)
}

/// The run with what its tasks say. Their versions are part of its own: what is shown differs with them.
async fn shown(db: &mut AnyConnection, kept: Kept) -> Result<WorkflowRun, PlaneError> {
    let mut run = kept.run;
    let tasks = tasks_of(db, run.id).await?;
    run.version += tasks.iter().map(|task| task.version).sum::<u64>();
    let states: HashMap<TaskId, TaskState> =
        tasks.into_iter().map(|task| (task.id, task.state)).collect();
    for step in &mut run.steps {
        if let Some(task) = step.task
            && let Some(state) = states.get(&task)
        {
            step.task_state = Some(*state);
        }
    }
    Ok(run)
}

async fn begin(
    turn: &mut Turn,
    caller: &Caller,
    asked: NewWorkflowRun,
) -> Result<Kept, PlaneError> {
    let template = templates::get(turn.db().await?, &asked.template.to_string()).await;
    let template = template.ok().filter(|template| caller.sees(Some(template.asked.project)));
    let template = template.ok_or_else(|| {
        PlaneError::field(
            "template",
            "there is no such workflow template",
            "name one that you can list",
        )
    })?;
    policy::has_room(turn, Some(template.asked.project))?;
    let steps = template.asked.steps;
    for (at, name) in asked.only.iter().enumerate() {
        if !steps.iter().any(|step| step.name == *name) {
            let message = format!("no step is called {name:?}");
            return Err(PlaneError::field(
                &format!("only[{at}]"),
                message,
                "name steps of the template",
            ));
        }
    }
    let earlier = match asked.of {
        None if asked.only.is_empty() => None,
        None => {
            let message = "some steps alone can be run only where the others were run before";
            return Err(PlaneError::field("of", message, "name the run that has them"));
        }
        Some(of) => {
            let found = get(turn, &of.to_string()).await.ok();
            let known = found.filter(|kept| kept.run.template == asked.template);
            let known = known.ok_or_else(|| {
                PlaneError::field(
                    "of",
                    "there is no such run of this template",
                    "name one that you can list",
                )
            })?;
            Some(shown(turn.db().await?, known).await?)
        }
    };
    let before = earlier.map(|run| run.steps).unwrap_or_default();
    let statuses = rerun::statuses(&steps, &asked.only, &before).map_err(|not_over| {
        let remedy = "wait until that run is over, abort it, or repeat the step too";
        PlaneError::Conflict { message: not_over.to_string(), remedy }
    })?;
    let plan = Plan::Run(&statuses);
    steps::judge(turn, template.asked.project, &steps, plan, &caller.actor).await?;
    let (millis, random) = turn.id()?;
    let run = WorkflowRun {
        id: WorkflowRunId::from_parts(millis, random),
        project: template.asked.project,
        template: template.id,
        of: asked.of,
        title: asked.title,
        state: WorkflowState::Running,
        actor: caller.actor.clone(),
        steps: statuses,
        version: 1,
        created_at: turn.now,
        finished_at: None,
    };
    let kept = Kept { run, steps };
    let sql = Sql::new(
        "INSERT INTO workflow_runs (id, project, template, state, doc) VALUES ($1, $2, $3, $4, $5)",
    );
    let sql = sql.text(kept.run.id).text(kept.run.project).text(kept.run.template);
    let sql = sql.text(state_name(kept.run.state)).text(to_doc(&kept, "workflow_runs")?);
    execute(turn.db().await?, sql).await?;
    let data = json!({"template": template.id, "template_version": template.version, "of": asked.of, "only": asked.only});
    turn.tell(&about(&kept.run), &caller.actor, "workflow.created", data).await?;
    Ok(kept)
}

/// Whether a step may still be sent on its way by this move, be it that it waits there until its run is resumed. What
/// may not is in the timeline, as any other move that is not made.
pub(super) async fn goes_on(
    turn: &mut Turn,
    task: &Task,
    by: Move,
    actor: &str,
) -> Result<(), PlaneError> {
    let Some(run) = task.workflow_run else { return Ok(()) };
    let state = get(turn, &run.to_string()).await?.run.state;
    match state.way() {
        Way::Open | Way::Held => Ok(()),
        Way::Closed => {
            let data = json!({"from": task.state, "move": by, "workflow": state});
            turn.tell(&About::task(task), actor, "task.transition_refused", data).await?;
            Err(PlaneError::Conflict {
                message: format!("the workflow run that it is a step of is {}", state_name(state)),
                remedy: "begin another run of it, with the steps that are to be run again",
            })
        }
    }
}

/// The runs of which nothing begins.
pub(super) async fn paused(db: &mut AnyConnection) -> Result<HashSet<WorkflowRunId>, StoreError> {
    let sql = Sql::new("SELECT doc FROM workflow_runs WHERE state = $1");
    let found = all_rows(db, sql.text(state_name(WorkflowState::Paused))).await?;
    found.iter().map(|row| Ok(from_doc::<Kept>(row, "workflow_runs")?.run.id)).collect()
}

/// Has what is queued of a run wait where it has to now, in the place and for the moment that it had before.
async fn line_up(turn: &mut Turn, id: WorkflowRunId) -> Result<(), PlaneError> {
    let sql = Sql::new(
        "SELECT place, not_before, doc FROM tasks WHERE workflow_run = $1 AND workflow_run <> '' AND state = 'queued'",
    );
    for row in all_rows(turn.db().await?, sql.text(id)).await? {
        let Lined { task, order, not_before } = lined(&row)?;
        turn.memory.line_up(&task, order, not_before);
    }
    Ok(())
}

/// Looks which steps may begin now, which never will, and whether all is over.
pub(super) fn progress(turn: &mut Turn, id: WorkflowRunId) -> Ahead<'_, Result<(), PlaneError>> {
    Box::pin(async move {
        loop {
            let mut kept = get(turn, &id.to_string()).await?;
            if kept.run.state != WorkflowState::Running {
                return Ok(());
            }
            let states: HashMap<TaskId, TaskState> = tasks_of(turn.db().await?, id)
                .await?
                .into_iter()
                .map(|task| (task.id, task.state))
                .collect();
            let standings: Vec<Standing<'_>> = kept
                .run
                .steps
                .iter()
                .map(|step| Standing {
                    name: &step.name,
                    depends_on: &step.depends_on,
                    when: step.when,
                    stage: stage(step, &states),
                })
                .collect();
            let (ready, skipped, over) = match graph::progress(&standings) {
                Progress::Going { ready, skipped } => (ready, skipped, None),
                Progress::Over { skipped, state } => (Vec::new(), skipped, Some(state)),
            };
            if ready.is_empty() && skipped.is_empty() && over.is_none() {
                return Ok(());
            }
            for at in skipped {
                kept.run.steps[at].state = StepState::Skipped;
                let data = json!({"step": kept.run.steps[at].name});
                turn.tell(&about(&kept.run), "server", "workflow.step_skipped", data).await?;
            }
            if let Some(state) = over {
                kept.run.state = state;
                kept.run.finished_at = Some(turn.now);
                put(turn, &mut kept).await?;
                let kind = format!("workflow.{}", state_name(state));
                turn.tell(&about(&kept.run), "server", &kind, json!({})).await?;
                return Ok(());
            }
            let mut refused = false;
            for at in ready {
                refused |= !start(turn, &mut kept, at).await?;
            }
            put(turn, &mut kept).await?;
            if !refused {
                return Ok(());
            }
        }
    })
}

fn stage(step: &StepStatus, states: &HashMap<TaskId, TaskState>) -> Stage {
    match step.state {
        StepState::Waiting => Stage::Waiting,
        StepState::Skipped => Stage::Skipped,
        StepState::Started | StepState::Reused => {
            // A step that policy refused has no task, and has failed.
            let Some(task) = step.task else { return Stage::Failed };
            match states.get(&task).copied().or(step.task_state) {
                Some(TaskState::Succeeded) => Stage::Succeeded,
                Some(state) if state.is_terminal() => Stage::Failed,
                _ => Stage::Underway,
            }
        }
    }
}

/// Makes the task of a step; says whether policy let it.
async fn start(turn: &mut Turn, kept: &mut Kept, at: usize) -> Result<bool, PlaneError> {
    let Some(step) = kept.steps.get(at) else { return Ok(true) };
    let of = Membership { run: kept.run.id, step: step.name.clone() };
    let made = tasks::make(turn, step.task.clone(), &kept.run.actor, Some(of)).await;
    let status = &mut kept.run.steps[at];
    status.state = StepState::Started;
    match made {
        Ok(task) => {
            status.task = Some(task.id);
            Ok(true)
        }
        Err(PlaneError::Refused(_)) => {
            (status.task, status.task_state) = (None, None);
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

async fn cancel_all(turn: &mut Turn, id: WorkflowRunId, actor: &str) -> Result<(), PlaneError> {
    for mut task in tasks_of(turn.db().await?, id).await? {
        if !task.state.is_terminal() && task.state != TaskState::CancelRequested {
            let step =
                moves::Step::new(Move::Cancel, actor).because("its workflow run was aborted");
            advance(turn, &mut task, step).await?;
        }
    }
    Ok(())
}
