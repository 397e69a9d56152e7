//! The sealed changes of a run, as a test wants to look at them.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::env::TestEnv;

/// A manifest that was read, without the code that wrote it.
#[derive(Debug)]
pub struct Manifest {
    pub header: Value,
    pub entries: Vec<Value>,
    dir: PathBuf,
}

impl TestEnv {
    /// The directory of a run; `last` is the newest.
    #[track_caller]
    pub fn run_dir(&self, run: &str) -> PathBuf {
        let newest = || self.runs().pop().expect("there is a run in the state directory");
        let run = if run == "last" { newest() } else { run.to_owned() };
        self.state_dir().join("runs").join(run)
    }

    /// What a run changed; `last` is the newest.
    #[track_caller]
    pub fn manifest(&self, run: &str) -> Manifest {
        let dir = self.run_dir(run);
        let path = dir.join("manifest");
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let mut lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e} in {line:?}")))
            .collect();
        let footer = lines.pop().expect("a manifest has a last line");
        assert!(footer["end"].is_object(), "the last line of the manifest is {footer}");
        let header = lines.remove(0);
        Manifest { header, entries: lines, dir }
    }
}

impl Manifest {
    /// One line an entry: the change and the path, in the order of the manifest.
    pub fn list(&self) -> Vec<String> {
        let line = |entry: &Value| format!("{} {}", text(&entry["change"]), text(&entry["path"]));
        self.entries.iter().map(line).collect()
    }

    /// The entry of a path that is text.
    #[track_caller]
    pub fn entry(&self, path: &str) -> &Value {
        let found = self.entries.iter().find(|entry| entry["path"] == path);
        found.unwrap_or_else(|| panic!("no entry for {path:?} in {:?}", self.list()))
    }

    /// The bytes of `before` or `after` of a path, from the objects.
    #[track_caller]
    pub fn bytes(&self, side: &str, path: &str) -> Vec<u8> {
        let content = &self.entry(path)[side]["content"];
        let hash = content["kept"].as_str();
        let hash = hash.unwrap_or_else(|| panic!("the content of {path:?} is {content}"));
        let object = self.dir.join("objects").join(hash);
        let bytes = fs::read(&object).unwrap_or_else(|e| panic!("{}: {e}", object.display()));
        assert_eq!(
            blake3::hash(&bytes).to_hex().as_str(),
            hash,
            "the object is what its name says"
        );
        bytes
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
