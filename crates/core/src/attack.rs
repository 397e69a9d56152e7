//! What a hostile program would try, as values: the one list that `cofferdam attack` and the tests carry out.
//!
//! An [`Attack`] says what is tried, what must hold, on which backends that is claimed, and how it is judged. It
//! does nothing itself: `cofferdam_sandbox::attack` carries it out, in places made for it. Scripts are for a
//! plain `sh`; words in braces stand for what only the place knows, see [`Word`].

mod apply;
mod control;
mod escape;
mod handoff;
mod network;
mod resources;
mod secrets;

use serde::{Deserialize, Serialize};

use crate::backend::Backend;

/// One attack.
#[derive(Debug, Clone, Copy)]
pub struct Attack {
    /// The letter of its group and a name: `C-mount`. Never given to another.
    pub id: &'static str,
    pub group: Group,
    pub tried: &'static str,
    pub holds: &'static str,
    pub way: Way,
    /// Who claims that it holds.
    pub on: &'static [Backend],
    pub known: Option<Known>,
}

/// A limit that is told: the attack is known to succeed there.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    pub on: &'static [Backend],
    pub why: &'static str,
}

pub const EVERYWHERE: &[Backend] = &[Backend::Native, Backend::Docker, Backend::Podman];
pub const NATIVE: &[Backend] = &[Backend::Native];

/// What it is against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Group {
    #[serde(rename = "A")]
    Apply,
    #[serde(rename = "B")]
    Handoff,
    #[serde(rename = "C")]
    Escape,
    #[serde(rename = "D")]
    Network,
    #[serde(rename = "E")]
    Secrets,
    #[serde(rename = "F")]
    Resources,
    #[serde(rename = "G")]
    Control,
}

impl Group {
    pub const ALL: [Self; 7] = [
        Self::Apply,
        Self::Handoff,
        Self::Escape,
        Self::Network,
        Self::Secrets,
        Self::Resources,
        Self::Control,
    ];

    pub const fn letter(self) -> &'static str {
        match self {
            Self::Apply => "A",
            Self::Handoff => "B",
            Self::Escape => "C",
            Self::Network => "D",
            Self::Secrets => "E",
            Self::Resources => "F",
            Self::Control => "G",
        }
    }

    pub const fn title(self) -> &'static str {
        match self {
            Self::Apply => "capture and apply",
            Self::Handoff => "files that run later",
            Self::Escape => "escape and privileges",
            Self::Network => "network",
            Self::Secrets => "secrets",
            Self::Resources => "resources",
            Self::Control => "record, rules and server",
        }
    }
}

/// How an attack is made, and told to have failed.
#[derive(Debug, Clone, Copy)]
pub enum Way {
    /// A script inside. It says that it won by a file `won` in the workspace, and that it came to its end by one
    /// called `tried`; whatever it says, nothing that the host can see may have changed.
    Inside { script: &'static str, twin: Twin },
    /// One system call by name. It wins where the kernel looks at it.
    Call(&'static str),
    /// A file that is executed later, with the class that holds it.
    Planted { path: &'static str, class: &'static str },
    /// What a program leaves behind, and what is then done with it.
    Steps(&'static [Step]),
}

/// What shows that a script would win if nothing stopped it.
#[derive(Debug, Clone, Copy)]
pub enum Twin {
    /// The very same script without a sandbox.
    Unconfined,
    /// Another script in the same sandbox, for what would do harm without one: it must leave a file `won`.
    Allowed(&'static str),
}

/// One step of an attack. Steps that prepare it and fail make it one that was not run; those that look make it
/// one that won.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// Prepares: a file of the host, in the workspace.
    File(&'static str, &'static str),
    /// Prepares: the host owner's settings.
    Settings(&'static str),
    /// Prepares: a script inside, whose changes are staged.
    Stage(&'static str),
    /// Prepares: a script of the host, in the workspace.
    Host(&'static str),
    /// Looks: a command of ours must end with one of these codes.
    Ours(&'static [&'static str], &'static [i32]),
    /// Looks: a script inside, with these flags, must end with one of these codes.
    Run(&'static [&'static str], &'static str, &'static [i32]),
    /// Looks: what the command before said has this.
    Says(&'static str),
    /// Looks: and has this not.
    SaysNot(&'static str),
    /// Looks: a script of the host must succeed.
    Sees(&'static str),
    /// Looks: the workspace is as it was before the last step that looked or prepared on the host.
    Unchanged,
    /// Looks: how the run before ended.
    Class(&'static str),
    /// Looks: an event of this type is in the log.
    Event(&'static str),
    /// What shows that it was the attack that was refused and not everything: prepares.
    Twin(&'static [Step]),
}

impl Step {
    /// Whether it is one that an attack can fail.
    pub const fn looks(&self) -> bool {
        !matches!(
            self,
            Self::File(..) | Self::Settings(_) | Self::Stage(_) | Self::Host(_) | Self::Twin(_)
        )
    }
}

/// What stands for something of the place in scripts and arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// This program's own attempts, as it is started inside: `{try} call mount`.
    Try,
    /// A directory of the host with a file `canary` in it.
    Outside,
    /// The home of whoever runs this, as far as the attack is concerned.
    Home,
    Workspace,
    /// Where runs are kept.
    State,
    /// Ports of the loopback, a socket by path, one for datagrams, one by abstract name.
    Tcp,
    Udp,
    Unix,
    Datagram,
    Abstract,
    /// A process of the host.
    Victim,
}

impl Word {
    pub const ALL: [(Self, &'static str); 11] = [
        (Self::Try, "{try}"),
        (Self::Outside, "{outside}"),
        (Self::Home, "{home}"),
        (Self::Workspace, "{workspace}"),
        (Self::State, "{state}"),
        (Self::Tcp, "{tcp}"),
        (Self::Udp, "{udp}"),
        (Self::Unix, "{unix}"),
        (Self::Datagram, "{datagram}"),
        (Self::Abstract, "{abstract}"),
        (Self::Victim, "{victim}"),
    ];
}

/// All attacks, by group.
pub fn all() -> impl Iterator<Item = &'static Attack> {
    let groups = [
        apply::ATTACKS,
        handoff::ATTACKS,
        escape::ATTACKS,
        network::ATTACKS,
        secrets::ATTACKS,
        resources::ATTACKS,
        control::ATTACKS,
    ];
    groups.into_iter().flatten()
}

const fn steps(
    id: &'static str,
    group: Group,
    tried: &'static str,
    holds: &'static str,
    steps: &'static [Step],
) -> Attack {
    Attack { id, group, tried, holds, way: Way::Steps(steps), on: EVERYWHERE, known: None }
}

/// A script that would win without a sandbox.
const fn inside(
    id: &'static str,
    group: Group,
    tried: &'static str,
    holds: &'static str,
    script: &'static str,
) -> Attack {
    let way = Way::Inside { script, twin: Twin::Unconfined };
    Attack { id, group, tried, holds, way, on: EVERYWHERE, known: None }
}

/// A script that would do harm without a sandbox, and one that shows that what it needs is there.
const fn harmful(
    id: &'static str,
    group: Group,
    tried: &'static str,
    holds: &'static str,
    [script, twin]: [&'static str; 2],
) -> Attack {
    let way = Way::Inside { script, twin: Twin::Allowed(twin) };
    Attack { id, group, tried, holds, way, on: EVERYWHERE, known: None }
}

impl Attack {
    const fn only_on(mut self, on: &'static [Backend]) -> Self {
        self.on = on;
        self
    }

    const fn known(mut self, on: &'static [Backend], why: &'static str) -> Self {
        self.known = Some(Known { on, why });
        self
    }
}

#[cfg(test)]
mod tests;
