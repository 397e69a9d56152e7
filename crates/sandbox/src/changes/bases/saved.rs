//! The index of what was saved, read when it is first asked for.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use cofferdam_core::changes::{ChangePath, Node};

use super::{BASES, Base};

#[derive(Debug)]
pub(crate) struct Saved {
    path: PathBuf,
    index: Option<HashMap<ChangePath, Node>>,
}

impl Saved {
    /// Of the run in `dir`.
    pub(crate) fn of(dir: &Path) -> Self {
        Self { path: dir.join(BASES), index: None }
    }

    pub(crate) fn get(&mut self, path: &ChangePath) -> io::Result<Option<Node>> {
        let index = match &mut self.index {
            Some(index) => index,
            none => none.insert(read(&self.path)?),
        };
        Ok(index.get(path).cloned())
    }
}

fn read(path: &Path) -> io::Result<HashMap<ChangePath, Node>> {
    let file = match File::open(path) {
        Ok(file) => BufReader::new(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashMap::new()),
        Err(error) => return Err(error),
    };
    let mut index = HashMap::new();
    for line in file.split(b'\n') {
        // The last line may have been cut off by a crash; its base is then as good as not saved.
        if let Ok(Base { path, node }) = serde_json::from_slice(&line?) {
            index.entry(path).or_insert(node);
        }
    }
    Ok(index)
}
