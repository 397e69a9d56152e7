//! The tools and resources, one method each.

use cofferdam_core::inert::{self, Inert};
use cofferdam_core::paths::Arg;
use cofferdam_core::plan::ExecSpec;
use cofferdam_core::quantity::Span;
use cofferdam_sandbox::session::{Job, kept_output};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolResult, Implementation, ListResourcesResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, tool, tool_handler, tool_router};
use serde_json::{Value, json};

use super::answer::{Shown, bad, good};
use super::files;
use super::held::Held;
use super::params::{
    DiffParams, EditParams, JobParams, ListParams, NoParams, ReadParams, SearchParams, ShellParams,
    WriteParams,
};
use super::run::{Call, Done, KILL, blocking, run};

#[derive(Debug, Clone)]
pub(super) struct Server {
    held: Held,
    tool_router: ToolRouter<Self>,
}

const PLAN: &str = "cofferdam://session/plan";
const RECEIPT: &str = "cofferdam://session/receipt";
const DIFF: &str = "cofferdam://session/diff";

const INSTRUCTIONS: &str = "Everything here happens in a sandbox: the project is at /workspace, staged, so that nothing \
    reaches the user's files until they apply it themselves. There is no network unless the user allowed it. Commands \
    share one session: files, background processes and installed packages stay from call to call. Say what you changed \
    when you are done; the user reviews it with `cofferdam diff` and applies it with `cofferdam apply`.";

type Answer = Result<CallToolResult, ErrorData>;

fn call(context: RequestContext<RoleServer>) -> Call {
    Call { cancel: context.ct.clone(), context: Some(context) }
}

#[tool_router]
impl Server {
    pub(super) fn new(held: Held) -> Self {
        Self { held, tool_router: Self::tool_router() }
    }

    #[tool(
        description = "Run a command in the sandbox and wait for its end, or start it in the background. The result \
        has the outcome class (exited, signaled, timed_out, oom, canceled, sandbox_failure), the exit code, and the \
        output, shortened in the middle where it is long. A command that fails is no error of the tool."
    )]
    async fn shell(
        &self,
        Parameters(params): Parameters<ShellParams>,
        context: RequestContext<RoleServer>,
    ) -> Answer {
        let background = params.background;
        let spec = match shell_spec(params) {
            Ok(spec) => spec,
            Err(why) => return Ok(bad(why)),
        };
        let client = self.held.client();
        if background {
            let begun = blocking(move || client.exec_detached(&spec, None)).await;
            return Ok(match begun {
                Ok(Ok(job)) => {
                    let words = format!("command {job} runs in the background");
                    good(words, json!({ "job": job, "running": true }))
                }
                Ok(Err(error)) => bad(&error.to_string()),
                Err(error) => bad(&error),
            });
        }
        Ok(match run(client, spec, None, call(context)).await {
            Ok(done) => ended(&done),
            Err(error) => bad(&error),
        })
    }

    #[tool(
        description = "What a command has written so far, and whether it still runs.",
        annotations(read_only_hint = true)
    )]
    async fn read_output(&self, Parameters(params): Parameters<JobParams>) -> Answer {
        let client = self.held.client();
        let found = blocking(move || {
            let jobs = client.jobs().map_err(|error| error.to_string())?;
            let job = jobs.into_iter().find(|job| job.exec == params.job);
            let job = job.ok_or_else(|| format!("there is no command {}", params.job))?;
            let [stdout, stderr] =
                kept_output(client.dir(), &job).map_err(|error| error.to_string())?;
            Ok::<_, String>(Done { job, stdout, stderr })
        });
        Ok(match found.await {
            Ok(Ok(done)) => ended(&done),
            Ok(Err(error)) | Err(error) => bad(&error),
        })
    }

    #[tool(description = "Kill a command with everything that it started and left running.")]
    async fn kill(&self, Parameters(params): Parameters<JobParams>) -> Answer {
        let client = self.held.client();
        let killed = blocking(move || client.kill(&params.job.to_string(), KILL)).await;
        Ok(match killed {
            Ok(Ok(())) => good("killed", json!({ "job": params.job })),
            Ok(Err(error)) => bad(&error.to_string()),
            Err(error) => bad(&error),
        })
    }

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
        if content.len() >= files::LARGEST {
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
        let spec = files::list(&path, params.depth.unwrap_or(1).clamp(1, 32));
        Ok(match run(self.held.client(), spec, None, call(context)).await {
            Ok(done) => match files::refusal(&done, &path) {
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
        let spec = files::search(&params.pattern, &path);
        Ok(match run(self.held.client(), spec, None, call(context)).await {
            Ok(done) => match files::refusal(&done, &path) {
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

    #[tool(
        description = "What the session has changed in the workspace so far, entry by entry, with what the user's gate \
            says about each.",
        annotations(read_only_hint = true)
    )]
    async fn changes(&self, Parameters(NoParams {}): Parameters<NoParams>) -> Answer {
        Ok(match self.own(&["diff", "--json"], &[]).await {
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
    async fn diff(&self, Parameters(params): Parameters<DiffParams>) -> Answer {
        let paths: Vec<String> = params.paths.iter().map(|path| format!("./{path}")).collect();
        Ok(match self.own(&["diff"], &paths).await {
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
        let held = self.held.clone();
        let found = blocking(move || {
            let jobs = held.client().jobs().map_err(|error| error.to_string())?;
            let record = held.record().map_err(|error| error.to_string())?;
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

impl Server {
    async fn content(&self, path: &str, call: Call) -> Result<Vec<u8>, String> {
        let done = run(self.held.client(), files::read(path), None, call).await?;
        match files::refusal(&done, path) {
            Some(why) => Err(why),
            None => Ok([done.stdout.head, done.stdout.tail].concat()),
        }
    }

    async fn put(&self, path: &str, content: Vec<u8>, call: Call) -> Result<(), String> {
        let done = run(self.held.client(), files::write(path), Some(content), call).await?;
        files::refusal(&done, path).map_or(Ok(()), Err)
    }

    /// What a command of our own says about the session.
    async fn own(&self, words: &[&str], paths: &[String]) -> Result<String, String> {
        let record = self.held.record().map_err(|error| error.to_string())?;
        let mut command = std::process::Command::new(self.held.program());
        command.args(words).args(["--session", &record.run.to_string()]).args(paths);
        command.current_dir(&record.workspace).stdin(std::process::Stdio::null());
        let output =
            blocking(move || command.output()).await?.map_err(|error| error.to_string())?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    async fn resource(&self, uri: &str) -> Result<String, String> {
        let record = || self.held.record().map_err(|error| error.to_string());
        match uri {
            PLAN => {
                let plan = serde_json::to_string_pretty(&record()?.plan);
                Ok(inert::json(&plan.map_err(|error| error.to_string())?))
            }
            RECEIPT => {
                let path = self.held.client().dir().join("receipt.json");
                let text = std::fs::read_to_string(&path);
                text.map(|text| inert::json(&text)).map_err(|error| error.to_string())
            }
            DIFF => Ok(Shown::bytes(self.own(&["diff"], &[]).await?.as_bytes()).text),
            _ => Err(format!("there is no resource {}", Inert::line(uri))),
        }
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("cofferdam", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = [
            (PLAN, "plan", "What the sandbox was asked to be", "application/json"),
            (RECEIPT, "receipt", "What is enforced, as read back", "application/json"),
            (DIFF, "diff", "What the session has changed so far", "text/x-diff"),
        ];
        let resources = resources.map(|(uri, name, what, kind)| {
            Resource::new(uri, name).with_description(what).with_mime_type(kind)
        });
        Ok(ListResourcesResult::with_all_items(resources.into()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match self.resource(&request.uri).await {
            Ok(text) => {
                let contents = vec![ResourceContents::text(text, request.uri)];
                Ok(ReadResourceResult::new(contents).into())
            }
            Err(why) => Err(ErrorData::resource_not_found(why, None)),
        }
    }
}

fn shell_spec(params: ShellParams) -> Result<ExecSpec, &'static str> {
    let command = match (params.command, params.argv) {
        (Some(line), None) => vec!["sh".to_owned(), "-c".to_owned(), line],
        (None, Some(argv)) if !argv.is_empty() => argv,
        _ => return Err("give either `command` or `argv`"),
    };
    let seconds = |seconds: u64| Span { millis: seconds.saturating_mul(1000) };
    Ok(ExecSpec {
        command: command.into_iter().map(|word| Arg(word.into())).collect(),
        timeout: params.timeout.map(seconds),
        workdir: params.workdir.map(|dir| std::path::PathBuf::from(dir).into()),
        ..ExecSpec::default()
    })
}

/// A command as it ended, or as far as it is.
fn ended(done: &Done) -> CallToolResult {
    let (stdout, stderr) = (Shown::kept(&done.stdout), Shown::kept(&done.stderr));
    let mut value = brief(&done.job);
    value["stdout"] = stdout.text.clone().into();
    value["stderr"] = stderr.text.clone().into();
    value["truncated"] = (stdout.left_out + stderr.left_out > 0).into();
    value["stdout_left_out_bytes"] = stdout.left_out.into();
    value["stderr_left_out_bytes"] = stderr.left_out.into();
    let mut text = stdout.text;
    if !stderr.text.is_empty() {
        text.push_str(&format!("\n[stderr]\n{}", stderr.text));
    }
    let state = match &done.job.outcome {
        None => "still running".to_owned(),
        Some(outcome) => {
            let code = outcome.exit_code.map(|code| format!(" {code}")).unwrap_or_default();
            let signal =
                outcome.signal.map(|signal| format!(" signal {signal}")).unwrap_or_default();
            let why = outcome.message.as_deref().map(|m| format!(": {m}")).unwrap_or_default();
            format!("{}{code}{signal}{why}", value["outcome"].as_str().unwrap_or_default())
        }
    };
    text.push_str(&format!("\n[{}]", Inert::line(&state)));
    good(text, value)
}

fn brief(job: &Job) -> Value {
    let words: Vec<String> = job.command.iter().map(|a| Inert::os(&a.0).to_string()).collect();
    let outcome = job.outcome.as_ref();
    json!({
        "job": job.exec, "command": words, "running": outcome.is_none(),
        "outcome": outcome.map(|outcome| outcome.class),
        "exit_code": outcome.and_then(|outcome| outcome.exit_code),
        "signal": outcome.and_then(|outcome| outcome.signal),
        "message": outcome.and_then(|outcome| outcome.message.as_deref().map(|m| Inert::line(m).to_string())),
        "wall_ms": job.usage.as_ref().map(|usage| usage.wall_ms),
    })
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
