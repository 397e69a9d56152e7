//! Batch after batch until it is enough: starts the trials, decides in the order of their numbers, writes down
//! what was decided, and removes what nobody needs any more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use cofferdam_core::backend::Backend;
use cofferdam_core::event::{Event, EventKind, LoopStep};
use cofferdam_core::id::RunId;
use cofferdam_core::quantity::Span;
use cofferdam_core::redact::Redactor;
use cofferdam_core::result::Metrics;
use cofferdam_core::search::{
    History, Measured, StartFrom, Stop, Trial, Verdict, input, judge, seed_of,
};
use cofferdam_native::signals::{Relay, Signals, stop_self};

use super::candidate::Rules;
use super::iteration::{Bench, Cut, Task, Tried, protected};
use super::place::{Line, Opened, Place, history_of};
use super::{End, Progress, Search, SearchError, VARIABLE};
use crate::clock;
use crate::events::{Journal, as_map};
use crate::launcher::Launcher;
use crate::prune;
use crate::runs::Store;
use crate::state::{StateError, write_atomically};

/// How often signals are looked for while trials run.
const LOOK: Duration = Duration::from_millis(50);
const INTERRUPT: i32 = 2;
const TERMINATE: i32 = 15;
const STOP: i32 = 20;

impl Search<'_> {
    /// Runs the loop until it is enough or somebody says so.
    pub fn run(
        &self,
        opened: Opened,
        watch: &mut dyn FnMut(Progress<'_>),
    ) -> Result<End, SearchError> {
        let plans = self.plans()?;
        let backend = plans.first().map_or(Backend::Native, |prepared| prepared.plan.backend);
        let secrets = plans.iter().flat_map(|prepared| prepared.plan.env.values());
        let redactor = Redactor::new(secrets.filter_map(|value| value.secret()));
        // Before there are threads: none of them is to die of one.
        let signals = Signals::take().map_err(|source| SearchError::Signals { source })?;
        let launcher = match plans.iter().any(|prepared| prepared.plan.backend == Backend::Native) {
            true => Some(Launcher::spawn(&self.around.program, self.state)?),
            false => None,
        };
        let Opened { place, lines, is_resumed } = opened;
        let spent = lines.last().map_or(0, |line| line.elapsed_ms);
        let began = Instant::now();
        let budget = self.file.budget.wall_time;
        let until =
            budget.map(|all| began + all.duration().saturating_sub(Duration::from_millis(spent)));
        let rules = Rules {
            protected: protected(&self.file.protected)?,
            budget: self.file.changes,
            validator: self.validator,
        };
        let id = place.meta.id;
        let bench = Bench { search: self, id, rules, launcher: launcher.as_ref(), until };
        let journal = Journal::new(self.state);
        let history = history_of(&lines);
        let mut driver = Driver {
            search: self,
            bench: &bench,
            place,
            journal,
            redactor,
            signals,
            history,
            lines,
            clock: Spent { began, spent },
            told: None,
        };
        driver.open(is_resumed, backend)?;
        driver.drive(watch)
    }
}

/// Time that a loop has spent, in this process and in those before.
#[derive(Debug, Clone, Copy)]
struct Spent {
    began: Instant,
    spent: u64,
}

impl Spent {
    fn millis(self) -> u64 {
        self.spent + u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

struct Driver<'a> {
    search: &'a Search<'a>,
    bench: &'a Bench<'a>,
    place: Place,
    journal: Journal,
    redactor: Redactor,
    signals: Signals,
    history: History,
    /// The same with the runs: of trials that still have some.
    lines: Vec<Line>,
    clock: Spent,
    /// The signal that told us to end.
    told: Option<i32>,
}

impl Driver<'_> {
    fn open(&mut self, is_resumed: bool, backend: Backend) -> Result<(), SearchError> {
        let id = self.bench.id;
        let meta = &self.place.meta;
        let kind = match is_resumed {
            true => EventKind::LoopResumed { id, iteration: self.history.next() },
            false => EventKind::LoopStarted {
                id,
                file: meta.file.clone(),
                file_hash: meta.hash.clone(),
                iterations: self.search.file.budget.iterations,
                backend,
            },
        };
        if is_resumed {
            self.sweep()?;
        }
        self.events(vec![kind])
    }

    fn drive(&mut self, watch: &mut dyn FnMut(Progress<'_>)) -> Result<End, SearchError> {
        loop {
            let elapsed = Span { millis: self.clock.millis() };
            if let Some(stop) = self.history.stop(self.search.file, elapsed) {
                return self.stop(stop);
            }
            match self.batch(watch)? {
                None => {}
                Some(Cut::TimeIsUp) => {
                    self.sweep()?;
                    return self.stop(Stop::WallTime);
                }
                Some(Cut::Canceled) => {
                    self.sweep()?;
                    let signal = self.told.unwrap_or(TERMINATE);
                    self.stopped("interrupted")?;
                    return Ok(End::Interrupted { signal });
                }
                Some(Cut::Failed(error)) => {
                    self.sweep()?;
                    self.stopped("failed")?;
                    return Err(*error);
                }
            }
        }
    }

    fn stop(&mut self, stop: Stop) -> Result<End, SearchError> {
        self.stopped(&stop.to_string())?;
        self.place.stop(stop)?;
        Ok(End::Stopped(stop))
    }

    /// Tries the candidates of a batch at once.
    fn batch(&mut self, watch: &mut dyn FnMut(Progress<'_>)) -> Result<Option<Cut>, SearchError> {
        let batch = self.history.next_batch(self.search.file);
        watch(Progress::Batch { first: *batch.start(), last: *batch.end() });
        let tasks: Vec<(Task, Relay)> = batch.map(|n| self.task(n)).collect::<Result<_, _>>()?;
        let mut left = tasks.len();
        let bench = self.bench;
        std::thread::scope(|scope| {
            let (tell, told) = channel();
            let mut relays = Vec::new();
            for (task, relay) in tasks {
                let tell = tell.clone();
                relays.push(relay);
                // Where nobody listens any more, the loop has failed already.
                scope.spawn(move || tell.send((task.iteration, bench.trial(&task))).ok());
            }
            drop(tell);
            let (mut waiting, mut cut) = (BTreeMap::new(), None);
            while left > 0 {
                match told.recv_timeout(LOOK) {
                    Ok((iteration, Ok(tried))) => {
                        left -= 1;
                        waiting.insert(iteration, tried);
                    }
                    Ok((_, Err(why))) => {
                        left -= 1;
                        // The first to fail is told of; the others are not to go on in vain.
                        cut.get_or_insert(why);
                        relays.iter().for_each(|relay| relay.send(TERMINATE));
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return Err(SearchError::Thread),
                }
                while let Some(tried) = waiting.remove(&self.history.next()) {
                    self.decide(tried, watch)?;
                }
                self.listen(&relays)?;
            }
            // A signal that came when all was done ends the loop as well.
            Ok(cut.or_else(|| self.told.map(|_| Cut::Canceled)))
        })
    }

    /// One trial, its input written down: it is under way.
    fn task(&self, iteration: u64) -> Result<(Task, Relay), SearchError> {
        let file = self.search.file;
        let known = self.history.before_batch_of(iteration, file.budget.parallel);
        let text = input(file, &known, iteration).to_string();
        let path = self.place.input(iteration);
        match std::fs::read(&path) {
            // Somebody was killed at it: it is the same again, or not the same loop.
            Ok(before) if before == text.as_bytes() => {}
            Ok(_) => return Err(SearchError::OtherInput { iteration, path }),
            Err(_) => write_atomically(&path, text.as_bytes())?,
        }
        let champion = known.champion().filter(|_| file.start_from == StartFrom::Champion);
        let line = |trial: &Trial| self.lines.iter().find(|l| l.trial.iteration == trial.iteration);
        let from = champion.and_then(line).and_then(|line| line.runs.first().copied());
        let (signals, relay) =
            Signals::relayed().map_err(|source| SearchError::Signals { source })?;
        Ok((Task { iteration, input: path, from, signals }, relay))
    }

    /// Passes on what we were told.
    fn listen(&mut self, relays: &[Relay]) -> Result<(), SearchError> {
        let failed = |source| SearchError::Signals { source };
        while let Some(signal) = self.signals.next().map_err(failed)? {
            match signal {
                STOP => stop_self().map_err(failed)?,
                1..=3 | TERMINATE => {
                    let is_again = self.told.replace(signal).is_some();
                    for relay in relays {
                        match is_again {
                            false => relay.send(TERMINATE),
                            // Three interrupts are a kill.
                            true => (0..3).for_each(|_| relay.send(INTERRUPT)),
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Judges the next trial and writes down what was decided: in the log, then in the history.
    fn decide(
        &mut self,
        tried: Tried,
        watch: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(), SearchError> {
        let (file, iteration) = (self.search.file, self.history.next());
        let Tried { mut measured, candidate, runs } = tried;
        if let Measured::Rejected { detail, .. } = &mut measured {
            *detail = shortened(&self.redactor.text(detail));
        }
        let before = self.history.champion().and_then(|champion| champion.value);
        let (verdict, value) = judge(file, before, &measured);
        let metrics = match measured {
            Measured::Ended(metrics) => metrics,
            Measured::Rejected { .. } => Metrics::new(),
        };
        let seed = seed_of(file.seed, iteration);
        let (digest, files, bytes) = match candidate {
            Some(c) => (Some(c.digest), c.files, c.bytes),
            None => (None, 0, 0),
        };
        let trial =
            Trial { iteration, seed, verdict, value, metrics, candidate: digest, files, bytes };
        self.events(self.decisions(&trial, &runs, before))?;
        let line = Line { trial, runs, elapsed_ms: self.clock.millis(), at: clock::now() };
        let line = self.place.decide(&line)?;
        if !self.history.push(line.trial.clone()) {
            unreachable!("it is the next");
        }
        let path = self.place.input(iteration);
        std::fs::remove_file(&path).map_err(StateError::io("remove", &path))?;
        watch(Progress::Decided(&line));
        self.lines.push(line);
        self.tidy()
    }

    fn decisions(&self, trial: &Trial, runs: &[RunId], before: Option<f64>) -> Vec<EventKind> {
        let of = || LoopStep { id: self.bench.id, iteration: trial.iteration, runs: runs.to_vec() };
        let mut events = Vec::new();
        if runs.len() > 1 {
            let (candidate, files, bytes) = (trial.candidate.clone(), trial.files, trial.bytes);
            events.push(EventKind::LoopCandidate { of: of(), candidate, files, bytes });
        }
        let metrics = trial.metrics.clone();
        let is_champion = trial.verdict == Verdict::Champion;
        match &trial.verdict {
            Verdict::Rejected { reason, detail } => {
                let (reason, detail) = (*reason, detail.clone());
                events.push(EventKind::LoopRejected { of: of(), reason, detail, metrics });
            }
            Verdict::Champion | Verdict::Beaten => {
                let standing = self.history.champion().map(|champion| champion.iteration);
                let champion = if is_champion { Some(trial.iteration) } else { standing };
                events.push(EventKind::LoopScored {
                    of: of(),
                    metrics,
                    value: trial.value,
                    champion,
                });
            }
        }
        if let Some(value) = trial.value.filter(|_| is_champion) {
            events.push(EventKind::LoopChampion { of: of(), value, before });
        }
        events
    }

    /// Removes the runs of trials that are neither recent nor the best.
    fn tidy(&mut self) -> Result<(), SearchError> {
        let (next, file) = (self.history.next(), self.search.file);
        let known = self.history.before_batch_of(next, file.budget.parallel);
        let best = [self.history.champion(), known.champion()];
        let best: Vec<u64> = best.into_iter().flatten().map(|trial| trial.iteration).collect();
        let recent = next.saturating_sub(file.keep as u64);
        let store = Store::new(self.search.state);
        let mut kept = Vec::with_capacity(self.lines.len());
        for line in std::mem::take(&mut self.lines) {
            let iteration = line.trial.iteration;
            if iteration >= recent
                || best.contains(&iteration)
                || !self.remove(&store, &line.runs)?
            {
                kept.push(line);
            }
        }
        self.lines = kept;
        Ok(())
    }

    /// `false` where one of them is still needed by somebody else.
    fn remove(&self, store: &Store, runs: &[RunId]) -> Result<bool, StateError> {
        let mut are_gone = true;
        for run in runs {
            // What is not there any more needs no removal.
            let Ok(record) = store.record(*run) else { continue };
            are_gone &= prune::remove(self.search.state, self.search.actor, record)?;
        }
        Ok(are_gone)
    }

    /// Removes what trials left that were never decided: of a process that died, or that were canceled.
    fn sweep(&self) -> Result<(), SearchError> {
        let store = Store::new(self.search.state);
        let (id, since) = (self.bench.id, self.place.meta.started_at.unix_millis());
        let known: BTreeSet<RunId> = self.lines.iter().flat_map(|l| &l.runs).copied().collect();
        let mark = format!("{id}/");
        for run in store.ids()?.into_iter().take_while(|run| run.unix_millis() >= since) {
            let Ok(record) = store.record(run) else { continue };
            let is_ours = record.plan.as_ref().is_some_and(|plan| {
                let marks = plan.env.iter().filter(|(name, _)| name.as_str() == VARIABLE);
                marks.into_iter().any(|(_, value)| value.reveal().starts_with(&mark))
            });
            if is_ours && !known.contains(&run) && record.finished_at.is_some() {
                prune::remove(self.search.state, self.search.actor, record)?;
            }
        }
        Ok(())
    }

    fn stopped(&mut self, reason: &str) -> Result<(), SearchError> {
        let champion = self.history.champion();
        let kind = EventKind::LoopStopped {
            id: self.bench.id,
            reason: reason.to_owned(),
            iterations: self.history.trials().len() as u64,
            champion: champion.map(|trial| trial.iteration),
            value: champion.and_then(|trial| trial.value),
        };
        self.events(vec![kind])
    }

    fn events(&mut self, kinds: Vec<EventKind>) -> Result<(), SearchError> {
        let lines: Vec<_> = kinds
            .into_iter()
            .map(|kind| {
                let event = Event {
                    ts: clock::now(),
                    run: None,
                    workspace: Some(self.place.meta.workspace.clone()),
                    actor: self.search.actor.to_owned(),
                    kind,
                };
                let mut line = as_map(&event);
                line.values_mut().for_each(|member| self.redactor.json(member));
                line
            })
            .collect();
        self.journal.append(&lines)?;
        Ok(())
    }
}

/// Enough to understand it by; a candidate may have chosen its length.
fn shortened(detail: &str) -> String {
    const MOST: usize = 300;
    match detail.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &detail[..at]),
        None => detail.to_owned(),
    }
}
