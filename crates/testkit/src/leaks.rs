//! What a run left behind: processes, mounts, cgroups. Read from the kernel, not from our own records.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// How deep cgroups are looked for. A scope of a user's own service manager lies five levels down.
const CGROUP_DEPTH: usize = 6;

/// Everything found, one line each. Empty is what a test wants to see.
pub(crate) fn find(top: &Path, runs: &BTreeSet<String>) -> Leaks {
    let mountinfo = fs::read("/proc/self/mountinfo").expect("/proc/self/mountinfo can be read");
    let mut cgroups = Vec::new();
    cgroups_of(Path::new("/sys/fs/cgroup"), runs, CGROUP_DEPTH, &mut cgroups);
    Leaks { processes: processes_of(top, runs), mounts: mounts_under(&mountinfo, top), cgroups }
}

#[derive(Debug, Default)]
pub(crate) struct Leaks {
    processes: Vec<String>,
    pub(crate) mounts: Vec<String>,
    cgroups: Vec<String>,
}

impl Leaks {
    pub(crate) fn is_empty(&self) -> bool {
        self.processes.is_empty() && self.mounts.is_empty() && self.cgroups.is_empty()
    }

    pub(crate) fn lines(&self) -> String {
        let of = |what: &'static str, found: &[String]| {
            found.iter().map(|one| format!("\n  {what}: {one}")).collect::<String>()
        };
        of("process", &self.processes) + &of("mount", &self.mounts) + &of("cgroup", &self.cgroups)
    }
}

/// Processes that run in one of `runs`, or were given a variable that points beneath `top`.
///
/// Only those whose environment may be read: as an ordinary user, one's own, which is whom a test of
/// an ordinary user starts.
fn processes_of(top: &Path, runs: &BTreeSet<String>) -> Vec<String> {
    let entries = fs::read_dir("/proc").expect("/proc can be read");
    let mut found = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().filter(|n| n.bytes().all(|b| b.is_ascii_digit())) else {
            continue;
        };
        // A process that ends between the listing and here is no leak; one that is a zombie reads empty.
        let Ok(environ) = fs::read(entry.path().join("environ")) else { continue };
        if belongs(&environ, top, runs) {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            found.push(format!("{pid} {}", line.trim_end()));
        }
    }
    found
}

fn belongs(environ: &[u8], top: &Path, runs: &BTreeSet<String>) -> bool {
    environ.split(|&b| b == 0).any(|variable| {
        let Some(equals) = variable.iter().position(|&b| b == b'=') else { return false };
        let (name, value) = (&variable[..equals], &variable[equals + 1..]);
        let in_run = name == b"COFFERDAM_RUN" && runs.iter().any(|run| run.as_bytes() == value);
        in_run || Path::new(std::ffi::OsStr::from_bytes(value)).starts_with(top)
    })
}

/// Mount points beneath `top`, out of the text of a `mountinfo` (proc_pid_mountinfo(5)).
fn mounts_under(mountinfo: &[u8], top: &Path) -> Vec<String> {
    mountinfo
        .split(|&b| b == b'\n')
        .filter_map(|line| line.split(|&b| b == b' ').nth(4))
        .map(unescaped)
        .filter(|point| Path::new(std::ffi::OsStr::from_bytes(point)).starts_with(top))
        .map(|point| String::from_utf8_lossy(&point).into_owned())
        .collect()
}

/// The kernel writes space, tab, newline and backslash in paths as three octal digits.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        let octal = tail.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) if first == b'\\' => {
                plain.push(byte);
                rest = &tail[3..];
            }
            _ => {
                plain.push(first);
                rest = tail;
            }
        }
    }
    plain
}

/// Directories beneath `top` whose name holds one of `runs`.
fn cgroups_of(top: &Path, runs: &BTreeSet<String>, depth: usize, found: &mut Vec<String>) {
    // A host without cgroups has none to leak; one that vanishes while we look is none either.
    let Ok(entries) = fs::read_dir(top) else { return };
    if depth == 0 || runs.is_empty() {
        return;
    }
    for entry in entries.flatten().filter(|e| e.file_type().is_ok_and(|kind| kind.is_dir())) {
        if runs.iter().any(|run| entry.file_name().to_string_lossy().contains(run.as_str())) {
            found.push(entry.path().display().to_string());
        }
        cgroups_of(&entry.path(), runs, depth - 1, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs() -> BTreeSet<String> {
        BTreeSet::from(["01aaaa".to_owned()])
    }

    #[test]
    fn a_process_belongs_by_its_run_or_by_a_path_of_ours() {
        let top = Path::new("/tmp/t1");
        let belongs = |environ: &[u8]| belongs(environ, top, &runs());
        assert!(belongs(b"A=b\0COFFERDAM_RUN=01aaaa\0"));
        assert!(belongs(b"HOME=/tmp/t1/home\0"));
        assert!(!belongs(b"COFFERDAM_RUN=01aaab\0HOME=/tmp/t10/home\0"));
        assert!(!belongs(b"NOT_COFFERDAM_RUN=01aaaa\0"));
        assert!(!belongs(b""));
    }

    #[test]
    fn mounts_are_matched_by_component_and_unescaped() {
        let info = b"36 35 98:0 / /tmp/t1/a\\040b rw - ext4 /dev/x rw\n\
                     37 35 98:0 / /tmp/t10 rw - ext4 /dev/x rw\n\
                     38 35 98:0 /tmp/t1 /elsewhere rw - ext4 /dev/x rw\n";
        assert_eq!(mounts_under(info, Path::new("/tmp/t1")), ["/tmp/t1/a b"]);
        assert_eq!(unescaped(b"a\\134b\\04"), b"a\\b\\04");
    }

    #[test]
    fn cgroups_are_found_by_name_down_to_the_depth() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("memory/cofferdam/run-01aaaa.scope")).unwrap();
        fs::create_dir_all(dir.path().join("memory/cofferdam/run-01bbbb.scope")).unwrap();
        let look = |depth| {
            let mut found = Vec::new();
            cgroups_of(dir.path(), &runs(), depth, &mut found);
            found.len()
        };
        assert_eq!((look(2), look(3)), (0, 1));
    }
}
