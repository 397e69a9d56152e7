//! Who is next: the tasks that wait, those that are held, and the choice between them.
//!
//! [`Board`] is kept in memory beside the store, which stays the truth: it can be made anew from it at any time. The
//! project with the fewest running goes first, then the one that was served longest ago; within a project the greater
//! priority, then the older task: nobody's priority counts against another project. A task whose paths are locked
//! keeps its place: what comes later in its line and wants the same paths waits behind it.
//!
//! No cost here grows with what was ever stored, only with what waits: tasks that the same runners can take stand in
//! one line, and a choice looks at the head of each.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::path::{Component, Path, PathBuf};

use super::id::{ProjectId, TaskId};
use crate::paths::overlap;
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

impl Waiting {
    /// Among those of its project.
    fn place(&self) -> Place {
        (Reverse(self.priority), self.order)
    }
}

/// Paths of a project that one task at a time may work on, relative to its root. None at all means the whole tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathLock {
    paths: Vec<String>,
}

impl PathLock {
    /// A lock on paths as somebody wrote them: `./a//b` is `a/b`, and `.` is everything.
    pub fn new(paths: &[String]) -> Self {
        let normal = |path: &String| {
            let parts = Path::new(path).components();
            let parts = parts.filter(|part| *part != Component::CurDir);
            parts.collect::<PathBuf>().to_string_lossy().into_owned()
        };
        let mut paths: Vec<String> = paths.iter().map(normal).collect();
        if paths.iter().any(String::is_empty) {
            paths.clear();
        }
        paths.sort_unstable();
        paths.dedup();
        Self { paths }
    }

    /// Each place once, in one way of writing it.
    pub fn into_paths(self) -> Vec<String> {
        self.paths
    }

    /// Where it lies on the host.
    fn below(&self, root: &Path) -> Places {
        if self.paths.is_empty() {
            return Places(vec![root.to_owned()]);
        }
        Places(self.paths.iter().map(|path| root.join(path)).collect())
    }
}

/// Absolute paths that are locked, whichever project they are of: two projects may have one tree, or one inside the other's.
#[derive(Debug, Clone)]
struct Places(Vec<PathBuf>);

impl Places {
    fn meets(&self, other: &Self) -> bool {
        self.0.iter().any(|one| other.touches(one))
    }

    fn touches(&self, path: &Path) -> bool {
        self.0.iter().any(|own| overlap(own, path))
    }

    /// Whether nothing of that tree is left.
    fn covers(&self, root: &Path) -> bool {
        self.0.iter().any(|own| root.starts_with(own))
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
    root: Option<PathBuf>,
}

#[derive(Debug)]
pub struct Board {
    lines: BTreeMap<Line, BTreeMap<Place, Waiting>>,
    places: HashMap<TaskId, (Line, Place)>,
    later: BTreeMap<(Stamp, TaskId), Waiting>,
    later_at: HashMap<TaskId, Stamp>,
    shares: HashMap<Option<ProjectId>, Share>,
    held: HashMap<TaskId, (Option<ProjectId>, Option<Places>)>,
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

    /// Where the tree of a project is. What is held already stays where it was.
    pub fn root(&mut self, project: ProjectId, root: PathBuf) {
        self.shares.entry(Some(project)).or_default().root = Some(root);
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
        let place = waiting.place();
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
        let places = lock.map(|lock| lock.below(self.root_of(project)));
        if self.held.insert(task, (project, places)).is_none() {
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
        let mut firsts: BTreeMap<Option<ProjectId>, &Waiting> = BTreeMap::new();
        for (line, tasks) in self.lines.iter().filter(|(line, _)| wish.fits(line)) {
            let share = self.shares.get(&line.project);
            let full = |share: &Share| share.most.is_some_and(|most| share.running >= most);
            if share.is_some_and(full) {
                continue;
            }
            let Some(first) = self.first(line, tasks) else { continue };
            let best = firsts.entry(line.project).or_insert(first);
            if first.place() < best.place() {
                *best = first;
            }
        }
        let turn = |project: &Option<ProjectId>| {
            self.shares.get(project).map_or((0, 0), |share| (share.running, share.served))
        };
        let next = firsts.iter().min_by_key(|(project, first)| (turn(project), first.order));
        next.map(|(_, first)| *first)
    }

    /// Every project is told of before its tasks are. Without it, their paths are compared as they stand.
    fn root_of(&self, project: Option<ProjectId>) -> &Path {
        let root = self.shares.get(&project).and_then(|share| share.root.as_deref());
        root.unwrap_or(Path::new("/"))
    }

    /// The first of a line whose paths are free.
    fn first<'a>(&self, line: &Line, tasks: &'a BTreeMap<Place, Waiting>) -> Option<&'a Waiting> {
        if !line.locking {
            return tasks.values().next();
        }
        let root = self.root_of(line.project);
        let held = self.held.values().filter_map(|(_, places)| places.as_ref());
        let mut locked: Vec<Places> = held.filter(|held| held.touches(root)).cloned().collect();
        for waiting in tasks.values() {
            let Some(lock) = &waiting.lock else { continue };
            if locked.iter().any(|other| other.covers(root)) {
                return None;
            }
            let places = lock.below(root);
            if !locked.iter().any(|other| other.meets(&places)) {
                return Some(waiting);
            }
            locked.push(places);
        }
        None
    }
}

#[cfg(test)]
mod tests;
