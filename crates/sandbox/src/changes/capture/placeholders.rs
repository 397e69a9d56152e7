//! Names in an upper directory that Cofferdam made itself, to hide what is blocked.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use cofferdam_native::PLACEHOLDERS;

#[derive(Debug, Default)]
pub(crate) struct Placeholders(HashSet<Vec<u8>>);

impl Placeholders {
    /// Those of the run in `dir`.
    pub(crate) fn of(dir: &Path) -> io::Result<Self> {
        let list = match std::fs::read(dir.join(PLACEHOLDERS)) {
            Ok(list) => list,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        let paths = list.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(Self(paths.map(<[u8]>::to_vec).collect()))
    }

    pub(crate) fn contains(&self, path: &[u8]) -> bool {
        !self.0.is_empty() && self.0.contains(path)
    }
}
