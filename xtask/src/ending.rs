//! Ends what was started for a while, should a signal end us before we do.
//!
//! Whoever starts something that would live on, an engine or a database, or makes a directory for it, has it [`keep`]ed here until
//! it is gone. What is only waited for, as nextest, is asked to end first: it works with the others.

use std::fs;
use std::io::Read as _;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{emulate_default_handler, pipe};

use crate::cargo::works;
use crate::engine::{end_shims, unmount_below};

/// How long those that are waited for may take: tests clean up after themselves.
const OTHERS: Duration = Duration::from_secs(20);
/// How long an engine may take.
const KEPT: Duration = Duration::from_secs(30);

static ALL: Mutex<Vec<Entry>> = Mutex::new(Vec::new());
static IS_ASKED: AtomicBool = AtomicBool::new(false);

#[derive(Debug, Clone)]
struct Entry {
    dir: PathBuf,
    pids: Vec<u32>,
    signal: &'static str,
}

/// Its directory is remembered until this is dropped.
#[derive(Debug)]
pub(crate) struct Kept(PathBuf);

/// From here on, a signal to end us ends what is kept, and then us.
pub(crate) fn watch() -> Result<()> {
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        let (mut heard, told) = UnixStream::pair().context("cannot listen to signals")?;
        pipe::register(signal, told).context("cannot listen to signals")?;
        std::thread::spawn(move || {
            if heard.read_exact(&mut [0]).is_ok() {
                end(signal);
            }
        });
    }
    Ok(())
}

/// A directory with the processes that work in it, which this signal asks to end.
pub(crate) fn keep(dir: impl Into<PathBuf>, signal: &'static str) -> Kept {
    let dir = dir.into();
    all().push(Entry { dir: dir.clone(), pids: Vec::new(), signal });
    Kept(dir)
}

impl Kept {
    /// These are its processes now.
    pub(crate) fn are(&self, pids: &[u32]) {
        let mut all = all();
        let mine = all.iter_mut().filter(|entry| entry.dir == self.0);
        mine.for_each(|entry| entry.pids = pids.to_vec());
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        all().retain(|entry| entry.dir != self.0);
    }
}

/// Begins nothing new once we are to end: waits for that.
pub(crate) fn stand_still() {
    while IS_ASKED.load(Ordering::SeqCst) {
        std::thread::park();
    }
}

fn end(signal: i32) {
    if IS_ASKED.swap(true, Ordering::SeqCst) {
        return;
    }
    eprintln!("xtask: ending what was started");
    let kept = all().clone();
    let others = || {
        let is_kept = |pid: &u32| kept.iter().any(|entry| entry.pids.contains(pid));
        children().into_iter().filter(|pid| !is_kept(pid)).collect::<Vec<u32>>()
    };
    // A terminal has told them already, and being told twice is to be killed.
    if signal != SIGINT {
        tell("-TERM", &others());
    }
    if !wait(OTHERS, || others().is_empty()) {
        tell("-TERM", &others());
    }
    for Entry { dir, pids, signal } in kept.iter().rev() {
        tell(signal, pids);
        if !wait(KEPT, || !pids.iter().any(|pid| is_alive(*pid))) {
            eprintln!("xtask: {pids:?} of {} would not end", dir.display());
            continue;
        }
        end_shims(dir);
        if unmount_below(dir) && fs::remove_dir_all(dir).is_err() && dir.exists() {
            eprintln!("xtask: {} is left", dir.display());
        }
    }
    // Somebody may have begun another before standing still.
    tell("-TERM", &others());
    if let Err(error) = emulate_default_handler(signal) {
        eprintln!("xtask: cannot end: {error}");
    }
}

fn tell(signal: &str, pids: &[u32]) {
    for pid in pids.iter().filter(|pid| is_alive(**pid)) {
        // One that has ended meanwhile needs none.
        works(Command::new("kill").args([signal, &pid.to_string()]));
    }
}

fn wait(patience: Duration, mut is_done: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + patience;
    while !is_done() {
        if Instant::now() >= deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    true
}

fn children() -> Vec<u32> {
    let us = std::process::id();
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| look(*pid).is_some_and(|(state, parent)| is_running(state) && parent == us))
        .collect()
}

fn is_alive(pid: u32) -> bool {
    look(pid).is_some_and(|(state, _)| is_running(state))
}

fn is_running(state: char) -> bool {
    state != 'Z' && state != 'X'
}

fn look(pid: u32) -> Option<(char, u32)> {
    state_and_parent(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The name in brackets may hold anything: what counts comes after the last bracket.
pub(crate) fn state_and_parent(stat: &str) -> Option<(char, u32)> {
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

fn all() -> MutexGuard<'static, Vec<Entry>> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_known_until_it_is_gone() {
        let dir = PathBuf::from("/nonexistent/kept");
        let mine = || all().iter().find(|entry| entry.dir == dir).cloned();
        let kept = keep(&dir, "-TERM");
        kept.are(&[1, 2]);
        assert_eq!(mine().unwrap().pids, [1, 2]);
        drop(kept);
        assert!(mine().is_none());
    }

    #[test]
    fn a_child_is_seen_until_it_is_dead() {
        let mut child = Command::new("sleep").arg("100").spawn().unwrap();
        assert!(children().contains(&child.id()) && is_alive(child.id()));
        tell("-KILL", &[child.id()]);
        // Dead, and not taken away yet.
        assert!(wait(KEPT, || !is_alive(child.id())));
        child.wait().unwrap();
    }
}
