//! The journal of one operation: what it is going to do, on disk before any of it is done.
//!
//! `applies/<n>/journal`, one JSON object a line: a [`Head`], the [`Step`]s in the manifest's order, a
//! `commit` with what the ledger will say, then, when all steps are made, `done`, and `told` once the
//! audit log knows. A journal without `done` is taken back; one with it is finished.
//!
//! In memory there are eight bytes a step, however long its path.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use cofferdam_core::changes::ContentHash;
use cofferdam_core::id::RunId;
use cofferdam_core::mount::Identity;
use cofferdam_core::paths::ExactPath;
use serde::{Deserialize, Serialize};

use super::step::{Phase, Step};
use crate::changes::ledger::Operation;
use crate::state::private_file;

pub(crate) const JOURNAL: &str = "journal";
pub(crate) const VERSION: u32 = 1;

/// What an operation is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Head {
    pub(crate) version: u32,
    pub(crate) run: RunId,
    pub(crate) manifest: ContentHash,
    pub(crate) workspace: ExactPath,
    pub(crate) identity: Identity,
    /// Where the slots are.
    pub(crate) slots: ExactPath,
    /// Whether they are in the workspace and have to be emptied at the end.
    pub(crate) lodging: Lodging,
}

/// Where slots are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Lodging {
    /// Beside the journal, where they stay for undo.
    State,
    /// In the workspace, because the state directory is on another file system. What undo needs is
    /// copied at the end.
    Workspace,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Note {
    Commit(Box<Operation>),
    Done,
    Told,
}

/// A journal that is complete up to its `commit`, or was left behind before that.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    pub(crate) head: Head,
    /// Where each step's line starts, and where the last one ends.
    starts: Vec<u64>,
    phases: Vec<Phase>,
    pub(crate) commit: Option<Operation>,
    pub(crate) done: bool,
    pub(crate) told: bool,
}

/// Writes a journal up to its commit.
#[derive(Debug)]
pub(crate) struct JournalWriter {
    out: BufWriter<File>,
    at: u64,
    journal: Journal,
}

impl JournalWriter {
    pub(crate) fn create(dir: &Path, head: Head) -> io::Result<Self> {
        let path = dir.join(JOURNAL);
        let file = private_file().read(true).append(true).create_new(true).open(&path)?;
        let out = BufWriter::new(file.try_clone()?);
        let journal = Journal {
            path,
            file,
            head,
            starts: Vec::new(),
            phases: Vec::new(),
            commit: None,
            done: false,
            told: false,
        };
        let mut writer = Self { out, at: 0, journal };
        let head = line(&writer.journal.head);
        writer.write(&head)?;
        // Whoever finds us dead must know where the slots are.
        writer.out.flush()?;
        writer.journal.file.sync_data()?;
        Ok(writer)
    }

    pub(crate) fn push(&mut self, step: &Step) -> io::Result<()> {
        self.journal.starts.push(self.at);
        self.journal.phases.push(step.act.phase());
        self.write(&line(step))
    }

    /// Everything that will be done is written down. To stay there is for the caller to see to.
    pub(crate) fn commit(mut self, operation: Operation) -> io::Result<Journal> {
        self.journal.starts.push(self.at);
        let text = line(&Note::Commit(Box::new(operation.clone())));
        self.write(&text)?;
        self.out.flush()?;
        self.journal.commit = Some(operation);
        Ok(self.journal)
    }

    fn write(&mut self, text: &[u8]) -> io::Result<()> {
        self.at += text.len() as u64;
        self.out.write_all(text)
    }
}

impl Journal {
    /// A journal that was left behind. `None` where it does not even say what it is about: then nothing
    /// was done.
    pub(crate) fn open(dir: &Path) -> io::Result<Option<Self>> {
        let path = dir.join(JOURNAL);
        let file = match File::options().read(true).append(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut reader = BufReader::with_capacity(64 * 1024, &file);
        let mut text = Vec::new();
        let mut at = 0;
        let mut next = |text: &mut Vec<u8>| -> io::Result<Option<u64>> {
            text.clear();
            let from = at;
            at += reader.read_until(b'\n', text)? as u64;
            // A line that was cut off was never acted upon.
            Ok(text.ends_with(b"\n").then_some(from))
        };
        let Some(_) = next(&mut text)? else { return Ok(None) };
        let head: Head = parse(&path, &text)?;
        if head.version > VERSION {
            let message = format!("{} was written by a newer version", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        let (mut starts, mut phases) = (Vec::new(), Vec::new());
        let (mut commit, mut done, mut told) = (None, false, false);
        while let Some(from) = next(&mut text)? {
            if text.starts_with(b"{\"entry\"") && commit.is_none() {
                starts.push(from);
                phases.push(parse::<Step>(&path, &text)?.act.phase());
                continue;
            }
            match parse(&path, &text)? {
                Note::Commit(operation) => {
                    starts.push(from);
                    commit = Some(*operation);
                }
                Note::Done => done = true,
                Note::Told => told = true,
            }
        }
        if commit.is_none() {
            // No step was made of a journal without commit.
            starts.clear();
            phases.clear();
        }
        drop(reader);
        Ok(Some(Self { path, file, head, starts, phases, commit, done, told }))
    }

    pub(crate) fn dir(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    pub(crate) fn len(&self) -> usize {
        self.phases.len()
    }

    pub(crate) fn step(&self, number: usize) -> io::Result<Step> {
        let (from, to) = (self.starts[number], self.starts[number + 1]);
        let mut text = vec![0; usize::try_from(to - from).map_err(io::Error::other)?];
        self.file.read_exact_at(&mut text, from)?;
        parse(&self.path, &text)
    }

    pub(crate) fn steps(&self) -> impl Iterator<Item = io::Result<Step>> + '_ {
        (0..self.len()).map(|number| self.step(number))
    }

    /// Numbers of the steps in the order in which they are made.
    pub(crate) fn order(&self) -> Vec<u32> {
        let of = |phase: Phase| {
            let numbers = self.phases.iter().enumerate().filter(move |(_, p)| **p == phase);
            numbers.map(|(number, _)| u32::try_from(number).unwrap_or(u32::MAX))
        };
        let mut order: Vec<u32> = of(Phase::Open).collect();
        order.extend(of(Phase::Remove).rev());
        order.extend(of(Phase::Put));
        order.extend(of(Phase::Close));
        order
    }

    pub(crate) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    pub(crate) fn set_done(&mut self) -> io::Result<()> {
        self.note(&Note::Done)?;
        self.done = true;
        Ok(())
    }

    pub(crate) fn set_told(&mut self) -> io::Result<()> {
        self.note(&Note::Told)?;
        self.told = true;
        Ok(())
    }

    fn note(&mut self, note: &Note) -> io::Result<()> {
        self.file.write_all(&line(note))?;
        self.file.sync_all()
    }
}

fn line(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec(value)
        .unwrap_or_else(|_| unreachable!("numbers, text and paths always serialise"));
    text.push(b'\n');
    text
}

fn parse<T: for<'de> Deserialize<'de>>(path: &Path, text: &[u8]) -> io::Result<T> {
    serde_json::from_slice(text).map_err(|error| {
        let message = format!("{} is not what was written: {error}", path.display());
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}
