//! How an engine is reached: by a socket of this host, by a port of this host, or anywhere by way of `ssh` or in TLS.
//!
//! [`Endpoint`] is text in notes and records: a path is a socket, anything else has its kind in front. The grammar is
//! held here, before any program is started: what could be a flag of `ssh` is no name of a host.

use std::ffi::OsString;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Endpoint {
    Socket(PathBuf),
    /// Of this host: nothing is encrypted.
    Tcp(SocketAddr),
    /// Anywhere.
    Tls(Encrypted),
    Ssh(Destination),
}

/// Who is spoken with in TLS, and by which keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encrypted {
    /// A name or an address.
    pub(crate) host: String,
    pub(crate) port: u16,
    /// A directory: `ca.pem`, `cert.pem`, `key.pem`. Absolute, and text.
    pub(crate) keys: PathBuf,
}

/// Whom `ssh` is told to go to. What is left out is for the user's own settings to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    pub(crate) user: Option<String>,
    pub(crate) host: String,
    pub(crate) port: Option<u16>,
}

/// Why a text names no engine. None of it is repeated: it may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    #[error("has no kind, such as unix://")]
    NoKind,
    #[error("names no absolute path")]
    Relative,
    #[error("names an engine by {scheme}://")]
    Kind { scheme: String },
    #[error("names another host by tcp://, over which nothing would be secret")]
    Plain,
    #[error("asks for TLS without a look at the engine's certificate")]
    Unverified,
    #[error("is to be reached in TLS by keys in a directory that has no name in plain text")]
    Keys,
    #[error("holds no address and port after tcp://")]
    Port,
    #[error("holds no name of a host after ssh://")]
    Host,
    #[error("holds no name of a user before the host")]
    User,
    #[error("holds a password, which ssh does not take")]
    Password,
    #[error("holds more than a user, a host and a port")]
    More,
}

impl Unreachable {
    /// Somebody could mean it, and we do not go there.
    pub(crate) fn is_elsewhere(&self) -> bool {
        matches!(self, Self::Kind { .. } | Self::Plain | Self::Unverified)
    }

    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            Self::Kind { .. } => "use unix:// for an engine on this host, or ssh:// for another",
            Self::Plain => {
                "use ssh://user@host, or TLS: DOCKER_TLS_VERIFY=1, and DOCKER_CERT_PATH for the directory \
                 with ca.pem, cert.pem and key.pem"
            }
            Self::Unverified => {
                "make the context with the authority's certificate (ca=…) and without skip-tls-verify"
            }
            Self::Keys => "give DOCKER_CERT_PATH an absolute path in plain text",
            _ => "correct it, or unset it for the usual socket",
        }
    }
}

/// Docker's, where nothing is encrypted.
const PLAIN_PORT: u16 = 2375;
/// And where it is.
const TLS_PORT: u16 = 2376;
const TLS: &str = "tls://";

impl Endpoint {
    pub(crate) fn parse(text: &str) -> Result<Self, Unreachable> {
        let (scheme, rest) = text.split_once("://").ok_or(Unreachable::NoKind)?;
        match scheme {
            "unix" if rest.starts_with('/') => Ok(Self::Socket(rest.into())),
            "unix" => Err(Unreachable::Relative),
            "tcp" => local(rest.strip_suffix('/').unwrap_or(rest)).map(Self::Tcp),
            "ssh" => destination(rest).map(Self::Ssh),
            _ => Err(Unreachable::Kind { scheme: name_of(scheme) }),
        }
    }

    /// The same where keys are there for it: a port, wherever it is, is one in TLS.
    pub(crate) fn parse_with(text: &str, keys: &Path) -> Result<Self, Unreachable> {
        match text.strip_prefix("tcp://") {
            Some(rest) => encrypted(rest.strip_suffix('/').unwrap_or(rest), keys).map(Self::Tls),
            None => Self::parse(text),
        }
    }

    /// As clients want it.
    pub(crate) fn url(&self) -> String {
        match self {
            Self::Socket(path) => format!("unix://{}", path.display()),
            Self::Tls(Encrypted { host, port, .. }) => format!("tcp://{}:{port}", bracketed(host)),
            Self::Tcp(_) | Self::Ssh(_) => self.to_string(),
        }
    }

    /// What clients read it from.
    pub(crate) fn variables(&self) -> Vec<(&'static str, OsString)> {
        let mut variables = vec![("DOCKER_HOST", self.url().into())];
        if let Self::Tls(Encrypted { keys, .. }) = self {
            variables.push(("DOCKER_TLS_VERIFY", "1".into()));
            variables.push(("DOCKER_CERT_PATH", keys.into()));
        }
        variables
    }

    /// How much longer than on this host a first word may take.
    pub(crate) const fn delay(&self) -> Duration {
        match self {
            Self::Socket(_) | Self::Tcp(_) => Duration::ZERO,
            Self::Tls(_) | Self::Ssh(_) => Duration::from_secs(15),
        }
    }

    /// By whom it is carried, for people.
    pub(crate) const fn way(&self) -> &'static str {
        match self {
            Self::Socket(_) => "",
            Self::Tcp(_) => " (plain TCP: every user of this host may use it)",
            Self::Tls(_) => " (in TLS)",
            Self::Ssh(_) => " (by ssh)",
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(path) => write!(f, "{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp://{address}"),
            // The keys belong to it: whoever cleans up later has only this text.
            Self::Tls(Encrypted { host, port, keys }) => {
                write!(f, "{TLS}{}:{port}{}", bracketed(host), keys.display())
            }
            Self::Ssh(Destination { user, host, port }) => {
                write!(f, "ssh://")?;
                user.iter().try_for_each(|user| write!(f, "{user}@"))?;
                write!(f, "{}", bracketed(host))?;
                port.iter().try_for_each(|port| write!(f, ":{port}"))
            }
        }
    }
}

impl From<Endpoint> for String {
    fn from(endpoint: Endpoint) -> Self {
        endpoint.to_string()
    }
}

impl TryFrom<String> for Endpoint {
    type Error = Unreachable;

    fn try_from(text: String) -> Result<Self, Unreachable> {
        if text.starts_with('/') {
            return Ok(Self::Socket(text.into()));
        }
        let Some(rest) = text.strip_prefix(TLS) else { return Self::parse(&text) };
        let (host, keys) = rest.split_at(rest.find('/').ok_or(Unreachable::Keys)?);
        encrypted(host, Path::new(keys)).map(Self::Tls)
    }
}

/// Only what is sure to stay on this host.
fn local(text: &str) -> Result<SocketAddr, Unreachable> {
    if text.contains(['/', '@', '?', '#']) {
        return Err(Unreachable::More);
    }
    let (host, port) = host_and_port(text, Unreachable::Port)?;
    let port = port.unwrap_or(PLAIN_PORT);
    match (host, host.parse::<IpAddr>()) {
        ("localhost", _) => Ok((Ipv4Addr::LOCALHOST, port).into()),
        ("", _) => Err(Unreachable::Port),
        (_, Ok(address)) if address.is_loopback() => Ok((address, port).into()),
        _ => Err(Unreachable::Plain),
    }
}

fn encrypted(text: &str, keys: &Path) -> Result<Encrypted, Unreachable> {
    if text.contains(['/', '@', '?', '#']) {
        return Err(Unreachable::More);
    }
    let (host, port) = host_and_port(text, Unreachable::Port)?;
    if !is_host(text, host) {
        return Err(Unreachable::Port);
    }
    if !keys.is_absolute() || keys.to_str().is_none() {
        return Err(Unreachable::Keys);
    }
    let port = port.unwrap_or(TLS_PORT);
    Ok(Encrypted { host: host.to_owned(), port, keys: keys.to_owned() })
}

/// A name, or an address, which has brackets in `text` if it has colons.
fn is_host(text: &str, host: &str) -> bool {
    let is_address = text.starts_with('[') && host.parse::<std::net::Ipv6Addr>().is_ok();
    is_address || is_name(host, "._-")
}

/// A colon in it would be taken for that of a port.
fn bracketed(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

fn destination(text: &str) -> Result<Destination, Unreachable> {
    let text = text.strip_suffix('/').unwrap_or(text);
    if text.contains(['/', '?', '#']) {
        return Err(Unreachable::More);
    }
    let (user, rest) = match text.rsplit_once('@') {
        Some((user, _)) if user.contains(':') => return Err(Unreachable::Password),
        Some((user, _)) if !is_name(user, "._-") => return Err(Unreachable::User),
        Some((user, rest)) => (Some(user.to_owned()), rest),
        None => (None, text),
    };
    let (host, port) = host_and_port(rest, Unreachable::Host)?;
    if !is_host(rest, host) {
        return Err(Unreachable::Host);
    }
    Ok(Destination { user, host: host.to_owned(), port })
}

/// `host`, `host:port`, `[address]:port`.
fn host_and_port(text: &str, odd: Unreachable) -> Result<(&str, Option<u16>), Unreachable> {
    let (host, rest) = match text.strip_prefix('[') {
        Some(inner) => inner.split_once(']').ok_or_else(|| odd.clone())?,
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    match rest.strip_prefix(':') {
        None if rest.is_empty() => Ok((host, None)),
        Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            let port = port.parse().ok().filter(|port| *port > 0);
            port.map(|port| (host, Some(port))).ok_or(odd)
        }
        _ => Err(odd),
    }
}

/// Letters, digits and these signs, and no flag.
fn is_name(text: &str, signs: &str) -> bool {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || signs.contains(sign);
    (1..=255).contains(&text.len()) && text.chars().all(is_sign) && !text.starts_with('-')
}

/// A kind is a word; what is no word is somebody's mistake and not shown.
fn name_of(scheme: &str) -> String {
    let shown = scheme.len() <= 12 && is_name(scheme, "+");
    if shown { scheme.to_owned() } else { "…".to_owned() }
}

#[cfg(test)]
mod tests;
