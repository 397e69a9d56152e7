//! The task alone: which fields its mode needs and which it must not have, and the form of each.

use std::path::Path;

use super::wrong;
use crate::control::artifact;
use crate::control::retry::MOST_ATTEMPTS;
use crate::control::task::{ExecutionMode, NewTask, SandboxBlock};
use crate::env::EnvName;
use crate::image::ImageRef;
use crate::paths::clean_absolute;
use crate::quantity::{ByteSize, Cpus};
use crate::refusal::{Refusal, Rule};

/// Longest text of a name or a title.
const LONGEST: usize = 200;
const MOST_ARGUMENTS: usize = 4096;
const MOST_ITEMS: usize = 256;

/// Whether a task makes sense by itself.
pub fn form(task: &NewTask) -> Result<(), Refusal> {
    let mode = task.execution_mode;
    if task.project.is_none() && mode != ExecutionMode::NoWorkspace {
        return Err(wrong(
            "project",
            "this execution mode works on a project, and none is named",
            "name a project, or use execution_mode no-workspace",
        ));
    }
    match (&task.sandbox, mode) {
        (None, ExecutionMode::DockerSandbox) => {
            return Err(wrong(
                "sandbox",
                "execution_mode docker-sandbox needs a sandbox block",
                "add sandbox with image and command",
            ));
        }
        (Some(block), ExecutionMode::DockerSandbox) => {
            if !task.command.is_empty() {
                let message =
                    "in execution_mode docker-sandbox the command stands in the sandbox block";
                return Err(wrong("command", message, "move it to sandbox.command"));
            }
            sandbox(block)?;
        }
        (Some(_), _) => {
            return Err(wrong(
                "sandbox",
                "only execution_mode docker-sandbox uses a sandbox block",
                "leave it out, or use execution_mode docker-sandbox",
            ));
        }
        (None, _) => command("command", &task.command)?,
    }
    if !task.paths.is_empty() && mode != ExecutionMode::SharedWorkspace {
        let message = "only execution_mode shared-workspace locks paths";
        return Err(wrong(
            "paths",
            message,
            "leave them out, or use execution_mode shared-workspace",
        ));
    }
    few("paths", task.paths.len())?;
    for (at, path) in task.paths.iter().enumerate() {
        let plain = Path::new(path).components().all(|part| {
            matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir)
        });
        if path.is_empty() || !plain || path.contains('\0') {
            let message = format!("{path:?} is not a path below the project's root");
            return Err(wrong(&format!("paths[{at}]"), message, "write it relative, without `..`"));
        }
    }
    artifacts(task)?;
    if let Some(title) = &task.title {
        short("title", title)?;
    }
    if task.retry.max_attempts == 0 || task.retry.max_attempts > MOST_ATTEMPTS {
        let message = format!("there are 1 to {MOST_ATTEMPTS} attempts");
        return Err(wrong("retry.max_attempts", message, "the first attempt counts, too"));
    }
    if task.retry.max_attempts > 1 && task.retry.on.is_empty() {
        return Err(wrong(
            "retry.on",
            "it names no end after which there would be another attempt",
            "name some of failed, timed_out, oom, sandbox_failure and lost, or ask for one attempt",
        ));
    }
    few("labels", task.labels.len())?;
    for (at, label) in task.labels.iter().enumerate() {
        name(&format!("labels[{at}]"), label)?;
    }
    few("overrides", task.overrides.len())?;
    for (at, each) in task.overrides.iter().enumerate() {
        if each.reason.trim().is_empty() {
            let field = format!("overrides[{at}].reason");
            return Err(wrong(&field, "an override needs a reason", "say why, for the record"));
        }
        short(&format!("overrides[{at}].reason"), &each.reason)?;
    }
    few("settings", task.settings.len())
}

/// What is to be kept of it must be something that it can leave.
fn artifacts(task: &NewTask) -> Result<(), Refusal> {
    if !task.artifacts.is_empty() && task.execution_mode == ExecutionMode::SharedWorkspace {
        return Err(wrong(
            "artifacts",
            "in execution_mode shared-workspace a task writes into the project itself, and nothing is kept apart",
            "leave them out, or use another execution_mode",
        ));
    }
    if task.artifacts.len() > artifact::MOST {
        let message = format!("it has more than {} items", artifact::MOST);
        let refusal = wrong("artifacts", message, "pack them into one file");
        return Err(Refusal { rule: Rule::ValueForm, ..refusal });
    }
    for (at, path) in task.artifacts.iter().enumerate() {
        let field = format!("artifacts[{at}]");
        if !artifact::is_name(path) {
            let message = format!("{path:?} is not a path of a file in the workspace");
            let remedy = "write it relative to the workspace, with at most 200 bytes and without `.` and `..`";
            return Err(wrong(&field, message, remedy));
        }
        let is_result = task.result && path == artifact::RESULT;
        if is_result || task.artifacts[..at].contains(path) {
            let message = format!("{path:?} is there twice");
            return Err(wrong(&field, message, "name each file once"));
        }
    }
    Ok(())
}

fn sandbox(block: &SandboxBlock) -> Result<(), Refusal> {
    let parsed = |field: &str, error: Option<String>, remedy: &str| match error {
        None => Ok(()),
        Some(message) => Err(wrong(field, message, remedy)),
    };
    let image = block.image.parse::<ImageRef>().err().map(|error| error.to_string());
    parsed("sandbox.image", image, "name an image that the engine has")?;
    command("sandbox.command", &block.command)?;
    if let Some(workdir) = &block.workdir
        && (workdir.is_empty() || workdir.contains('\0'))
    {
        return Err(wrong("sandbox.workdir", "it is not a path", "write a path, or leave it out"));
    }
    few("sandbox.env", block.env.len())?;
    for (key, value) in &block.env {
        let field = format!("sandbox.env.{key}");
        let known: EnvName = key
            .parse()
            .map_err(|error| wrong(&field, format!("{error}"), "use letters, digits and _"))?;
        if known.sounds_secret() {
            return Err(wrong(
                &field,
                "the value of a secret does not belong into a task, where it would be kept and shown",
                "pass it by name with sandbox.pass_env, and set it where the runner is",
            ));
        }
        if value.contains('\0') {
            return Err(wrong(&field, "the value holds a NUL byte", "leave it out"));
        }
    }
    few("sandbox.pass_env", block.pass_env.len())?;
    for (at, key) in block.pass_env.iter().enumerate() {
        let error = key.parse::<EnvName>().err().map(|error| error.to_string());
        parsed(&format!("sandbox.pass_env[{at}]"), error, "use letters, digits and _")?;
    }
    few("sandbox.mounts", block.mounts.len())?;
    for (at, mount) in block.mounts.iter().enumerate() {
        let source = Path::new(&mount.source);
        let field = format!("sandbox.mounts[{at}].source");
        if mount.source.is_empty() || mount.source.contains(['\0', ':']) {
            return Err(wrong(&field, "it is not a path of the host", "write a path without `:`"));
        }
        if source.is_absolute() && clean_absolute(source).is_none() {
            return Err(wrong(&field, "it leads above the root", "write it without `..`"));
        }
        if mount.target.contains(['\0', ':']) || clean_absolute(Path::new(&mount.target)).is_none()
        {
            return Err(wrong(
                &format!("sandbox.mounts[{at}].target"),
                "it is not an absolute path inside the sandbox",
                "write one such as /data",
            ));
        }
    }
    let memory = block.memory.as_ref().and_then(|text| text.parse::<ByteSize>().err());
    parsed("sandbox.memory", memory.map(|e| e.to_string()), "write a size such as 512m")?;
    let cpus = block.cpus.as_ref().and_then(|text| text.parse::<Cpus>().err());
    parsed("sandbox.cpus", cpus.map(|e| e.to_string()), "write a number such as 1.5")?;
    let pids = (block.pids == Some(0)).then(|| "there must be room for one process".to_owned());
    parsed("sandbox.pids", pids, "write 1 or more")
}

fn command(field: &str, command: &[String]) -> Result<(), Refusal> {
    if command.first().is_none_or(|program| program.is_empty()) {
        return Err(wrong(
            field,
            "there is no command to run",
            "write program and arguments as a list",
        ));
    }
    if command.len() > MOST_ARGUMENTS {
        let message = format!("it has more than {MOST_ARGUMENTS} arguments");
        return Err(wrong(field, message, "put them into a file"));
    }
    match command.iter().position(|arg| arg.contains('\0')) {
        None => Ok(()),
        Some(at) => {
            let message = "an argument holds a NUL byte";
            Err(wrong(
                &format!("{field}[{at}]"),
                message,
                "no program can be given one; leave it out",
            ))
        }
    }
}

/// A name that people type: of a project, a role, a label, a token, a runner.
pub fn name(field: &str, text: &str) -> Result<(), Refusal> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | ':');
    let good = !text.is_empty()
        && text.len() <= 100
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(plain);
    if good {
        return Ok(());
    }
    Err(wrong(
        field,
        "a name has 1 to 100 letters, digits and `-_./:`, and begins with a letter or a digit",
        "choose another name",
    ))
}

fn short(field: &str, text: &str) -> Result<(), Refusal> {
    if text.chars().count() <= LONGEST && !text.contains('\0') {
        return Ok(());
    }
    Err(wrong(field, format!("it is longer than {LONGEST} characters"), "make it shorter"))
}

fn few(field: &str, count: usize) -> Result<(), Refusal> {
    if count <= MOST_ITEMS {
        return Ok(());
    }
    let message = format!("it has more than {MOST_ITEMS} items");
    Err(Refusal { rule: Rule::ValueForm, ..wrong(field, message, "ask for less") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn field(task: Value) -> Option<String> {
        let task: NewTask = serde_json::from_value(task).unwrap();
        form(&task).err().map(|refusal| refusal.field)
    }

    fn with(key: &str, value: Value) -> Value {
        let mut block = json!({"image": "debian:12", "command": ["true"]});
        block[key] = value;
        let project = crate::control::id::ProjectId::from_parts(1, 1);
        json!({"project": project, "execution_mode": "docker-sandbox", "sandbox": block})
    }

    #[test]
    fn each_mode_has_what_it_needs_and_nothing_that_it_ignores() {
        let project = crate::control::id::ProjectId::from_parts(1, 1);
        let plain = json!({"execution_mode": "no-workspace", "command": ["true"]});
        assert_eq!(field(plain.clone()), None);
        for mode in ["shared-workspace", "isolated-worktree", "docker-sandbox"] {
            let mut task = plain.clone();
            task["execution_mode"] = json!(mode);
            assert_eq!(field(task), Some("project".into()), "{mode}");
        }
        let mut task = plain.clone();
        task["sandbox"] = json!({"image": "a", "command": ["true"]});
        assert_eq!(field(task), Some("sandbox".into()));
        let mut task = plain.clone();
        task["paths"] = json!(["src"]);
        assert_eq!(field(task), Some("paths".into()));
        let none = json!({"project": project, "execution_mode": "docker-sandbox"});
        assert_eq!(field(none), Some("sandbox".into()));
        let mut both = with("pids", json!(5));
        assert_eq!(field(both.clone()), None);
        both["command"] = json!(["x"]);
        assert_eq!(field(both), Some("command".into()));
        assert_eq!(field(json!({"execution_mode": "no-workspace"})), Some("command".into()));
    }

    #[test]
    fn every_field_of_the_block_is_looked_at_and_named() {
        for (key, bad, named) in [
            ("image", json!("--privileged"), "sandbox.image"),
            ("command", json!([]), "sandbox.command"),
            ("command", json!(["a", "b\u{0}"]), "sandbox.command[1]"),
            ("workdir", json!(""), "sandbox.workdir"),
            ("env", json!({"A-B": "x"}), "sandbox.env.A-B"),
            ("env", json!({"API_TOKEN": "x"}), "sandbox.env.API_TOKEN"),
            ("pass_env", json!(["A", "1"]), "sandbox.pass_env[1]"),
            ("mounts", json!([{"source": "", "target": "/x"}]), "sandbox.mounts[0].source"),
            ("mounts", json!([{"source": "/a", "target": "x"}]), "sandbox.mounts[0].target"),
            ("memory", json!("lots"), "sandbox.memory"),
            ("cpus", json!("many"), "sandbox.cpus"),
            ("pids", json!(0), "sandbox.pids"),
        ] {
            assert_eq!(field(with(key, bad)), Some(named.to_owned()));
        }
    }

    #[test]
    fn artifacts_are_files_that_a_task_can_leave() {
        let task = |more: Value| {
            let mut task = json!({"execution_mode": "no-workspace", "command": ["true"]});
            for (key, value) in more.as_object().unwrap() {
                task[key] = value.clone();
            }
            field(task)
        };
        assert_eq!(task(json!({"artifacts": ["a", "b/c.xml"], "result": true})), None);
        assert_eq!(task(json!({"artifacts": ["result.json"]})), None);
        for (bad, named) in [
            (json!(["a", "/etc/passwd"]), "artifacts[1]"),
            (json!(["../a"]), "artifacts[0]"),
            (json!(["a", "b", "a"]), "artifacts[2]"),
            (json!(["result.json"]), "artifacts[0]"),
            (json!(vec!["x"; 65]), "artifacts"),
        ] {
            let refused = task(json!({"artifacts": bad, "result": true}));
            assert_eq!(refused, Some(named.to_owned()));
        }
        let project = crate::control::id::ProjectId::from_parts(1, 1);
        let shared =
            json!({"artifacts": ["a"], "project": project, "execution_mode": "shared-workspace"});
        assert_eq!(task(shared), Some("artifacts".into()));
    }

    #[test]
    fn more_attempts_are_for_some_end() {
        let task = |retry: Value| {
            field(json!({"execution_mode": "no-workspace", "command": ["true"], "retry": retry}))
        };
        assert_eq!(task(json!({"max_attempts": 3})), Some("retry.on".into()));
        assert_eq!(task(json!({"max_attempts": 2, "on": []})), Some("retry.on".into()));
        assert_eq!(task(json!({"max_attempts": 3, "on": ["lost"]})), None);
        assert_eq!(task(json!({"max_attempts": 1})), None);
        assert_eq!(task(json!({"max_attempts": 0})), Some("retry.max_attempts".into()));
    }

    #[test]
    fn locks_stay_below_the_root() {
        let project = crate::control::id::ProjectId::from_parts(1, 1);
        for (path, fine) in
            [("src", true), ("./a/b", true), ("../x", false), ("/etc", false), ("", false)]
        {
            let task = json!({
                "project": project, "execution_mode": "shared-workspace",
                "command": ["true"], "paths": [path],
            });
            assert_eq!(field(task).is_none(), fine, "{path}");
        }
    }
}
