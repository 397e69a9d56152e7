//! As much of HTTP/1.1 as one question to an engine needs: bounded in time and in size.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Most that is read of an answer. An engine's own is a few thousand bytes.
const MOST: usize = 64 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) body: Vec<u8>,
}

#[derive(Debug)]
pub(super) enum Trouble {
    /// The deadline passed before the answer was whole.
    Hung,
    TooLong,
    /// Not HTTP, or not whole: what it began with.
    Garbled(Vec<u8>),
    Io(io::Error),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::Hung,
            _ => Self::Io(error),
        }
    }
}

pub(super) fn get(
    mut stream: UnixStream,
    target: &str,
    deadline: Instant,
) -> Result<Response, Trouble> {
    stream.set_write_timeout(Some(left(deadline)?))?;
    let request = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        // Anew for each read: an answer that drips must not outlast the deadline.
        stream.set_read_timeout(Some(left(deadline)?))?;
        let got = match stream.read(&mut buffer) {
            Ok(0) => return at_end(&seen).ok_or_else(|| garbled(&seen)),
            Ok(got) => got,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        seen.extend_from_slice(&buffer[..got]);
        if !begins_well(&seen) {
            return Err(garbled(&seen));
        }
        if let Some(response) = complete(&seen) {
            return Ok(response);
        }
        if seen.len() > MOST {
            return Err(Trouble::TooLong);
        }
    }
}

fn left(deadline: Instant) -> Result<Duration, Trouble> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(Trouble::Hung) } else { Ok(left) }
}

fn garbled(seen: &[u8]) -> Trouble {
    const SHOWN: usize = 60;
    Trouble::Garbled(seen[..seen.len().min(SHOWN)].to_vec())
}

fn begins_well(seen: &[u8]) -> bool {
    let start = b"HTTP/1.";
    let both = seen.len().min(start.len());
    seen[..both] == start[..both]
}

/// How the end of a body is told.
enum Framing {
    Length(usize),
    Chunked,
    UntilClosed,
}

struct Head {
    status: u16,
    framing: Framing,
    /// Where the body begins.
    end: usize,
}

/// The answer, once all of it is there.
fn complete(seen: &[u8]) -> Option<Response> {
    let head = head(seen)?;
    let body = &seen[head.end..];
    let body = match head.framing {
        Framing::Length(length) => body.get(..length)?.to_vec(),
        Framing::Chunked => unchunked(body)?,
        Framing::UntilClosed => return None,
    };
    Some(Response { status: head.status, body })
}

/// The answer, once the other side has closed.
fn at_end(seen: &[u8]) -> Option<Response> {
    let found = head(seen)?;
    match found.framing {
        Framing::UntilClosed => {
            Some(Response { status: found.status, body: seen[found.end..].to_vec() })
        }
        Framing::Length(_) | Framing::Chunked => complete(seen),
    }
}

fn head(seen: &[u8]) -> Option<Head> {
    let end = find(seen, b"\r\n\r\n")?;
    let text = std::str::from_utf8(&seen[..end]).ok()?;
    let mut lines = text.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    let mut framing = Framing::UntilClosed;
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        if name.eq_ignore_ascii_case("transfer-encoding") {
            framing = Framing::Chunked;
            break;
        }
        if name.eq_ignore_ascii_case("content-length") {
            framing = Framing::Length(value.trim().parse().ok()?);
        }
    }
    Some(Head { status, framing, end: end + 4 })
}

/// A chunked body, if its last chunk is there.
fn unchunked(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = find(rest, b"\r\n")?;
        let size = std::str::from_utf8(&rest[..line]).ok()?;
        let size = size.split(';').next()?.trim();
        let size = usize::from_str_radix(size, 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        rest = &rest[line + 2..];
        body.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size.checked_add(2)?..)?;
    }
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ok(body: &str) -> Option<Response> {
        Some(Response { status: 200, body: body.into() })
    }

    #[test]
    fn a_length_is_waited_for() {
        let whole = b"HTTP/1.1 200 OK\r\nContent-LENGTH: 2\r\n\r\nOK";
        assert_eq!(complete(whole), ok("OK"));
        assert_eq!(complete(&whole[..whole.len() - 1]), None);
        assert_eq!(at_end(&whole[..whole.len() - 1]), None);
    }

    #[test]
    fn chunks_are_joined() {
        let whole = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
            3;a=b\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n";
        assert_eq!(complete(whole), ok("abc0123456789"));
        assert_eq!(at_end(&whole[..whole.len() - 5]), None);
    }

    #[test]
    fn without_a_length_the_end_is_the_end() {
        let whole = b"HTTP/1.0 200 OK\r\n\r\nbody";
        assert_eq!(complete(whole), None);
        assert_eq!(at_end(whole), ok("body"));
    }

    #[test]
    fn nonsense_is_no_answer_and_no_panic() {
        for bad in [
            &b""[..],
            b"\r\n\r\n",
            b"HTTP/1.1\r\n\r\n",
            b"HTTP/1.1 abc\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
            b"HTTP/1.1 200 \xff\r\n\r\n",
        ] {
            assert_eq!(at_end(bad), None, "{:?}", String::from_utf8_lossy(bad));
        }
        assert!(begins_well(b"HTT") && begins_well(b"HTTP/1.1 2"));
        assert!(!begins_well(b"SSH-2.0"));
    }
}
