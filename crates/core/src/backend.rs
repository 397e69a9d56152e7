//! The ways a plan can be carried out, and how one of them is chosen.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::caps::Caps;
use crate::refusal::{Refusal, Rule};

/// What carries a plan out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// The host itself: no confinement. Never chosen unless the host owner asked for it.
    Local,
    /// Linux namespaces, no daemon.
    Native,
    Docker,
    Podman,
}

impl Backend {
    pub const ALL: [Self; 4] = [Self::Docker, Self::Podman, Self::Native, Self::Local];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Local => "local",
            Self::Native => "native",
            Self::Docker => "docker",
            Self::Podman => "podman",
        }
    }

    /// Whether an engine carries it out.
    pub const fn is_container(self) -> bool {
        matches!(self, Self::Docker | Self::Podman)
    }

    /// Whether the program is kept apart from the host at all.
    pub const fn confines(self) -> bool {
        !matches!(self, Self::Local)
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the user asked for with `--sandbox`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BackendChoice {
    Auto,
    Local,
    Native,
    Docker,
    Podman,
}

impl BackendChoice {
    pub const NAMES: [&'static str; 5] = ["auto", "docker", "podman", "native", "local"];

    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "auto" => Self::Auto,
            "local" => Self::Local,
            "native" => Self::Native,
            "docker" => Self::Docker,
            "podman" => Self::Podman,
            _ => return None,
        })
    }

    pub const fn name(self) -> &'static str {
        match self.named() {
            Some(backend) => backend.name(),
            None => "auto",
        }
    }

    pub const fn named(self) -> Option<Backend> {
        match self {
            Self::Auto => None,
            Self::Local => Some(Backend::Local),
            Self::Native => Some(Backend::Native),
            Self::Docker => Some(Backend::Docker),
            Self::Podman => Some(Backend::Podman),
        }
    }
}

/// Whether the host owner lets `auto` end on the bare host when nothing confines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fallback {
    Refuse,
    ToDirect,
}

/// The backend that was chosen, and why not the ones before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    pub asked: BackendChoice,
    pub chosen: Backend,
    /// Backends that were looked at first and cannot serve here, with the reason.
    pub passed_over: Vec<PassedOver>,
    /// True only where host policy turned a failed choice into a run on the bare host.
    pub fell_back: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassedOver {
    pub backend: Backend,
    pub reason: String,
    pub remedy: String,
}

/// Chooses among what the host offers, in order of preference. `offers` is asked only as far as it
/// must be: a probe of a later backend costs nothing when an earlier one serves.
pub fn select(
    asked: BackendChoice,
    fallback: Fallback,
    offers: impl IntoIterator<Item = Caps>,
) -> Result<(Selection, Caps), Refusal> {
    let mut passed_over = Vec::new();
    for caps in offers {
        let wanted = match asked.named() {
            Some(named) => caps.backend == named,
            None => caps.backend.confines(),
        };
        if !wanted {
            continue;
        }
        match &caps.unusable {
            None => {
                let chosen = caps.backend;
                return Ok((Selection { asked, chosen, passed_over, fell_back: false }, caps));
            }
            Some(why) => passed_over.push(PassedOver {
                backend: caps.backend,
                reason: why.reason.clone(),
                remedy: why.remedy.clone(),
            }),
        }
    }
    if fallback == Fallback::ToDirect && asked != BackendChoice::Local {
        let chosen = Backend::Local;
        return Ok((Selection { asked, chosen, passed_over, fell_back: true }, Caps::local()));
    }
    Err(no_backend(asked, &passed_over))
}

fn no_backend(asked: BackendChoice, passed_over: &[PassedOver]) -> Refusal {
    let reasons: Vec<_> =
        passed_over.iter().map(|p| format!("{}: {}", p.backend, p.reason)).collect();
    let mut remedies: Vec<_> = passed_over.iter().map(|p| p.remedy.clone()).collect();
    remedies.dedup();
    remedies.push("run `cofferdam doctor` to see what this host can enforce".to_owned());
    Refusal {
        rule: Rule::BackendUsable,
        field: "sandbox.backend".to_owned(),
        message: match asked {
            BackendChoice::Auto => format!("no usable sandbox ({})", reasons.join("; ")),
            named => {
                format!("the {} backend cannot run here ({})", named.name(), reasons.join("; "))
            }
        },
        remedy: remedies.join("; or "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usable(backend: Backend) -> Caps {
        Caps::confining(backend)
    }

    fn broken(backend: Backend) -> Caps {
        Caps::unusable(backend, "no socket answers", "install it")
    }

    #[test]
    fn auto_takes_the_first_that_serves_and_says_what_it_passed_over() {
        let offers = [broken(Backend::Docker), usable(Backend::Native)];
        let (chosen, _) = select(BackendChoice::Auto, Fallback::Refuse, offers).unwrap();
        assert_eq!(chosen.chosen, Backend::Native);
        assert_eq!(chosen.passed_over.len(), 1);
        assert!(!chosen.fell_back);
    }

    #[test]
    fn auto_never_means_local_unless_the_host_says_so() {
        let offers = || [broken(Backend::Docker), Caps::local()];
        let refusal = select(BackendChoice::Auto, Fallback::Refuse, offers()).unwrap_err();
        assert!(refusal.remedy.contains("install it"), "{refusal:?}");
        let (chosen, _) = select(BackendChoice::Auto, Fallback::ToDirect, offers()).unwrap();
        assert_eq!((chosen.chosen, chosen.fell_back), (Backend::Local, true));
    }

    #[test]
    fn a_named_backend_is_not_replaced_by_another() {
        let offers = [broken(Backend::Docker), usable(Backend::Native)];
        assert!(select(BackendChoice::Docker, Fallback::Refuse, offers).is_err());
        let (chosen, _) = select(BackendChoice::Local, Fallback::Refuse, [Caps::local()]).unwrap();
        assert_eq!((chosen.chosen, chosen.fell_back), (Backend::Local, false));
    }
}
