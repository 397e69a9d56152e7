//! Networks for sandboxes: empty namespaces, in which a program can reach itself and nobody else.
//!
//! The kernel takes long to make one, and longer to take it down. A process that makes many sandboxes keeps
//! those in which nothing has happened, for the next. What would be left of an earlier program in one (a
//! connection that lingers, a route that was learned, a count) is left by packets, or is counted: the kernel's own
//! counts of a namespace, all of them, must be what they were when it was new, and no socket may be open in it.
//! They are read through files that were opened in it then, so that nobody has to enter it to look.
//!
//! Deliberately absent: any clean-up of a namespace in which something has happened. It is let go.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::kernel_text;
use crate::sys::SysError;
use crate::sys::aside::aside;
use crate::sys::init::loopback_up;

/// So many are kept.
const MOST: usize = 16;

/// Those of a process that makes many sandboxes, in which nothing has happened.
#[derive(Debug, Clone, Default)]
pub(crate) struct Networks(Arc<Mutex<Vec<EmptyNetwork>>>);

/// One, for one sandbox at a time.
#[derive(Debug)]
pub(crate) struct EmptyNetwork {
    namespace: OwnedFd,
    /// Where it may serve again.
    ledger: Option<Ledger>,
}

/// What tells whether anything has happened in it.
#[derive(Debug)]
struct Ledger {
    counts: Vec<Count>,
    /// Sandboxes that were in it.
    uses: u64,
}

#[derive(Debug)]
struct Count {
    file: File,
    /// What it said when the namespace was new.
    new: String,
}

/// The kernel's counts of a namespace, in `/proc/self/net`, and how much of each is about that namespace alone.
const COUNTS: [(&str, About); 5] = [
    ("dev", About::Namespace),
    ("sockstat", About::FirstLine),
    ("snmp", About::Namespace),
    ("snmp6", About::Namespace),
    ("netstat", About::Namespace),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum About {
    Namespace,
    /// How many sockets are open; below it stand counts of the whole host.
    FirstLine,
}

impl EmptyNetwork {
    /// A new one, for one sandbox.
    pub(crate) fn make() -> Result<Self, SysError> {
        let namespace = within(|| open("/proc/self/ns/net"))?;
        Ok(Self { namespace: namespace.into(), ledger: None })
    }

    /// A new one that may serve more than once.
    fn lasting() -> Result<Self, SysError> {
        let (namespace, files) = within(|| {
            let files = COUNTS.map(|(name, _)| File::open(format!("/proc/self/net/{name}")));
            Ok((open("/proc/self/ns/net")?, files))
        })?;
        // Where one of them is missing, it serves once.
        let counts = files.into_iter().zip(COUNTS).map(|(file, (_, about))| {
            let file = file?;
            Ok(Count { new: read(&file, about)?, file })
        });
        let counts = counts.collect::<io::Result<Vec<_>>>();
        let ledger = counts.ok().map(|counts| Ledger { counts, uses: 0 });
        Ok(Self { namespace: namespace.into(), ledger })
    }
}

impl AsFd for EmptyNetwork {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.namespace.as_fd()
    }
}

impl Networks {
    /// One in which nothing has happened yet.
    pub(crate) fn take(&self) -> Result<EmptyNetwork, SysError> {
        let kept = self.lock().pop();
        kept.map_or_else(EmptyNetwork::lasting, Ok)
    }

    /// After the last process in it has ended: keeps it where it is as good as new.
    pub(crate) fn put_back(&self, mut network: EmptyNetwork) {
        let is_quiet = network.ledger.as_mut().is_some_and(|ledger| {
            ledger.uses += 1;
            ledger.is_quiet()
        });
        let mut kept = self.lock();
        if is_quiet && kept.len() < MOST {
            kept.push(network);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<EmptyNetwork>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ledger {
    fn is_quiet(&self) -> bool {
        let as_new = |count: &Count, about| {
            read(&count.file, about).is_ok_and(|now| is_as_new(&count.new, &now, self.uses))
        };
        self.counts.iter().zip(COUNTS).all(|(count, (_, about))| as_new(count, about))
    }
}

/// Whether a text of counts is the same but for what each sandbox does in its network itself, before its command
/// runs: it finds no way to an address of each kind, see [`prove`](crate::prove).
fn is_as_new(new: &str, now: &str, uses: u64) -> bool {
    if new == now {
        return true;
    }
    let ((new, was_asked), (now, asked)) = (cut(new), cut(now));
    new == now && was_asked.iter().all(|count| *count == 0) && asked == vec![uses; asked.len()]
}

/// The words of a text without the counts of ways that were not found, and those. A name stands before its count,
/// or in its place of the line above.
fn cut(text: &str) -> (Vec<&str>, Vec<u64>) {
    const ASKED: &str = "OutNoRoutes";
    let (mut rest, mut asked) = (Vec::new(), Vec::new());
    let mut above: Vec<&str> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        for (at, word) in words.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|at| words.get(at));
            let is_asked =
                [before, above.get(at)].into_iter().flatten().any(|w| w.ends_with(ASKED));
            match word.parse() {
                Ok(count) if is_asked => asked.push(count),
                _ => rest.push(*word),
            }
        }
        above = words;
    }
    (rest, asked)
}

fn read(file: &File, about: About) -> io::Result<String> {
    let text = kernel_text::again(file)?;
    Ok(match about {
        About::Namespace => text,
        About::FirstLine => text.lines().next().unwrap_or_default().to_owned(),
    })
}

/// Makes a namespace, with its loopback up, and does something in it.
fn within<T>(body: impl FnOnce() -> Result<T, SysError>) -> Result<T, SysError> {
    aside(libc::CLONE_NEWNET, "network namespace", || {
        loopback_up()?;
        body()
    })?
}

fn open(path: &'static str) -> Result<File, SysError> {
    File::open(path).map_err(|e| SysError::on("open", path, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SNMP: &str =
        "Ip: Forwarding OutNoRoutes InReceives\nIp: 1 0 0\nUdp: InDatagrams\nUdp: 0\n";

    #[test]
    fn only_what_a_sandbox_asks_itself_may_be_counted() {
        let same = |now: &str, uses| is_as_new(SNMP, now, uses);
        assert!(same(&SNMP.replace("1 0 0", "1 1 0"), 1));
        assert!(same(&SNMP.replace("1 0 0", "1 7 0"), 7));
        // Somebody else asked, too.
        assert!(!same(&SNMP.replace("1 0 0", "1 2 0"), 1));
        // Packets; another kind of count; lines that are not there, or more.
        assert!(!same(&SNMP.replace("1 0 0", "1 1 1"), 1));
        assert!(!same(&SNMP.replace("Udp: 0", "Udp: 1"), 1));
        assert!(!same("", 1) && !same(&format!("{SNMP}Tcp: 0\n"), 1));
    }

    #[test]
    fn a_name_may_stand_before_its_count() {
        let new = "Ip6InReceives 0\nIp6OutNoRoutes 0\n";
        assert!(is_as_new(new, "Ip6InReceives 0\nIp6OutNoRoutes 3\n", 3));
        assert!(!is_as_new(new, "Ip6InReceives 0\nIp6OutNoRoutes 4\n", 3));
        assert!(!is_as_new(new, "Ip6InReceives 3\nIp6OutNoRoutes 3\n", 3));
    }
}
