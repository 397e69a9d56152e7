//! What Cofferdam wrote: runs, records, events, and whether a secret is among it.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::env::TestEnv;
use crate::tree::walk;

impl TestEnv {
    /// Ids of the runs in the state directory, oldest first.
    pub fn runs(&self) -> Vec<String> {
        let entries = fs::read_dir(self.state_dir().join("runs")).into_iter().flatten().flatten();
        let dirs = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let mut ids: Vec<_> =
            dirs.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        ids.sort();
        ids
    }

    /// The record of the newest run.
    #[track_caller]
    pub fn latest_record(&self) -> Value {
        let run = self.runs().pop().expect("there is a run in the state directory");
        let path = self.state_dir().join("runs").join(run).join("record.json");
        let text = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        serde_json::from_slice(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// Every event so far. No audit file means none.
    #[track_caller]
    pub fn events(&self) -> Vec<Value> {
        let path = self.state_dir().join("audit.jsonl");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
            Err(e) => panic!("{}: {e}", path.display()),
        };
        text.lines()
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|e| panic!("{e} in audit line {line:?}"))
            })
            .collect()
    }

    /// Files in the state directory that hold `bytes`: in their content, their name or, for a symlink,
    /// its target.
    #[track_caller]
    pub fn grep_state(&self, bytes: impl AsRef<[u8]>) -> Vec<PathBuf> {
        let needle = bytes.as_ref();
        assert!(!needle.is_empty(), "every file holds the empty string");
        let state = self.state_dir();
        if !state.exists() {
            return Vec::new();
        }
        let mut found = walk(&state);
        found.retain(|path| {
            let name = path.strip_prefix(&state).map_or(&b""[..], |p| p.as_os_str().as_bytes());
            holds(name, needle) || holds(&text_of(path), needle)
        });
        found
    }
}

/// What a node holds. Only files are opened: a FIFO would keep the test waiting.
fn text_of(path: &Path) -> Vec<u8> {
    let read = || {
        let kind = fs::symlink_metadata(path)?.file_type();
        if kind.is_symlink() {
            Ok(fs::read_link(path)?.into_os_string().as_bytes().to_vec())
        } else if kind.is_file() {
            fs::read(path)
        } else {
            Ok(Vec::new())
        }
    };
    read().unwrap_or_else(|e: std::io::Error| panic!("{}: {e}", path.display()))
}

fn holds(text: &[u8], needle: &[u8]) -> bool {
    text.windows(needle.len()).any(|part| part == needle)
}
