//! Where an engine is, by the same order of precedence as its own client.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use cofferdam_core::caps::Lack;

use super::Surroundings;
use super::endpoint::{Endpoint, Unreachable};

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// In this order.
    At(Vec<Endpoint>),
    /// Somebody chose one that we do not go to.
    Elsewhere(Lack),
    /// Somebody chose one that cannot be read. Falling back to another would be wrong.
    Unreadable(Lack),
}

/// `DOCKER_HOST`, then the chosen context, then the usual places.
pub(crate) fn docker(place: &Surroundings) -> Address {
    let keys = || place.docker_certs.as_ref().unwrap_or(&place.docker_config).clone();
    let tls = chosen(place.docker_tls.as_deref()).map_or(Tls::Unasked, |_| Tls::Asked(keys()));
    if let Some(host) = chosen(place.docker_host.as_deref()) {
        return parse(host, tls, "DOCKER_HOST");
    }
    let context = match chosen(place.docker_context.as_deref()) {
        Some(name) => Some(name.to_owned()),
        None => match current_context(&place.docker_config) {
            Ok(name) => name,
            Err(what) => return unreadable(what),
        },
    };
    match context {
        Some(name) if name != "default" => match context_host(&place.docker_config, &name) {
            Ok((host, tls)) => parse(&host, tls, &format!("the Docker context {name}")),
            Err(what) => unreadable(what),
        },
        _ => {
            let mut paths = vec!["/run/docker.sock".into(), "/var/run/docker.sock".into()];
            paths.extend(place.runtime_dir.as_ref().map(|dir| dir.join("docker.sock")));
            sockets(paths)
        }
    }
}

/// `CONTAINER_HOST`, then the user's own, then root's.
pub(crate) fn podman(place: &Surroundings) -> Address {
    if let Some(host) = chosen(place.container_host.as_deref()) {
        return match parse(host, Tls::Unasked, "CONTAINER_HOST") {
            Address::At(endpoints) if !endpoints.iter().all(is_socket) => {
                Address::Elsewhere(Lack {
                    reason: "CONTAINER_HOST names no socket of this host".to_owned(),
                    remedy: "use Podman by its unix:// socket, or a Docker engine by ssh://"
                        .to_owned(),
                })
            }
            address => address,
        };
    }
    let own = place.runtime_dir.as_ref().map(|dir| dir.join("podman/podman.sock"));
    let mut paths = vec![PathBuf::from("/run/podman/podman.sock")];
    let at = if place.uid == 0 { paths.len() } else { 0 };
    paths.splice(at..at, own);
    sockets(paths)
}

fn is_socket(endpoint: &Endpoint) -> bool {
    matches!(endpoint, Endpoint::Socket(_))
}

fn sockets(paths: Vec<PathBuf>) -> Address {
    Address::At(paths.into_iter().map(Endpoint::Socket).collect())
}

fn unreadable(reason: String) -> Address {
    let remedy = "correct it, or unset it for the usual socket".to_owned();
    Address::Unreadable(Lack { reason, remedy })
}

/// A variable that is set to nothing is not set, as the clients have it.
fn chosen(value: Option<&str>) -> Option<&str> {
    value.filter(|text| !text.is_empty())
}

/// Whether a port is to be spoken with in TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Tls {
    /// By the keys in this directory.
    Asked(PathBuf),
    /// With whomever.
    Unverified,
    Unasked,
}

fn parse(host: &str, tls: Tls, named_by: &str) -> Address {
    let parsed = match &tls {
        Tls::Asked(keys) => Endpoint::parse_with(host, keys),
        Tls::Unverified if host.starts_with("tcp://") => Err(Unreachable::Unverified),
        Tls::Unverified | Tls::Unasked => Endpoint::parse(host),
    };
    let refused = match parsed {
        Ok(endpoint) => return Address::At(vec![endpoint]),
        Err(refused) => refused,
    };
    let remedy = refused.remedy().to_owned();
    let lack = Lack { reason: format!("{named_by} {refused}"), remedy };
    if refused.is_elsewhere() { Address::Elsewhere(lack) } else { Address::Unreadable(lack) }
}

#[derive(Deserialize)]
struct Config {
    #[serde(rename = "currentContext")]
    current_context: Option<String>,
}

fn current_context(config: &Path) -> Result<Option<String>, String> {
    match read::<Config>(&config.join("config.json"))? {
        Some(config) => Ok(config.current_context.filter(|name| !name.is_empty())),
        None => Ok(None),
    }
}

#[derive(Deserialize)]
struct Meta {
    #[serde(rename = "Name")]
    name: String,
    #[serde(rename = "Endpoints", default)]
    endpoints: Endpoints,
}

#[derive(Default, Deserialize)]
struct Endpoints {
    docker: Option<Named>,
}

#[derive(Deserialize)]
struct Named {
    #[serde(rename = "Host")]
    host: Option<String>,
    #[serde(rename = "SkipTLSVerify", default)]
    skip_verify: bool,
}

/// Contexts are directories named by a hash of their name; the name stands in the file. What TLS needs is in a
/// directory of the same name elsewhere.
fn context_host(config: &Path, name: &str) -> Result<(String, Tls), String> {
    let missing = || format!("the Docker context {name} is not there");
    let entries = fs::read_dir(config.join("contexts/meta")).map_err(|_| missing())?;
    for entry in entries.flatten() {
        // One that cannot be read is not the chosen one, as far as anybody can tell.
        let Ok(Some(meta)) = read::<Meta>(&entry.path().join("meta.json")) else { continue };
        if meta.name == name {
            let named = meta.endpoints.docker;
            let skips = named.as_ref().is_some_and(|endpoint| endpoint.skip_verify);
            let host = named.and_then(|endpoint| endpoint.host);
            let host = host.ok_or_else(|| format!("the Docker context {name} names no host"))?;
            let keys = config.join("contexts/tls").join(entry.file_name()).join("docker");
            let tls = match (skips, keys.is_dir()) {
                (true, _) => Tls::Unverified,
                (false, true) => Tls::Asked(keys),
                (false, false) => Tls::Unasked,
            };
            return Ok((host, tls));
        }
    }
    Err(missing())
}

/// A JSON file of a sane size; `None` where it is not there.
fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<Option<T>, String> {
    const MOST: u64 = 1 << 20;
    let said = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    match fs::metadata(path) {
        // Opening a FIFO would wait for somebody to write to it.
        Ok(meta) if !meta.is_file() => return Err(said(&"not a file")),
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(said(&error)),
    }
    let mut text = Vec::new();
    let file = fs::File::open(path).map_err(|error| said(&error))?;
    file.take(MOST).read_to_end(&mut text).map_err(|error| said(&error))?;
    serde_json::from_slice(&text).map(Some).map_err(|error| said(&error))
}

#[cfg(test)]
mod tests;
