//! The one that writes: takes commands as they come, and commits as many at once as have come meanwhile.
//!
//! A commit costs one trip to the disk, however many commands share it; so the more there are, the less each costs.
//! A command that is refused leaves its event and is answered like the others. A failure of the store fails the
//! whole batch: nothing of it happened, and everybody in it is told so.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use cofferdam_core::control::overview::Attempts;
use tokio::sync::{mpsc, oneshot, watch};

use super::error::PlaneError;
use super::turn::Turn;

pub(crate) type Ahead<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

type Deliver = Box<dyn FnOnce(Option<PlaneError>) + Send>;
/// Carried out in a turn, or told why there is none. Gives what is to be done after the commit, and what the store
/// failed with.
type Job = Box<
    dyn for<'a> FnOnce(Result<&'a mut Turn, PlaneError>) -> Ahead<'a, (Deliver, Option<PlaneError>)>
        + Send,
>;

/// Most commands that share a commit.
const MOST: usize = 256;

#[derive(Clone)]
pub(crate) struct Writer {
    jobs: mpsc::Sender<Job>,
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Writer")
    }
}

/// What rings when something was committed.
#[derive(Debug, Clone)]
pub(crate) struct Bells {
    /// Newest durable event.
    pub(crate) seq: watch::Sender<u64>,
    /// There may be work.
    pub(crate) work: watch::Sender<u64>,
    /// There may be news for a runner.
    pub(crate) news: watch::Sender<u64>,
    pub(crate) counted: Arc<Mutex<Counted>>,
}

/// Since the start.
#[derive(Debug, Default, Clone)]
pub(crate) struct Counted {
    pub(crate) events: BTreeMap<String, u64>,
    pub(crate) rejections: BTreeMap<String, u64>,
    pub(crate) waiting: u64,
    pub(crate) held: u64,
    pub(crate) attempts: Attempts,
}

impl Bells {
    pub(crate) fn new(seq: u64) -> Self {
        Self {
            seq: watch::Sender::new(seq),
            work: watch::Sender::new(0),
            news: watch::Sender::new(0),
            counted: Arc::default(),
        }
    }

    fn ring(&self, turn: &mut Turn) {
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        for (kind, rule) in turn.told.drain(..) {
            *counted.events.entry(kind).or_default() += 1;
            if let Some(rule) = rule {
                *counted.rejections.entry(rule).or_default() += 1;
            }
        }
        turn.spent.drain(..).for_each(|spent| counted.attempts.add(spent));
        counted.waiting = turn.memory.board.waiting() as u64;
        counted.held = turn.memory.board.held() as u64;
        drop(counted);
        self.seq.send_if_modified(|seq| {
            let changed = *seq != turn.memory.head.seq;
            *seq = turn.memory.head.seq;
            changed
        });
        if std::mem::take(&mut turn.memory.work) {
            self.work.send_modify(|count| *count += 1);
        }
        if std::mem::take(&mut turn.memory.news) {
            self.news.send_modify(|count| *count += 1);
        }
    }
}

impl Writer {
    pub(crate) fn start(turn: Turn, bells: Bells) -> Self {
        let (jobs, queue) = mpsc::channel(1024);
        tokio::spawn(work(turn, bells, queue));
        Self { jobs }
    }

    /// Has a command carried out, and comes back when it is durable.
    pub(crate) async fn write<T, F>(&self, command: F) -> Result<T, PlaneError>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(&'a mut Turn) -> Ahead<'a, Result<T, PlaneError>> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |turn| {
            Box::pin(async move {
                let result = match turn {
                    Ok(turn) => command(turn).await,
                    Err(error) => Err(error),
                };
                let fatal = result.as_ref().err().filter(|error| error.is_of_the_store()).cloned();
                let deliver: Deliver = Box::new(move |failed| {
                    let result = failed.map_or(result, Err);
                    // Whoever asked may have gone away.
                    drop(answer.send(result));
                });
                (deliver, fatal)
            })
        });
        self.jobs.send(job).await.map_err(|_| PlaneError::Stopped)?;
        answered.await.map_err(|_| PlaneError::Stopped)?
    }
}

async fn work(mut turn: Turn, bells: Bells, mut queue: mpsc::Receiver<Job>) {
    let mut lost = None;
    while let Some(first) = queue.recv().await {
        if lost.is_some() {
            lost = turn.take_back().await.err().map(PlaneError::from);
        }
        turn.begin();
        let mut delivers = Vec::new();
        let mut failed = lost.clone();
        let mut next = Some(first);
        while let Some(job) = next {
            let way = failed.clone().map_or(Ok(&mut turn), Err);
            let (deliver, fatal) = job(way).await;
            delivers.push(deliver);
            failed = failed.or(fatal);
            let more = failed.is_none() && delivers.len() < MOST;
            next = if more { queue.try_recv().ok() } else { None };
        }
        if failed.is_none() {
            failed = turn.commit().await.err();
        }
        match &failed {
            None => bells.ring(&mut turn),
            Some(_) => lost = turn.take_back().await.err().map(PlaneError::from),
        }
        for deliver in delivers {
            deliver(failed.clone());
        }
    }
}
