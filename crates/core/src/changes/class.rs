//! Handoff classes: files that somebody will later execute, obey or be harmed by, by their paths.
//!
//! A [`Class`] has a name for flags and settings and a reason in words. Which paths belong to it stands in
//! [`table`]; what no path can say, an executable bit or where a link leads, is found by [`classify`].
//! Paths are compared as the laxest file system would: see [`fold`].
//!
//! Deliberately absent: a look into the files. A `package.json` is named whatever changed in it.

mod fold;
mod link;
mod page;
pub mod table;

use serde::{Deserialize, Serialize};

use super::{Change, Entry, Node};
use crate::config::nearest;
pub use page::page;

macro_rules! classes {
    ($($class:ident $name:literal, $reason:literal;)+) => {
        /// A kind of file that needs its own yes before it is applied.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Class {
            $(#[serde(rename = $name)] $class),+
        }

        impl Class {
            pub const ALL: &'static [Self] = &[$(Self::$class),+];
            pub const NAMES: &'static [&'static str] = &[$($name),+];

            pub const fn name(self) -> &'static str {
                match self { $(Self::$class => $name),+ }
            }

            /// Why it matters, to be read after the name of the file.
            pub const fn reason(self) -> &'static str {
                match self { $(Self::$class => $reason),+ }
            }
        }
    };
}

classes! {
    GitInternals "git-internals", "is read by git, which runs programs that it names";
    GitAttributes "git-attributes", "decides which filters and drivers git runs, and what it fetches";
    Ci "ci", "runs in CI, with the credentials that CI has";
    CommitHooks "commit-hooks", "runs when you commit, check out or push";
    Editor "editor", "is obeyed by an editor when the folder is opened";
    AgentSettings "agent-settings", "is obeyed by coding agents";
    ShellEnv "shell-env", "is read by a shell or sets its environment";
    PackageScripts "package-scripts", "decides what a package manager downloads and runs";
    BuildScripts "build-scripts", "runs when the project is built, tested or packed";
    InterpreterStartup "interpreter-startup", "is executed when an interpreter or debugger starts here";
    Executable "executable", "is a program: whoever calls it by name runs it";
    EscapingSymlink "escaping-symlink", "is a link that leads to where changes should not go";
    CofferdamConfig "cofferdam-config", "decides what Cofferdam allows in later runs";
    Secret "secret", "holds a secret, or usually does";
}

/// A class that an entry belongs to, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Membership {
    pub class: Class,
    pub reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{written:?} is not a class{}: use {}", meant(.written), Class::NAMES.join(", "))]
pub struct UnknownClass {
    written: String,
}

fn meant(written: &str) -> String {
    let near = nearest(written, Class::NAMES.iter().copied());
    near.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default()
}

impl Class {
    /// Whether its absence, too, needs a yes of its own: git takes what is missing as a setting, and without
    /// our own file its rules are gone. What else is deleted can run no more, and is only shown.
    pub const fn holds_deletions(self) -> bool {
        matches!(self, Self::GitInternals | Self::CofferdamConfig)
    }
}

impl std::str::FromStr for Class {
    type Err = UnknownClass;

    fn from_str(name: &str) -> Result<Self, UnknownClass> {
        let found = Self::ALL.iter().copied().find(|class| class.name() == name);
        found.ok_or_else(|| UnknownClass { written: name.to_owned() })
    }
}

impl std::fmt::Display for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The classes of an entry, each once, in the order of [`Class::ALL`]. What contents say is not looked at.
pub fn classify(entry: &Entry) -> Vec<Membership> {
    let mut found = table::memberships(entry);
    if let Some(Node::File(file)) = &entry.after
        && file.mode.is_executable()
    {
        let class = Class::Executable;
        found.push(Membership { class, reason: class.reason() });
    }
    if let Some(reason) = link::danger(entry) {
        found.push(Membership { class: Class::EscapingSymlink, reason });
    }
    found.sort_by_key(|membership| membership.class);
    found
}

impl Entry {
    /// Whether nothing but a directory stood or stands here.
    pub(super) fn is_directory(&self) -> bool {
        let mut nodes = self.before.iter().chain(&self.after);
        nodes.all(|node| matches!(node, Node::Directory { .. }))
    }

    /// Whether nothing is left that could be executed.
    pub(super) fn is_deletion(&self) -> bool {
        self.change == Change::Deleted
    }
}

#[cfg(test)]
mod tests;
