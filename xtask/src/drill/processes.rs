//! The processes of a scene, found in `/proc` by what they were given, and signals to them.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::cargo::works;
use crate::ending::state_and_parent;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: u32,
    parent: u32,
    pub(super) line: String,
    belongs: bool,
}

/// Every process with a variable that names something below `top`, and all that descend from one.
pub(super) fn below(top: &Path) -> Vec<Process> {
    let mut all: Vec<Process> = pids().filter_map(|pid| look(pid, top)).collect();
    // Children come after their parents only mostly: go on until nothing new belongs.
    loop {
        let ours: Vec<u32> = all.iter().filter(|p| p.belongs).map(|p| p.pid).collect();
        let new = |p: &&mut Process| !p.belongs && ours.contains(&p.parent);
        let found = all.iter_mut().filter(new).map(|p| p.belongs = true).count();
        if found == 0 {
            break;
        }
    }
    all.retain(|process| process.belongs);
    all
}

impl Process {
    /// What part of the program it is.
    pub(super) fn role(&self) -> &'static str {
        let words: Vec<&str> = self.line.split(' ').collect();
        if self.line.starts_with("cofferdam: first process") {
            return "first process";
        }
        let ours = words.first().is_some_and(|word| word.ends_with("/cofferdam"));
        match (ours, words.get(1).copied(), words.get(2).copied()) {
            (true, Some("session"), Some("hold")) => "session holder",
            (true, Some("launcher"), _) => "launcher",
            (true, Some("apply" | "undo"), _) => "apply and undo",
            (true, Some("drive"), _) => "launcher's owner",
            (true, _, _) => "command line",
            _ => "command inside",
        }
    }
}

fn pids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// `None` for one that has ended, a zombie too: it holds nothing any more.
fn look(pid: u32, top: &Path) -> Option<Process> {
    let dir = Path::new("/proc").join(pid.to_string());
    let (state, parent) = state_and_parent(&fs::read_to_string(dir.join("stat")).ok()?)?;
    if state == 'Z' || state == 'X' {
        return None;
    }
    let environ = fs::read(dir.join("environ")).unwrap_or_default();
    let line = fs::read(dir.join("cmdline")).unwrap_or_default();
    let line = String::from_utf8_lossy(&line).replace('\0', " ").trim_end().to_owned();
    Some(Process { pid, parent, line, belongs: names(&environ, top) })
}

fn names(environ: &[u8], top: &Path) -> bool {
    environ.split(|byte| *byte == 0).any(|variable| {
        let text = String::from_utf8_lossy(variable);
        text.split_once('=').is_some_and(|(_, value)| Path::new(value).starts_with(top))
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    Kill,
    Stop,
    Continue,
}

/// Whether it was still there to be reached.
pub(super) fn send(signal: Signal, pid: u32) -> bool {
    let name = match signal {
        Signal::Kill => "-KILL",
        Signal::Stop => "-STOP",
        Signal::Continue => "-CONT",
    };
    works(Command::new("kill").args([name, &pid.to_string()]))
}

/// The one process of a role, of a scene where there has to be one.
pub(super) fn of_role(top: &Path, role: &str) -> Result<Process> {
    let found: Vec<Process> = below(top).into_iter().filter(|p| p.role() == role).collect();
    match found.as_slice() {
        [one] => Ok(one.clone()),
        others => bail!("{} processes are a {role}, not one", others.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(line: &str) -> Process {
        Process { pid: 1, parent: 0, line: line.to_owned(), belongs: true }
    }

    #[test]
    fn parts_are_told_by_their_words() {
        assert_eq!(process("/x/cofferdam session hold --json").role(), "session holder");
        assert_eq!(process("/x/cofferdam session exec last").role(), "command line");
        assert_eq!(process("cofferdam: first process of a sandbox").role(), "first process");
        assert_eq!(process("/x/cofferdam launcher --state /s").role(), "launcher");
        assert_eq!(process("/x/cofferdam undo last").role(), "apply and undo");
        assert_eq!(process("sleep 2").role(), "command inside");
    }

    #[test]
    fn a_name_with_brackets_hides_nothing() {
        assert_eq!(state_and_parent("12 (a) Z 3 (b)) S 77 1 1"), Some(('S', 77)));
        assert_eq!(state_and_parent("nonsense"), None);
    }

    #[test]
    fn a_process_belongs_by_a_variable_or_by_its_parent() {
        let top = std::env::temp_dir().join("drill-that-is-not-there");
        let mut child = Command::new("/bin/sh")
            .args(["-c", "env -i sleep 30 & wait"])
            .env_clear()
            .env("HOME", top.join("home"))
            .spawn()
            .unwrap();
        let found = loop {
            let found = below(&top);
            if found.iter().any(|p| p.line == "sleep 30") {
                break found;
            }
        };
        for process in &found {
            assert!(send(Signal::Kill, process.pid));
        }
        child.wait().unwrap();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(below(&top.join("deeper")).is_empty());
    }
}
