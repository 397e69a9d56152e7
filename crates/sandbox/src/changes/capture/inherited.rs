//! What the run that this one goes on from had changed already.

use std::fs::File;
use std::io::BufReader;

use cofferdam_core::changes::manifest::ManifestReader;
use cofferdam_core::changes::{ChangePath, Entry, Node};

use super::CaptureError;
use crate::changes::{ChangeSet, Objects};

/// A sealed set, read along with a walk: both go in the same order, so that one entry at a time is enough.
#[derive(Debug)]
pub(crate) struct Inherited<'a> {
    entries: ManifestReader<BufReader<&'a File>>,
    next: Option<Entry>,
    pub(super) objects: Objects,
}

impl<'a> Inherited<'a> {
    pub(crate) fn from(set: &'a mut ChangeSet) -> Result<Self, CaptureError> {
        let objects = set.objects();
        let mut inherited = Self { entries: set.entries()?, next: None, objects };
        inherited.advance()?;
        Ok(inherited)
    }

    fn advance(&mut self) -> Result<(), CaptureError> {
        self.next = self.entries.next().transpose().map_err(CaptureError::Inherited)?;
        Ok(())
    }

    /// What stood at `path` before the earlier run, where that run changed it. Paths must be asked for in
    /// order.
    pub(super) fn before(
        &mut self,
        path: &ChangePath,
    ) -> Result<Option<Option<Node>>, CaptureError> {
        while self.next.as_ref().is_some_and(|entry| entry.path < *path) {
            self.advance()?;
        }
        Ok(self.next.as_ref().filter(|entry| entry.path == *path).map(|entry| entry.before.clone()))
    }
}
