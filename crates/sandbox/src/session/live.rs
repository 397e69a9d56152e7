//! Which sessions there are.

use std::path::Path;

use cofferdam_core::id::RunId;
use cofferdam_core::record::Record;
use cofferdam_core::spec::Purpose;

use super::client::Client;
use super::door::SOCKET;
use super::job::Job;
use crate::runs::Store;
use crate::state::{StateError, write_atomically};

/// A session that has not been retired.
#[derive(Debug)]
pub struct Live {
    pub record: Record,
    /// Its commands; `None` where nobody answers: it is only beginning, or whoever held it died.
    pub jobs: Option<Vec<Job>>,
}

/// All sessions that go on, newest first.
pub fn live(store: &Store) -> Result<Vec<Live>, StateError> {
    let mut runs = store.active()?;
    runs.sort_unstable_by(|a, b| b.cmp(a));
    let found = runs.into_iter().filter_map(|run| {
        let record = store.record(run).ok().filter(is_session)?;
        let jobs = Client::new(&store.dir(run)).jobs().ok();
        Some(Live { record, jobs })
    });
    Ok(found.collect())
}

/// The newest session of the workspace that `here` is in.
pub fn newest(store: &Store, here: &Path) -> Result<Option<Record>, StateError> {
    let of_here = |live: &Live| live.jobs.is_some() && here.starts_with(&live.record.workspace);
    Ok(live(store)?.into_iter().find(of_here).map(|live| live.record))
}

/// The session that somebody means by an id or the end of one, if it goes on: known by its mark and its socket
/// alone, which costs nothing. Whoever is not found so may still be, or is to be told why not.
pub fn reachable(store: &Store, text: &str) -> Option<Client> {
    let mut named = store.active().ok()?.into_iter().filter(|run| run.answers_to(text));
    let (run, other) = (named.next()?, named.next());
    let dir = store.dir(run);
    (other.is_none() && dir.join(SOCKET).exists()).then(|| Client::new(&dir))
}

/// In the directory of a session that another came in the place of: that one's id.
const SUCCESSOR: &str = "successor";

/// Notes that `next` came in the place of the session in `dir`, whose id means that one from then on.
pub fn succeed(dir: &Path, next: RunId) -> Result<(), StateError> {
    write_atomically(&dir.join(SUCCESSOR), next.to_string().as_bytes())
}

/// The session that a session's id means now: itself, or the last that came in its place.
pub fn latest(store: &Store, run: RunId) -> RunId {
    let mut run = run;
    while let Some(next) = successor(&store.dir(run)).filter(|next| *next > run) {
        run = next;
    }
    run
}

fn successor(dir: &Path) -> Option<RunId> {
    std::fs::read_to_string(dir.join(SUCCESSOR)).ok()?.parse().ok()
}

pub fn is_session(record: &Record) -> bool {
    record.plan.as_ref().is_some_and(|plan| plan.purpose == Purpose::Session)
}
