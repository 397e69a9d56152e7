//! Tools for the files of the workspace.

use cofferdam_core::inert::Inert;
use cofferdam_core::plan::ExecSpec;
use cofferdam_sandbox::runs::KeptOutput;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::CallToolResult;
use rmcp::service::RequestContext;
use rmcp::{RoleServer, tool, tool_router};
use serde_json::{Value, json};

use super::{Answer, call};
use crate::mcp::answer::{MOST, Shown, bad, good};
use crate::mcp::params::{EditParams, ListParams, ReadParams, SearchParams, WriteParams};
use crate::mcp::run::{Call, Done, Ends, Exact, run};
use crate::mcp::scripts::{self, Size};
use crate::mcp::server::Server;

/// Bytes that are shown of one line that a search found.
const MOST_OF_A_LINE: usize = 4096;

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
        let first = params.from_line.unwrap_or(1).max(1);
        let spec = scripts::read(&params.path, first, params.lines);
        let ends = Ends { exact: Some(Exact::Stderr), ..Ends::default() };
        let done = match self.inside(spec, ends, call(context)).await {
            Ok(done) => done,
            Err(why) => return Ok(bad(&why)),
        };
        if let Some(why) = scripts::refusal(&done, &params.path) {
            return Ok(bad(&why));
        }
        let Some(size) = done.exact.as_deref().and_then(Size::said) else {
            return Ok(bad(&format!("it cannot be said how large {} is", params.path)));
        };
        let shown = Shown::kept(&done.stdout);
        let value = json!({
            "path": params.path, "bytes": size.bytes, "lines": size.lines,
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
        if content.len() > scripts::LARGEST {
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
        Ok(match self.inside(spec, Ends::default(), call(context)).await {
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
        Ok(match self.inside(spec, Ends::default(), call(context)).await {
            Ok(done) => match scripts::refusal(&done, &path) {
                Some(why) => bad(&why),
                None if !done.stderr.head.is_empty() => {
                    bad(&String::from_utf8_lossy(&done.stderr.head))
                }
                None => found(&done),
            },
            Err(error) => bad(&error),
        })
    }
}

impl Server {
    async fn inside(&self, spec: ExecSpec, ends: Ends, call: Call) -> Result<Done, String> {
        run(self.held.client().await?, spec, ends, call).await
    }

    /// A file byte for byte, to be changed and written back. None of it is shown.
    async fn content(&self, path: &str, call: Call) -> Result<Vec<u8>, String> {
        let ends = Ends { exact: Some(Exact::Stdout), ..Ends::default() };
        let done = self.inside(scripts::whole(path), ends, call).await?;
        match scripts::refusal(&done, path) {
            Some(why) => Err(why),
            None => done.exact.ok_or_else(|| format!("{path} could not be read whole")),
        }
    }

    async fn put(&self, path: &str, content: Vec<u8>, call: Call) -> Result<(), String> {
        let spec = scripts::write(path, content.len());
        let ends = Ends { input: Some(content), ..Ends::default() };
        let done = self.inside(spec, ends, call).await?;
        scripts::refusal(&done, path).map_or(Ok(()), Err)
    }
}

/// The entries of a listing, so many as are shown of one; what was cut off in the middle of its record is left out.
fn listed(done: &Done) -> CallToolResult {
    let mut shown = 0;
    let mut entries: Vec<Value> = Vec::new();
    for record in done.stdout.head.split_inclusive(|byte| *byte == 0) {
        let Some((0, fields)) = record.split_last() else { break };
        if shown + record.len() > MOST {
            break;
        }
        shown += record.len();
        entries.extend(entry(fields));
    }
    let names: Vec<&str> = entries.iter().filter_map(|entry| entry["path"].as_str()).collect();
    let left_out = written(&done.stdout) - shown as u64;
    good(names.join("\n"), json!({ "entries": entries, "left_out_bytes": left_out }))
}

fn entry(fields: &[u8]) -> Option<Value> {
    let mut fields = fields.splitn(3, |byte| *byte == b'\t');
    let kind = match fields.next()? {
        b"f" => "file",
        b"d" => "directory",
        b"l" => "symlink",
        _ => "other",
    };
    let size: u64 = str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let path = Inert::line(fields.next()?).to_string();
    Some(json!({ "kind": kind, "size": size, "path": path }))
}

/// The lines that a search found, so many as are shown of one; of a very long line its beginning.
fn found(done: &Done) -> CallToolResult {
    let mut rest = &done.stdout.head[..];
    let (mut shown, mut text, mut lines) = (0, String::new(), 0);
    while let Some((name, line, after)) = finding(rest) {
        let kept = &line[..line.len().min(MOST_OF_A_LINE)];
        if shown + name.len() + kept.len() > MOST {
            break;
        }
        let cut = if kept.len() < line.len() { " […]" } else { "" };
        text.push_str(&format!("{}:{}{cut}\n", Inert::line(name), Inert::block(kept)));
        // The name's NUL, and the end of the line where it was reached.
        shown += name.len() + 1 + kept.len() + usize::from(cut.is_empty());
        lines += 1;
        rest = after;
    }
    let left_out = written(&done.stdout).saturating_sub(shown as u64);
    good(text, json!({ "lines": lines, "left_out_bytes": left_out }))
}

/// The next line that was found: its file, its number with the line itself, and what follows.
fn finding(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let name = bytes.iter().position(|byte| *byte == 0)?;
    let (name, rest) = (&bytes[..name], &bytes[name + 1..]);
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    Some((name, &rest[..end], &rest[end + 1..]))
}

fn written(kept: &KeptOutput) -> u64 {
    (kept.head.len() + kept.tail.len()) as u64 + kept.dropped
}
