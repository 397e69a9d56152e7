//! Where an engine's socket is, by the same order of precedence as its own client.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::Surroundings;

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// In this order.
    Sockets(Vec<PathBuf>),
    /// Reached by something that is not a socket on this host. Only its kind is kept: the rest may hold
    /// a name and a password.
    Elsewhere { scheme: String, named_by: String },
    /// Somebody chose an address, and it cannot be read. Falling back to another would be wrong.
    Unreadable { what: String },
}

/// `DOCKER_HOST`, then the chosen context, then the usual places.
pub(crate) fn docker(place: &Surroundings) -> Address {
    if let Some(host) = chosen(place.docker_host.as_deref()) {
        return parse(host, "DOCKER_HOST");
    }
    let context = match chosen(place.docker_context.as_deref()) {
        Some(name) => Some(name.to_owned()),
        None => match current_context(&place.docker_config) {
            Ok(name) => name,
            Err(what) => return Address::Unreadable { what },
        },
    };
    match context {
        Some(name) if name != "default" => match context_host(&place.docker_config, &name) {
            Ok(host) => parse(&host, &format!("the Docker context {name}")),
            Err(what) => Address::Unreadable { what },
        },
        _ => {
            let mut paths = vec!["/run/docker.sock".into(), "/var/run/docker.sock".into()];
            paths.extend(place.runtime_dir.as_ref().map(|dir| dir.join("docker.sock")));
            Address::Sockets(paths)
        }
    }
}

/// `CONTAINER_HOST`, then the user's own, then root's.
pub(crate) fn podman(place: &Surroundings) -> Address {
    if let Some(host) = chosen(place.container_host.as_deref()) {
        return parse(host, "CONTAINER_HOST");
    }
    let own = place.runtime_dir.as_ref().map(|dir| dir.join("podman/podman.sock"));
    let mut paths = vec![PathBuf::from("/run/podman/podman.sock")];
    let at = if place.uid == 0 { paths.len() } else { 0 };
    paths.splice(at..at, own);
    Address::Sockets(paths)
}

/// A variable that is set to nothing is not set, as the clients have it.
fn chosen(value: Option<&str>) -> Option<&str> {
    value.filter(|text| !text.is_empty())
}

fn parse(host: &str, named_by: &str) -> Address {
    match host.strip_prefix("unix://") {
        Some(path) if path.starts_with('/') => Address::Sockets(vec![path.into()]),
        Some(_) => Address::Unreadable { what: format!("{named_by} names no absolute path") },
        None => match host.split_once("://") {
            Some((scheme, _)) => {
                Address::Elsewhere { scheme: scheme.to_owned(), named_by: named_by.to_owned() }
            }
            None => {
                Address::Unreadable { what: format!("{named_by} has no kind, such as unix://") }
            }
        },
    }
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
    docker: Option<Endpoint>,
}

#[derive(Deserialize)]
struct Endpoint {
    #[serde(rename = "Host")]
    host: Option<String>,
}

/// Contexts are directories named by a hash of their name; the name stands in the file.
fn context_host(config: &Path, name: &str) -> Result<String, String> {
    let missing = || format!("the Docker context {name} is not there");
    let entries = fs::read_dir(config.join("contexts/meta")).map_err(|_| missing())?;
    for entry in entries.flatten() {
        // One that cannot be read is not the chosen one, as far as anybody can tell.
        let Ok(Some(meta)) = read::<Meta>(&entry.path().join("meta.json")) else { continue };
        if meta.name == name {
            let host = meta.endpoints.docker.and_then(|endpoint| endpoint.host);
            return host.ok_or_else(|| format!("the Docker context {name} names no host"));
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
