//! `COFFERDAM_*` variables as a layer of settings.

use std::ffi::OsString;

use cofferdam_core::config::{ConfigError, Entries, Key, Layer, Origin, Warning, nearest};

use super::LoadError;

const PREFIX: &str = "COFFERDAM_";

/// Ours, but no settings: the id of the run that a program is part of, whom a command acts for, a token, and variables
/// of flags that have no key.
const ELSEWHERE: [&str; 16] = [
    "COFFERDAM_RUN",
    "COFFERDAM_ACTOR",
    "COFFERDAM_TOKEN",
    "COFFERDAM_SERVER",
    "COFFERDAM_CA",
    "COFFERDAM_WORKSPACE",
    "COFFERDAM_WORKDIR",
    "COFFERDAM_ROLE",
    "COFFERDAM_FROM",
    "COFFERDAM_REPORT",
    "COFFERDAM_APPLY",
    "COFFERDAM_DRY_RUN",
    "COFFERDAM_TTY",
    "COFFERDAM_QUIET",
    "COFFERDAM_LISTEN",
    "COFFERDAM_DATABASE",
];

/// The settings among `variables`, and a warning for each that looks like one and is none.
pub(super) fn entries(
    variables: &[(OsString, OsString)],
) -> Result<(Entries, Vec<Warning>), LoadError> {
    let known: Vec<(String, Key)> =
        Key::ALL.iter().filter_map(|key| Some((key.variable()?, *key))).collect();
    let (mut entries, mut warnings, mut errors) = (Entries::default(), Vec::new(), Vec::new());
    for (name, value) in variables {
        let name = name.to_string_lossy();
        if !name.starts_with(PREFIX) || ELSEWHERE.contains(&&*name) {
            continue;
        }
        match known.iter().find(|(known, _)| *known == name) {
            Some((_, key)) => errors.extend(set(&mut entries, *key, &name, value).err()),
            None => warnings.push(unknown(&name, &known)),
        }
    }
    // The environment has no order of its own; what is said about it has.
    warnings.sort_by(|a, b| a.origin.source.cmp(&b.origin.source));
    if errors.is_empty() { Ok((entries, warnings)) } else { Err(LoadError::Config(errors)) }
}

fn set(entries: &mut Entries, key: Key, name: &str, value: &OsString) -> Result<(), ConfigError> {
    match value.to_str() {
        Some(text) => entries.set_text(key, text, Layer::Variable, name),
        None => Err(ConfigError {
            origin: name.to_owned(),
            line: None,
            key: None,
            message: "is not UTF-8: no setting is anything else".to_owned(),
            suggestion: None,
        }),
    }
}

fn unknown(name: &str, known: &[(String, Key)]) -> Warning {
    // Without the prefix: it would make all names look alike.
    let bare = |name: &'_ str| name.strip_prefix(PREFIX).unwrap_or(name).to_owned();
    let settings = known.iter().map(|(known, _)| known.as_str());
    let names: Vec<String> = settings.chain(ELSEWHERE).map(bare).collect();
    let meant = nearest(&bare(name), names.iter().map(String::as_str));
    Warning {
        origin: Origin { layer: Layer::Variable, source: Some(name.to_owned()), line: None },
        key: None,
        message: "no setting has this variable, so it changes nothing".to_owned(),
        remedy: meant.map(|meant| format!("did you mean {PREFIX}{meant}?")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Result<(Entries, Vec<Warning>), LoadError> {
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(name, value)| (OsString::from(name), OsString::from(value)))
            .collect();
        entries(&pairs)
    }

    #[test]
    fn settings_and_strangers() {
        let (entries, warnings) = of(&[
            ("PATH", "/bin"),
            ("COFFERDAM_RUN", "x"),
            ("COFFERDAM_PIDS", "7"),
            ("COFFERDAM_PASS_ENV", "A,B"),
            ("COFFERDAM_MEMRY", "1g"),
        ])
        .unwrap();
        assert_eq!(entries.iter().count(), 2);
        assert_eq!(warnings.len(), 1);
        let said = warnings[0].to_string();
        assert!(said.starts_with("COFFERDAM_MEMRY: no setting"), "{said}");
        assert!(said.ends_with("did you mean COFFERDAM_MEMORY?"), "{said}");
    }

    /// No flag's variable is called unknown, and none of ours is accepted that nothing reads.
    #[test]
    fn the_command_line_reads_what_is_no_setting() {
        fn variables(command: &clap::Command, found: &mut BTreeSet<String>) {
            let read = command.get_arguments().filter_map(clap::Arg::get_env);
            found.extend(read.map(|name| name.to_string_lossy().into_owned()));
            command.get_subcommands().for_each(|inner| variables(inner, found));
        }
        let own = ["COFFERDAM_RUN", "COFFERDAM_ACTOR", "COFFERDAM_TOKEN"];
        let mut found = BTreeSet::from(own.map(str::to_owned));
        variables(&crate::Cli::command(), &mut found);
        found.retain(|name| name.starts_with(PREFIX));
        assert_eq!(found, ELSEWHERE.map(str::to_owned).into());
    }

    #[test]
    fn all_that_is_wrong_is_said() {
        let Err(LoadError::Config(errors)) =
            of(&[("COFFERDAM_PIDS", "x"), ("COFFERDAM_MODE", "y"), ("COFFERDAM_CPUS", "1")])
        else {
            panic!("must be refused")
        };
        assert_eq!(errors.len(), 2);
    }
}
