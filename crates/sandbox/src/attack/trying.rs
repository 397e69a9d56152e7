//! What a script of an attack cannot do by itself: this program's own attempts, as a hidden command.
//!
//! The user's machine may have no compiler, no python and no netcat; this program is always there. A copy of it is
//! shown inside, and does one forbidden thing per start. An attempt succeeds ([`Tried::Reached`]) where the act did.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{self as unix, UnixDatagram, UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use cofferdam_native::attempt::{Answer, Call, fill_memory_file};

/// The word that makes this program one.
pub const WORD: &str = "attempt";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tried {
    Reached,
    Refused,
}

#[derive(Debug, thiserror::Error)]
#[error("nothing that is called so can be tried: {0}")]
pub struct Unknown(String);

/// Tries one thing.
pub fn attempt(words: &[&str]) -> Result<Tried, Unknown> {
    let unknown = || Unknown(words.join(" "));
    let number = |word: &str| word.parse::<usize>().map_err(|_| unknown());
    Ok(match *words {
        ["call", name] => match Call::named(name).ok_or_else(unknown)?.make() {
            Answer::Reached => Tried::Reached,
            Answer::Refused(_) => Tried::Refused,
        },
        ["tcp", address] => reached(tcp(address)),
        ["tcp-self"] => reached(tcp_self()),
        ["udp", address] => reached(udp(address)),
        ["route", address] => reached(route(address)),
        ["unix", path] => reached(UnixStream::connect(path)),
        ["unix-self"] => reached(unix_self()),
        ["unix-datagram", path] => {
            reached(UnixDatagram::unbound().and_then(|s| s.send_to(b"x", path)))
        }
        ["abstract", name] => {
            let address = unix::SocketAddr::from_abstract_name(name);
            reached(address.and_then(|address| UnixStream::connect_addr(&address)))
        }
        ["http", address, line, ref rest @ ..] => reached(http(address, line, rest)),
        ["leave-socket", path] => reached(UnixListener::bind(path)),
        ["fds"] => {
            if further_files() {
                Tried::Reached
            } else {
                Tried::Refused
            }
        }
        ["memory", mebibytes] => reached(memory(number(mebibytes)?)),
        ["memory-file", mebibytes] => reached(fill_memory_file(number(mebibytes)? << 20)),
        ["threads", count] => reached(threads(number(count)?)),
        ["processes", count] => reached(processes(number(count)?)),
        _ => return Err(unknown()),
    })
}

fn reached<T>(answer: io::Result<T>) -> Tried {
    match answer {
        Ok(_) => Tried::Reached,
        Err(_) => Tried::Refused,
    }
}

const PATIENCE: Duration = Duration::from_secs(1);

fn address(text: &str) -> io::Result<SocketAddr> {
    text.parse().map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn tcp(text: &str) -> io::Result<TcpStream> {
    TcpStream::connect_timeout(&address(text)?, PATIENCE)
}

fn tcp_self() -> io::Result<TcpStream> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    TcpStream::connect_timeout(&listener.local_addr()?, PATIENCE)
}

fn udp(text: &str) -> io::Result<usize> {
    UdpSocket::bind("0.0.0.0:0")?.send_to(b"x", address(text)?)
}

/// One request, with these headers; a last word that begins with `body:` is its body. An answer that is no yes is an error.
fn http(text: &str, line: &str, rest: &[&str]) -> io::Result<()> {
    let body = rest.split_last().and_then(|(last, rest)| Some((last.strip_prefix("body:")?, rest)));
    let (body, headers) = body.unwrap_or(("", rest));
    let mut request = format!("{line}\r\nConnection: close\r\n");
    for header in headers {
        request.push_str(&format!("{header}\r\n"));
    }
    if !body.is_empty() {
        request.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    let mut stream = tcp(text)?;
    stream.set_read_timeout(Some(PATIENCE * 10))?;
    stream.write_all(format!("{request}\r\n{body}").as_bytes())?;
    let mut answer = [0; 12];
    stream.read_exact(&mut answer)?;
    if answer.starts_with(b"HTTP/1.1 2") { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

/// Asks the kernel for a way to an address. A datagram socket that is only connected sends nothing.
fn route(text: &str) -> io::Result<()> {
    let address = address(text)?;
    let any = if address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    UdpSocket::bind(any)?.connect(address)
}

fn unix_self() -> io::Result<UnixStream> {
    let path = format!("self-{}", std::process::id());
    let _listener = UnixListener::bind(&path)?;
    UnixStream::connect(&path)
}

/// Whether anything is open but the standard streams and the listing itself.
fn further_files() -> bool {
    let names = fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers = names.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter(|number| *number > 2).count() > 1
}

fn memory(mebibytes: usize) -> io::Result<u8> {
    // Written to, as memory that nobody writes to is not taken.
    let mut taken = Vec::new();
    io::repeat(1).take((mebibytes as u64) << 20).read_to_end(&mut taken)?;
    taken.last().copied().ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

fn threads(count: usize) -> io::Result<()> {
    let mut started = Vec::new();
    for _ in 0..count {
        let builder = std::thread::Builder::new().stack_size(64 << 10);
        started.push(builder.spawn(|| std::thread::sleep(PATIENCE))?);
    }
    for thread in started {
        thread.join().map_err(|_| io::ErrorKind::Other)?;
    }
    Ok(())
}

fn processes(count: usize) -> io::Result<()> {
    let mut started = Vec::new();
    let all = (0..count).try_for_each(|_| {
        let child = Command::new("sleep").arg("1").stdin(Stdio::null()).spawn()?;
        started.push(child);
        Ok(())
    });
    for mut child in started {
        child.wait()?;
    }
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use cofferdam_core::attack::{Way, all};
    use cofferdam_native::attempt::CALLS;

    use super::*;

    #[test]
    fn every_call_of_the_list_can_be_made_and_every_one_that_can_is_in_the_list() {
        let listed: BTreeSet<&str> = all()
            .filter_map(|attack| match attack.way {
                Way::Call(name) => Some(name),
                _ => None,
            })
            .collect();
        assert_eq!(listed, CALLS.iter().map(|call| call.name).collect());
    }

    #[test]
    fn what_nothing_forbids_succeeds() {
        for words in [&["tcp-self"][..], &["udp", "127.0.0.1:9"], &["route", "127.0.0.1:9"]] {
            assert_eq!(attempt(words).unwrap(), Tried::Reached, "{words:?}");
        }
        assert_eq!(attempt(&["memory", "8"]).unwrap(), Tried::Reached);
        assert_eq!(attempt(&["memory-file", "8"]).unwrap(), Tried::Reached);
        assert_eq!(attempt(&["threads", "3"]).unwrap(), Tried::Reached);
        assert_eq!(attempt(&["processes", "3"]).unwrap(), Tried::Reached);
        assert_eq!(attempt(&["unix", "/nonexistent/socket"]).unwrap(), Tried::Refused);
    }

    #[test]
    fn an_answer_is_a_yes_or_not() {
        for (status, wanted) in
            [("200", Tried::Reached), ("204", Tried::Reached), ("403", Tried::Refused)]
        {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let at = listener.local_addr().unwrap().to_string();
            let server = std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let mut asked = [0; 512];
                let got = stream.read(&mut asked).unwrap();
                stream.write_all(format!("HTTP/1.1 {status} x\r\n\r\n").as_bytes()).unwrap();
                String::from_utf8_lossy(&asked[..got]).into_owned()
            });
            let words = ["http", &at, "POST / HTTP/1.1", "Host: x", "body:abc"];
            assert_eq!(attempt(&words).unwrap(), wanted);
            let asked = server.join().unwrap();
            assert!(asked.starts_with("POST / HTTP/1.1\r\n") && asked.contains("Host: x\r\n"));
            assert!(asked.contains("Content-Length: 3\r\n\r\nabc"), "{asked}");
        }
    }

    #[test]
    fn what_nobody_knows_is_an_error() {
        for words in [&["call", "getpid"][..], &["fly"], &[], &["memory", "much"]] {
            assert!(attempt(words).is_err(), "{words:?}");
        }
    }
}
