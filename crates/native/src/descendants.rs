//! Finds and ends the processes that a command left behind.
//!
//! Works because we are a subreaper: whatever loses its parent below us, also after `setsid` and a
//! double fork, becomes our child. Children of children are reached by ending the children first.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::kernel_text;
use crate::sys::{self, SysError, Used};

/// Processes that were our children before a command was started: they are none of its own.
#[derive(Debug, Clone, Default)]
pub struct Bystanders(Vec<(u32, Option<u64>)>);

impl Bystanders {
    pub fn now() -> Self {
        Self(children().into_iter().map(|pid| (pid, start_ticks(pid))).collect())
    }

    fn spares(&self, pid: u32) -> bool {
        self.0.iter().any(|(spared, began)| *spared == pid && *began == start_ticks(pid))
    }
}

/// Ends every child of this process but the bystanders, and says which would not go within `patience`, and what the others used.
/// Only for a process that supervises one command at a time.
pub(crate) fn end_all(
    spared: &Bystanders,
    patience: Duration,
) -> Result<(Vec<u32>, Used), SysError> {
    let deadline = Instant::now() + patience;
    let mut used = Used::default();
    loop {
        let left: Vec<u32> = children().into_iter().filter(|pid| !spared.spares(*pid)).collect();
        for pid in &left {
            used = sys::reap(pid.cast_signed())?.map_or(used, |reaped| used.and(reaped.used));
        }
        if left.is_empty() || Instant::now() >= deadline {
            return Ok((left, used));
        }
        for pid in &left {
            if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
                // A process that is gone by now needs no signal; one that stays is in the answer.
                kill_process(pid, Signal::KILL).ok();
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Ends every process whose environment carries `marker` (`NAME=value`), and says which would not go.
/// For what a dead supervisor left behind.
pub fn end_marked(marker: &str, patience: Duration) -> (Vec<u32>, Vec<u32>) {
    let deadline = Instant::now() + patience;
    let mut ended = Vec::new();
    // Whoever cleans up may have been started by what is cleaned up; it is left, and said to be.
    let own_line = ancestry();
    loop {
        let left = marked(marker);
        if left.iter().all(|pid| own_line.contains(pid)) || Instant::now() >= deadline {
            ended.retain(|pid| !left.contains(pid));
            return (ended, left);
        }
        for pid in left.into_iter().filter(|pid| !own_line.contains(pid)) {
            // By descriptor, and looked at again through it: the number may be another's by now.
            let Some(target) = Pid::from_raw(pid.cast_signed()) else { continue };
            let Ok(fd) = rustix::process::pidfd_open(target, rustix::process::PidfdFlags::empty())
            else {
                continue;
            };
            if carries(pid, marker) {
                rustix::process::pidfd_send_signal(&fd, Signal::KILL).ok();
                if !ended.contains(&pid) {
                    ended.push(pid);
                }
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// This process and all that it descends from.
fn ancestry() -> Vec<u32> {
    let mut line = vec![std::process::id()];
    while let Some(above) = line.last().and_then(|pid| parent(*pid)).filter(|pid| *pid != 0) {
        line.push(above);
    }
    line
}

fn children() -> Vec<u32> {
    let me = std::process::id();
    match fs::read_to_string(format!("/proc/self/task/{me}/children")) {
        Ok(list) => list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect(),
        // Kernels without that file: look at everybody's parent.
        Err(_) => processes().into_iter().filter(|pid| parent(*pid) == Some(me)).collect(),
    }
}

fn marked(marker: &str) -> Vec<u32> {
    processes().into_iter().filter(|pid| carries(*pid, marker)).collect()
}

/// Whether a live process has the marker. A dead one that nobody has reaped shows no environment.
fn carries(pid: u32, marker: &str) -> bool {
    fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|env| env.split(|b| *b == 0).any(|var| var == marker.as_bytes()))
}

fn processes() -> Vec<u32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

fn parent(pid: u32) -> Option<u32> {
    stat_field(pid, 1)?.parse().ok()
}

/// When a process started, in clock ticks since boot: together with its pid it names it for good.
pub fn start_ticks(pid: u32) -> Option<u64> {
    stat_field(pid, 19)?.parse().ok()
}

/// A field of `/proc/PID/stat`, counted from the state, which is 0: the name before it may hold
/// spaces and brackets.
fn stat_field(pid: u32, index: usize) -> Option<String> {
    let stat = kernel_text::read(format!("/proc/{pid}/stat")).ok()?;
    let after_name = stat.rsplit_once(')')?.1;
    after_name.split_ascii_whitespace().nth(index).map(str::to_owned)
}
