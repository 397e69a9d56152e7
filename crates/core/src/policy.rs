//! What the host owner allows, whoever asks.
//!
//! A [`Policy`] is only ever narrowed: a role's ceiling is joined to the general one by taking the
//! stricter of the two. [`forbidden`] holds the paths that no policy can allow.

mod bounds;
pub mod forbidden;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::command::CommandPolicy;
use crate::mount::{Access, HostKind, Mount};
use crate::quantity::{ByteSize, Cpus, Span};
use crate::refusal::{Refusal, Rule};
use crate::spec::{Mode, Network, Relax};
pub use bounds::{let_in, may_relax, wide_enough};
pub use forbidden::Forbidden;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    pub mounts: MountPolicy,
    /// The widest network a run may ask for.
    pub network: Network,
    /// Names of host variables that may be passed in; `*` stands for any text.
    pub env: Vec<String>,
    pub relax: BTreeSet<Relax>,
    pub roles: BTreeMap<String, Ceiling>,
    /// What may be run, command by command.
    #[serde(default)]
    pub commands: CommandPolicy,
}

/// Which host paths may be mounted. All paths are absolute and have no symlink in them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountPolicy {
    /// The project root and the allowed paths.
    pub allowed: Vec<PathBuf>,
    pub exceptions: Vec<Exception>,
    pub forbidden: Forbidden,
}

/// A path that the host owner lets in although it lies outside, and why. Its use is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exception {
    pub path: PathBuf,
    pub access: Access,
    pub reason: String,
}

/// The most that may be asked for. `None` sets no bound.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ceiling {
    pub memory: Option<ByteSize>,
    pub cpus: Option<Cpus>,
    pub pids: Option<u32>,
    pub timeout: Option<Span>,
    pub network: Option<Network>,
    pub mode: Option<Mode>,
    /// Where set, mounts of this role must lie under one of these as well.
    pub allowed_paths: Option<Vec<PathBuf>>,
}

impl Policy {
    /// The ceiling of a role. No role, no extra bound; an unknown role is an error, not freedom.
    pub fn ceiling(&self, role: Option<&str>) -> Result<Ceiling, Refusal> {
        let Some(role) = role else { return Ok(Ceiling::default()) };
        self.roles.get(role).cloned().ok_or_else(|| Refusal {
            rule: Rule::RoleKnown,
            field: "policy.roles".to_owned(),
            message: format!("no role is called {role:?}"),
            remedy: "define it under policy.roles in the host file, or use one that is there"
                .to_owned(),
        })
    }
}

impl MountPolicy {
    /// Says yes to a mount, with the exception that was needed if one was, or says why not. Both names
    /// of the source must pass: as it was asked for, and where it really leads.
    pub fn check(&self, mount: &Mount) -> Result<Option<&Exception>, Refusal> {
        let source = &mount.source;
        let refuse = |rule, message, remedy: &str| Refusal {
            rule,
            field: "sandbox.mounts".to_owned(),
            message,
            remedy: remedy.to_owned(),
        };
        for name in source.names() {
            if let Some(why) = self.forbidden.reason(name) {
                return Err(refuse(
                    Rule::MountForbidden,
                    format!("{} cannot be mounted: {why}", describe(&source.asked, &source.real)),
                    "mount a directory that holds only what the program needs; no setting allows this one",
                ));
            }
        }
        if !matches!(source.kind, HostKind::File | HostKind::Directory) {
            return Err(refuse(
                Rule::MountForbidden,
                format!(
                    "{} cannot be mounted: it is not a file or a directory",
                    describe(&source.asked, &source.real)
                ),
                "mount a regular file or a directory; no setting allows sockets, devices or pipes",
            ));
        }
        // Only the real path decides: a link inside the root may lead out of it.
        if self.allowed.iter().any(|root| source.real.starts_with(root)) {
            return Ok(None);
        }
        let exception = self
            .exceptions
            .iter()
            .find(|e| source.real.starts_with(&e.path) && e.access <= mount.access);
        exception.map(Some).ok_or_else(|| {
            refuse(
                Rule::MountAllowed,
                format!(
                    "{} is outside the project root and the allowed paths",
                    describe(&source.asked, &source.real)
                ),
                "add it to policy.allowed_paths or policy.exceptions in the host file",
            )
        })
    }
}

/// A path as it was asked for, and where it leads if that is elsewhere.
fn describe(asked: &Path, real: &Path) -> String {
    if asked == real {
        format!("{}", asked.display())
    } else {
        format!("{} (which is {})", asked.display(), real.display())
    }
}

/// Whether `name` is one that `pattern` means: `*` stands for any text, `?` for any one character.
pub fn matches_glob(pattern: &str, name: &str) -> bool {
    let (mut pattern, mut name) = (pattern.chars(), name.chars());
    match pattern.next() {
        None => name.next().is_none(),
        Some('*') => {
            let rest = pattern.as_str();
            matches_glob(rest, name.as_str())
                || name.next().is_some_and(|_| matches_glob(&format!("*{rest}"), name.as_str()))
        }
        Some(wanted) => {
            name.next().is_some_and(|c| wanted == '?' || wanted == c)
                && matches_glob(pattern.as_str(), name.as_str())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mount::{HostPath, Identity};

    fn policy() -> MountPolicy {
        MountPolicy {
            allowed: vec!["/srv/project".into()],
            exceptions: vec![Exception {
                path: "/data/models".into(),
                access: Access::Read,
                reason: "weights".into(),
            }],
            forbidden: Forbidden::new(&forbidden::Places {
                homes: vec!["/home/ada".into()],
                state: vec!["/home/ada/.local/state/cofferdam".into()],
                config: vec!["/home/ada/.config/cofferdam".into()],
            }),
        }
    }

    fn mount(asked: &str, real: &str, access: Access) -> Mount {
        Mount {
            source: HostPath {
                asked: asked.into(),
                real: real.into(),
                kind: HostKind::Directory,
                identity: Identity { device: 1, inode: 2 },
            },
            target: "/mnt".into(),
            access,
        }
    }

    fn rule(asked: &str, real: &str) -> Option<Rule> {
        policy().check(&mount(asked, real, Access::Read)).err().map(|r| r.rule)
    }

    #[test]
    fn only_what_lies_under_an_allowed_path() {
        assert_eq!(rule("/srv/project/data", "/srv/project/data"), None);
        assert_eq!(rule("/srv/project2", "/srv/project2"), Some(Rule::MountAllowed));
        assert_eq!(rule("/srv", "/srv"), Some(Rule::MountAllowed));
    }

    #[test]
    fn a_link_is_judged_by_where_it_leads_and_by_its_name() {
        assert_eq!(rule("/srv/project/link", "/srv/other"), Some(Rule::MountAllowed));
        assert_eq!(rule("/srv/project/link", "/run/docker.sock"), Some(Rule::MountForbidden));
        assert_eq!(rule("/run/docker.sock", "/srv/project/x"), Some(Rule::MountForbidden));
    }

    #[test]
    fn an_exception_gives_no_more_than_it_says() {
        let read = mount("/data/models/a", "/data/models/a", Access::Read);
        assert_eq!(policy().check(&read).unwrap().unwrap().reason, "weights");
        let write = mount("/data/models/a", "/data/models/a", Access::Write);
        assert_eq!(policy().check(&write).unwrap_err().rule, Rule::MountAllowed);
    }

    #[test]
    fn special_files_are_never_mounted() {
        let mut socket = mount("/srv/project/s", "/srv/project/s", Access::Read);
        socket.source.kind = HostKind::Socket;
        assert_eq!(policy().check(&socket).unwrap_err().rule, Rule::MountForbidden);
    }

    #[test]
    fn stars_in_names() {
        assert!(matches_glob("*", "GITHUB_TOKEN"));
        assert!(matches_glob("CI_*", "CI_JOB"));
        assert!(matches_glob("*_URL", "A_URL"));
        assert!(!matches_glob("CI_*", "XCI_JOB"));
        assert!(!matches_glob("A", "AB"));
        assert!(matches_glob(".env.*", ".env.local") && !matches_glob(".env.*", ".env"));
        assert!(matches_glob("a?c", "abc") && !matches_glob("a?c", "ac"));
        assert!(matches_glob("*a*b*", "xxaxxbxx") && !matches_glob("*a*b*", "xxbxxaxx"));
    }
}
