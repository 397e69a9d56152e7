//! What the host can see of a run: its sealed changes, its record, its processes, and trees as values.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::AttackError;

/// The directory of the newest run.
pub(super) fn newest(state: &Path) -> Result<Option<PathBuf>, AttackError> {
    Ok(runs(state)?.pop().map(|name| state.join("runs").join(name)))
}

fn runs(state: &Path) -> Result<Vec<String>, AttackError> {
    let path = state.join("runs");
    let entries = match fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(AttackError::look(&path)(e)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry.map_err(AttackError::look(&path))?.file_name();
        names.extend(name.into_string());
    }
    // They sort by time.
    names.sort();
    Ok(names)
}

/// Whether the sealed changes of the newest run have this path.
pub(super) fn sealed(state: &Path, wanted: &str) -> Result<bool, AttackError> {
    let Some(run) = newest(state)? else { return Ok(false) };
    let path = run.join("manifest");
    let text = match fs::read_to_string(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
        text => text.map_err(AttackError::look(&path))?,
    };
    let entries = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    Ok(entries.into_iter().any(|entry| entry["path"] == wanted))
}

/// How the newest run ended.
pub(super) fn class(state: &Path) -> Result<String, AttackError> {
    let Some(run) = newest(state)? else { return Ok("no run".to_owned()) };
    let path = run.join("record.json");
    let text = fs::read_to_string(&path).map_err(AttackError::look(&path))?;
    let record: Value = serde_json::from_str(&text).unwrap_or_default();
    Ok(record["outcome"]["class"].as_str().unwrap_or("no class").to_owned())
}

/// Whether an event of this type is in the log.
pub(super) fn event(state: &Path, kind: &str) -> Result<bool, AttackError> {
    let path = state.join("audit.jsonl");
    let text = fs::read_to_string(&path).map_err(AttackError::look(&path))?;
    let mut events = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    Ok(events.any(|event| event["type"] == kind))
}

/// How long the owner of a session may take to seal it after its last client has gone.
const SEALING: Duration = Duration::from_secs(20);

/// Waits until no run is under way any more.
pub(super) fn settle(state: &Path) -> Result<(), AttackError> {
    let (path, end) = (state.join("active"), Instant::now() + SEALING);
    loop {
        let under_way = match fs::read_dir(&path) {
            Ok(mut marks) => marks.next().is_some(),
            Err(e) if e.kind() == io::ErrorKind::NotFound => false,
            Err(e) => return Err(AttackError::look(&path)(e)),
        };
        if !under_way || Instant::now() >= end {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The kernel takes a moment to let the last of them go.
const SETTLING: Duration = Duration::from_secs(2);

/// Processes of any run in `state` that are still there.
pub(super) fn processes(state: &Path) -> Result<Vec<String>, AttackError> {
    let marks: Vec<String> =
        runs(state)?.into_iter().map(|run| format!("COFFERDAM_RUN={run}")).collect();
    let end = Instant::now() + SETTLING;
    loop {
        let found = carriers(&marks)?;
        if found.is_empty() || Instant::now() >= end {
            return Ok(found);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn carriers(marks: &[String]) -> Result<Vec<String>, AttackError> {
    let proc = Path::new("/proc");
    let mut found = Vec::new();
    if marks.is_empty() {
        return Ok(found);
    }
    for entry in fs::read_dir(proc).map_err(AttackError::look(proc))? {
        let entry = entry.map_err(AttackError::look(proc))?;
        // Those that are gone by now, or are no processes, or not ours to look into.
        let Ok(variables) = fs::read(entry.path().join("environ")) else { continue };
        let mut variables = variables.split(|byte| *byte == 0);
        if variables.any(|variable| marks.iter().any(|mark| mark.as_bytes() == variable)) {
            found.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(found)
}

/// Names, kinds, modes, contents and link targets of a tree, as one value. Directories called as in `without` are
/// left out.
pub(super) fn fingerprint(top: &Path, without: &[&str]) -> Result<String, AttackError> {
    let mut hasher = blake3::Hasher::new();
    let mut waiting = vec![top.to_owned()];
    while let Some(dir) = waiting.pop() {
        let read = fs::read_dir(&dir).map_err(AttackError::look(&dir))?;
        let entries: io::Result<Vec<_>> = read.collect();
        let mut entries = entries.map_err(AttackError::look(&dir))?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let meta = fs::symlink_metadata(&path).map_err(AttackError::look(&path))?;
            let content = if meta.is_file() {
                fs::read(&path)
            } else if meta.is_symlink() {
                fs::read_link(&path).map(|target| target.as_os_str().as_bytes().to_vec())
            } else {
                Ok(Vec::new())
            };
            let content = content.map_err(AttackError::look(&path))?;
            let below = path.strip_prefix(top).unwrap_or(&path).as_os_str().as_bytes();
            for part in [below, &meta.mode().to_le_bytes(), &content] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
            if meta.is_dir() && !without.iter().any(|name| entry.file_name() == *name) {
                waiting.push(path);
            }
        }
    }
    Ok(hasher.finalize().to_hex().to_string())
}
