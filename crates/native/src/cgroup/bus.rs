//! One call over a message bus: as much of D-Bus as it takes to ask the user's service manager for something.
//!
//! By hand, for the clients that there are bring threads along, and a process with threads must not make a sandbox. It
//! speaks little-endian only, takes what it is told with bounds, and never waits longer than [`PATIENCE`] for a word.

use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(5);
/// Answers are short.
const LONGEST: usize = 64 * 1024;
/// Of what else happens on the bus, so many messages are passed over.
const PASSED_OVER: usize = 64;

const CALL: u8 = 1;
const RETURN: u8 = 2;
const ERROR: u8 = 3;

/// Which method of whom is called.
#[derive(Debug, Clone, Copy)]
pub(super) struct Method<'a> {
    pub(super) destination: &'a str,
    pub(super) path: &'a str,
    pub(super) interface: &'a str,
    pub(super) name: &'a str,
}

const HELLO: Method<'_> = Method {
    destination: "org.freedesktop.DBus",
    path: "/org/freedesktop/DBus",
    interface: "org.freedesktop.DBus",
    name: "Hello",
};

#[derive(Debug)]
pub(super) struct Bus {
    stream: UnixStream,
    serial: u32,
}

impl Bus {
    /// Connects as the user whose process this is.
    pub(super) fn connect(socket: &Path, uid: u32) -> io::Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut bus = Self { stream, serial: 0 };
        bus.introduce(uid)?;
        bus.call(HELLO, &Body::default())?;
        Ok(bus)
    }

    /// The user is said as digits, each in two hexadecimal ones; the kernel has told the other side who we are.
    fn introduce(&mut self, uid: u32) -> io::Result<()> {
        let digits: String = uid.to_string().bytes().map(|b| format!("{b:02x}")).collect();
        self.stream.write_all(format!("\0AUTH EXTERNAL {digits}\r\n").as_bytes())?;
        let mut line = Vec::new();
        while !line.ends_with(b"\r\n") {
            let mut byte = [0];
            self.stream.read_exact(&mut byte)?;
            line.push(byte[0]);
            if line.len() > 512 {
                return Err(wrong("an answer without an end"));
            }
        }
        if !line.starts_with(b"OK ") {
            return Err(wrong("the bus does not take us for who we are"));
        }
        self.stream.write_all(b"BEGIN\r\n")
    }

    /// Calls, and waits until that is answered.
    pub(super) fn call(&mut self, method: Method<'_>, body: &Body) -> io::Result<()> {
        self.serial += 1;
        self.stream.write_all(&message(self.serial, method, body)?)?;
        for _ in 0..PASSED_OVER {
            let answer = Answer::read(&mut self.stream)?;
            match answer.kind {
                RETURN if answer.replies_to == Some(self.serial) => return Ok(()),
                ERROR if answer.replies_to == Some(self.serial) => return Err(answer.complaint()),
                _ => {}
            }
        }
        Err(wrong("no answer among many messages"))
    }
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

fn message(serial: u32, method: Method<'_>, body: &Body) -> io::Result<Vec<u8>> {
    let length = |bytes: usize| u32::try_from(bytes).map_err(|_| wrong("a message too long"));
    let mut fields = Body::default();
    for (code, kind, value) in [
        (1, "o", method.path),
        (2, "s", method.interface),
        (3, "s", method.name),
        (6, "s", method.destination),
    ] {
        fields.align(8).byte(code).signature(kind).text(value);
    }
    if !body.signature.is_empty() {
        fields.align(8).byte(8).signature("g").signature(body.signature);
    }
    let mut all = Body::default();
    all.byte(b'l').byte(CALL).byte(0).byte(1);
    all.number(length(body.bytes.len())?).number(serial).number(length(fields.bytes.len())?);
    // Sixteen bytes so far, so that what was aligned by itself is aligned here.
    all.bytes.extend_from_slice(&fields.bytes);
    all.align(8).bytes.extend_from_slice(&body.bytes);
    Ok(all.bytes)
}

/// Values, laid out as they travel.
#[derive(Debug, Default)]
pub(super) struct Body {
    signature: &'static str,
    bytes: Vec<u8>,
}

impl Body {
    pub(super) fn of(signature: &'static str) -> Self {
        Self { signature, bytes: Vec::new() }
    }

    pub(super) fn align(&mut self, to: usize) -> &mut Self {
        self.bytes.resize(self.bytes.len().next_multiple_of(to), 0);
        self
    }

    fn byte(&mut self, byte: u8) -> &mut Self {
        self.bytes.push(byte);
        self
    }

    pub(super) fn number(&mut self, number: u32) -> &mut Self {
        self.align(4).bytes.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// Of what is known to be short.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.number(u32::try_from(text.len()).unwrap_or(u32::MAX));
        self.bytes.extend_from_slice(text.as_bytes());
        self.byte(0)
    }

    pub(super) fn signature(&mut self, signature: &str) -> &mut Self {
        self.byte(u8::try_from(signature.len()).unwrap_or(u8::MAX));
        self.bytes.extend_from_slice(signature.as_bytes());
        self.byte(0)
    }

    /// A list, whose elements are aligned to so much: before them stands how long all are together.
    pub(super) fn list(&mut self, align: usize, fill: impl FnOnce(&mut Self)) -> &mut Self {
        self.number(0);
        let at = self.bytes.len() - 4;
        self.align(align);
        let begin = self.bytes.len();
        fill(self);
        let length = u32::try_from(self.bytes.len() - begin).unwrap_or(u32::MAX);
        self.bytes[at..at + 4].copy_from_slice(&length.to_le_bytes());
        self
    }
}

/// As much of a message as matters here.
#[derive(Debug)]
struct Answer {
    kind: u8,
    replies_to: Option<u32>,
    error: Option<String>,
    body: Vec<u8>,
}

impl Answer {
    fn read(stream: &mut UnixStream) -> io::Result<Self> {
        let mut head = [0; 16];
        stream.read_exact(&mut head)?;
        let number =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let [body, fields] =
            [number(4), number(12)].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        if head[0] != b'l' || body > LONGEST || fields > LONGEST {
            return Err(wrong("a message in a form that is not understood"));
        }
        let mut rest = vec![0; fields.next_multiple_of(8) + body];
        stream.read_exact(&mut rest)?;
        let mut answer = Self { kind: head[1], replies_to: None, error: None, body: Vec::new() };
        answer.body = rest.split_off(fields.next_multiple_of(8));
        rest.truncate(fields);
        answer.look_into(&rest).ok_or_else(|| wrong("a message that ends too early"))?;
        Ok(answer)
    }

    fn look_into(&mut self, fields: &[u8]) -> Option<()> {
        let mut at = 0;
        while at < fields.len() {
            let code = *fields.get(at)?;
            let length = usize::from(*fields.get(at + 1)?);
            let kind = fields.get(at + 2..at + 2 + length)?;
            at += 3 + length;
            at = match kind {
                b"u" => {
                    let at = at.next_multiple_of(4);
                    if code == 5 {
                        self.replies_to = Some(number_at(fields, at)?);
                    }
                    at + 4
                }
                b"s" | b"o" => {
                    let (text, end) = text_at(fields, at.next_multiple_of(4))?;
                    if code == 4 {
                        self.error = Some(text);
                    }
                    end
                }
                b"g" => at + usize::from(*fields.get(at)?) + 2,
                _ => return None,
            }
            .next_multiple_of(8);
        }
        Some(())
    }

    /// Errors mostly say in words, as their first value, what is wrong.
    fn complaint(&self) -> io::Error {
        let name = self.error.as_deref().unwrap_or("an error without a name");
        let words = text_at(&self.body, 0).map(|(text, _)| text).unwrap_or_default();
        io::Error::other(format!("{name}: {words}"))
    }
}

fn number_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A text, and where it ends.
fn text_at(bytes: &[u8], at: usize) -> Option<(String, usize)> {
    let length = usize::try_from(number_at(bytes, at)?).ok()?;
    let text = bytes.get(at + 4..(at + 4).checked_add(length)?)?;
    Some((String::from_utf8_lossy(text).into_owned(), at + 4 + length + 1))
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// A real bus, which closes the connection at the first message that is not well formed.
    struct Daemon(Child, tempfile::TempDir);

    impl Daemon {
        fn start() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let config = dir.path().join("bus.conf");
            let listen = format!("unix:path={}/bus", dir.path().display());
            // One that can start nobody.
            let text = format!(
                "<busconfig><type>session</type><listen>{listen}</listen><auth>EXTERNAL</auth>\
                 <policy context='default'><allow send_destination='*' eavesdrop='true'/>\
                 <allow eavesdrop='true'/><allow own='*'/></policy></busconfig>"
            );
            std::fs::write(&config, text).unwrap();
            let child = Command::new("dbus-daemon")
                .args(["--nofork", "--nopidfile", "--nosyslog", "--print-address", "--config-file"])
                .arg(&config)
                .stdout(Stdio::piped())
                .spawn();
            let mut child = child.expect("dbus-daemon is missing: cargo xtask test installs it");
            let mut line = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
            assert!(line.starts_with("unix:path="), "{line}");
            Self(child, dir)
        }

        fn connect(&self) -> Bus {
            Bus::connect(&self.1.path().join("bus"), crate::identity::effective_uid()).unwrap()
        }
    }

    impl Drop for Daemon {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    #[test]
    fn a_bus_takes_what_we_say_and_its_complaints_are_understood() {
        let daemon = Daemon::start();
        let mut bus = daemon.connect();
        let mut name = Body::of("s");
        name.text("org.freedesktop.DBus");
        let owner = Method { name: "GetNameOwner", ..HELLO };
        bus.call(owner, &name).unwrap();
        // Nobody of that name is on this bus: but the call was well formed, and the connection goes on.
        let unit = crate::cgroup::scope::unit("cofferdam-1-2.scope", 1);
        let error = bus.call(crate::cgroup::scope::START, &unit).unwrap_err();
        assert!(error.to_string().contains("ServiceUnknown"), "{error}");
        bus.call(owner, &name).unwrap();
    }

    #[test]
    fn what_is_not_well_formed_ends_the_connection() {
        let daemon = Daemon::start();
        let mut bus = daemon.connect();
        let mut wrong = Body::of("ssa(sv)a(sa(sv))");
        wrong.text("a").text("b").number(3);
        let error = bus.call(crate::cgroup::scope::START, &wrong).unwrap_err();
        assert!(!error.to_string().contains("ServiceUnknown"), "{error}");
    }

    #[test]
    fn somebody_else_is_not_let_in() {
        let daemon = Daemon::start();
        let other = crate::identity::effective_uid() + 1;
        let error = Bus::connect(&daemon.1.path().join("bus"), other).unwrap_err();
        assert!(error.to_string().contains("does not take us"), "{error}");
    }
}
