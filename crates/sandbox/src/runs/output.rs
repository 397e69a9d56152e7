//! What is kept of a program's output: the head and the tail, never more than the limit on disk.
//!
//! The first half of the limit goes straight to the file. What follows goes to a ring of small segment
//! files, of which the oldest is dropped as a new one begins; at the end they are appended in order.
//! The file is made with the first byte: a stream without one has none.
//! Secrets are taken out on the way, also where one is split between two writes.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use cofferdam_core::quantity::ByteSize;
use cofferdam_core::record::KeptStream;
use cofferdam_core::redact::{Redactor, StreamRedactor};

use crate::state::private_file;

/// Segments beside the head, which has the other half: together they stay below the limit.
const SEGMENTS: u64 = 7;
const SHARES: u64 = 16;

/// The output of a run as it stands on disk, for `logs`.
#[derive(Debug, Clone)]
pub struct KeptOutput {
    pub head: Vec<u8>,
    pub dropped: u64,
    pub tail: Vec<u8>,
}

impl KeptOutput {
    /// Reads one stream back, the tail of an unfinished one included.
    pub fn read(path: &Path, kept: &KeptStream) -> io::Result<Self> {
        let mut bytes = match fs::read(path) {
            // Nothing was printed.
            Err(e) if e.kind() == io::ErrorKind::NotFound => Vec::new(),
            answer => answer?,
        };
        for segment in StreamFile::segments_of(path)? {
            bytes.extend(fs::read(segment)?);
        }
        let head = usize::try_from(kept.head).unwrap_or(usize::MAX).min(bytes.len());
        let tail = if kept.dropped > 0 { bytes.split_off(head) } else { Vec::new() };
        Ok(Self { head: bytes, dropped: kept.dropped, tail })
    }
}

/// Keeps one stream: redacts it and writes it to its file.
#[derive(Debug)]
pub(crate) struct OutputKeeper {
    redactor: StreamRedactor,
    file: StreamFile,
    /// What the program wrote, before redaction.
    total: u64,
}

impl OutputKeeper {
    pub(crate) fn new(path: PathBuf, limit: ByteSize, redactor: &Redactor) -> Self {
        Self { redactor: redactor.stream(), file: StreamFile::new(path, limit), total: 0 }
    }

    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let file = &mut self.file;
        self.redactor.push(bytes, &mut |bytes| file.write(bytes));
    }

    /// How much there was so far.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Ends the stream: how much there was, what is kept of it, and the first write that failed.
    pub(crate) fn finish(self) -> (u64, KeptStream, Option<io::Error>) {
        let Self { redactor, mut file, total } = self;
        redactor.finish(&mut |bytes| file.write(bytes));
        let (kept, error) = file.finish();
        (total, kept, error)
    }
}

/// A file that holds the beginning and the end of what was written to it.
#[derive(Debug)]
struct StreamFile {
    path: PathBuf,
    /// Made when there is something to write.
    file: Option<File>,
    head_room: u64,
    segment_size: u64,
    segments: VecDeque<Segment>,
    next_segment: u64,
    kept: KeptStream,
    /// After a failed write, as on a full disk, the rest is counted but not kept.
    error: Option<io::Error>,
}

#[derive(Debug)]
struct Segment {
    path: PathBuf,
    file: File,
    length: u64,
}

impl StreamFile {
    fn new(path: PathBuf, limit: ByteSize) -> Self {
        Self {
            path,
            file: None,
            head_room: limit.0 / 2,
            segment_size: (limit.0 / SHARES).max(1),
            segments: VecDeque::new(),
            next_segment: 0,
            kept: KeptStream::default(),
            error: None,
        }
    }

    fn file(&mut self) -> io::Result<&mut File> {
        let file = match self.file.take() {
            Some(file) => file,
            None => private_file().write(true).create_new(true).open(&self.path)?,
        };
        Ok(self.file.insert(file))
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.error.is_some() {
            self.kept.dropped += bytes.len() as u64;
            return;
        }
        if let Err(error) = self.try_write(bytes) {
            self.error = Some(error);
        }
    }

    fn try_write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let room = self.head_room - self.kept.head;
        let (head, rest) =
            bytes.split_at(usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len()));
        if !head.is_empty() {
            self.file()?.write_all(head)?;
            self.kept.head += head.len() as u64;
        }
        bytes = rest;
        // What would be dropped again before the end need not be written at all.
        let ring = SEGMENTS * self.segment_size;
        if let Some(skip) = (bytes.len() as u64).checked_sub(ring).filter(|skip| *skip > 0) {
            self.kept.dropped += skip;
            bytes = &bytes[usize::try_from(skip).unwrap_or(bytes.len())..];
        }
        while !bytes.is_empty() {
            let segment = self.open_segment()?;
            let room = usize::try_from(self.segment_size - self.segments[segment].length)
                .unwrap_or(usize::MAX);
            let (piece, rest) = bytes.split_at(room.min(bytes.len()));
            self.segments[segment].file.write_all(piece)?;
            self.segments[segment].length += piece.len() as u64;
            bytes = rest;
        }
        Ok(())
    }

    /// The segment to write to: the last one while it has room, else a new one.
    fn open_segment(&mut self) -> io::Result<usize> {
        let full = self.segments.back().is_none_or(|last| last.length >= self.segment_size);
        if full {
            if self.segments.len() as u64 >= SEGMENTS
                && let Some(oldest) = self.segments.pop_front()
            {
                fs::remove_file(&oldest.path)?;
                self.kept.dropped += oldest.length;
            }
            let path = segment_path(&self.path, self.next_segment);
            let file = private_file().read(true).write(true).create_new(true).open(&path)?;
            self.next_segment += 1;
            self.segments.push_back(Segment { path, file, length: 0 });
        }
        Ok(self.segments.len() - 1)
    }

    fn finish(mut self) -> (KeptStream, Option<io::Error>) {
        if self.error.is_none()
            && let Err(error) = self.append_segments()
        {
            self.error = Some(error);
        }
        (self.kept, self.error)
    }

    /// Puts the segments behind the head, one by one, so that the disk never holds more than the limit.
    fn append_segments(&mut self) -> io::Result<()> {
        while let Some(segment) = self.segments.pop_front() {
            let mut from = File::open(&segment.path)?;
            let copied = io::copy(&mut from, self.file()?)?;
            // Without a gap, what follows the head is simply more of it.
            if self.kept.dropped > 0 {
                self.kept.tail += copied;
            } else {
                self.kept.head += copied;
            }
            fs::remove_file(&segment.path)?;
        }
        Ok(())
    }

    /// Segments that an interrupted run left, in order.
    fn segments_of(path: &Path) -> io::Result<Vec<PathBuf>> {
        let (Some(dir), Some(name)) = (path.parent(), path.file_name().and_then(|n| n.to_str()))
        else {
            return Ok(Vec::new());
        };
        let prefix = format!("{name}.tail-");
        let mut found: Vec<PathBuf> = fs::read_dir(dir)?
            .flatten()
            .filter(|e| e.file_name().to_str().is_some_and(|n| n.starts_with(&prefix)))
            .map(|e| e.path())
            .collect();
        found.sort();
        Ok(found)
    }
}

fn segment_path(path: &Path, number: u64) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".tail-{number:020}"));
    name.into()
}

#[cfg(test)]
mod tests {
    use cofferdam_core::env::Secret;
    use proptest::prelude::*;

    use super::*;

    fn disk(dir: &Path) -> u64 {
        fs::read_dir(dir).unwrap().flatten().map(|e| e.metadata().unwrap().len()).sum()
    }

    fn keep(pieces: &[Vec<u8>], limit: u64) -> (Vec<u8>, u64, KeptStream, KeptOutput) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stdout");
        let mut keeper = OutputKeeper::new(path.clone(), ByteSize(limit), &Redactor::default());
        for piece in pieces {
            keeper.take(piece);
            assert!(disk(dir.path()) <= limit, "more than the limit on disk");
        }
        let (total, kept, error) = keeper.finish();
        assert!(error.is_none(), "{error:?}");
        let files = fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(files, usize::from(total > 0), "segments are gone");
        let read = KeptOutput::read(&path, &kept).unwrap();
        (fs::read(path).unwrap_or_default(), total, kept, read)
    }

    proptest! {
        #[test]
        fn head_and_tail_are_the_true_ones(sizes in prop::collection::vec(0usize..700, 0..30)) {
            let mut n = 0u32;
            let pieces: Vec<Vec<u8>> = sizes.iter().map(|size| {
                (0..*size).map(|_| { n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223); n.to_be_bytes()[0] }).collect()
            }).collect();
            let whole = pieces.concat();
            let (file, total, kept, read) = keep(&pieces, 1600);
            prop_assert_eq!([read.head, read.tail].concat(), file.clone());
            prop_assert_eq!(total, whole.len() as u64);
            prop_assert_eq!(kept.head + kept.tail + kept.dropped, total);
            let head = usize::try_from(kept.head).unwrap();
            let tail = usize::try_from(kept.tail).unwrap();
            prop_assert_eq!(&file[..head], &whole[..head]);
            prop_assert_eq!(&file[head..], &whole[whole.len() - tail..]);
            if total <= 1500 { prop_assert_eq!(kept.dropped, 0); }
            if kept.dropped > 0 { prop_assert!(tail >= 600, "a tail worth having: {}", tail); }
        }
    }

    #[test]
    fn a_secret_that_is_split_between_writes_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("stdout");
        let redactor = Redactor::new(&[Secret::new("correct horse")]);
        let mut keeper = OutputKeeper::new(path.clone(), ByteSize::mib(1), &redactor);
        keeper.take(b"a correct ");
        keeper.take(b"horse b");
        let (total, ..) = keeper.finish();
        assert_eq!(total, 17);
        assert_eq!(fs::read(path).unwrap(), b"a [redacted] b");
    }
}
