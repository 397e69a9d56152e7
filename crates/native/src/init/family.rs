//! Ends a command of a session with all that it started, as far as they can be told apart.
//!
//! A process belongs to a command if it is in the command's session, descends from one that does, or
//! carries the command's mark in its environment. One that did all of this cannot be told from the others: it
//! made a session of its own, lost its parent, and was executed without the mark. It lives until the session ends.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::kernel_text;
use crate::order::Family;

/// Each round kills all that are found; more than this many and something is being born as fast as it dies.
const ROUNDS: u32 = 500;
const PAUSE: Duration = Duration::from_millis(1);

/// Kills the family, and says whether nobody of it is left.
pub(super) fn end(family: Family) -> bool {
    for _ in 0..ROUNDS {
        let found = members(family);
        if found.is_empty() {
            return true;
        }
        for pid in found {
            if let Some(pid) = Pid::from_raw(pid) {
                // Who is gone by now needs no signal.
                kill_process(pid, Signal::KILL).ok();
            }
        }
        std::thread::sleep(PAUSE);
    }
    false
}

#[derive(Debug, Clone, Copy)]
struct Known {
    pid: i32,
    parent: i32,
    session: i32,
}

fn members(family: Family) -> Vec<i32> {
    let mark = family.mark();
    let known: Vec<Known> = alive().filter(|process| process.pid != 1).collect();
    let mut found: Vec<i32> = known
        .iter()
        .filter(|p| p.pid == family.leader || p.session == family.leader || carries(p.pid, &mark))
        .map(|p| p.pid)
        .collect();
    // Children of those, however deep.
    loop {
        let more: Vec<i32> = known
            .iter()
            .filter(|p| found.contains(&p.parent) && !found.contains(&p.pid))
            .map(|p| p.pid)
            .collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

/// Everybody in this namespace who is not dead already.
fn alive() -> impl Iterator<Item = Known> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
        let stat = kernel_text::read(format!("/proc/{pid}/stat")).ok()?;
        // The name before may hold spaces and brackets.
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        (!["Z", "X"].contains(&state)).then_some(Known { pid, parent, session })
    })
}

fn carries(pid: i32, mark: &str) -> bool {
    fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|env| env.split(|byte| *byte == 0).any(|var| var == mark.as_bytes()))
}
