//! The files that a task was to leave, handed in when its command is over.
//!
//! They are read from the sealed change set and from nowhere else: so they are what the command wrote, whatever links it
//! made, and nothing of the host or of what is hidden from it. Values of secrets are taken out, as they are of its output. What
//! is not there, or is too much, is told as an event and changes nothing of how the task ended.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use cofferdam_core::changes::{Content, ContentHash, FileNode, Node};
use cofferdam_core::control::artifact::{MOST_BYTES, RESULT, is_name};
use cofferdam_core::control::report::{Claim, Held};
use cofferdam_core::record::Record;
use cofferdam_core::redact::Redactor;
use cofferdam_sandbox::changes::{ChangeSet, Objects};
use cofferdam_sandbox::runs::Store;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::backoff::Backoff;
use super::journal::Line;
use super::{Link, LinkError, Runner, blocking};
use crate::plane::NewArtifact;

/// What a task is to leave.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Wanted {
    pub(super) paths: Vec<String>,
    pub(super) result: bool,
}

impl Wanted {
    pub(super) fn of(claim: &Claim) -> Self {
        let asked = &claim.task.asked;
        Self { paths: asked.artifacts.clone(), result: asked.result }
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.paths.is_empty() && !self.result
    }
}

/// What values must not be seen in what is handed in.
#[derive(Debug, Clone)]
pub(super) enum Hidden {
    Values(Redactor),
    /// They are not known any more, after a `kill -9`.
    Forgotten,
}

/// Where the bytes of one lie.
enum Source {
    Object {
        objects: Objects,
        hash: ContentHash,
        size: u64,
    },
    /// Kept with the run, without secrets.
    File(PathBuf),
}

/// Hands in what there is, and says what there is not: as events for the report of the end.
pub(super) async fn hand_in<L: Link>(
    runner: &Arc<Runner<L>>,
    line: &Line,
    record: &Record,
    hidden: Hidden,
) -> Vec<Value> {
    let Line { held: Held { task, attempt }, fence, wanted, .. } = line;
    if wanted.is_nothing() {
        return Vec::new();
    }
    let found = {
        let dir = Store::new(&runner.state).dir(record.run);
        let sealed = record.changes.as_ref().map(|changes| changes.manifest.clone());
        let (wanted, forgotten) = (wanted.clone(), is_forgotten(&hidden, record));
        blocking(move || look(&dir, sealed.as_deref(), &wanted, forgotten)).await
    };
    let found = match found {
        Ok(found) => found,
        Err(error) => return vec![missing(None, &error.to_string())],
    };
    let mut events = Vec::new();
    for (name, source) in found {
        let read = match source {
            Ok(source) => {
                let hidden = hidden.clone();
                let read = blocking(move || read(&source, &hidden)).await;
                read.map_err(|error| error.to_string()).and_then(|read| read)
            }
            Err(reason) => Err(reason),
        };
        let handed = match read {
            Ok(bytes) => {
                let (fence, media_type) = (fence.clone(), media_type(&name).to_owned());
                let name = name.clone();
                let new = NewArtifact { attempt: *attempt, fence, name, media_type, bytes };
                until_taken(runner, *task, &new).await.map_err(|error| error.to_string())
            }
            Err(reason) => Err(reason),
        };
        events.extend(handed.err().map(|reason| missing(Some(&name), &reason)));
    }
    events
}

/// A server that is away is waited for; a no is an answer.
async fn until_taken<L: Link>(
    runner: &Runner<L>,
    task: cofferdam_core::control::id::TaskId,
    new: &NewArtifact,
) -> Result<(), LinkError> {
    let mut backoff = Backoff::default();
    loop {
        match runner.link.artifact(task, new).await {
            Ok(_) => return Ok(()),
            Err(error) if error.is_passing() => backoff.wait().await,
            Err(error) => return Err(error),
        }
    }
}

fn missing(name: Option<&str>, reason: &str) -> Value {
    json!({"type": crate::plane::MISSING, "name": name, "reason": reason})
}

fn is_forgotten(hidden: &Hidden, record: &Record) -> bool {
    let has_secrets = record
        .plan
        .as_ref()
        .is_none_or(|plan| plan.env.values().any(|value| value.secret().is_some()));
    matches!(hidden, Hidden::Forgotten) && has_secrets
}

type Found = Vec<(String, Result<Source, String>)>;

/// Finds each of what is wanted, in the order in which it was named.
fn look(dir: &std::path::Path, sealed: Option<&str>, wanted: &Wanted, forgotten: bool) -> Found {
    let nodes = match (sealed, wanted.paths.is_empty()) {
        (Some(sealed), false) => nodes(dir, sealed, &wanted.paths),
        _ => Ok((HashMap::new(), None)),
    };
    let (mut nodes, objects) = match nodes {
        Ok(nodes) => nodes,
        Err(reason) => {
            return wanted.paths.iter().map(|path| (path.clone(), Err(reason.clone()))).collect();
        }
    };
    let mut one = |path: &String| {
        if forgotten {
            return Err(
                "its runner was restarted and no longer knows the secrets that may stand in it"
                    .to_owned(),
            );
        }
        let node = nodes.remove(path.as_str());
        let (Some(node), Some(objects)) = (node, objects.clone()) else {
            return Err("the command did not write it".to_owned());
        };
        match node {
            Node::File(FileNode { size, .. }) if size > MOST_BYTES => {
                Err(format!("it has {size} bytes, and {MOST_BYTES} are kept of all artifacts"))
            }
            Node::File(FileNode { content: Content::Kept(hash), size, .. }) => {
                Ok(Source::Object { objects, hash, size })
            }
            Node::File(_) => Err("its content was not kept".to_owned()),
            Node::Directory { .. } => Err("it is a directory: pack it into a file".to_owned()),
            Node::Symlink { .. } => Err("it is a link, and links are not followed".to_owned()),
            Node::Special { .. } => Err("it is not a file".to_owned()),
        }
    };
    let mut found: Found = Vec::new();
    for path in &wanted.paths {
        // Judged when the task was made; a server is not asked to be right about this host.
        let source = if is_name(path) { one(path) } else { Err("it is not a name".to_owned()) };
        found.push((path.clone(), source));
    }
    if wanted.result {
        let path = dir.join(RESULT);
        let source = match path.is_file() {
            true => Ok(Source::File(path)),
            false => Err("the command handed over no result".to_owned()),
        };
        found.push((RESULT.to_owned(), source));
    }
    found
}

type Nodes = (HashMap<String, Node>, Option<Objects>);

/// What stands at each of the paths after the run, where that changed.
fn nodes(dir: &std::path::Path, sealed: &str, paths: &[String]) -> Result<Nodes, String> {
    let mut set = ChangeSet::open(dir, sealed).map_err(|error| error.to_string())?;
    let objects = set.objects();
    let mut found = HashMap::new();
    for entry in set.entries().map_err(|error| error.to_string())? {
        let entry = entry.map_err(|error| error.to_string())?;
        let path = entry.path.as_path().to_str().filter(|path| paths.iter().any(|p| p == path));
        if let (Some(path), Some(node)) = (path, entry.after) {
            found.insert(path.to_owned(), node);
        }
    }
    Ok((found, Some(objects)))
}

fn read(source: &Source, hidden: &Hidden) -> Result<Vec<u8>, String> {
    match source {
        Source::Object { objects, hash, size } => {
            let bytes = objects.read(*hash, *size).map_err(|error| error.to_string())?;
            Ok(match hidden {
                Hidden::Values(redactor) => redactor.bytes(&bytes),
                // Only where there are none.
                Hidden::Forgotten => bytes,
            })
        }
        Source::File(path) => std::fs::read(path).map_err(|error| error.to_string()),
    }
}

/// For who looks; it is never given out under it.
fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, end)| end) {
        Some("json") => "application/json",
        Some("xml") => "application/xml",
        Some("txt" | "log" | "md" | "diff" | "patch") => "text/plain",
        Some("html") => "text/html",
        Some("png") => "image/png",
        _ => "application/octet-stream",
    }
}
