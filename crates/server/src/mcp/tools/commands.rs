//! Tools for commands: run one, look at its output, kill it.

use cofferdam_core::inert::Inert;
use cofferdam_core::paths::Arg;
use cofferdam_core::plan::ExecSpec;
use cofferdam_core::quantity::Span;
use cofferdam_sandbox::changes::Touched;
use cofferdam_sandbox::session::{Job, kept_output};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::CallToolResult;
use rmcp::service::RequestContext;
use rmcp::{RoleServer, tool, tool_router};
use serde_json::{Value, json};

use super::{Answer, call};
use crate::mcp::answer::{Shown, bad, good};
use crate::mcp::params::{JobParams, ShellParams};
use crate::mcp::run::{Done, Ends, KILL, blocking, run};
use crate::mcp::server::Server;

#[tool_router(router = command_tools, vis = "pub(in crate::mcp)")]
impl Server {
    #[tool(
        description = "Run a command in the sandbox and wait for its end, or start it in the background. The result \
        has the outcome class (exited, signaled, timed_out, oom, canceled, sandbox_failure), the exit code, and the \
        output, shortened in the middle where it is long. `changes` counts what the session has changed so far; a file \
        that was put back counts too. A command that fails is no error of the tool."
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
        let client = match self.held.client().await {
            Ok(client) => client,
            Err(why) => return Ok(bad(&why)),
        };
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
        Ok(match run(client, spec, Ends::default(), call(context)).await {
            Ok(done) => ended(&done, self.held.touched().await),
            Err(error) => bad(&error),
        })
    }

    #[tool(
        description = "What a command has written so far, and whether it still runs.",
        annotations(read_only_hint = true)
    )]
    async fn read_output(&self, Parameters(params): Parameters<JobParams>) -> Answer {
        let client = match self.held.client().await {
            Ok(client) => client,
            Err(why) => return Ok(bad(&why)),
        };
        let found = blocking(move || {
            let jobs = client.jobs().map_err(|error| error.to_string())?;
            let job = jobs.into_iter().find(|job| job.exec == params.job);
            let job = job.ok_or_else(|| format!("there is no command {}", params.job))?;
            let [stdout, stderr] =
                kept_output(client.dir(), &job).map_err(|error| error.to_string())?;
            Ok::<_, String>(Done { job, stdout, stderr, exact: None })
        });
        Ok(match found.await {
            Ok(Ok(done)) => ended(&done, self.held.touched().await),
            Ok(Err(error)) | Err(error) => bad(&error),
        })
    }

    #[tool(description = "Kill a command with everything that it started and left running.")]
    async fn kill(&self, Parameters(params): Parameters<JobParams>) -> Answer {
        let client = match self.held.client().await {
            Ok(client) => client,
            Err(why) => return Ok(bad(&why)),
        };
        let killed = blocking(move || client.kill(&params.job.to_string(), KILL)).await;
        Ok(match killed {
            Ok(Ok(())) => good("killed", json!({ "job": params.job })),
            Ok(Err(error)) => bad(&error.to_string()),
            Err(error) => bad(&error),
        })
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
fn ended(done: &Done, changes: Option<Touched>) -> CallToolResult {
    let (stdout, stderr) = (Shown::kept(&done.stdout), Shown::kept(&done.stderr));
    let mut value = brief(&done.job);
    value["stdout"] = stdout.text.clone().into();
    value["stderr"] = stderr.text.clone().into();
    value["truncated"] = (stdout.left_out + stderr.left_out > 0).into();
    value["stdout_left_out_bytes"] = stdout.left_out.into();
    value["stderr_left_out_bytes"] = stderr.left_out.into();
    value["changes"] = json!(changes);
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

pub(super) fn brief(job: &Job) -> Value {
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
