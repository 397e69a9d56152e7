//! The hash chain of events: `seq, ts, …, prev, hash` on one line each.
//!
//! The hash of a line is BLAKE3 over its own bytes up to its `hash` member, and the line holds the hash
//! of the one before it. So a line that is changed, removed, added or moved breaks the chain there. A
//! chain that is cut short still links; [`verify`] finds that only against a head or an anchor kept
//! elsewhere, which is why the caller passes those in.

use std::fmt;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::record::Anchor;
use crate::weaken::{Weakness, weakened};

/// The `prev` of the first event.
pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Where the chain stands: enough to add to it, and to tell whether its end was cut off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Number of the latest event; the first has 1. 0 means none.
    pub seq: u64,
    pub hash: String,
    /// Length of the log in bytes when this head was written.
    pub bytes: u64,
}

impl Head {
    pub fn genesis() -> Self {
        Self { seq: 0, hash: GENESIS.to_owned(), bytes: 0 }
    }

    pub fn anchor(&self) -> Anchor {
        Anchor { seq: self.seq, hash: self.hash.clone() }
    }
}

#[derive(Serialize)]
struct Linked<'a> {
    seq: u64,
    #[serde(flatten)]
    event: &'a serde_json::Map<String, serde_json::Value>,
    prev: &'a str,
}

/// Adds an event behind `head`: the line to write, with its newline, and the new head.
pub fn link(head: &Head, event: &serde_json::Map<String, serde_json::Value>) -> (String, Head) {
    // A head that somebody wrote may say anything; the verifier names what does not fit.
    let seq = head.seq.saturating_add(1);
    let body = serde_json::to_string(&Linked { seq, event, prev: &head.hash })
        .unwrap_or_else(|_| unreachable!("maps with text keys always serialise"));
    // The log is read with `less` and `tail`, too: what stands in it must be harmless there.
    let body = crate::inert::json(&body);
    let open = &body[..body.len() - 1];
    let hash = blake3::hash(open.as_bytes()).to_hex().to_string();
    let line = format!("{open}{HASH_MEMBER}{hash}\"}}\n");
    let bytes = head.bytes.saturating_add(line.len() as u64);
    (line, Head { seq, hash, bytes })
}

const HASH_MEMBER: &str = ",\"hash\":\"";

/// A line that stands in the chain, checked on its own: its bytes give its hash.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Entry<E = Event> {
    pub seq: u64,
    pub prev: String,
    pub hash: String,
    #[serde(flatten)]
    pub event: E,
}

/// What is wrong with a chain, at its first bad record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Broken {
    /// Line in the log, from 1.
    pub line: u64,
    /// Number that the record should have.
    pub seq: u64,
    pub fault: Fault,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The line is not an event with a hash at its end.
    Unreadable,
    /// The bytes of the line do not give the hash it carries.
    Changed,
    /// The line does not follow the one before it.
    Unlinked,
    /// The log ends here, but a later record is known to have been written.
    Missing { known_from: String },
    /// The log goes on, but this record is not the one that was known.
    Replaced { known_from: String },
    /// The log holds, but a file is not the one whose hash it has.
    Altered { file: String },
    /// The log holds, but nothing says where it ended.
    NoHead { file: String },
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, seq, fault } = self;
        match fault {
            Fault::Unreadable => write!(f, "record {seq} (line {line}) is not a whole event"),
            Fault::Changed => {
                write!(f, "record {seq} (line {line}) was changed after it was written")
            }
            Fault::Unlinked => write!(
                f,
                "record {seq} (line {line}) does not follow the one before it: \
                 a record was removed, added or moved"
            ),
            Fault::Missing { known_from } => {
                write!(f, "record {seq} is missing: {known_from} knows of it")
            }
            Fault::Altered { file } => {
                write!(f, "{file} is not what record {seq} (line {line}) says it was")
            }
            Fault::NoHead { file } => write!(
                f,
                "{file} is missing or unreadable, so records after {seq} could have been cut off"
            ),
            Fault::Replaced { known_from } => {
                write!(f, "record {seq} (line {line}) is not the one that {known_from} knows")
            }
        }
    }
}

/// A record that is known from outside the log, and where from.
#[derive(Debug, Clone)]
pub struct Known {
    pub anchor: Anchor,
    pub from: String,
}

/// Walks a log from its first line, one [`Self::feed`] a line.
#[derive(Debug)]
pub struct Verifier {
    head: Head,
    known: Vec<Known>,
    lines: u64,
}

impl Verifier {
    /// `known` are records that must be found in the log as they are.
    pub fn new(known: Vec<Known>) -> Self {
        Self { head: Head::genesis(), known, lines: 0 }
    }

    /// Checks the next line, given without its newline.
    pub fn feed(&mut self, line: &str) -> Result<Entry, Broken> {
        self.feed_as(line)
    }

    /// The same for a log whose events are of another kind.
    pub fn feed_as<E: DeserializeOwned>(&mut self, line: &str) -> Result<Entry<E>, Broken> {
        self.lines += 1;
        let seq = self.head.seq + 1;
        let broken = |fault| Broken { line: self.lines, seq, fault };
        let entry = read_entry::<E>(line).map_err(&broken)?;
        let linked = entry.seq == seq && entry.prev == self.head.hash;
        if !linked && !weakened(Weakness::Chain) {
            return Err(broken(Fault::Unlinked));
        }
        if let Some(known) =
            self.known.iter().find(|k| k.anchor.seq == seq && k.anchor.hash != entry.hash)
        {
            return Err(broken(Fault::Replaced { known_from: known.from.clone() }));
        }
        let bytes = self.head.bytes + line.len() as u64 + 1;
        self.head = Head { seq, hash: entry.hash.clone(), bytes };
        Ok(entry)
    }

    /// The end of the log: every known record must have been seen.
    pub fn finish(self) -> Result<Head, Broken> {
        match self
            .known
            .iter()
            .filter(|k| k.anchor.seq > self.head.seq)
            .min_by_key(|k| k.anchor.seq)
        {
            None => Ok(self.head),
            Some(known) => Err(Broken {
                line: self.lines + 1,
                seq: self.head.seq + 1,
                fault: Fault::Missing { known_from: known.from.clone() },
            }),
        }
    }
}

fn read_entry<E: DeserializeOwned>(line: &str) -> Result<Entry<E>, Fault> {
    let at = line.rfind(HASH_MEMBER).ok_or(Fault::Unreadable)?;
    let entry: Entry<E> = serde_json::from_str(line).map_err(|_| Fault::Unreadable)?;
    let hash = line[at + HASH_MEMBER.len()..].strip_suffix("\"}").ok_or(Fault::Unreadable)?;
    if hash != entry.hash || blake3::hash(&line.as_bytes()[..at]).to_hex().as_str() != hash {
        return Err(Fault::Changed);
    }
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(count: u64) -> (Vec<String>, Head) {
        let mut head = Head::genesis();
        let mut lines = Vec::new();
        for n in 0..count {
            let event = serde_json::json!({
                "ts": "2026-01-01T00:00:00.000001Z", "run": null, "workspace": "/w", "actor": "user:t",
                "type": "sandbox.override_used", "name": format!("n{n}"), "reason": "\",\"hash\":\"",
            });
            let (line, next) = link(&head, event.as_object().unwrap());
            lines.push(line.trim_end().to_owned());
            head = next;
        }
        (lines, head)
    }

    fn verify(lines: &[String], known: Vec<Known>) -> Result<Head, Broken> {
        let mut verifier = Verifier::new(known);
        for line in lines {
            verifier.feed(line)?;
        }
        verifier.finish()
    }

    fn known(head: &Head) -> Vec<Known> {
        vec![Known { anchor: head.anchor(), from: "the head".into() }]
    }

    #[test]
    fn a_whole_log_verifies_to_its_head() {
        let (lines, head) = log(5);
        assert_eq!(verify(&lines, known(&head)), Ok(head));
        assert_eq!(verify(&[], vec![]), Ok(Head::genesis()));
    }

    #[test]
    fn every_single_flipped_byte_is_found_in_its_line() {
        let (lines, head) = log(3);
        for at in 0..lines[1].len() {
            let mut bad = lines.clone();
            let mut bytes = bad[1].clone().into_bytes();
            bytes[at] ^= 1;
            bad[1] = String::from_utf8_lossy(&bytes).into_owned();
            let broken = verify(&bad, known(&head)).unwrap_err();
            assert_eq!((broken.line, broken.seq), (2, 2), "byte {at}: {broken}");
        }
    }

    #[test]
    fn removed_moved_added_and_cut_off_lines_are_found() {
        let (lines, head) = log(4);
        let mut removed = lines.clone();
        removed.remove(1);
        assert_eq!(verify(&removed, known(&head)).unwrap_err().seq, 2);
        let mut moved = lines.clone();
        moved.swap(1, 2);
        assert_eq!(verify(&moved, known(&head)).unwrap_err().seq, 2);
        let mut added = lines.clone();
        added.insert(2, lines[1].clone());
        assert_eq!(verify(&added, known(&head)).unwrap_err().seq, 3);
        let cut = verify(&lines[..3], known(&head)).unwrap_err();
        assert_eq!((cut.seq, matches!(cut.fault, Fault::Missing { .. })), (4, true));
        assert_eq!(verify(&lines[..3], vec![]).unwrap().seq, 3, "without a head a cut is not seen");
    }

    #[test]
    fn a_log_written_anew_is_not_the_one_that_was_known() {
        let (_, head) = log(3);
        let mut other = Head::genesis();
        let mut lines = Vec::new();
        for _ in 0..3 {
            let event = serde_json::json!({
                "ts": "2026-01-01T00:00:00Z", "run": null, "workspace": null, "actor": "x",
                "type": "audit.recovered", "torn_bytes": 1,
            });
            let (line, next) = link(&other, event.as_object().unwrap());
            lines.push(line.trim_end().to_owned());
            other = next;
        }
        let broken = verify(&lines, known(&head)).unwrap_err();
        assert!(matches!(broken.fault, Fault::Replaced { .. }), "{broken}");
    }
}
