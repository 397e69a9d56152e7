//! The reference page, made from the table.

use super::form::{Form, Texts};
use super::key::{Key, Scope};
use crate::backend::BackendChoice;
use crate::changes::Class;
use crate::check::Profile;
use crate::command::Verdict;
use crate::spec::{Mode, Network, Proof, Pull, Relax, Threshold};

const OPENING: &str = "\
# Configuration reference

This page is made from the table of keys (`cofferdam config reference`); change the table, not the page.

Settings come in layers: built-in defaults, the host file (`$XDG_CONFIG_HOME/cofferdam/config.yaml`), the
project file (`cofferdam.yaml`), variables, flags. `cofferdam config show --origin` says where each value
comes from. Files are YAML, or JSON; an unknown key is an error.

- The host file may set anything.
- The project file may tighten anything. It may loosen a default once `cofferdam trust` has accepted it as
  it stands, and never what the host file sets. Keys marked *host file* are not honoured from it at all.
- Variables and flags replace defaults and project values. They may not loosen what the host file sets: such
  a run is refused. Those of lists add to what stands; in a variable the items have commas between. An
  empty variable is as good as none.

Sizes are whole numbers with `k`, `m`, `g` or `t`; spans of time have `ms`, `s`, `m` or `h`, and a bare
number is seconds. Relative paths start at the directory of the file, or at the current directory for
variables and flags; `~` is the home directory.
";

pub fn reference() -> String {
    let mut page = OPENING.to_owned();
    let mut section = "";
    for key in Key::ALL {
        let (begins, _) = key.name().split_once('.').unwrap_or((key.name(), ""));
        if begins != section {
            section = begins;
            page.push_str(&format!("\n## `{section}`\n"));
        }
        entry(*key, &mut page);
    }
    page
}

fn entry(key: Key, page: &mut String) {
    let set_by = match key.scope() {
        Scope::Files => "host file, project file",
        Scope::HostFile => "host file",
        Scope::Owner => "host file; in a project file it is an error",
    };
    let typed = match (key.flag(), key.variable()) {
        (Some(flag), Some(variable)) => format!(", flag `{flag}`, variable `{variable}`"),
        _ => String::new(),
    };
    page.push_str(&format!("\n### `{}`\n\n{}\n\n", key.name(), key.doc()));
    page.push_str(&format!("- Value: {}\n", key.form_in_words()));
    page.push_str(&format!("- Default: `{}`\n", key.default()));
    page.push_str(&format!("- Set by: {set_by}{typed}\n"));
    page.push_str(&format!("- Stricter: {}\n", key.way().in_words()));
}

impl Form {
    pub(super) fn in_words(self) -> String {
        match self {
            Self::Switch => "`true` or `false`".to_owned(),
            Self::Size { min, max: Some(max) } => format!("a size from {min} to {max}"),
            Self::Size { min, max: None } => format!("a size of {min} or more"),
            Self::Cpus => "a number above 0 and up to 64, such as `2` or `0.5`".to_owned(),
            Self::Count { min, max: u32::MAX } => format!("a whole number, {min} or more"),
            Self::Count { min, max } => format!("a whole number from {min} to {max}"),
            Self::Span { min, max } => format!("a span of time from {min} to {max}"),
            Self::SpanOrOff { min, max } => format!("a span of time from {min} to {max}, or `off`"),
            Self::Backend => one_of(&BackendChoice::NAMES),
            Self::Mode => one_of(Mode::NAMES),
            Self::Network => one_of(Network::NAMES),
            Self::Pull => one_of(Pull::NAMES),
            Self::Proof => one_of(Proof::NAMES),
            Self::Threshold => one_of(Threshold::NAMES),
            Self::Profile => one_of(Profile::NAMES),
            Self::Verdict => one_of(Verdict::NAMES),
            Self::Image => "an image reference, or `host`".to_owned(),
            Self::Seccomp => "`default`, or a path".to_owned(),
            Self::Runtime => "a name".to_owned(),
            Self::Path => "a path".to_owned(),
            Self::Texts(Texts::Hosts) => "a list of hosts, each with a port or not".to_owned(),
            Self::Texts(Texts::Blocked) => {
                "a list of path patterns with `*`, `?` and `**`, from the workspace's root".to_owned()
            }
            Self::Texts(Texts::Globs) => {
                "a list of path patterns with `*`, `?`, `**`, `[a-z]` and `{a,b}`; without a slash a name at \
                 any depth, and a directory with all that is in it"
                    .to_owned()
            }
            Self::Texts(Texts::Commands) => {
                "a list of commands, each words in which `*` stands for any text; a last `*` alone stands for any \
                 further words"
                    .to_owned()
            }
            Self::Texts(Texts::Rules) => "a list of rules' names; `*` stands for any text".to_owned(),
            Self::Texts(Texts::Classes) => format!("a list of {}", one_of(Class::NAMES)),
            Self::Texts(Texts::EnvPatterns) => "a list of name patterns with `*`".to_owned(),
            Self::EnvNames => "a list of variable names".to_owned(),
            Self::Paths => "a list of paths".to_owned(),
            Self::Relax => format!("a list of {}", one_of(Relax::NAMES)),
            Self::Mounts => {
                "a list of `{source, target, readonly: true}`; `SOURCE:TARGET[:rw]` in a flag"
                    .to_owned()
            }
            Self::Exceptions => "a list of `{path, readonly: true, reason}`".to_owned(),
            Self::Env => "a mapping of names to values; `NAME=VALUE` in a flag".to_owned(),
            Self::Tmpfs { min } => {
                format!("a mapping of absolute paths to sizes of {min} or more")
            }
            Self::Steps => {
                "a mapping of names to steps: a command line, a list of words, or `{command, workdir, …}`".to_owned()
            }
            Self::Roles => {
                "a mapping of names to any of `memory_limit`, `cpu_limit`, `pids_limit`, \
                            `timeout`, `network`, `mode`, `allowed_paths`"
                    .to_owned()
            }
        }
    }
}

fn one_of(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        all => all.concat(),
    }
}
