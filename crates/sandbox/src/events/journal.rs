//! Adds to the chain, and reads it.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use cofferdam_core::chain::{self, Head};
use cofferdam_core::event::{Event, EventKind};
use cofferdam_core::record::Anchor;
use serde_json::{Map, Value};

use crate::clock;
use crate::state::{StateDir, StateError, private_file};

/// The log, opened when it is first written to and then kept open.
#[derive(Debug)]
pub struct Journal {
    state: StateDir,
    files: Option<Files>,
}

#[derive(Debug)]
struct Files {
    log: File,
    /// Locked while the log is written: it says where the chain stands.
    head: File,
}

impl Journal {
    pub fn new(state: &StateDir) -> Self {
        Self { state: state.clone(), files: None }
    }

    /// Appends events, given as they are to stand in the log, with one write: all of them, or none. Where the last
    /// writer died in the middle of a line, that is put right first and leaves an event of its own.
    pub(crate) fn append(
        &mut self,
        events: &[Map<String, Value>],
    ) -> Result<Option<Anchor>, StateError> {
        let Some(first) = events.first() else { return Ok(None) };
        let mut files = match self.files.take() {
            Some(files) => files,
            None => self.open()?,
        };
        let head_path = self.state.audit_head();
        files.head.lock().map_err(StateError::io("lock", &head_path))?;
        let written = self.append_locked(&mut files, first, events);
        files.head.unlock().map_err(StateError::io("unlock", &head_path))?;
        self.files = Some(files);
        written.map(|head| Some(head.anchor()))
    }

    fn append_locked(
        &self,
        files: &mut Files,
        first: &Map<String, Value>,
        events: &[Map<String, Value>],
    ) -> Result<Head, StateError> {
        let path = self.state.audit_log();
        let (mut head, torn_bytes) = self.current_head(files)?;
        let start = head.bytes;
        let recovered = (torn_bytes > 0).then(|| recovered(first, torn_bytes));
        // Somebody may have cut the log inside a line; ours must not become part of it.
        let mut text =
            if ends_in_a_line(&files.log, head.bytes) { String::new() } else { "\n".into() };
        for event in recovered.iter().chain(events) {
            let (line, next) = chain::link(&head, event);
            text.push_str(&line);
            head = next;
        }
        let written = files.log.write_all(text.as_bytes());
        let written = written.map_err(StateError::io("write to", &path));
        match written.and_then(|()| self.write_head(&files.head, &head)) {
            Ok(()) => Ok(head),
            Err(error) => {
                // All or nothing: a full disk takes the beginning of a line. Where not even this can be done, the next
                // writer takes it out.
                files.log.set_len(start).ok();
                Err(error)
            }
        }
    }

    fn open(&self) -> Result<Files, StateError> {
        let (log, head) = (self.state.audit_log(), self.state.audit_head());
        let open = |path: &Path, options: &mut OpenOptions| {
            options.read(true).create(true).open(path).map_err(StateError::io("open", path))
        };
        Ok(Files {
            log: open(&log, private_file().append(true))?,
            head: open(&head, private_file().write(true).truncate(false))?,
        })
    }

    /// Where the chain stands, and how many bytes of a torn line were cut off to get there.
    fn current_head(&self, files: &mut Files) -> Result<(Head, u64), StateError> {
        let path = self.state.audit_log();
        let log = &mut files.log;
        let length = log.metadata().map_err(StateError::io("read", &path))?.len();
        let mut text = [0; HEAD_SIZE];
        // A head that is short or cannot be read is found again from the log itself.
        let read = files.head.read_at(&mut text, 0).unwrap_or(0);
        let known: Option<Head> = serde_json::from_slice(&text[..read]).ok();
        match known {
            // Shorter than it was: somebody cut it. Going on from the head keeps that visible, for the
            // next record names a predecessor that is not there.
            Some(head) if length <= head.bytes => {
                let bytes = length;
                return Ok((Head { bytes, ..head }, 0));
            }
            _ => {}
        }
        // The last writer died between the line and the head, or the head is gone: read on from it.
        let mut head = known.unwrap_or_else(Head::genesis);
        log.seek(SeekFrom::Start(head.bytes)).map_err(StateError::io("read", &path))?;
        let mut rest = Vec::new();
        log.read_to_end(&mut rest).map_err(StateError::io("read", &path))?;
        let whole = rest.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        for line in rest[..whole].split_inclusive(|b| *b == b'\n') {
            let bytes = head.bytes + line.len() as u64;
            head = match serde_json::from_slice::<Value>(line) {
                Ok(value) => Head {
                    seq: value["seq"].as_u64().unwrap_or(head.seq.saturating_add(1)),
                    hash: value["hash"].as_str().unwrap_or_default().to_owned(),
                    bytes,
                },
                // Not ours; the verifier will name it. It still takes up its place.
                Err(_) => Head { bytes, ..head },
            };
        }
        let torn = (rest.len() - whole) as u64;
        if torn > 0 {
            log.set_len(head.bytes).map_err(StateError::io("repair", &path))?;
        }
        Ok((head, torn))
    }

    pub(crate) fn read_head(&self) -> Option<Head> {
        serde_json::from_slice(&fs::read(self.state.audit_head()).ok()?).ok()
    }

    /// In place and always of one length: a kill cannot leave half of it.
    fn write_head(&self, file: &File, head: &Head) -> Result<(), StateError> {
        let path = self.state.audit_head();
        let text = serde_json::to_string(head)
            .unwrap_or_else(|_| unreachable!("numbers and text always serialise"));
        let line = format!("{text:<width$}\n", width = HEAD_SIZE - 1);
        file.write_all_at(line.as_bytes(), 0).map_err(StateError::io("write", &path))
    }

    /// The lines of the log from `offset` on, whole lines only, and where to go on from.
    pub fn read_from(&self, offset: u64) -> Result<(Vec<String>, u64), StateError> {
        let path = self.state.audit_log();
        let mut file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok((Vec::new(), offset));
            }
            Err(error) => return Err(StateError::io("read", &path)(error)),
        };
        file.seek(SeekFrom::Start(offset)).map_err(StateError::io("read", &path))?;
        let mut reader = BufReader::new(file);
        let (mut lines, mut at) = (Vec::new(), offset);
        loop {
            let mut line = Vec::new();
            let read =
                reader.read_until(b'\n', &mut line).map_err(StateError::io("read", &path))?;
            if line.pop() != Some(b'\n') {
                return Ok((lines, at));
            }
            at += read as u64;
            lines.push(String::from_utf8_lossy(&line).into_owned());
        }
    }
}

/// Whether the log, of this length, ends where a line ends.
fn ends_in_a_line(log: &File, length: u64) -> bool {
    let mut last = [0];
    length == 0 || log.read_exact_at(&mut last, length - 1).is_ok_and(|()| last == *b"\n")
}

/// Length of the head file: room for two numbers and a hash.
const HEAD_SIZE: usize = 160;

fn recovered(after: &Map<String, Value>, torn_bytes: u64) -> Map<String, Value> {
    let event = Event {
        ts: clock::now(),
        run: None,
        workspace: None,
        actor: after.get("actor").and_then(Value::as_str).unwrap_or_default().to_owned(),
        kind: EventKind::AuditRecovered { torn_bytes },
    };
    as_map(&event)
}

/// An event as the members of its line.
pub(crate) fn as_map(event: &Event) -> Map<String, Value> {
    match serde_json::to_value(event) {
        Ok(Value::Object(map)) => map,
        _ => unreachable!("an event is a struct of text, numbers and lists"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::verify;

    fn event(name: &str) -> Map<String, Value> {
        as_map(&Event {
            ts: clock::now(),
            run: None,
            workspace: None,
            actor: "user:test".into(),
            kind: EventKind::OverrideUsed { name: name.into(), reason: String::new() },
        })
    }

    fn journal() -> (tempfile::TempDir, StateDir, Journal) {
        let dir = tempfile::tempdir().unwrap();
        let state = StateDir::open(dir.path()).unwrap();
        let journal = Journal::new(&state);
        (dir, state, journal)
    }

    /// Somebody who writes to our files can break the chain, and must not be able to keep everybody from running.
    #[test]
    fn a_number_at_its_end_does_not_stop_the_log() {
        let (_dir, state, mut journal) = journal();
        journal.append(&[event("one")]).unwrap();
        let mut log = File::options().append(true).open(state.audit_log()).unwrap();
        log.write_all(format!("{{\"seq\":{}}}\n\"x\"\n", u64::MAX).as_bytes()).unwrap();
        journal.append(&[event("two")]).unwrap();
        assert!(verify(&state, &[]).is_err());
        let text = fs::read_to_string(state.audit_log()).unwrap();
        assert!(text.lines().last().unwrap().contains("two"), "{text}");
    }

    #[test]
    fn a_torn_line_is_taken_out_and_said_so() {
        let (_dir, state, mut journal) = journal();
        journal.append(&[event("one")]).unwrap();
        let mut log = File::options().append(true).open(state.audit_log()).unwrap();
        log.write_all(b"{\"seq\":2,\"ts\"").unwrap();
        journal.append(&[event("two")]).unwrap();
        let report = verify(&state, &[]).unwrap();
        assert_eq!(report.head.seq, 3);
        let text = fs::read_to_string(state.audit_log()).unwrap();
        assert!(text.contains("audit.recovered"), "{text}");
    }

    /// Whoever looks before the next writer came sees an interrupted write, and no tampering: unless somebody knows of the
    /// record, which then was whole.
    #[test]
    fn a_torn_last_line_is_told_from_one_that_was_cut() {
        let (_dir, state, mut journal) = journal();
        journal.append(&[event("one")]).unwrap();
        let whole = fs::read(state.audit_log()).unwrap();
        journal.append(&[event("two")]).unwrap();
        let two = fs::read(state.audit_log()).unwrap();
        let cut = whole.len() + 30;
        fs::write(state.audit_log(), &two[..cut]).unwrap();
        assert_eq!(verify(&state, &[]).unwrap_err().broken().unwrap().seq, 2, "the head knows it");
        fs::write(state.audit_log(), &whole).unwrap();
        fs::remove_file(state.audit_head()).unwrap();
        Journal::new(&state).append(&[event("three")]).unwrap();
        let mut log = File::options().append(true).open(state.audit_log()).unwrap();
        log.write_all(&two[whole.len()..cut]).unwrap();
        let report = verify(&state, &[]).unwrap();
        assert_eq!((report.head.seq, report.torn_bytes), (2, 30));
        log.write_all(b"\n").unwrap();
        assert!(verify(&state, &[]).is_err(), "a whole line is not torn");
    }

    #[test]
    fn a_head_that_lags_behind_is_caught_up() {
        let (_dir, state, mut journal) = journal();
        journal.append(&[event("one")]).unwrap();
        let before = fs::read(state.audit_head()).unwrap();
        journal.append(&[event("two")]).unwrap();
        fs::write(state.audit_head(), before).unwrap();
        journal.append(&[event("three")]).unwrap();
        assert_eq!(verify(&state, &[]).unwrap().head.seq, 3);
        fs::remove_file(state.audit_head()).unwrap();
        Journal::new(&state).append(&[event("four")]).unwrap();
        assert_eq!(verify(&state, &[]).unwrap().head.seq, 4);
    }

    #[test]
    fn a_cut_log_stays_visible_after_it_grew_again() {
        let (_dir, state, mut journal) = journal();
        for name in ["one", "two", "three"] {
            journal.append(&[event(name)]).unwrap();
        }
        let text = fs::read_to_string(state.audit_log()).unwrap();
        let cut = text.lines().next().unwrap().len() + 1;
        fs::write(state.audit_log(), &text[..cut]).unwrap();
        assert_eq!(verify(&state, &[]).unwrap_err().broken().unwrap().seq, 2);
        journal.append(&[event("four")]).unwrap();
        journal.append(&[event("five")]).unwrap();
        assert_eq!(verify(&state, &[]).unwrap_err().broken().unwrap().seq, 2);
    }

    #[test]
    fn many_writers_make_one_chain() {
        let (_dir, state, _) = journal();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let mut journal = Journal::new(&state);
                    for _ in 0..25 {
                        journal.append(&[event("x"), event("y")]).unwrap();
                    }
                });
            }
        });
        assert_eq!(verify(&state, &[]).unwrap().head.seq, 400);
    }
}
