//! A container engine as something to be asked: Docker's or Podman's, over its socket, by way of `ssh`, or in TLS.
//!
//! - [`Surroundings`]: what says where it is; `address` reads it as the engine's own client would.
//! - [`Endpoint`]: one such place; `stream`: a connection to it.
//! - [`Engine`]: one that answered. Every question has a bound; none waits for ever.
//! - `ask`: who is it that listens there; `http`: how one speaks; `frames`: two streams on one connection;
//!   `build`: one is made; `pull`: one is fetched, with the `login` that the user has.
//!
//! Deliberately absent: an async runtime, and keys. Encryption is for a process beside this one.

pub(crate) mod address;
mod archive;
pub(crate) mod ask;
pub(crate) mod build;
mod endpoint;
mod error;
mod frames;
pub(crate) mod http;
mod login;
mod pull;
mod stream;
mod trace;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cofferdam_core::backend::Backend;
use cofferdam_core::caps::Lack;
use cofferdam_core::machine::Machine;
use cofferdam_native::connect;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use address::Address;
use ask::{Reached, Version};
pub use endpoint::Endpoint;
pub(crate) use error::EngineError;
pub(crate) use frames::Frames;
use http::{Body, Pending, Request, Response, Upgraded};
pub use pull::Progress;
pub use stream::LINE;
pub(crate) use stream::Stream;

/// What the environment and the account say about engines. The library reads neither, so the caller brings it.
#[derive(Debug, Clone)]
pub struct Surroundings {
    pub uid: u32,
    /// This very program, which is the first process of a container without an image of its own.
    pub program: PathBuf,
    /// `XDG_RUNTIME_DIR`, where rootless engines have their sockets.
    pub runtime_dir: Option<PathBuf>,
    /// `DOCKER_HOST`
    pub docker_host: Option<String>,
    /// `DOCKER_CONTEXT`
    pub docker_context: Option<String>,
    /// `DOCKER_TLS_VERIFY`, or `DOCKER_TLS`: set to anything, a port is spoken with in TLS.
    pub docker_tls: Option<String>,
    /// `DOCKER_CERT_PATH`, where the keys for that are; else they are beside the configuration.
    pub docker_certs: Option<PathBuf>,
    /// `DOCKER_CONFIG`, or `~/.docker`.
    pub docker_config: PathBuf,
    /// `CONTAINER_HOST`, which is Podman's.
    pub container_host: Option<String>,
}

/// An engine that answered once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Engine {
    /// Where it is. In notes it has the name that it had when there were only sockets.
    #[serde(rename = "socket")]
    pub(crate) at: Endpoint,
    /// Which dialect of the same language it speaks, whoever's address it was found under.
    pub(crate) flavor: Flavor,
    /// The version of the interface that is spoken with it.
    api: String,
    /// How many processors its host has, once it was asked.
    pub(crate) processors: Option<u64>,
    /// What starts its containers where nothing else is asked for; empty where it did not say.
    #[serde(default)]
    pub(crate) default_runtime: String,
    #[serde(default)]
    pub(crate) rights: Rights,
    #[serde(default)]
    pub(crate) sight: Sight,
    /// By what names it knows this host's files, where it has some of them and calls them otherwise.
    #[serde(default)]
    pub(crate) machine: Option<Machine>,
}

/// Whether an engine sees the files of this host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sight {
    #[default]
    Same,
    /// It is in a machine of its own, wherever that is, or without root, where our files are a stranger's.
    Other,
}

/// Whose rights an engine has on its host.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Rights {
    #[default]
    Roots,
    /// Podman's without root: the user's own, in a user namespace.
    Users,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Flavor {
    Docker,
    Podman,
}

/// How long a question may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// To find out whether anybody is there, on the way of every start.
    Greeting,
    /// A look at something, or a signal.
    Short,
    /// Something is made, started or removed.
    Long,
}

impl Patience {
    const fn span(self) -> Duration {
        match self {
            Self::Greeting => Duration::from_secs(2),
            Self::Short => Duration::from_secs(10),
            Self::Long => Duration::from_secs(60),
        }
    }
}

/// Most that is read of one answer.
const MOST: usize = 16 << 20;
/// Nothing older than this is spoken with, nor anything newer asked for.
pub(crate) const OLDEST_API: (u32, u32) = (1, 41);
const NEWEST_API: (u32, u32) = (1, 47);

/// Whether containers of a runtime are known to have the host's own kernel.
pub(crate) fn has_hosts_kernel(runtime: &str) -> bool {
    const KNOWN: [&str; 4] = ["runc", "crun", "youki", "io.containerd.runc.v2"];
    let name = Path::new(runtime).file_name();
    name.is_some_and(|name| KNOWN.iter().any(|known| name == *known))
}

impl Engine {
    /// Whether a container that is started by this runtime, or else by the engine's own, has the host's kernel. Of one
    /// that nobody here knows it is not assumed.
    pub(crate) fn shares_kernel(&self, runtime: Option<&str>) -> bool {
        has_hosts_kernel(runtime.unwrap_or(&self.default_runtime))
    }

    /// The first engine that answers where this backend's is looked for. A place without a socket costs
    /// one look at the disk.
    pub(crate) fn find(backend: Backend, around: &Surroundings) -> Result<Self, Lack> {
        let address = match backend {
            Backend::Podman => address::podman(around),
            _ => address::docker(around),
        };
        let endpoints = match address {
            Address::At(endpoints) => endpoints,
            Address::Elsewhere(lack) | Address::Unreadable(lack) => return Err(lack),
        };
        let mut first = None;
        for endpoint in endpoints {
            match ask::greet(&endpoint, Patience::Greeting.span()) {
                Reached::Engine(version) => return Self::agree(endpoint, &version),
                Reached::Missing => {}
                trouble => {
                    first.get_or_insert((endpoint, trouble));
                }
            }
        }
        Err(unreached(backend, first))
    }

    /// Where it is.
    pub fn endpoint(&self) -> &Endpoint {
        &self.at
    }

    fn agree(at: Endpoint, version: &Version) -> Result<Self, Lack> {
        let said = format!("{at} speaks API {}", version.api);
        let Some(api) = version.api_numbers() else {
            return Err(lack(format!("{said}, which is no version"), "check what listens there"));
        };
        if api < OLDEST_API {
            let (major, minor) = OLDEST_API;
            let reason = format!("{said}, which is older than {major}.{minor}");
            return Err(lack(reason, "update the engine: Docker 20.10 and Podman 4 will do"));
        }
        let (major, minor) = api.min(NEWEST_API);
        let podman = version.name.as_deref().is_some_and(|name| name.contains("Podman"));
        let flavor = if podman { Flavor::Podman } else { Flavor::Docker };
        Ok(Self {
            at,
            flavor,
            api: format!("{major}.{minor}"),
            processors: None,
            default_runtime: String::new(),
            rights: Rights::Roots,
            sight: Sight::Same,
            machine: None,
        })
    }

    /// Whether it is the host's root that listens there, by the kernel's word.
    pub(crate) fn is_roots(&self) -> bool {
        matches!(self.at, Endpoint::Socket(_))
            && Stream::open(&self.at, Patience::Short.span())
                .and_then(|stream| connect::is_roots(&*stream))
                .unwrap_or(false)
    }

    pub(crate) fn get<T: DeserializeOwned>(
        &self,
        target: &str,
        patience: Patience,
    ) -> Result<T, EngineError> {
        self.ask(&Request::get(&self.full(target)), patience)
    }

    pub(crate) fn post<T: DeserializeOwned>(
        &self,
        target: &str,
        body: &impl Serialize,
        patience: Patience,
    ) -> Result<T, EngineError> {
        let call = || format!("POST {target}");
        let body = serde_json::to_vec(body)
            .map_err(|source| EngineError::Unreadable { call: call(), source })?;
        self.ask(&Request::post(&self.full(target), Body::Json(&body)), patience)
    }

    /// Tells it to do something; what it answers, but for a refusal, does not matter.
    pub(crate) fn tell(&self, target: &str, patience: Patience) -> Result<(), EngineError> {
        self.said(&Request::post(&self.full(target), Body::None), patience).map(|_| ())
    }

    pub(crate) fn send_tar(&self, target: &str, tar: &[u8]) -> Result<Response, EngineError> {
        self.said(&Request::post(&self.full(target), Body::Tar(tar)), Patience::Long)
    }

    pub(crate) fn delete(&self, target: &str) -> Result<(), EngineError> {
        self.said(&Request::delete(&self.full(target)), Patience::Long).map(|_| ())
    }

    /// A connection to a container's streams.
    pub(crate) fn attach(&self, target: &str) -> Result<Upgraded, EngineError> {
        let deadline = self.deadline(Patience::Short);
        let call = format!("POST {target}");
        let stream = self.connect(&call, Patience::Short)?;
        match http::upgrade(stream, &self.full(target), MOST, deadline) {
            Ok(Ok(upgraded)) => Ok(upgraded),
            Ok(Err(response)) => Err(EngineError::said(call, &response)),
            Err(trouble) => Err(EngineError::trouble(call, trouble)),
        }
    }

    /// A question that is answered later.
    pub(crate) fn await_answer(&self, target: &str) -> Result<Pending, EngineError> {
        let call = format!("POST {target}");
        let stream = self.connect(&call, Patience::Short)?;
        let full = self.full(target);
        Pending::ask(stream, &Request::post(&full, Body::None), self.deadline(Patience::Short))
            .map_err(|trouble| EngineError::trouble(call, trouble))
    }

    /// Waits until such a question has come to the engine.
    pub(crate) fn is_heard(&self, question: &mut Pending) -> Result<(), EngineError> {
        let heard = question.heard(self.deadline(Patience::Short));
        heard.map_err(|trouble| EngineError::trouble("the wait for the end".to_owned(), trouble))
    }

    fn full(&self, target: &str) -> String {
        format!("/v{}{target}", self.api)
    }

    fn ask<T: DeserializeOwned>(
        &self,
        request: &Request<'_>,
        patience: Patience,
    ) -> Result<T, EngineError> {
        let response = self.said(request, patience)?;
        let call = format!("{} {}", request.method, request.target);
        serde_json::from_slice(&response.body)
            .map_err(|source| EngineError::Unreadable { call, source })
    }

    fn said(&self, request: &Request<'_>, patience: Patience) -> Result<Response, EngineError> {
        let call = format!("{} {}", request.method, request.target);
        let stream = self.connect(&call, patience)?;
        let response = http::exchange(stream, request, MOST, self.deadline(patience))
            .map_err(|trouble| EngineError::trouble(call.clone(), trouble))?;
        match response.status {
            200..=299 | 304 => Ok(response),
            _ => Err(EngineError::said(call, &response)),
        }
    }

    fn connect(&self, call: &str, patience: Patience) -> Result<Stream, EngineError> {
        Stream::open(&self.at, patience.span()).map_err(|source| EngineError::Unreached {
            call: call.to_owned(),
            at: self.at.clone(),
            source,
        })
    }

    fn deadline(&self, patience: Patience) -> Instant {
        Instant::now() + patience.span() + self.at.delay()
    }
}

fn lack(reason: impl Into<String>, remedy: impl Into<String>) -> Lack {
    Lack { reason: reason.into(), remedy: remedy.into() }
}

fn unreached(backend: Backend, found: Option<(Endpoint, Reached)>) -> Lack {
    let program = if backend == Backend::Podman { "Podman" } else { "Docker" };
    let start = if backend == Backend::Podman {
        "sudo systemctl enable --now podman.socket"
    } else {
        "sudo systemctl start docker"
    };
    let Some((at, trouble)) = found else {
        return lack(format!("no socket of {program}"), format!("install {program}; or {start}"));
    };
    let said = |what: &str| format!("{at}: {what}");
    if let Some(remedy) = by_hand(&at) {
        return lack(said(&trouble.in_words(&at)), remedy);
    }
    match trouble {
        Reached::Denied => lack(
            said("permission denied"),
            "sudo usermod -aG docker $USER and log in anew (that group is as good as root)",
        ),
        Reached::Hung => lack(
            said("no answer within 2 s"),
            format!("look at the engine's log and restart it ({start})"),
        ),
        Reached::Stranger(_) => lack(said("not an engine's answer"), "find out what listens there"),
        trouble => lack(said(&trouble.in_words(&at)), start),
    }
}

/// What to try where somebody else carries the words: the same, with nothing between.
pub(crate) fn by_hand(at: &Endpoint) -> Option<String> {
    let to = match at {
        Endpoint::Socket(_) | Endpoint::Tcp(_) => return None,
        Endpoint::Tls(to) => {
            let keys = to.keys.display();
            let url = at.url();
            return Some(format!(
                "see that `docker -H {url} --tlsverify --tlscacert {keys}/ca.pem --tlscert {keys}/cert.pem \
                 --tlskey {keys}/key.pem version` works"
            ));
        }
        Endpoint::Ssh(to) => to,
    };
    let user = to.user.iter().map(|user| format!("-l {user} "));
    let port = to.port.iter().map(|port| format!("-p {port} "));
    let flags: String = user.chain(port).collect();
    let host = &to.host;
    Some(format!("see that `ssh {flags}{host} docker version` works and asks for nothing"))
}

/// Text as part of a query.
pub(crate) fn encoded(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            // Writing into a string cannot fail.
            write!(out, "%{byte:02X}").ok();
        }
    }
    out
}

/// A query for what carries a label.
pub(crate) fn labelled(label: &str) -> String {
    encoded(&serde_json::json!({ "label": [label] }).to_string())
}

/// What an answer has at a path of names; null where it has nothing.
pub(crate) fn at<'a>(value: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(value, |value, name| value.get(*name).unwrap_or(&Value::Null))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_holds_no_sign_of_its_own() {
        assert_eq!(encoded("a b&c=d/é"), "a%20b%26c%3Dd%2F%C3%A9");
        assert!(labelled("cofferdam.run=x").starts_with("%7B%22label%22%3A%5B%22cofferdam.run"));
    }

    #[test]
    fn the_interface_is_one_that_both_know() {
        let version = |api: &str, name: &str| Version {
            name: Some(name.to_owned()),
            engine: "1".to_owned(),
            api: api.to_owned(),
        };
        let agree = |api, name| Engine::agree(Endpoint::Socket("/s".into()), &version(api, name));
        assert_eq!(agree("1.41", "Engine").unwrap().api, "1.41");
        assert_eq!(agree("1.52", "Engine").unwrap().api, "1.47");
        assert_eq!(agree("1.41", "Podman Engine").unwrap().flavor, Flavor::Podman);
        assert!(agree("1.40", "Engine").unwrap_err().reason.contains("older"));
        assert!(agree("x", "Engine").is_err());
    }
}
