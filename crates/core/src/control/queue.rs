//! Who is next: the tasks that wait, those that are held, and the choice between them.
//!
//! [`Board`] is kept in memory beside the store, which stays the truth: it can be made anew from it at any time. The
//! greater priority goes first; among equals the project with the fewest running, then the one that was served
//! longest ago, then the older task. A task whose paths are locked keeps its place: what comes later and wants the
//! same paths waits behind it.
//!
//! No cost here grows with what was ever stored, only with what waits: tasks that the same runners can take stand in
//! one line, and a choice looks at the head of each.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use super::id::{ProjectId, TaskId};
use crate::stamp::Stamp;

/// What of a task decides about its turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub task: TaskId,
    pub project: Option<ProjectId>,
    pub priority: i32,
    /// Counts up with each task that begins to wait.
    pub order: u64,
    /// Sorted, each once.
    pub labels: Vec<String>,
    pub lock: Option<PathLock>,
}

/// Paths of a project that one task at a time may work on. None at all means the whole tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathLock {
    pub paths: Vec<String>,
}

impl PathLock {
    pub fn is_everything(&self) -> bool {
        self.paths.is_empty()
    }

    pub fn meets(&self, other: &Self) -> bool {
        self.is_everything()
            || other.is_everything()
            || self.paths.iter().any(|one| {
                other.paths.iter().any(|two| {
                    let (one, two) = (std::path::Path::new(one), std::path::Path::new(two));
                    crate::paths::overlap(one, two)
                })
            })
    }
}

/// What a runner can take.
#[derive(Debug, Clone, Copy, Default)]
pub struct Wish<'a> {
    pub labels: &'a [String],
    /// The only projects it works for; absent: all, and what has none.
    pub projects: Option<&'a [ProjectId]>,
}

impl Wish<'_> {
    fn fits(&self, line: &Line) -> bool {
        line.labels.iter().all(|label| self.labels.contains(label))
            && self.projects.is_none_or(|known| line.project.is_some_and(|of| known.contains(&of)))
    }
}

type Place = (Reverse<i32>, u64);

/// Tasks that the same runners can take, in their order.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Line {
    project: Option<ProjectId>,
    labels: Vec<String>,
    locking: bool,
}

#[derive(Debug, Default)]
struct Share {
    running: u32,
    most: Option<u32>,
    served: u64,
}

#[derive(Debug)]
pub struct Board {
    lines: BTreeMap<Line, BTreeMap<Place, Waiting>>,
    places: HashMap<TaskId, (Line, Place)>,
    later: BTreeMap<(Stamp, TaskId), Waiting>,
    later_at: HashMap<TaskId, Stamp>,
    shares: HashMap<Option<ProjectId>, Share>,
    held: HashMap<TaskId, (Option<ProjectId>, Option<PathLock>)>,
    most: usize,
    served: u64,
}

impl Board {
    /// A board on which at most so many are held at once.
    pub fn new(most: usize) -> Self {
        Self {
            lines: BTreeMap::new(),
            places: HashMap::new(),
            later: BTreeMap::new(),
            later_at: HashMap::new(),
            shares: HashMap::new(),
            held: HashMap::new(),
            most,
            served: 0,
        }
    }

    /// How many of a project may be held at once.
    pub fn limit(&mut self, project: ProjectId, most: Option<u32>) {
        self.shares.entry(Some(project)).or_default().most = most;
    }

    /// A task waits for its turn, from that moment on.
    pub fn wait(&mut self, waiting: Waiting, not_before: Option<Stamp>) {
        self.forget(waiting.task);
        match not_before {
            Some(at) => {
                self.later_at.insert(waiting.task, at);
                self.later.insert((at, waiting.task), waiting);
            }
            None => self.line_up(waiting),
        }
    }

    fn line_up(&mut self, waiting: Waiting) {
        let line = Line {
            project: waiting.project,
            labels: waiting.labels.clone(),
            locking: waiting.lock.is_some(),
        };
        let place = (Reverse(waiting.priority), waiting.order);
        self.places.insert(waiting.task, (line.clone(), place));
        self.lines.entry(line).or_default().insert(place, waiting);
    }

    /// It waits no longer; says whether it did.
    pub fn forget(&mut self, task: TaskId) -> bool {
        if let Some(at) = self.later_at.remove(&task) {
            self.later.remove(&(at, task));
            return true;
        }
        let Some((line, place)) = self.places.remove(&task) else { return false };
        if let Some(tasks) = self.lines.get_mut(&line) {
            tasks.remove(&place);
            if tasks.is_empty() {
                self.lines.remove(&line);
            }
        }
        true
    }

    /// A runner has it, as when the board is made anew.
    pub fn hold(&mut self, task: TaskId, project: Option<ProjectId>, lock: Option<PathLock>) {
        self.forget(task);
        if self.held.insert(task, (project, lock)).is_none() {
            self.shares.entry(project).or_default().running += 1;
        }
    }

    /// No runner has it any more.
    pub fn let_go(&mut self, task: TaskId) -> bool {
        let Some((project, _)) = self.held.remove(&task) else { return false };
        let share = self.shares.entry(project).or_default();
        share.running = share.running.saturating_sub(1);
        true
    }

    /// Up to `room` tasks for a runner. They are held from now on.
    pub fn take(&mut self, wish: &Wish<'_>, room: usize, now: Stamp) -> Vec<TaskId> {
        self.ripen(now);
        let mut taken = Vec::new();
        while taken.len() < room && self.held.len() < self.most {
            let Some(next) = self.next(wish) else { break };
            let (task, project, lock) = (next.task, next.project, next.lock.clone());
            self.hold(task, project, lock);
            self.served += 1;
            self.shares.entry(project).or_default().served = self.served;
            taken.push(task);
        }
        taken
    }

    /// When the next task that waits for a moment may be taken.
    pub fn due(&self) -> Option<Stamp> {
        self.later.keys().next().map(|(at, _)| *at)
    }

    /// Lines up what has waited long enough; says whether there was any.
    pub fn ripen(&mut self, now: Stamp) -> bool {
        let mut any = false;
        while let Some(entry) = self.later.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let waiting = entry.remove();
            self.later_at.remove(&waiting.task);
            self.line_up(waiting);
            any = true;
        }
        any
    }

    pub fn waiting(&self) -> usize {
        self.places.len() + self.later.len()
    }

    pub fn held(&self) -> usize {
        self.held.len()
    }

    fn next(&self, wish: &Wish<'_>) -> Option<&Waiting> {
        self.lines
            .iter()
            .filter(|(line, _)| wish.fits(line))
            .filter_map(|(line, tasks)| {
                let share = self.shares.get(&line.project);
                let running = share.map_or(0, |share| share.running);
                if share.and_then(|share| share.most).is_some_and(|most| running >= most) {
                    return None;
                }
                let first = self.first(line, tasks)?;
                let served = share.map_or(0, |share| share.served);
                Some(((Reverse(first.priority), running, served, first.order), first))
            })
            .min_by_key(|(rank, _)| *rank)
            .map(|(_, first)| first)
    }

    /// The first of a line whose paths are free.
    fn first<'a>(&self, line: &Line, tasks: &'a BTreeMap<Place, Waiting>) -> Option<&'a Waiting> {
        if !line.locking {
            return tasks.values().next();
        }
        let held = self.held.values().filter(|(project, _)| *project == line.project);
        let mut locked: Vec<&PathLock> = held.filter_map(|(_, lock)| lock.as_ref()).collect();
        for waiting in tasks.values() {
            let Some(lock) = &waiting.lock else { continue };
            if !locked.iter().any(|other| other.meets(lock)) {
                return Some(waiting);
            }
            if lock.is_everything() || locked.iter().any(|other| other.is_everything()) {
                return None;
            }
            locked.push(lock);
        }
        None
    }
}

#[cfg(test)]
mod tests;
