//! Tools for the files of the workspace.

use cofferdam_core::plan::ExecSpec;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::CallToolResult;
use rmcp::service::RequestContext;
use rmcp::{RoleServer, tool, tool_router};
use serde_json::{Value, json};

use super::{Answer, call};
use crate::mcp::answer::{Shown, bad, good};
use crate::mcp::params::{EditParams, ListParams, ReadParams, SearchParams, WriteParams};
use crate::mcp::run::{Call, Done, run};
use crate::mcp::scripts;
use crate::mcp::server::Server;

#[tool_router(router = file_tools, vis = "pub(in crate::mcp)")]
impl Server {
    #[tool(
        description = "Read a text file of the workspace, or some lines of it. Control characters are shown escaped.",
        annotations(read_only_hint = true)
    )]
    async fn read_file(
        &self,
        Parameters(params): Parameters<ReadParams>,
        context: RequestContext<RoleServer>,
    ) -> Answer {
        let content = match self.content(&params.path, call(context)).await {
            Ok(content) => content,
            Err(why) => return Ok(bad(&why)),
        };
        let text = String::from_utf8_lossy(&content);
        let first = params.from_line.unwrap_or(1).max(1);
        let most = params.lines.unwrap_or(usize::MAX);
        let lines = text.split_inclusive('\n').count();
        let part: String = text.split_inclusive('\n').skip(first - 1).take(most).collect();
        let shown = Shown::bytes(part.as_bytes());
        let value = json!({
            "path": params.path, "bytes": content.len(), "lines": lines,
            "from_line": first, "left_out_bytes": shown.left_out,
        });
        Ok(good(shown.text, value))
    }

    #[tool(description = "Write a file of the workspace, whole. Its mode stays what it was.")]
    async fn write_file(
        &self,
        Parameters(params): Parameters<WriteParams>,
        context: RequestContext<RoleServer>,
    ) -> Answer {
        let bytes = params.content.len();
        let wrote = self.put(&params.path, params.content.into_bytes(), call(context)).await;
        Ok(match wrote {
            Ok(()) => good("written", json!({ "path": params.path, "bytes": bytes })),
            Err(why) => bad(&why),
        })
    }

    #[tool(
        description = "Replace a piece of text in a file of the workspace. The piece must stand there exactly, and only \
        once unless `all` is set."
    )]
    async fn edit_file(
        &self,
        Parameters(params): Parameters<EditParams>,
        context: RequestContext<RoleServer>,
    ) -> Answer {
        let EditParams { path, old, new, all } = params;
        let call = call(context);
        let content = match self.content(&path, call.clone()).await {
            Ok(content) => content,
            Err(why) => return Ok(bad(&why)),
        };
        if content.len() >= scripts::LARGEST {
            return Ok(bad(&format!("{path} is too large to be edited so")));
        }
        let Ok(text) = String::from_utf8(content) else {
            return Ok(bad(&format!("{path} is not UTF-8 text")));
        };
        let found = if old.is_empty() { 0 } else { text.matches(&old).count() };
        if found == 0 || (found > 1 && !all) {
            return Ok(bad(&format!("the old text stands {found} times in {path}")));
        }
        let changed = text.replace(&old, &new);
        Ok(match self.put(&path, changed.into_bytes(), call).await {
            Ok(()) => good("edited", json!({ "path": path, "replaced": found })),
            Err(why) => bad(&why),
        })
    }

    #[tool(
        description = "List a directory of the workspace. Git's own directory is left out.",
        annotations(read_only_hint = true)
    )]
    async fn list_files(
        &self,
        Parameters(params): Parameters<ListParams>,
        context: RequestContext<RoleServer>,
    ) -> Answer {
        let path = params.path.unwrap_or_else(|| ".".to_owned());
        let spec = scripts::list(&path, params.depth.unwrap_or(1).clamp(1, 32));
        Ok(match self.inside(spec, None, call(context)).await {
            Ok(done) => match scripts::refusal(&done, &path) {
                Some(why) => bad(&why),
                None => listed(&done),
            },
            Err(error) => bad(&error),
        })
    }

    #[tool(
        description = "Search the files of the workspace for a regular expression. Binary files and git's own directory \
            are left out; at most 500 lines are found.",
        annotations(read_only_hint = true)
    )]
    async fn search(
        &self,
        Parameters(params): Parameters<SearchParams>,
        context: RequestContext<RoleServer>,
    ) -> Answer {
        let path = params.path.unwrap_or_else(|| ".".to_owned());
        let spec = scripts::search(&params.pattern, &path);
        Ok(match self.inside(spec, None, call(context)).await {
            Ok(done) => match scripts::refusal(&done, &path) {
                Some(why) => bad(&why),
                None if !done.stderr.head.is_empty() => {
                    bad(&String::from_utf8_lossy(&done.stderr.head))
                }
                None => {
                    let shown = Shown::kept(&done.stdout);
                    let found = shown.text.lines().count();
                    good(shown.text, json!({ "lines": found, "left_out_bytes": shown.left_out }))
                }
            },
            Err(error) => bad(&error),
        })
    }
}

impl Server {
    async fn inside(
        &self,
        spec: ExecSpec,
        input: Option<Vec<u8>>,
        call: Call,
    ) -> Result<Done, String> {
        run(self.held.client().await?, spec, input, call).await
    }

    async fn content(&self, path: &str, call: Call) -> Result<Vec<u8>, String> {
        let done = self.inside(scripts::read(path), None, call).await?;
        match scripts::refusal(&done, path) {
            Some(why) => Err(why),
            None => Ok([done.stdout.head, done.stdout.tail].concat()),
        }
    }

    async fn put(&self, path: &str, content: Vec<u8>, call: Call) -> Result<(), String> {
        let done = self.inside(scripts::write(path), Some(content), call).await?;
        scripts::refusal(&done, path).map_or(Ok(()), Err)
    }
}

fn listed(done: &Done) -> CallToolResult {
    let shown = Shown::kept(&done.stdout);
    let entries: Vec<Value> = shown
        .text
        .lines()
        .filter_map(|line| {
            let mut fields = line.splitn(3, '\t');
            let kind = match fields.next()? {
                "f" => "file",
                "d" => "directory",
                "l" => "symlink",
                _ => "other",
            };
            let size: u64 = fields.next()?.parse().ok()?;
            Some(json!({ "kind": kind, "size": size, "path": fields.next()? }))
        })
        .collect();
    let names: Vec<&str> = entries.iter().filter_map(|entry| entry["path"].as_str()).collect();
    good(names.join("\n"), json!({ "entries": entries, "left_out_bytes": shown.left_out }))
}
