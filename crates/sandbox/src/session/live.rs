//! Which sessions there are.

use std::path::Path;

use cofferdam_core::record::Record;
use cofferdam_core::spec::Purpose;

use super::client::Client;
use super::job::Job;
use crate::runs::Store;
use crate::state::StateError;

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

pub fn is_session(record: &Record) -> bool {
    record.plan.as_ref().is_some_and(|plan| plan.purpose == Purpose::Session)
}
