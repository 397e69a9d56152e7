//! Trees of files that go to a container and come from one, as archives, however large.

use std::fs::File;
use std::io::{self, Write as _};
use std::time::{Duration, Instant};

use super::http::{self, Body, Cut, Request, Streamed, Taker};
use super::{Engine, EngineError, MOST, Patience};

/// A large tree takes its time.
const PATIENCE: Duration = Duration::from_secs(3600);

/// A file from where it stands, to its end.
#[derive(Debug)]
struct Whole<'a> {
    tar: &'a File,
    length: u64,
}

impl Streamed for Whole<'_> {
    fn length(&self) -> u64 {
        self.length
    }

    fn write(&self, to: &mut dyn io::Write) -> io::Result<()> {
        let mut tar = self.tar;
        io::copy(&mut tar, to).map(|_| ())
    }
}

impl Engine {
    /// Sends an archive, from where the file stands.
    pub(crate) fn put_file(&self, target: &str, tar: &File) -> Result<(), EngineError> {
        let call = format!("PUT {target}");
        let stream = self.connect(&call, Patience::Short)?;
        let full = self.full(target);
        let unread = |error: io::Error| EngineError::BrokenOff {
            call: call.clone(),
            why: error.to_string(),
        };
        let length = tar.metadata().map_err(unread)?.len();
        let whole = Whole { tar, length };
        let request = Request::put(&full, Body::Streamed(&whole));
        let response = http::exchange(stream, &request, MOST, Instant::now() + PATIENCE)
            .map_err(|trouble| EngineError::trouble(call.clone(), trouble))?;
        match response.status {
            200..=299 => Ok(()),
            _ => Err(EngineError::said(call, &response)),
        }
    }

    /// Has an archive written into a file.
    pub(crate) fn get_file(&self, target: &str, into: &mut File) -> Result<(), EngineError> {
        let call = format!("GET {target}");
        let stream = self.connect(&call, Patience::Short)?;
        let full = self.full(target);
        let mut written: io::Result<()> = Ok(());
        let mut write = |piece: &[u8]| {
            if written.is_ok() {
                written = into.write_all(piece);
            }
        };
        let deadline = Instant::now() + PATIENCE;
        let pieces = (Cut::Anywhere, &mut write as Taker<'_>);
        let answer = http::pieces(stream, &Request::get(&full), deadline, pieces);
        match answer.map_err(|trouble| EngineError::trouble(call.clone(), trouble))? {
            Ok(()) => {
                written.map_err(|error| EngineError::BrokenOff { call, why: error.to_string() })
            }
            Err(response) => Err(EngineError::said(call, &response)),
        }
    }
}
