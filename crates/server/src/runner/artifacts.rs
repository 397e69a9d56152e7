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

/// What there is to look into.
enum Sealed {
    Manifest(String),
    /// It may have written anything, and nobody can say what.
    Not {
        reason: String,
    },
    Nothing,
}

impl Sealed {
    fn of(record: &Record) -> Self {
        match (&record.unsealed, &record.changes) {
            (Some(unsealed), _) => Self::Not { reason: unsealed.reason.clone() },
            (None, Some(changes)) => Self::Manifest(changes.manifest.clone()),
            (None, None) => Self::Nothing,
        }
    }
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
        let (sealed, wanted, forgotten) =
            (Sealed::of(record), wanted.clone(), is_forgotten(&hidden, record));
        blocking(move || look(&dir, &sealed, &wanted, forgotten)).await
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
fn look(dir: &std::path::Path, sealed: &Sealed, wanted: &Wanted, forgotten: bool) -> Found {
    let nodes = match sealed {
        _ if wanted.paths.is_empty() => Ok((HashMap::new(), None)),
        Sealed::Manifest(manifest) => nodes(dir, manifest, &wanted.paths),
        Sealed::Not { reason } => Err(format!("what the command changed was not sealed: {reason}")),
        Sealed::Nothing => Ok((HashMap::new(), None)),
    };
    let (mut nodes, objects, unread) = match nodes {
        Ok((nodes, objects)) => (nodes, objects, None),
        Err(reason) => (HashMap::new(), None, Some(reason)),
    };
    let mut one = |path: &String| {
        if let Some(reason) = &unread {
            return Err(reason.clone());
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_sealed_is_not_said_to_be_unwritten() {
        let wanted = Wanted { paths: vec!["rep.xml".to_owned()], result: true };
        let sealed = Sealed::Not { reason: "the disk is full".to_owned() };
        let reason = |found: &Found, at: usize| match &found[at] {
            (name, Err(reason)) => format!("{name}: {reason}"),
            (name, Ok(_)) => panic!("{name} is not there"),
        };
        let found = look(std::path::Path::new("/nowhere"), &sealed, &wanted, false);
        let unsealed = "rep.xml: what the command changed was not sealed: the disk is full";
        assert_eq!(reason(&found, 0), unsealed);
        assert_eq!(reason(&found, 1), "result.json: the command handed over no result");
        let found = look(std::path::Path::new("/nowhere"), &Sealed::Nothing, &wanted, false);
        assert_eq!(reason(&found, 0), "rep.xml: the command did not write it");
    }
}
