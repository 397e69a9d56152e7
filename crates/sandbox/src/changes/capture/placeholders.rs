//! What Cofferdam itself put into a tree before the program began: names that hide what is blocked, and the settings of a
//! submodule, which name the workspace's place inside.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;

use cofferdam_core::changes::{Content, ContentHash};
use cofferdam_core::plan::WORKSPACE;
use cofferdam_core::repository::with_worktree;
use cofferdam_native::PLACEHOLDERS;

/// A repository's settings, in its directory.
const CONFIG: &str = "config";

#[derive(Debug, Default)]
pub(crate) struct Placeholders {
    names: HashSet<Vec<u8>>,
    settings: Option<ContentHash>,
}

impl Placeholders {
    /// Those of the run in `dir`.
    pub(crate) fn of(dir: &Path) -> io::Result<Self> {
        let list = match std::fs::read(dir.join(PLACEHOLDERS)) {
            Ok(list) => list,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        let paths = list.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(Self { names: paths.map(<[u8]>::to_vec).collect(), settings: None })
    }

    /// With the settings that a submodule has inside, of those that it has at `repository` on the host.
    pub(crate) fn and_settings_of(self, repository: &Path) -> io::Result<Self> {
        let host = match fs::read(repository.join(CONFIG)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(self),
            host => host?,
        };
        let inside = with_worktree(&host, WORKSPACE);
        let settings = (inside != host).then(|| blake3::hash(&inside).into());
        Ok(Self { settings, ..self })
    }

    /// Whether these are the settings as we put them there, not as the program left them.
    pub(crate) fn are_settings(&self, path: &[u8], content: Content) -> bool {
        self.settings.is_some_and(|ours| content == Content::Kept(ours))
            && path == CONFIG.as_bytes()
    }

    pub(crate) fn contains(&self, path: &[u8]) -> bool {
        !self.names.is_empty() && self.names.contains(path)
    }
}
