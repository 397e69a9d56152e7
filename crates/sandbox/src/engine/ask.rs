//! Asks whatever is reached whether it is an engine, and which.

use std::io;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::Patience;
use super::endpoint::Endpoint;
use super::http::{self, Request, Response, Trouble};
use super::stream::Stream;

/// Most that is read of an answer. An engine's own is a few hundred bytes.
const SMALL: usize = 64 * 1024;

/// How far we got.
#[derive(Debug)]
pub(crate) enum Reached {
    Missing,
    Denied,
    /// Nobody listens.
    Refused,
    Failed(io::Error),
    /// Connected or queued, and left without an answer.
    Hung,
    /// It spoke, and not as an engine does.
    Stranger(String),
    Engine(Version),
}

impl Reached {
    /// For people; what somebody else said stands in it as it was.
    pub(crate) fn in_words(&self, at: &Endpoint) -> String {
        match self {
            Self::Missing => "not there".to_owned(),
            Self::Denied => "permission denied".to_owned(),
            Self::Refused => "nobody listens".to_owned(),
            Self::Failed(error) => error.to_string(),
            Self::Hung => {
                format!("no answer within {} s", (Patience::Greeting.span() + at.delay()).as_secs())
            }
            Self::Stranger(said) => format!("not an engine's answer: {said}"),
            Self::Engine(version) => format!("API {}", version.api),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Version {
    /// What it calls itself, where it says so.
    pub(crate) name: Option<String>,
    pub(crate) engine: String,
    pub(crate) api: String,
}

impl Version {
    /// `1.41` → (1, 41)
    pub(crate) fn api_numbers(&self) -> Option<(u32, u32)> {
        let (major, minor) = self.api.split_once('.')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    }
}

/// `patience` is for the first word. One that spoke is there, and gets longer for the next: Podman starts programs
/// to find out its own version.
pub(crate) fn ask(at: &Endpoint, patience: Duration) -> Reached {
    match converse(at, patience) {
        Ok(version) => Reached::Engine(version),
        Err(reached) => reached,
    }
}

/// The same for somebody in a hurry: an engine that introduces itself when greeted is not asked for its version,
/// for which it would start programs.
pub(crate) fn greet(at: &Endpoint, patience: Duration) -> Reached {
    match ping(at, patience) {
        Ok(answer) => introduced(&answer).map_or_else(|| ask(at, patience), Reached::Engine),
        Err(reached) => reached,
    }
}

fn ping(at: &Endpoint, patience: Duration) -> Result<Vec<u8>, Reached> {
    let (ping, whole) = get(at, "/_ping", Instant::now() + patience + at.delay())?;
    match ping.status {
        200 => Ok(whole),
        status => Err(Reached::Stranger(format!("status {status} to a ping"))),
    }
}

/// Who it is, by the head of its answer to a ping.
fn introduced(answer: &[u8]) -> Option<Version> {
    let (kind, version) = http::field(answer, "Server")?.split_once('/')?;
    let name = match kind {
        "Docker" => "Engine",
        "Libpod" => "Podman Engine",
        _ => return None,
    };
    let engine = version.split(' ').next()?.to_owned();
    let api = http::field(answer, "Api-Version")?.to_owned();
    Some(Version { name: Some(name.to_owned()), engine: short(engine), api: short(api) })
}

fn converse(at: &Endpoint, patience: Duration) -> Result<Version, Reached> {
    ping(at, patience)?;
    let (answer, _) = get(at, "/version", Instant::now() + 5 * patience + at.delay())?;
    version(&answer).map_err(Reached::Stranger)
}

fn get(at: &Endpoint, target: &str, deadline: Instant) -> Result<(Response, Vec<u8>), Reached> {
    let left = deadline.saturating_duration_since(Instant::now());
    // No time is no bound to the kernel: it would wait for ever.
    if left.is_zero() {
        return Err(Reached::Hung);
    }
    let stream = Stream::open(at, left).map_err(unreached)?;
    http::exchange_whole(stream, &Request::get(target), SMALL, deadline).map_err(|trouble| {
        match trouble {
            Trouble::Hung => Reached::Hung,
            Trouble::TooLong => Reached::Stranger("an answer without end".to_owned()),
            Trouble::Garbled(seen) if seen.is_empty() => {
                Reached::Stranger("closed without an answer".to_owned())
            }
            Trouble::Garbled(seen) => {
                Reached::Stranger(String::from_utf8_lossy(&seen).into_owned())
            }
            Trouble::Carried(why) => Reached::Failed(io::Error::other(why)),
            Trouble::Io(error) => Reached::Failed(error),
        }
    })
}

/// Why there is no connection.
fn unreached(error: io::Error) -> Reached {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Reached::Missing,
        io::ErrorKind::PermissionDenied => Reached::Denied,
        io::ErrorKind::ConnectionRefused => Reached::Refused,
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Reached::Hung,
        _ => Reached::Failed(error),
    }
}

#[derive(Deserialize)]
struct Said {
    #[serde(rename = "Version")]
    version: String,
    #[serde(rename = "ApiVersion")]
    api: String,
    #[serde(rename = "Components", default)]
    components: Vec<Component>,
}

#[derive(Deserialize)]
struct Component {
    #[serde(rename = "Name")]
    name: String,
}

fn version(answer: &Response) -> Result<Version, String> {
    if answer.status != 200 {
        return Err(format!("status {} when asked for its version", answer.status));
    }
    let said: Said = serde_json::from_slice(&answer.body)
        .map_err(|error| format!("a version that cannot be read: {error}"))?;
    let name = said.components.into_iter().next().map(|component| short(component.name));
    Ok(Version { name, engine: short(said.version), api: short(said.api) })
}

/// A version is a few characters; more than that is somebody else's essay.
fn short(text: String) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_introduces_itself_is_known_by_that() {
        let said = |server: &str| {
            let head =
                format!("HTTP/1.1 200 OK\r\nApi-Version: 1.41\r\nserver: {server}\r\n\r\nOK");
            introduced(head.as_bytes()).map(|version| (version.name.unwrap(), version.engine))
        };
        let known = |name: &str, engine: &str| Some((name.to_owned(), engine.to_owned()));
        assert_eq!(said("Docker/20.10.24 (linux)"), known("Engine", "20.10.24"));
        assert_eq!(said("Libpod/4.3.1 (linux)"), known("Podman Engine", "4.3.1"));
        assert_eq!(said("nginx/1.2"), None);
        assert_eq!(introduced(b"HTTP/1.1 200 OK\r\nServer: Docker/1\r\n\r\n"), None);
    }

    fn answer(status: u16, body: &str) -> Response {
        Response { status, body: body.into() }
    }

    #[test]
    fn errors_of_connect_by_what_can_be_done_about_them() {
        use rustix::io::Errno;
        let of = |errno: Errno| unreached(errno.into());
        assert!(matches!(of(Errno::NOENT), Reached::Missing));
        assert!(matches!(of(Errno::NOTDIR), Reached::Missing));
        assert!(matches!(of(Errno::ACCESS), Reached::Denied));
        assert!(matches!(of(Errno::PERM), Reached::Denied));
        assert!(matches!(of(Errno::CONNREFUSED), Reached::Refused));
        assert!(matches!(of(Errno::AGAIN), Reached::Hung));
        assert!(matches!(of(Errno::PROTOTYPE), Reached::Failed(_)));
    }

    #[test]
    fn versions_of_both_engines() {
        let docker = r#"{"Components":[{"Name":"Engine","Version":"20.10.24"}],
            "Version":"20.10.24","ApiVersion":"1.41","MinAPIVersion":"1.12"}"#;
        let found = version(&answer(200, docker)).unwrap();
        assert_eq!((found.engine.as_str(), found.api.as_str()), ("20.10.24", "1.41"));
        assert_eq!(found.name.as_deref(), Some("Engine"));
        let bare = version(&answer(200, r#"{"Version":"4.3.1","ApiVersion":"1.41"}"#)).unwrap();
        assert_eq!(bare.name, None);
    }

    #[test]
    fn anything_else_is_a_stranger() {
        for (status, body) in [(404, "{}"), (200, "{}"), (200, "OK"), (200, r#"{"Version":1}"#)] {
            assert!(version(&answer(status, body)).is_err(), "{status} {body}");
        }
        let long = format!(r#"{{"Version":"{}","ApiVersion":"1.41"}}"#, "é".repeat(5000));
        assert_eq!(version(&answer(200, &long)).unwrap().engine.chars().count(), 41);
    }
}
