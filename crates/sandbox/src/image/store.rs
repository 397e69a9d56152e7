//! What was built of which project: `images/<project>.json`, one for each workspace.
//!
//! An image is a project's own because it is written here with its id, not because it carries a label: anybody
//! can label an image. The file is replaced whole; of two builds at once the later stands.

use std::fs;
use std::io;
use std::path::Path;

use cofferdam_core::dockerfile::rules::Finding;
use cofferdam_core::image::ImageRef;
use cofferdam_core::paths::ExactPath;
use cofferdam_core::stamp::Stamp;
use serde::{Deserialize, Serialize};

use crate::engine::Endpoint;
use crate::state::{StateDir, StateError, make_private_dir, write_atomically};

/// Everything that was built of a project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Known {
    pub workspace: ExactPath,
    pub builds: Vec<Build>,
}

/// One image, in one engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Build {
    /// Where the engine is that has it.
    pub engine: Endpoint,
    pub image: ImageRef,
    pub id: String,
    /// Hash of all that it was built from.
    pub inputs: String,
    /// Hash of its Dockerfile.
    pub dockerfile: String,
    pub built_at: Stamp,
    /// What was found in it, once it was scanned.
    #[serde(default)]
    pub scan: Option<Vec<Finding>>,
}

/// Which project a workspace is, in names and labels.
pub fn key(workspace: &Path) -> String {
    blake3::hash(workspace.as_os_str().as_encoded_bytes()).to_hex()[..16].to_owned()
}

/// What is known of a workspace's images. `state` need not exist.
pub fn known(state: &Path, workspace: &Path) -> Result<Known, StateError> {
    let path = state.join("images").join(format!("{}.json", key(workspace)));
    match fs::read(&path) {
        Ok(bytes) => read(&path, &bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(Known { workspace: workspace.to_owned().into(), builds: Vec::new() })
        }
        Err(error) => Err(StateError::io("read", &path)(error)),
    }
}

/// All projects.
pub fn all(state: &StateDir) -> Result<Vec<Known>, StateError> {
    let dir = state.images();
    let mut found = Vec::new();
    let entries = match fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(StateError::io("read", &dir)(error)),
    };
    for entry in entries {
        let path = entry.map_err(StateError::io("read", &dir))?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            found.push(read(&path, &fs::read(&path).map_err(StateError::io("read", &path))?)?);
        }
    }
    found.sort_by(|a, b| a.workspace.0.cmp(&b.workspace.0));
    Ok(found)
}

pub(crate) fn write(state: &StateDir, known: &Known) -> Result<(), StateError> {
    let dir = state.images();
    make_private_dir(&dir)?;
    let path = dir.join(format!("{}.json", key(&known.workspace)));
    if known.builds.is_empty() {
        return match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StateError::io("remove", &path)(error))
            }
            _ => Ok(()),
        };
    }
    let bytes = serde_json::to_vec_pretty(known)
        .map_err(|source| StateError::Unreadable { path: path.clone(), source })?;
    write_atomically(&path, &bytes)
}

impl Known {
    /// The one that was built last in an engine.
    pub fn current(&self, engine: &Endpoint) -> Option<&Build> {
        self.builds.iter().rev().find(|build| build.engine == *engine)
    }

    /// Puts a build last.
    pub(crate) fn add(&mut self, build: Build) {
        self.builds.retain(|known| (&known.engine, &known.id) != (&build.engine, &build.id));
        self.builds.push(build);
    }
}

fn read(path: &Path, bytes: &[u8]) -> Result<Known, StateError> {
    serde_json::from_slice(bytes)
        .map_err(|source| StateError::Unreadable { path: path.to_owned(), source })
}
