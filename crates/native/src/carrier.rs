//! A program as a connection: what it reads and what it writes is one end of a pair of sockets, and the other end is
//! ours. [`start`] makes one; it ends with its [`Carrier`], and with this process, however that ends.
//!
//! Deliberately absent: what is said over the connection, and how long that may take.

use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::sys;

/// The program, while the connection is wanted.
#[derive(Debug)]
pub struct Carrier {
    child: Child,
}

/// Starts it in a process group of its own: keys that interrupt us do not break the connection, over which somebody
/// has to be told of it.
pub fn start(mut command: Command) -> io::Result<(UnixStream, Carrier)> {
    let (ours, its) = UnixStream::pair()?;
    let its = OwnedFd::from(its);
    command
        .stdin(Stdio::from(its.try_clone()?))
        .stdout(Stdio::from(its))
        .stderr(Stdio::piped())
        .process_group(0);
    sys::die_with_parent(&mut command);
    let child = command.spawn()?;
    Ok((ours, Carrier { child }))
}

impl Carrier {
    /// What it has said about itself so far: its errors, no more than a paragraph. Nobody is waited for, because what it
    /// started may hold the other end open for long.
    pub fn complaint(&mut self) -> Vec<u8> {
        const MOST: usize = 4 << 10;
        let Some(errors) = &mut self.child.stderr else { return Vec::new() };
        let mut said = vec![0; MOST];
        let got = fcntl_getfl(&*errors)
            .and_then(|flags| fcntl_setfl(&*errors, flags | OFlags::NONBLOCK))
            .map_err(io::Error::from)
            .and_then(|()| errors.read(&mut said));
        // Where there is nothing to be read, it said nothing.
        said.truncate(got.unwrap_or(0));
        said
    }
}

impl Drop for Carrier {
    fn drop(&mut self) {
        // One that has ended already is what was wanted.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::Shutdown;

    use super::*;

    fn shell(script: &str) -> (UnixStream, Carrier) {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        start(command).unwrap()
    }

    #[test]
    fn both_directions_and_the_end_of_one() {
        let (mut stream, _carrier) = shell("tr a-z A-Z");
        stream.write_all(b"hello").unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "HELLO");
    }

    #[test]
    fn what_it_complains_of_is_had_even_while_its_child_lives() {
        let (mut stream, mut carrier) = shell("sleep 100 <&- >&- & echo 'no way' >&2");
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        assert_eq!((rest.as_slice(), carrier.complaint().as_slice()), (&b""[..], &b"no way\n"[..]));
        assert!(carrier.complaint().is_empty());
    }

    #[test]
    fn it_goes_with_its_carrier() {
        let (mut stream, carrier) = shell("exec sleep 100");
        drop(carrier);
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
    }
}
