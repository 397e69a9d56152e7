//! The newest event of the chain, kept outside the database: its number and its hash, in a small file.
//!
//! A chain that is cut at its end is still a chain; only who knows where it ended can tell. While the server runs that is
//! its own memory; over a restart it is this file. It is written at most every so often and when the server ends, always
//! after the events are durable, so that it is never ahead of them. Once it was found to be contradicted it is left
//! as it is, and the chain does not verify, until somebody has looked and removes it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use cofferdam_core::chain::Known;
use cofferdam_core::record::Anchor;
use cofferdam_sandbox::state::write_atomically;
use sqlx::Row as _;

use super::Plane;
use crate::store::{Sql, Store, StoreError, first};

/// So many events of one moment are not protected over a crash.
const EVERY: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct KeptHead {
    path: Option<PathBuf>,
    /// As it was found when the store was opened.
    found: Option<Anchor>,
    standing: Standing,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Standing {
    #[default]
    Confirmed,
    Contradicted,
}

impl KeptHead {
    /// Reads the file and looks whether the store has what it says.
    pub(super) async fn open(path: Option<PathBuf>, store: &Store) -> Result<Self, StoreError> {
        let Some(path) = path else { return Ok(Self::default()) };
        let Some(anchor) = read(&path)? else {
            return Ok(Self { path: Some(path), ..Self::default() });
        };
        let mut db = store.reader().await?;
        let sql = Sql::new("SELECT line FROM events WHERE seq = $1").number(anchor.seq);
        let row = first(&mut db, sql).await?;
        let line: Option<String> = row.and_then(|row| row.try_get(0).ok());
        let event = line.and_then(|line| serde_json::from_str::<serde_json::Value>(&line).ok());
        let same = event.is_some_and(|event| event["hash"] == anchor.hash.as_str());
        let standing = if same { Standing::Confirmed } else { Standing::Contradicted };
        if standing == Standing::Contradicted {
            let (file, seq) = (path.display(), anchor.seq);
            tracing::error!(%file, seq, "events are missing or changed that this server has written: the chain does not verify");
        }
        Ok(Self { path: Some(path), found: Some(anchor), standing })
    }

    /// What the chain has to contain.
    pub(super) fn known(&self) -> Option<Known> {
        let path = self.path.as_ref()?;
        let anchor = self.found.clone()?;
        Some(Known { anchor, from: path.display().to_string() })
    }

    fn to_write(&self) -> Option<PathBuf> {
        self.path.clone().filter(|_| self.standing == Standing::Confirmed)
    }
}

/// Keeps it every so often, until the plane is gone.
pub(super) fn start(plane: &Plane) {
    let weak = Arc::downgrade(&plane.inner);
    let mut kept = *plane.inner.bells.seq.borrow();
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(EVERY).await;
            let Some(inner) = weak.upgrade() else { return };
            let plane = Plane { inner };
            let newest = *plane.inner.bells.seq.borrow();
            if newest != kept && plane.keep_head().await {
                kept = newest;
            }
        }
    });
}

impl Plane {
    /// Whether the newest event is kept now. Where it cannot be, the next time is soon.
    pub(super) async fn keep_head(&self) -> bool {
        let Some(path) = self.inner.kept_head.to_write() else { return true };
        // Answered once everything up to it is durable.
        let head = self.write(|turn| Box::pin(async move { Ok(turn.memory.head.clone()) })).await;
        let Ok(head) = head else { return false };
        let text = serde_json::json!({ "seq": head.seq, "hash": head.hash }).to_string();
        let written = tokio::task::spawn_blocking(move || {
            let written = write_atomically(&path, text.as_bytes());
            written.inspect_err(|error| {
                tracing::warn!(%error, "the head of the chain could not be kept outside the database");
            })
        });
        matches!(written.await, Ok(Ok(())))
    }
}

fn read(path: &Path) -> Result<Option<Anchor>, StoreError> {
    let wrong = |reason: String| StoreError::Head { path: path.to_owned(), reason };
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(wrong(error.to_string())),
    };
    serde_json::from_slice(&text).map(Some).map_err(|error| wrong(error.to_string()))
}
