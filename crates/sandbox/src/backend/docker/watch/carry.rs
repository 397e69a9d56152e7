//! What goes through: the container's output to whoever reads it, and input to the container.

use std::io::{self, Read as _, Write as _};
use std::net::Shutdown;
use std::time::Instant;

use cofferdam_native::supervise::{Cause, StreamName};
use rustix::io::Errno;

use super::console::END_OF_INPUT;
use super::{Lost, Ready, SIGKILL, SIGPIPE, Watch};

impl Watch<'_> {
    pub(super) fn carry(&mut self, ready: &Ready) -> Result<(), Lost> {
        for (sink, ready) in self.sinks.iter_mut().zip(ready.sinks) {
            if ready {
                sink.write();
            }
        }
        self.hear_calls(&ready.calls)?;
        if ready.stdin {
            self.read_input();
        }
        if ready.stream {
            self.write_input();
            if !self.has_pending() {
                self.read_output()?;
            }
        }
        self.tell_of_lost()
    }

    /// A program whose reader has gone learns it as it would have without us, as after `| head`. Where output has nowhere to go
    /// for another reason, it is stopped.
    fn tell_of_lost(&mut self) -> Result<(), Lost> {
        for (at, stream) in [StreamName::Stdout, StreamName::Stderr].into_iter().enumerate() {
            match self.sinks[at].take_lost() {
                None => {}
                Some(Errno::PIPE) if self.has_ended => {}
                Some(Errno::PIPE) => self.signal(SIGPIPE)?,
                Some(errno) if self.cause == Cause::Own => {
                    self.cause = Cause::Unwritable { stream, errno: errno.raw_os_error() };
                    if !self.has_ended {
                        self.stop("output", SIGKILL)?;
                    }
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn read_output(&mut self) -> Result<(), Lost> {
        let Some(stream) = &mut self.stream else { return Ok(()) };
        let mut buffer = vec![0; 64 * 1024];
        match stream.read(&mut buffer) {
            Ok(0) => {
                self.stream = None;
                self.count_kills();
            }
            Ok(got) => {
                self.last_output = Instant::now();
                self.take(&buffer[..got])?;
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
                ) => {}
            // The question how it ends says what became of the engine.
            Err(_) => self.stream = None,
        }
        Ok(())
    }

    /// The last moment at which its control group is sure to be there.
    fn count_kills(&mut self) {
        self.ran_out |= self.counters.kills().is_some_and(|kills| kills > 0);
    }

    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<(), Lost> {
        let Self { frames, sinks, observer, .. } = self;
        if self.console.is_some() {
            observer.output(StreamName::Stdout, bytes);
            sinks[0].add(bytes);
            return Ok(());
        }
        let taken = frames.take(bytes, &mut |stream, piece| {
            observer.output(stream, piece);
            match stream {
                StreamName::Stdout => sinks[0].add(piece),
                StreamName::Stderr => sinks[1].add(piece),
            }
        });
        taken.map_err(|error| Lost(format!("the engine sent {error}")))
    }

    fn read_input(&mut self) {
        let Some(stdin) = self.stdin else { return };
        let mut buffer = [0; 16 * 1024];
        match rustix::io::read(stdin, &mut buffer) {
            Ok(got) if got > 0 => {
                self.input.extend_from_slice(&buffer[..got]);
                self.write_input();
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            // Its end, or a terminal that went away, which to the command is the same.
            _ => {
                self.stdin = None;
                self.end_input();
            }
        }
    }

    fn write_input(&mut self) {
        let Some(stream) = self.stream.as_mut().filter(|_| !self.input.is_empty()) else { return };
        match stream.write(&self.input) {
            Ok(taken) => {
                self.input.drain(..taken);
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
                ) => {}
            // The command does not read any more.
            Err(_) => {
                self.input.clear();
                self.stdin = None;
            }
        }
    }

    pub(super) fn end_input(&mut self) {
        if self.console.is_some() {
            // An engine that hears no more from us says no more either, where there is a terminal.
            self.input.push(END_OF_INPUT);
            self.write_input();
        } else if let Some(stream) = &self.stream {
            // One that is closed already has no more input either.
            stream.shutdown(Shutdown::Write).ok();
        }
    }
}
