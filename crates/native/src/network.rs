//! Networks for sandboxes: empty namespaces, in which a program can reach itself and nobody else.
//!
//! The kernel takes long to make one, and longer to take it down. A process that makes many sandboxes keeps
//! those in which nothing has happened, for the next. What would be left of an earlier program in one (a
//! connection that lingers, a route that was learned, a count, a label) is left by packets, or is counted or listed: the
//! kernel's own counts of a namespace must be what they were when it was new, and no socket may be open in it.
//! Only a process that does nothing else ever enters it to look.
//!
//! Deliberately absent: any clean-up of a namespace in which something has happened. It is let go.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::kernel_text;
use crate::sys::aside::aside;
use crate::sys::clone::threads;
use crate::sys::init::loopback_up;
use crate::sys::{SysError, enter_namespace};

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
    /// What was counted when it was new.
    new: Counts,
    /// Sandboxes that were in it.
    uses: u64,
}

/// A text for each of [`COUNTS`].
type Counts = Vec<String>;

/// The kernel's counts of a namespace, in `/proc/self/net`, and how much of each is about that namespace alone.
const COUNTS: [(&str, About); 6] = [
    ("dev", About::Namespace),
    ("sockstat", About::FirstLine),
    // Labels of flows outlive their sockets, up to minutes, and others see them.
    ("ip6_flowlabel", About::Namespace),
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
        let (namespace, new) = within(|| Ok((open("/proc/self/ns/net")?, counts())))?;
        // A kernel that does not count everything has it serve once.
        let ledger = new.ok().map(|new| Ledger { new, uses: 0 });
        Ok(Self { namespace: namespace.into(), ledger })
    }

    fn is_quiet(&self) -> bool {
        let Some(Ledger { new, uses }) = &self.ledger else { return false };
        // Nobody can look aside who has threads.
        if !threads().is_ok_and(|count| count == 1) {
            return false;
        }
        let looked = aside(0, "network namespace", || {
            enter_namespace(self.namespace.as_fd(), libc::CLONE_NEWNET).ok()?;
            counts().ok()
        });
        let Ok(Some(now)) = looked else { return false };
        new.iter().zip(&now).all(|(new, now)| is_as_new(new, now, *uses))
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
        if let Some(ledger) = &mut network.ledger {
            ledger.uses += 1;
        }
        let is_quiet = network.is_quiet();
        let mut kept = self.lock();
        if is_quiet && kept.len() < MOST {
            kept.push(network);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<EmptyNetwork>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a text of counts is the same but for what each sandbox does in its network itself, before its command
/// runs: it finds no way to an address of each kind, see [`prove`](crate::prove).
fn is_as_new(new: &str, now: &str, uses: u64) -> bool {
    if new == now {
        return true;
    }
    let ((new, was_asked), (now, asked)) = (cut(new), cut(now));
    let all = |counts: Vec<u64>, wanted| counts.into_iter().all(|count| count == wanted);
    new == now && all(was_asked, 0) && all(asked, uses)
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

/// Those of the namespace that this process is in.
fn counts() -> io::Result<Counts> {
    let count = |(name, about)| {
        let text = kernel_text::read(Path::new("/proc/self/net").join(name))?;
        Ok(match about {
            About::Namespace => text,
            About::FirstLine => text.lines().next().unwrap_or_default().to_owned(),
        })
    };
    COUNTS.into_iter().map(count).collect()
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
