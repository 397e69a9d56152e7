//! Proves, offline, that the log is what was written.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader};

use cofferdam_core::chain::{Broken, Fault, Head, Known, Verifier};
use cofferdam_core::event::EventKind;
use serde::Serialize;

use super::Journal;
use crate::changes::known_hashes;
use crate::runs::{Store, evidence};
use crate::state::{StateDir, StateError};

/// A log that holds.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub head: Head,
    /// Records known from elsewhere that were found in it: the head file, runs, anchors given.
    pub anchors: usize,
    /// Bytes after the last whole record: the beginning of one whose writer has not come further, or never will. The next
    /// writer takes them out.
    pub torn_bytes: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    #[error("the audit log does not hold: {0}")]
    Broken(Broken),
    #[error(transparent)]
    State(#[from] StateError),
}

impl VerifyError {
    pub fn broken(&self) -> Option<&Broken> {
        match self {
            Self::Broken(broken) => Some(broken),
            Self::State(_) => None,
        }
    }
}

/// Walks the whole log, then looks at what it says of each run's files. Besides the chain itself, every record that is known from elsewhere must be in
/// it: the head file, the latest event of each run, and `anchors` that the caller kept.
pub fn verify(state: &StateDir, anchors: &[Known]) -> Result<Report, VerifyError> {
    // What is known is read before the log: a run that goes on meanwhile only adds.
    let head = Journal::new(state).read_head();
    let mut known = anchors.to_vec();
    known.extend(head.map(|head| Known { anchor: head.anchor(), from: "audit.head".to_owned() }));
    known.extend(Store::new(state).anchors()?);
    known.retain(|known| known.anchor.seq > 0);
    let anchors = known.len();

    let headless = Journal::new(state).read_head().is_none();
    let path = state.audit_log();
    let mut closed = BTreeMap::new();
    let mut ledgers = BTreeMap::new();
    let mut lines = 0;
    let mut torn_bytes = 0;
    let mut verifier = Verifier::new(known);
    match File::open(&path) {
        Ok(file) => {
            let mut log = BufReader::new(file);
            while let Some((line, end)) =
                next_line(&mut log).map_err(StateError::io("read", &path))?
            {
                // Bytes that are not text cannot be a line of ours; the verifier says so.
                let entry = match (verifier.feed(&String::from_utf8_lossy(&line)), end) {
                    (Ok(entry), _) => entry,
                    // Nobody has been told of it: what is known to have been written is looked for below.
                    (Err(Broken { fault: Fault::Unreadable, .. }), End::Missing) => {
                        torn_bytes = line.len() as u64;
                        break;
                    }
                    (Err(broken), _) => return Err(VerifyError::Broken(broken)),
                };
                lines += 1;
                let Some(run) = entry.event.run else { continue };
                if let Some(ledger) = entry.event.kind.ledger() {
                    ledgers.insert(run, (lines, entry.seq, ledger.to_owned()));
                }
                if let EventKind::RunRemoved { .. } = entry.event.kind {
                    closed.remove(&run);
                    ledgers.remove(&run);
                } else if let Some(evidence) = entry.event.kind.evidence() {
                    closed.insert(run, (lines, entry.seq, evidence.clone()));
                }
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(StateError::io("read", &path)(error).into()),
    }
    let head = verifier.finish().map_err(VerifyError::Broken)?;
    if headless && head.seq > 0 {
        let file = state.audit_head().display().to_string();
        let fault = Fault::NoHead { file };
        return Err(VerifyError::Broken(Broken { line: lines + 1, seq: head.seq, fault }));
    }
    for (run, (line, seq, evidence)) in closed {
        let dir = Store::new(state).dir(run);
        if let Some(name) = evidence::contradiction(&evidence, &dir) {
            let fault = Fault::Altered { file: dir.join(name).display().to_string() };
            return Err(VerifyError::Broken(Broken { line, seq, fault }));
        }
    }
    for (run, (line, seq, ledger)) in ledgers {
        let dir = Store::new(state).dir(run);
        if !known_hashes(&dir).is_some_and(|known| known.contains(&ledger)) {
            let fault = Fault::Altered { file: dir.join("ledger.json").display().to_string() };
            return Err(VerifyError::Broken(Broken { line, seq, fault }));
        }
    }
    Ok(Report { head, anchors, torn_bytes })
}

/// How a line ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Newline,
    /// It is the last, and was not written to its end.
    Missing,
}

/// The next line, without its newline.
fn next_line(log: &mut impl BufRead) -> io::Result<Option<(Vec<u8>, End)>> {
    let mut line = Vec::new();
    if log.read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    let end =
        if line.pop_if(|last| *last == b'\n').is_some() { End::Newline } else { End::Missing };
    Ok(Some((line, end)))
}
