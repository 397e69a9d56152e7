//! Tools for what the session has changed, and for the session itself.

use cofferdam_core::inert;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::{tool, tool_router};
use serde_json::{Value, json};

use super::Answer;
use super::commands::brief;
use crate::mcp::answer::{Shown, bad, good};
use crate::mcp::params::{NoParams, PathParams};
use crate::mcp::run::blocking;
use crate::mcp::server::Server;

#[tool_router(router = change_tools, vis = "pub(in crate::mcp)")]
impl Server {
    #[tool(
        description = "What the session has changed in the workspace so far, entry by entry, with what the user's gate \
            says about each.",
        annotations(read_only_hint = true)
    )]
    async fn changes(&self, Parameters(NoParams {}): Parameters<NoParams>) -> Answer {
        let said = self.held.own(&["diff", "--json"], &[]).await;
        Ok(match said.and_then(|said| said.success()) {
            Ok(text) => match serde_json::from_str::<Value>(&text) {
                Ok(entries) => good(text, json!({ "entries": entries })),
                Err(error) => bad(&error.to_string()),
            },
            Err(why) => bad(&why),
        })
    }

    #[tool(
        description = "The session's changes as a unified diff.",
        annotations(read_only_hint = true)
    )]
    async fn diff(&self, Parameters(params): Parameters<PathParams>) -> Answer {
        Ok(match self.held.own(&["diff"], &params.below()).await.and_then(|said| said.success()) {
            Ok(text) => {
                let shown = Shown::bytes(text.as_bytes());
                good(shown.text, json!({ "left_out_bytes": shown.left_out }))
            }
            Err(why) => bad(&why),
        })
    }

    #[tool(
        description = "End the session with all that runs in it, and begin another on the workspace as the user has it. \
        What was changed is not applied; the user can still find it among the runs."
    )]
    async fn reset(&self, Parameters(NoParams {}): Parameters<NoParams>) -> Answer {
        let held = self.held.clone();
        Ok(match blocking(move || held.reset()).await {
            Ok(Ok(run)) => {
                good(format!("session {} begins", run.short()), json!({ "session": run }))
            }
            Ok(Err(error)) => bad(&error.to_string()),
            Err(error) => bad(&error),
        })
    }

    #[tool(
        description = "The session: its limits, its network, and the commands that run or ran.",
        annotations(read_only_hint = true)
    )]
    async fn status(&self, Parameters(NoParams {}): Parameters<NoParams>) -> Answer {
        let (record, client) = match (self.held.record().await, self.held.client().await) {
            (Ok(record), Ok(client)) => (record, client),
            (Err(why), _) | (_, Err(why)) => return Ok(bad(&why)),
        };
        let found = blocking(move || {
            let jobs = client.jobs().map_err(|error| error.to_string())?;
            let jobs: Vec<Value> = jobs.iter().map(brief).collect();
            let plan = record.plan.as_ref();
            Ok::<_, String>(json!({
                "session": record.run, "backend": record.backend, "started_at": record.started_at,
                "limits": plan.map(|plan| &plan.limits), "network": plan.map(|plan| plan.network),
                "mode": plan.map(|plan| plan.workspace.mode), "jobs": jobs,
            }))
        });
        Ok(match found.await {
            Ok(Ok(value)) => good(inert::json(&format!("{value:#}")), value),
            Ok(Err(error)) | Err(error) => bad(&error),
        })
    }
}
