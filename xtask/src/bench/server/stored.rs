//! A server that keeps many tasks, and what one more costs it.
//!
//! They are made and canceled by several at once, for a store that makes everything durable does so for all who wait.
//! Not here: tasks that run; those are counted by the second elsewhere.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};

use super::TASK;
use super::process::Server;
use crate::api::Api;
use crate::place::Place;
use crate::progress::Progress;

/// Those who make them.
const MAKERS: usize = 16;
/// Tasks of which the cost is taken: enough for a clock of a hundred ticks a second.
const MEASURED: usize = 1_000;

pub(crate) struct Stored {
    server: Server,
    count: usize,
}

impl Stored {
    pub(crate) fn start(place: &Place, program: &Path) -> Result<Self> {
        Ok(Self { server: Server::start(place, program, "stored", &["--no-runner"])?, count: 0 })
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Until there are so many, or until the end, which is said.
    pub(crate) fn fill(&mut self, to: usize, end: Instant) -> Result<()> {
        let (next, progress) = (AtomicUsize::new(self.count), Progress::new("tasks stored", to));
        std::thread::scope(|scope| -> Result<()> {
            let make = || -> Result<usize> {
                let (mut api, mut made) = (self.server.api()?, 0);
                while Instant::now() < end {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= to {
                        break;
                    }
                    make_one(&mut api)?;
                    made += 1;
                    progress.at(number);
                }
                Ok(made)
            };
            let makers: Vec<_> = (0..MAKERS).map(|_| scope.spawn(make)).collect();
            for maker in makers {
                self.count += maker.join().map_err(|_| anyhow!("a maker died"))??;
            }
            Ok(())
        })?;
        if self.count < to {
            eprintln!("the time is up with {} tasks stored, of {to}", self.count);
        }
        Ok(())
    }

    /// The server's processor time for one task that is made and canceled.
    pub(crate) fn cost(&mut self) -> Result<Duration> {
        let mut api = self.server.api()?;
        let before = self.server.processor_time()?;
        (0..MEASURED).try_for_each(|_| make_one(&mut api))?;
        self.count += MEASURED;
        Ok((self.server.processor_time()? - before) / u32::try_from(MEASURED)?)
    }

    /// How long answers to this question take.
    pub(crate) fn answers(&self, path: &str) -> Result<Vec<Duration>> {
        let mut api = self.server.api()?;
        let mut ask = || {
            let asked = Instant::now();
            api.get(path).map(|_| asked.elapsed())
        };
        (0..50).map(|_| ask()).collect()
    }
}

fn make_one(api: &mut Api) -> Result<()> {
    let made = api.post("/v1/tasks", TASK)?;
    let id = made["id"].as_str().context("a task has an id")?;
    api.post(&format!("/v1/tasks/{id}/cancel"), "").map(drop)
}
