//! The container's first process calls whoever started it, before it starts anything itself.

use std::io::Read as _;
use std::time::{Duration, Instant};

use cofferdam_core::inert::Inert;
use cofferdam_native::line::{Caller, Line};
use cofferdam_native::supervise::StreamName;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Trouble;
use crate::engine::http::{Pending, Upgraded};
use crate::engine::{EngineError, Frames};

/// Between a start that the engine has confirmed and the call.
const PATIENCE: Duration = Duration::from_secs(20);
/// Of what the first process had to say.
const MOST: usize = 4 << 10;

/// Waits for the call. A container that is over, or silent for long, did not come to be.
pub(super) fn answered(
    line: &Line,
    end: &mut Pending,
    attached: &mut Upgraded,
) -> Result<Caller, Trouble> {
    let deadline = Instant::now() + PATIENCE;
    let io = |source| Trouble::Io { action: "listen at", path: "line".into(), source };
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).ok();
        let mut fds = [PollFd::new(line, PollFlags::IN), PollFd::new(end, PollFlags::IN)];
        match poll(&mut fds, timeout.as_ref()) {
            Ok(0) => return Err(Trouble::First("it did not call".to_owned())),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(io(errno.into())),
        }
        let is_told = !fds[1].revents().is_empty();
        if let Some(caller) = line.answer().map_err(io)? {
            return Ok(caller);
        }
        let ended = is_told.then(|| end.step()).transpose().map_err(|trouble| {
            Trouble::Engine(EngineError::trouble("the wait for the end".to_owned(), trouble))
        })?;
        if ended.flatten().is_some() {
            return Err(Trouble::First(last_words(attached)));
        }
    }
}

/// What it wrote before it ended. That is over, so that nothing more comes.
fn last_words(attached: &mut Upgraded) -> String {
    let (mut frames, mut said) = (Frames::default(), Vec::new());
    let mut take = |bytes: &[u8]| {
        // What is no frame is no word of its own either.
        frames.take(bytes, &mut |_: StreamName, piece| said.extend_from_slice(piece)).ok();
    };
    take(&attached.early);
    let mut buffer = [0; MOST];
    let bounded = attached.stream.set_read_timeout(Some(Duration::from_secs(1)));
    if let (Ok(()), Ok(got)) = (bounded, attached.stream.read(&mut buffer)) {
        take(&buffer[..got]);
    }
    said.truncate(MOST);
    Inert::line(said.trim_ascii()).to_string()
}
