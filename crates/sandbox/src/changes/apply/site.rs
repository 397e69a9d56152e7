//! Where an operation is at work: its set, its workspace, its directory.

use std::path::{Path, PathBuf};

use cofferdam_core::changes::manifest::Moment;
use cofferdam_core::id::RunId;
use cofferdam_core::mount::Identity;

use super::ApplyError;
use super::journal::{self, Head, JournalWriter};
use super::slots;
use super::stage::Stage;
use crate::changes::ChangeSet;
use crate::changes::beneath::Workspace;
use crate::changes::ledger::Ledger;
use crate::changes::turn::{Begun, Turn};
use crate::runs::{Scribe, Store};
use crate::state::StateDir;

/// Which set is worked on, where, and by whom.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    pub state: &'a StateDir,
    pub run: RunId,
    /// Hash of the manifest, as the run's record has it.
    pub sealed: &'a str,
    pub workspace: &'a Workspace,
    /// Which directory the run was given; in any other, times of files say nothing about it.
    pub origin: Option<Identity>,
    pub actor: &'a str,
}

impl Site<'_> {
    pub(crate) fn dir(&self) -> PathBuf {
        Store::new(self.state).dir(self.run)
    }

    pub(crate) fn scribe(&self) -> Scribe {
        scribe(self.state, self.run, self.workspace.path(), self.actor)
    }

    /// From when on a host file is not believed to be what it was.
    pub(crate) fn base(&self, set: &ChangeSet) -> Moment {
        const NEVER: Moment = Moment { seconds: i64::MIN, nanos: 0 };
        if self.origin == Some(self.workspace.identity()) { set.header().base } else { NEVER }
    }

    /// Writes down that an operation begins, and makes its directory.
    pub(crate) fn begin(&self, turn: &mut Turn, ledger: &Ledger) -> Result<u64, ApplyError> {
        let applies = applies(&self.dir());
        crate::state::make_private_dir(&applies)?;
        let mut number = ledger.next_number();
        // One that could not be taken back is kept, and its slots with it.
        let taken = |number: u64| {
            let dir = applies.join(number.to_string());
            dir.exists() || dir.with_extension(KEPT).exists()
        };
        while taken(number) {
            number += 1;
        }
        turn.begin(Begun { run: self.run, number })?;
        crate::state::make_private_dir(&applies.join(number.to_string()))?;
        Ok(number)
    }

    pub(crate) fn open_operation(
        &self,
        number: u64,
        set: &ChangeSet,
    ) -> Result<(JournalWriter, Stage), ApplyError> {
        let dir = applies(&self.dir()).join(number.to_string());
        let name = format!(".cofferdam-apply-{}-{number}", self.run.short());
        let place = slots::choose(self.workspace, &dir, &name);
        let (path, lodging) = place.map_err(ApplyError::io("look at", &dir))?;
        let head = Head {
            version: journal::VERSION,
            run: self.run,
            manifest: set.hash(),
            workspace: self.workspace.path().into(),
            identity: self.workspace.identity(),
            slots: path.clone().into(),
            lodging,
        };
        let journal =
            JournalWriter::create(&dir, head).map_err(ApplyError::io("write to", &dir))?;
        let slots = slots::make(&path).map_err(ApplyError::io("create", &path))?;
        Ok((journal, Stage::new(slots, 0)))
    }
}

/// Where the operations of a set keep their journals and slots.
pub(crate) fn applies(dir: &Path) -> PathBuf {
    dir.join("applies")
}

pub(crate) fn scribe(state: &StateDir, run: RunId, workspace: &Path, actor: &str) -> Scribe {
    Scribe::new(state, run, workspace.into(), actor.to_owned(), Default::default())
}

/// What the directory of an operation gets at its end that could not be taken back.
pub(crate) const KEPT: &str = "kept";
