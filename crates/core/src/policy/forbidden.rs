//! Host paths that are never given to a sandbox, whatever the allowed paths say.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::weaken::{Weakness, weakened};

/// Where the host keeps what must stay out of reach; depends on the user. A place may have several names,
/// as when a home is reached through a link: all of them are listed.
#[derive(Debug, Clone, Default)]
pub struct Places {
    pub homes: Vec<PathBuf>,
    /// Our own run store and audit log.
    pub state: Vec<PathBuf>,
    /// Our own configuration.
    pub config: Vec<PathBuf>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forbidden {
    entries: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    path: PathBuf,
    reach: Reach,
    why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Reach {
    /// The path, all inside it, and all that holds it.
    Whole,
    /// The path itself and all that holds it; what lies inside is judged on its own.
    Itself,
}

/// System trees and sockets, the same on every host.
const SYSTEM: &[(&str, &str)] = &[
    ("/proc", "it shows the host's processes"),
    ("/sys", "it is the host's kernel"),
    ("/dev", "it holds the host's devices"),
    ("/etc", "it holds the host's accounts and keys"),
    ("/boot", "it holds the host's kernel"),
    ("/run", "it holds the host's sockets, container engines' among them"),
    ("/var/run", "it holds the host's sockets, container engines' among them"),
    ("/var/lib/docker", "it belongs to the container engine"),
    ("/var/lib/containers", "it belongs to the container engine"),
    ("/var/lib/containerd", "it belongs to the container engine"),
    ("/var/spool/cron", "what stands there is executed by the host"),
];

/// Below the home directory: keys, tokens, and what the host executes at login.
const IN_HOME: &[(&str, &str)] = &[
    (".ssh", "it holds credentials"),
    (".gnupg", "it holds credentials"),
    (".aws", "it holds credentials"),
    (".azure", "it holds credentials"),
    (".kube", "it holds credentials"),
    (".docker", "it holds credentials and engine sockets"),
    (".netrc", "it holds credentials"),
    (".git-credentials", "it holds credentials"),
    (".pypirc", "it holds credentials"),
    (".npmrc", "it holds credentials"),
    (".vault-token", "it holds credentials"),
    (".password-store", "it holds credentials"),
    (".config/gh", "it holds credentials"),
    (".config/gcloud", "it holds credentials"),
    (".config/op", "it holds credentials"),
    (".config/git", "git executes what stands there"),
    (".config/systemd", "the host executes what stands there"),
    (".config/autostart", "the host executes what stands there"),
    (".cargo/credentials", "it holds credentials"),
    (".cargo/credentials.toml", "it holds credentials"),
    (".local/share/keyrings", "it holds credentials"),
    (".mozilla", "it holds browser sessions"),
    (".gitconfig", "git executes what stands there"),
    (".bashrc", "the shell executes it"),
    (".zshrc", "the shell executes it"),
    (".profile", "the shell executes it"),
];

impl Forbidden {
    pub fn new(places: &Places) -> Self {
        let entry =
            |path: &Path, reach, why: &str| Entry { path: plain(path), reach, why: why.to_owned() };
        let system = SYSTEM.iter().map(|(path, why)| entry(Path::new(path), Reach::Whole, why));
        let each = |paths: &[PathBuf], reach, why: &str| -> Vec<Entry> {
            paths.iter().map(|path| entry(path, reach, why)).collect()
        };
        let in_home = places.homes.iter().flat_map(|home| {
            IN_HOME.iter().map(|(name, why)| entry(&home.join(name), Reach::Whole, why))
        });
        let mut own = vec![entry(Path::new("/"), Reach::Itself, "it is the whole host")];
        own.extend(each(&places.homes, Reach::Itself, "it is the home directory"));
        own.extend(each(&places.state, Reach::Whole, "it is Cofferdam's own record"));
        own.extend(each(&places.config, Reach::Whole, "it is Cofferdam's own configuration"));
        Self { entries: own.into_iter().chain(system).chain(in_home).collect() }
    }

    /// Why this path may not be given away, if it may not.
    pub fn reason(&self, path: &Path) -> Option<String> {
        if weakened(Weakness::ForbiddenMounts) {
            return None;
        }
        let path = &plain(path);
        let hit = self.entries.iter().find(|entry| match entry.reach {
            Reach::Whole => holds(path, &entry.path) || holds(&entry.path, path),
            Reach::Itself => holds(path, &entry.path),
        })?;
        Some(if hit.path == *path {
            hit.why.clone()
        } else if path.starts_with(&hit.path) {
            format!("it is part of {}, and {}", hit.path.display(), hit.why)
        } else {
            format!("it holds {}, and {}", hit.path.display(), hit.why)
        })
    }
}

/// A path as its names alone, so that paths can be compared as text: every start of a run compares some
/// thousand of them, and taking both apart each time is most of what planning costs.
fn plain(path: &Path) -> PathBuf {
    path.components().collect()
}

/// Whether one plain path is the other or lies above it.
fn holds(outer: &Path, inner: &Path) -> bool {
    let (outer, inner) = (outer.as_os_str().as_bytes(), inner.as_os_str().as_bytes());
    match inner.strip_prefix(outer) {
        Some(rest) => rest.is_empty() || rest.starts_with(b"/") || outer.ends_with(b"/"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forbidden() -> Forbidden {
        Forbidden::new(&Places {
            homes: vec!["/home/ada".into(), "/real/ada".into()],
            state: vec!["/home/ada/.local/state/cofferdam".into()],
            config: vec!["/home/ada/.config/cofferdam".into()],
        })
    }

    #[test]
    fn what_is_never_given_away() {
        for path in [
            "/",
            "/proc",
            "/proc/1/root",
            "/sys/fs",
            "/etc",
            "/etc/ssh",
            "/run/docker.sock",
            "/run",
            "/var/run/docker.sock",
            "/var",
            "/home",
            "/home/ada",
            "/home/ada/.ssh",
            "/home/ada/.ssh/id_ed25519",
            "/home/ada/.config",
            "/home/ada/.config/cofferdam",
            "/home/ada/.local",
            "/real/ada",
            "/real/ada/.ssh",
            "/home/ada/.local/state/cofferdam/runs",
            "/home//ada/.ssh/",
            "/home/ada/./.ssh",
            "//run/",
        ] {
            assert!(forbidden().reason(Path::new(path)).is_some(), "{path}");
        }
    }

    #[test]
    fn what_may_be() {
        for path in
            ["/home/ada/src", "/srv/project", "/tmp/x", "/runner", "/home/ada/.sshx", "/opt"]
        {
            assert_eq!(forbidden().reason(Path::new(path)), None, "{path}");
        }
    }
}
