//! Tools for what the session has changed, and for the session itself.

use cofferdam_core::inert;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::CallToolResult;
use rmcp::{tool, tool_router};
use serde::de::{Deserializer as _, IgnoredAny, SeqAccess, Visitor};
use serde_json::{Value, json};

use super::Answer;
use super::commands::brief;
use crate::mcp::answer::{bad, good};
use crate::mcp::held::complete;
use crate::mcp::params::{NoParams, PathParams};
use crate::mcp::run::blocking;
use crate::mcp::server::Server;
use crate::own::Work;

/// Bytes of a list of changes that are read, to be counted.
const MOST_READ: usize = 16 << 20;
/// Bytes of entries that are told.
const MOST_TOLD: usize = 128 << 10;

#[tool_router(router = change_tools, vis = "pub(in crate::mcp)")]
impl Server {
    #[tool(
        description = "What the session has changed in the workspace so far, entry by entry, with what the user's gate \
            says about each. Where there are many, the first are told, and how many there are in all.",
        annotations(read_only_hint = true)
    )]
    async fn changes(&self, Parameters(NoParams {}): Parameters<NoParams>) -> Answer {
        let said = self.held.own(Work::Look, &["diff", "--json"], &[], MOST_READ).await;
        let listed = said.and_then(|said| match said.is_cut() {
            true => Ok(Listed::read(&said.stdout).0),
            false => {
                let (listed, error) = Listed::read(complete(&said)?);
                error.map_or(Ok(listed), |error| Err(error.to_string()))
            }
        });
        Ok(match listed {
            Ok(listed) => listed.told(),
            Err(why) => bad(&why),
        })
    }

    #[tool(
        description = "The session's changes as a unified diff.",
        annotations(read_only_hint = true)
    )]
    async fn diff(&self, Parameters(params): Parameters<PathParams>) -> Answer {
        Ok(match self.held.diff(&params.below()).await {
            Ok(shown) => {
                let value = json!({ "left_out_bytes": shown.left_out, "at_least": shown.at_least });
                good(shown.text, value)
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

/// A list of changes, the first of which are told, and all are counted that were read.
#[derive(Debug, Default)]
struct Listed {
    entries: Vec<Value>,
    bytes: usize,
    in_all: usize,
    /// Whether the list went on.
    at_least: bool,
}

impl Listed {
    /// What stands in front of an error is listed all the same.
    fn read(json: &[u8]) -> (Self, Option<serde_json::Error>) {
        let mut listed = Self::default();
        let error = serde_json::Deserializer::from_slice(json).deserialize_seq(&mut listed).err();
        listed.at_least = error.is_some();
        (listed, error)
    }

    fn told(self) -> CallToolResult {
        let Self { entries, in_all, at_least, .. } = self;
        let mut text = inert::json(&Value::from(entries.clone()).to_string());
        if entries.len() < in_all || at_least {
            let least = if at_least { "at least " } else { "" };
            text.push_str(&format!("\n[{} of {least}{in_all} entries]", entries.len()));
        }
        good(text, json!({ "entries": entries, "in_all": in_all, "at_least": at_least }))
    }
}

impl<'de> Visitor<'de> for &mut Listed {
    type Value = ();

    fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("a list of changes")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while self.bytes < MOST_TOLD {
            let Some(entry) = list.next_element::<Value>()? else { return Ok(()) };
            self.in_all += 1;
            self.bytes += entry.to_string().len();
            if self.bytes <= MOST_TOLD {
                self.entries.push(entry);
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            self.in_all += 1;
        }
        Ok(())
    }
}
