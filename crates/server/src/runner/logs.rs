//! What a program writes, on its way to the server: without secrets, in order, numbered.
//!
//! One piece is under way at a time. What comes meanwhile waits in the pipes, and where those are full, the program
//! waits: nothing is dropped and nothing is piled up. A server that is away is waited for.

use std::collections::VecDeque;
use std::io::{self, PipeReader};
use std::os::fd::OwnedFd;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cofferdam_core::control::id::TaskId;
use cofferdam_core::control::report::{Claim, LogChunk, Stream, Taken};
use cofferdam_core::redact::{Redactor, StreamRedactor};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::mpsc;

use super::Link;
use super::backoff::Backoff;
use super::journal::Line;

/// The most that one message carries.
const PIECE: usize = 48 * 1024;
/// Pieces that are read ahead.
const AHEAD: usize = 4;
/// What is kept of the end.
const TAIL: usize = 4096;

/// The two streams of a program.
#[derive(Debug)]
pub(super) struct Pipes {
    pub(super) stdout: PipeReader,
    pub(super) stderr: PipeReader,
}

/// What was carried.
#[derive(Debug, Default)]
pub(super) struct Carried {
    tail: VecDeque<u8>,
}

impl Carried {
    /// The end of the output, as text.
    pub(super) fn tail(&self) -> Option<String> {
        let bytes: Vec<u8> = self.tail.iter().copied().collect();
        (!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.tail.extend(&bytes[bytes.len().saturating_sub(TAIL)..]);
        let over = self.tail.len().saturating_sub(TAIL);
        self.tail.drain(..over);
    }
}

/// Who is told what an attempt printed.
#[derive(Debug, Clone)]
pub(super) struct Listener<'a, L> {
    link: &'a L,
    task: TaskId,
    attempt: u32,
    fence: String,
}

impl<'a, L: Link> Listener<'a, L> {
    pub(super) fn of(link: &'a L, claim: &Claim) -> Self {
        let Claim { task, attempt, fence, .. } = claim;
        Self { link, task: task.id, attempt: *attempt, fence: fence.clone() }
    }

    pub(super) fn of_line(link: &'a L, line: &Line) -> Self {
        let Line { held, fence, .. } = line;
        Self { link, task: held.task, attempt: held.attempt, fence: fence.clone() }
    }

    /// Sends until it is taken; false where the server wants no more of this attempt.
    async fn send(&self, seq: u64, stream: Stream, bytes: &[u8]) -> bool {
        let (attempt, fence) = (self.attempt, self.fence.clone());
        let chunk = LogChunk { attempt, fence, seq, stream, data: STANDARD.encode(bytes) };
        let mut backoff = Backoff::default();
        loop {
            match self.link.log(self.task, &chunk).await {
                Ok(Taken::Accepted | Taken::Repeated) => return true,
                Ok(Taken::Stale) => return false,
                Err(error) if error.is_passing() => backoff.wait().await,
                Err(_) => return false,
            }
        }
    }
}

/// Sends what was kept of an attempt of which the server has heard nothing.
pub(super) async fn tell_kept<L: Link>(to: &Listener<'_, L>, kept: &[(Stream, Vec<u8>)]) {
    let mut seq = 0;
    for (stream, bytes) in kept {
        for piece in bytes.chunks(PIECE) {
            if !to.send(seq, *stream, piece).await {
                return;
            }
            seq += 1;
        }
    }
}

/// Carries both streams to their end. `first` is called when something of them was taken. An error is one of the pipes.
pub(super) async fn carry<L: Link, T>(
    listener: &Listener<'_, L>,
    pipes: Pipes,
    redactor: Redactor,
    first: impl FnOnce() -> T,
) -> io::Result<Carried> {
    let mut first = Some(first);
    let (to, mut from) = mpsc::channel::<(Stream, Vec<u8>)>(AHEAD);
    let readers = [(Stream::Stdout, pipes.stdout), (Stream::Stderr, pipes.stderr)];
    let mut reading = tokio::task::JoinSet::new();
    for (stream, pipe) in readers {
        let pipe = Receiver::from_owned_fd(OwnedFd::from(pipe))?;
        reading.spawn(read(pipe, stream, redactor.stream(), to.clone()));
    }
    drop(to);
    let (mut carried, mut seq, mut is_wanted) = (Carried::default(), 0, true);
    let mut next = from.recv().await;
    while let Some((stream, mut bytes)) = next.take() {
        // What waits already goes along.
        while bytes.len() < PIECE {
            match from.try_recv() {
                Ok((same, more)) if same == stream && bytes.len() + more.len() <= PIECE => {
                    bytes.extend(more);
                }
                Ok(other) => {
                    next = Some(other);
                    break;
                }
                Err(_) => break,
            }
        }
        carried.keep(&bytes);
        if is_wanted {
            is_wanted = listener.send(seq, stream, &bytes).await;
            seq += 1;
            if let Some(first) = first.take().filter(|_| is_wanted) {
                first();
            }
        }
        if next.is_none() {
            next = from.recv().await;
        }
    }
    while let Some(ended) = reading.join_next().await {
        ended.map_err(io::Error::other)??;
    }
    Ok(carried)
}

async fn read(
    mut pipe: Receiver,
    stream: Stream,
    mut redactor: StreamRedactor,
    to: mpsc::Sender<(Stream, Vec<u8>)>,
) -> io::Result<()> {
    let mut buffer = vec![0; PIECE];
    loop {
        let read = pipe.read(&mut buffer).await?;
        let mut bytes = Vec::new();
        if read == 0 {
            redactor.finish(&mut |piece| bytes.extend_from_slice(piece));
            if !bytes.is_empty() {
                // Nobody takes it where the attempt was given up.
                to.send((stream, bytes)).await.ok();
            }
            return Ok(());
        }
        redactor.push(&buffer[..read], &mut |piece| bytes.extend_from_slice(piece));
        if !bytes.is_empty() && to.send((stream, bytes)).await.is_err() {
            return Ok(());
        }
    }
}
