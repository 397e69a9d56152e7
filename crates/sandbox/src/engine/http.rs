//! As much of HTTP/1.1 as an engine speaks over its socket: questions bounded in time and in size
//! ([`exchange`]), one that is answered when something happens ([`Pending`]), and a connection that becomes a
//! plain stream ([`upgrade`]). One connection a question; no redirects, no compression, no TLS.

mod lines;

use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

pub(crate) use lines::Cut;
use lines::{LINE_MOST, Lines};

use super::stream::Stream;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: Vec<u8>,
}

#[derive(Debug)]
pub(crate) enum Trouble {
    /// The deadline passed before the answer was whole.
    Hung,
    TooLong,
    /// Not HTTP, or not whole: what it began with.
    Garbled(Vec<u8>),
    /// Whoever carries the connection gave up, and says why.
    Carried(String),
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

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'static str,
    pub(crate) target: &'a str,
    /// One more line of the head, with its end.
    pub(crate) header: &'a str,
    pub(crate) body: Body<'a>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Body<'a> {
    None,
    Json(&'a [u8]),
    Tar(&'a [u8]),
    /// An archive that is made while it is sent.
    Streamed(&'a dyn Streamed),
}

/// Bytes that are too many to hold.
pub(crate) trait Streamed: std::fmt::Debug {
    fn length(&self) -> u64;

    /// Writes exactly that many.
    fn write(&self, to: &mut dyn io::Write) -> io::Result<()>;
}

impl<'a> Request<'a> {
    pub(crate) fn get(target: &'a str) -> Self {
        Self { method: "GET", target, header: "", body: Body::None }
    }

    pub(crate) fn post(target: &'a str, body: Body<'a>) -> Self {
        Self { method: "POST", target, header: "", body }
    }

    pub(crate) fn put(target: &'a str, body: Body<'a>) -> Self {
        Self { method: "PUT", target, header: "", body }
    }

    pub(crate) fn delete(target: &'a str) -> Self {
        Self { method: "DELETE", target, header: "", body: Body::None }
    }

    fn send(&self, stream: &mut Stream, deadline: Instant, way: &str) -> Result<(), Trouble> {
        match self.write(stream, deadline, way) {
            Err(Trouble::Io(error)) => Err(broken(stream, error)),
            sent => sent,
        }
    }

    fn write(&self, stream: &mut Stream, deadline: Instant, way: &str) -> Result<(), Trouble> {
        const TAR: &str = "Content-Type: application/x-tar\r\n";
        let (kind, body): (_, &[u8]) = match self.body {
            Body::None => ("", &[]),
            Body::Json(bytes) => ("Content-Type: application/json\r\n", bytes),
            Body::Tar(bytes) => (TAR, bytes),
            Body::Streamed(_) => (TAR, &[]),
        };
        let length = match self.body {
            Body::Streamed(body) => body.length(),
            _ => body.len() as u64,
        };
        let (method, target) = (self.method, self.target);
        let header = self.header;
        let head = format!(
            "{method} {target} HTTP/1.1\r\nHost: localhost\r\n{way}{header}{kind}Content-Length: {length}\r\n\r\n"
        );
        stream.set_write_timeout(Some(left(deadline)?))?;
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        if let Body::Streamed(body) = self.body {
            match body.write(&mut **stream) {
                // It has heard enough, and says why.
                Err(error) if is_closed(&error) => {}
                written => written?,
            }
        }
        Ok(())
    }
}

/// Asks, and reads the answer to its end, of which there may be `most` bytes.
pub(crate) fn exchange(
    stream: Stream,
    request: &Request<'_>,
    most: usize,
    deadline: Instant,
) -> Result<Response, Trouble> {
    exchange_whole(stream, request, most, deadline).map(|(response, _)| response)
}

/// The same, with all that was said.
pub(crate) fn exchange_whole(
    mut stream: Stream,
    request: &Request<'_>,
    most: usize,
    deadline: Instant,
) -> Result<(Response, Vec<u8>), Trouble> {
    request.send(&mut stream, deadline, "Connection: close\r\n")?;
    let mut seen = Vec::new();
    loop {
        match read_more(&mut stream, &mut seen, deadline)? {
            0 => {
                let response = at_end(&seen).ok_or_else(|| closed(&mut stream, &seen))?;
                return Ok((response, seen));
            }
            _ if !begins_well(&seen) => return Err(garbled(&seen)),
            _ => {}
        }
        if let Some(response) = complete(&seen) {
            return Ok((response, seen));
        }
        if seen.len() > most {
            return Err(Trouble::TooLong);
        }
    }
}

/// Asks, and hands the lines of the answer on as they come. A failure is answered like any other question.
pub(crate) fn lines(
    stream: Stream,
    request: &Request<'_>,
    deadline: Instant,
    line: &mut dyn FnMut(&[u8]),
) -> Result<Result<(), Response>, Trouble> {
    pieces(stream, request, deadline, (Cut::AtLines, line))
}

/// Who gets the pieces of an answer.
pub(crate) type Taker<'a> = &'a mut dyn FnMut(&[u8]);

/// The same for an answer of any kind, piece by piece.
pub(crate) fn pieces(
    mut stream: Stream,
    request: &Request<'_>,
    deadline: Instant,
    (cut, line): (Cut, Taker<'_>),
) -> Result<Result<(), Response>, Trouble> {
    request.send(&mut stream, deadline, "Connection: close\r\n")?;
    let (mut seen, mut body) = (Vec::new(), None::<Lines>);
    loop {
        let got = read_more(&mut stream, &mut seen, deadline)?;
        if body.is_none() {
            if !begins_well(&seen) || seen.len() > LINE_MOST {
                return Err(garbled(&seen));
            }
            match head(&seen) {
                Some(head) if head.status == 200 => {
                    body = Some(Lines::new(&head, cut));
                    seen.drain(..head.end);
                }
                Some(_) => {
                    let answer = complete(&seen).or_else(|| at_end(&seen).filter(|_| got == 0));
                    if let Some(response) = answer {
                        return Ok(Err(response));
                    }
                }
                None => {}
            }
        }
        if let Some(body) = &mut body
            && (body.take(&mut seen, line)? || (got == 0 && body.may_just_end()))
        {
            return Ok(Ok(()));
        }
        if got == 0 {
            return Err(closed(&mut stream, &seen));
        }
    }
}

/// A connection that has become a plain stream in both directions, and what came on it already.
#[derive(Debug)]
pub(crate) struct Upgraded {
    pub(crate) stream: Stream,
    pub(crate) early: Vec<u8>,
}

/// Asks for the connection itself. An engine that says no answers as to any other request.
pub(crate) fn upgrade(
    mut stream: Stream,
    target: &str,
    most: usize,
    deadline: Instant,
) -> Result<Result<Upgraded, Response>, Trouble> {
    let request = Request::post(target, Body::None);
    request.send(&mut stream, deadline, "Connection: Upgrade\r\nUpgrade: tcp\r\n")?;
    let mut seen = Vec::new();
    loop {
        let got = read_more(&mut stream, &mut seen, deadline)?;
        if !begins_well(&seen) || seen.len() > most {
            return Err(garbled(&seen));
        }
        match head(&seen) {
            // Podman, and engines of old, call it a success instead of a switch.
            Some(head) if head.status == 101 || (head.status == 200 && head.is_raw) => {
                stream.set_read_timeout(None)?;
                stream.set_write_timeout(None)?;
                return Ok(Ok(Upgraded { early: seen.split_off(head.end), stream }));
            }
            Some(_) => {
                let answer = complete(&seen).or_else(|| at_end(&seen).filter(|_| got == 0));
                if let Some(response) = answer {
                    return Ok(Err(response));
                }
            }
            None => {}
        }
        if got == 0 {
            return Err(closed(&mut stream, &seen));
        }
    }
}

/// A question that is answered when something happens, however long that takes. To be polled.
#[derive(Debug)]
pub(crate) struct Pending {
    stream: Stream,
    seen: Vec<u8>,
}

impl Pending {
    pub(crate) fn ask(
        mut stream: Stream,
        request: &Request<'_>,
        deadline: Instant,
    ) -> Result<Self, Trouble> {
        request.send(&mut stream, deadline, "Connection: close\r\n")?;
        stream.set_nonblocking(true)?;
        Ok(Self { stream, seen: Vec::new() })
    }

    /// Waits until the question is seen to have been understood: until the answer begins.
    pub(crate) fn heard(&mut self, deadline: Instant) -> Result<(), Trouble> {
        self.stream.set_nonblocking(false)?;
        while head(&self.seen).is_none() {
            let got = read_more(&mut self.stream, &mut self.seen, deadline)?;
            if got == 0 || !begins_well(&self.seen) {
                return Err(closed(&mut self.stream, &self.seen));
            }
        }
        Ok(self.stream.set_nonblocking(true)?)
    }

    /// Takes what has come; the answer once it is whole.
    pub(crate) fn step(&mut self) -> Result<Option<Response>, Trouble> {
        const MOST: usize = 64 * 1024;
        let mut buffer = [0; 4096];
        match self.stream.read(&mut buffer) {
            Ok(0) => {
                let Self { stream, seen } = self;
                return at_end(seen).map(Some).ok_or_else(|| closed(stream, seen));
            }
            Ok(got) => self.seen.extend_from_slice(&buffer[..got]),
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock
                ) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(broken(&mut self.stream, error)),
        }
        if self.seen.len() > MOST || !begins_well(&self.seen) {
            return Err(garbled(&self.seen));
        }
        Ok(complete(&self.seen))
    }
}

impl AsFd for Pending {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

/// What one read gives, before the deadline; 0 at the end.
fn read_more(stream: &mut Stream, seen: &mut Vec<u8>, deadline: Instant) -> Result<usize, Trouble> {
    let mut buffer = [0; 4096];
    loop {
        // Anew for each read: an answer that drips must not outlast the deadline.
        stream.set_read_timeout(Some(left(deadline)?))?;
        match stream.read(&mut buffer) {
            Ok(got) => {
                seen.extend_from_slice(&buffer[..got]);
                return Ok(got);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(broken(stream, error)),
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

/// The other side has closed before the answer was whole.
fn closed(stream: &mut Stream, seen: &[u8]) -> Trouble {
    match stream.complaint() {
        Some(why) if seen.is_empty() => Trouble::Carried(why),
        _ => garbled(seen),
    }
}

/// A read or a write failed. Whoever carries the connection may have gone with our words unread.
fn broken(stream: &mut Stream, error: io::Error) -> Trouble {
    let why = if is_closed(&error) { stream.complaint() } else { None };
    why.map_or_else(|| error.into(), Trouble::Carried)
}

fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
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
    /// The body is a raw stream of an engine's.
    is_raw: bool,
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
    let mut is_raw = false;
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        if name.eq_ignore_ascii_case("transfer-encoding") {
            framing = Framing::Chunked;
            break;
        }
        if name.eq_ignore_ascii_case("content-type") {
            is_raw = value.trim().starts_with("application/vnd.docker.");
        }
        if name.eq_ignore_ascii_case("content-length") {
            framing = Framing::Length(value.trim().parse().ok()?);
        }
    }
    if matches!(status, 204 | 304) {
        framing = Framing::Length(0);
    }
    Some(Head { status, framing, end: end + 4, is_raw })
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

/// A line of an answer's head, by its name.
pub(crate) fn field<'a>(answer: &'a [u8], name: &str) -> Option<&'a str> {
    let head = std::str::from_utf8(&answer[..find(answer, b"\r\n\r\n")?]).ok()?;
    let mut fields = head.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
    fields.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
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
