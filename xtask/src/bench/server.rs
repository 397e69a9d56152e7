//! The control plane: tasks a second from submit to their end, what submitting takes meanwhile, memory with a long queue and
//! many listeners, and what a task costs with few and with many stored.

mod process;
pub(super) mod stored;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::api::Api;
use crate::place::Place;
use crate::progress::Progress;
use crate::release;
use process::{Listener, Server};
use stored::Stored;

const TASKS: usize = 3000;
const SUBMITTERS: usize = 4;
const QUEUED: usize = 10_000;
const LISTENERS: usize = 200;
const FEW: usize = 1_000;
const MANY: usize = 100_000;
/// A slow disk stores fewer, and the table says how many.
const TIME_TO_STORE: Duration = Duration::from_secs(150);
const TASK: &str = r#"{"execution_mode":"no-workspace","command":["true"],"settings":{"sandbox.backend":"native"}}"#;

pub(crate) fn figures(place: &Place) -> Result<String> {
    let program = release::binary()?;
    let (rate, p99) = through(place, &program)?;
    let resident = queued(place, &program)?;
    let (few, count, many) = stored(place, &program)?;
    Ok(format!(
        "| what | figure |\n|---|---:|\n\
         | trivial native tasks, submit to end, {SUBMITTERS} submitters | {rate:.0} a second |\n\
         | submitting one meanwhile, 99th percentile | {:.1} ms |\n\
         | resident memory with {QUEUED} queued and {LISTENERS} listeners | {} MiB |\n\
         | processor time of a task made and canceled, {FEW} stored | {:.3} ms |\n\
         | the same, {count} stored | {:.3} ms |\n\n\
         {TASKS} tasks, SQLite, everything durable.",
        p99.as_secs_f64() * 1000.0,
        resident / 1024,
        few.as_secs_f64() * 1000.0,
        many.as_secs_f64() * 1000.0,
    ))
}

/// Tasks a second, and the 99th percentile of submitting one.
fn through(place: &Place, program: &Path) -> Result<(f64, Duration)> {
    let server = Server::start(place, program, "through", &["--capacity", "32"])?;
    let mut api = server.api()?;
    // The first few have sandboxes made ready.
    for _ in 0..50 {
        api.post("/v1/tasks", TASK)?;
    }
    wait_for(&mut api, 50)?;
    let begun = Instant::now();
    let mut times = Vec::new();
    std::thread::scope(|scope| -> Result<()> {
        let submitting: Vec<_> = (0..SUBMITTERS)
            .map(|_| {
                scope.spawn(|| -> Result<Vec<Duration>> {
                    let mut api = server.api()?;
                    (0..TASKS / SUBMITTERS)
                        .map(|_| {
                            let asked = Instant::now();
                            api.post("/v1/tasks", TASK)?;
                            Ok(asked.elapsed())
                        })
                        .collect()
                })
            })
            .collect();
        for submitter in submitting {
            times.extend(submitter.join().map_err(|_| anyhow::anyhow!("a submitter died"))??);
        }
        Ok(())
    })?;
    wait_for(&mut api, 50 + TASKS as u64)?;
    let rate = TASKS as f64 / begun.elapsed().as_secs_f64();
    times.sort_unstable();
    Ok((rate, times[times.len() * 99 / 100]))
}

/// Waits until so many have succeeded.
fn wait_for(api: &mut Api, tasks: u64) -> Result<()> {
    let progress = Progress::new("tasks done", usize::try_from(tasks)?);
    loop {
        let overview = api.get("/v1/overview")?;
        let states = &overview["tasks"];
        let succeeded = states["succeeded"].as_u64().unwrap_or(0);
        let failed = ["failed", "lost", "timed_out", "canceled"]
            .iter()
            .map(|state| states[*state].as_u64().unwrap_or(0))
            .sum::<u64>();
        anyhow::ensure!(failed == 0, "tasks failed: {overview}");
        anyhow::ensure!(states.is_object(), "the overview has no counts: {overview}");
        if succeeded >= tasks {
            return Ok(());
        }
        progress.at(usize::try_from(succeeded)?);
        // Asking is work for the server, too: the more is left, the less often.
        std::thread::sleep(Duration::from_millis((2 * (tasks - succeeded)).clamp(20, 500)));
    }
}

/// Resident memory, in KiB.
fn queued(place: &Place, program: &Path) -> Result<u64> {
    let server = Server::start(place, program, "queued", &["--no-runner"])?;
    let mut api = server.api()?;
    let listeners: Vec<Listener> =
        (0..LISTENERS).map(|_| Listener::open(&server)).collect::<Result<_>>()?;
    let progress = Progress::new("tasks queued", QUEUED);
    for number in 0..QUEUED {
        api.post("/v1/tasks", TASK)?;
        progress.at(number);
    }
    let resident = server.resident();
    drop(listeners);
    resident
}

/// Processor time for one task made and canceled, with few stored and with many, and how many those were.
fn stored(place: &Place, program: &Path) -> Result<(Duration, usize, Duration)> {
    let end = Instant::now() + TIME_TO_STORE;
    let mut stored = Stored::start(place, program)?;
    stored.fill(FEW, end)?;
    let few = stored.cost()?;
    stored.fill(MANY, end)?;
    Ok((few, stored.count(), stored.cost()?))
}
