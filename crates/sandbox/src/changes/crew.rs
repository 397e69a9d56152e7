//! A few threads that go through a tree together: directories wait in a list, and each thread takes one at
//! a time.
//!
//! [`go_through`] returns when all are done and the threads have ended: whoever makes a sandbox next must
//! have one thread.

use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Few: more only wait for the same disk.
const THREADS: usize = 4;

struct List<E> {
    /// Directories that are still to be looked into.
    waiting: Vec<PathBuf>,
    /// Of those that were taken, how many are not done.
    taken: usize,
    failed: Option<E>,
}

struct Crew<E> {
    list: Mutex<List<E>>,
    more: Condvar,
}

/// Calls `look` for the directory `.` and for every directory that it returns. The first error ends it.
pub(super) fn go_through<E: Send>(
    look: impl Fn(&Path) -> Result<Vec<PathBuf>, E> + Sync,
) -> Result<(), E> {
    let before = tasks();
    let list = List { waiting: vec![PathBuf::from(".")], taken: 0, failed: None };
    let crew = Crew { list: Mutex::new(list), more: Condvar::new() };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).clamp(2, THREADS);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(dir) = crew.take() {
                    crew.done(look(&dir));
                }
            });
        }
    });
    let_go(before);
    let list = crew.list.into_inner().unwrap_or_else(PoisonError::into_inner);
    list.failed.map_or(Ok(()), Err)
}

impl<E> Crew<E> {
    fn list(&self) -> MutexGuard<'_, List<E>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next directory, or `None` when there will be none.
    fn take(&self) -> Option<PathBuf> {
        let mut list = self.list();
        loop {
            if list.failed.is_some() {
                return None;
            }
            if let Some(dir) = list.waiting.pop() {
                list.taken += 1;
                return Some(dir);
            }
            if list.taken == 0 {
                return None;
            }
            list = self.more.wait(list).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn done(&self, found: Result<Vec<PathBuf>, E>) {
        let mut list = self.list();
        list.taken -= 1;
        match found {
            Ok(mut below) => list.waiting.append(&mut below),
            Err(error) => {
                list.failed.get_or_insert(error);
            }
        }
        self.more.notify_all();
    }
}

fn tasks() -> Option<usize> {
    std::fs::read_dir("/proc/self/task").ok().map(Iterator::count)
}

/// A thread that was waited for is counted by the kernel for a moment longer.
fn let_go(before: Option<usize>) {
    let deadline = Instant::now() + Duration::from_secs(1);
    while tasks() > before && Instant::now() < deadline {
        std::thread::sleep(Duration::from_micros(50));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn every_directory_is_looked_into_once_and_the_threads_are_gone() {
        let before = tasks();
        let seen = AtomicUsize::new(0);
        let done: Result<(), ()> = go_through(|dir| {
            seen.fetch_add(1, Ordering::Relaxed);
            let depth = dir.components().count();
            Ok(if depth < 5 { vec![dir.join("a"), dir.join("b")] } else { Vec::new() })
        });
        assert_eq!((done, seen.into_inner()), (Ok(()), 31));
        assert_eq!(tasks(), before);
    }

    #[test]
    fn the_first_error_ends_it() {
        let seen = AtomicUsize::new(0);
        let done = go_through(|dir| match seen.fetch_add(1, Ordering::Relaxed) {
            100.. => Err("enough"),
            _ => Ok(vec![dir.join("a"), dir.join("b")]),
        });
        assert_eq!(done, Err("enough"));
        assert!(seen.into_inner() < 200);
    }
}
