//! Who may depend on whom.

use Reach::{Tests, Users};

#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) dependencies: Vec<Dependency>,
}

#[derive(Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) reach: Reach,
}

/// How far a dependency goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Into what users get: ordinary and build dependencies.
    Users,
    /// Into tests only.
    Tests,
}

const CLI: &str = "cofferdam-cli";
const CORE: &str = "cofferdam-core";
const FUZZ: &str = "cofferdam-fuzz";
const NATIVE: &str = "cofferdam-native";
const SANDBOX: &str = "cofferdam-sandbox";
const SERVER: &str = "cofferdam-server";
const TESTKIT: &str = "cofferdam-testkit";
const XTASK: &str = "xtask";

/// Each member, and the members that it may use.
const DOORS: &[(&str, &[&str])] = &[
    (CORE, &[]),
    (NATIVE, &[CORE]),
    (SANDBOX, &[NATIVE, CORE]),
    (SERVER, &[SANDBOX, CORE]),
    (CLI, &[SERVER, SANDBOX, CORE]),
    (TESTKIT, &[CORE]),
    // Feeds them all; nobody may use it but the targets, which are outside of the workspace.
    (FUZZ, &[SERVER, SANDBOX, CORE]),
    // Built first and alone; it starts the others as programs.
    (XTASK, &[]),
];

/// A crate from outside and the only members that may use it. A name ending in `*` is a family.
const ONLY: &[(&str, &[&str])] = &[
    ("anyhow", &[CLI, XTASK, TESTKIT]),
    ("axum*", &[SERVER]),
    ("bollard*", &[SANDBOX]),
    ("clap*", &[CLI]),
    ("landlock", &[NATIVE]),
    ("libc", &[NATIVE]),
    ("ratatui*", &[CLI]),
    ("rmcp*", &[SERVER]),
    // In sandbox only its file calls: see `sources`.
    ("rustix", &[NATIVE, SANDBOX, FUZZ]),
    // Keys and certificates are handled in one place.
    ("rustls*", &[SERVER]),
    ("saphyr", &[CORE]),
    ("schemars*", &[SERVER]),
    ("sqlx*", &[SERVER]),
    ("tokio-rustls", &[SERVER]),
    ("tokio*", &[SANDBOX, SERVER, CLI]),
];

pub(crate) fn violations(members: &[Member]) -> Vec<String> {
    let mut found = Vec::new();
    for member in members {
        let Some((_, doors)) = DOORS.iter().find(|(name, _)| *name == member.name) else {
            found.push(format!("{} has no line in the table of doors: add one", member.name));
            continue;
        };
        for Dependency { name, reach } in &member.dependencies {
            let problem = if DOORS.iter().any(|(member, _)| member == name) {
                door_problem(doors, name, *reach)
            } else {
                outside_problem(&member.name, name, *reach)
            };
            found.extend(problem.map(|problem| format!("{} → {name}: {problem}", member.name)));
        }
    }
    found
}

fn door_problem(doors: &[&str], to: &str, reach: Reach) -> Option<String> {
    match (to, reach) {
        (TESTKIT, Tests) => None,
        (TESTKIT, Users) => Some("the testkit is for dev-dependencies".to_owned()),
        _ if doors.contains(&to) => None,
        _ => Some(format!("no such door; there are {doors:?}")),
    }
}

fn outside_problem(from: &str, to: &str, reach: Reach) -> Option<String> {
    let matches = |pattern: &str| match pattern.strip_suffix('*') {
        Some(family) => to.starts_with(family),
        None => to == pattern,
    };
    let (_, allowed) = ONLY.iter().find(|(pattern, _)| matches(pattern))?;
    let fine = reach == Tests || allowed.contains(&from);
    (!fine).then(|| format!("only {allowed:?} may use it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(from: &str, to: &str, reach: Reach) -> bool {
        let dependencies = vec![Dependency { name: to.to_owned(), reach }];
        let found = violations(&[Member { name: from.to_owned(), dependencies }]);
        assert!(found.iter().all(|line| line.contains(from) && line.contains(to)), "{found:?}");
        !found.is_empty()
    }

    #[test]
    fn open_doors_are_open_and_others_are_walls() {
        for (from, to) in [(CLI, SERVER), (SERVER, SANDBOX), (SANDBOX, NATIVE), (NATIVE, CORE)] {
            assert!(!found(from, to, Users), "{from} → {to}");
            assert!(found(to, from, Users), "{to} → {from}");
            assert!(found(to, from, Tests), "{to} → {from} in tests");
        }
        assert!(found(CLI, NATIVE, Users));
        assert!(found(SERVER, NATIVE, Users));
        assert!(found(XTASK, CORE, Users));
    }

    #[test]
    fn the_testkit_reaches_tests_only() {
        assert!(!found(CLI, TESTKIT, Tests));
        assert!(found(CLI, TESTKIT, Users));
        assert!(found(SANDBOX, XTASK, Tests));
    }

    #[test]
    fn outside_crates_stay_in_their_rooms() {
        for (from, to) in [
            (SERVER, "bollard"),
            (SANDBOX, "axum"),
            (SANDBOX, "sqlx"),
            (SERVER, "clap_complete"),
            (SANDBOX, "libc"),
            (SANDBOX, "landlock"),
            (CLI, "rustix"),
            (CORE, "tokio"),
            (NATIVE, "tokio"),
            (CLI, "saphyr"),
            (SANDBOX, "anyhow"),
        ] {
            assert!(found(from, to, Users), "{from} → {to}");
            assert!(!found(from, to, Tests), "{from} → {to} in tests");
        }
        for (from, to) in
            [(SANDBOX, "bollard"), (CLI, "clap"), (SANDBOX, "rustix"), (CLI, "anyhow")]
        {
            assert!(!found(from, to, Users), "{from} → {to}");
        }
        assert!(!found(CORE, "serde", Users));
    }

    #[test]
    fn a_new_member_has_to_be_written_down() {
        let member = Member { name: "cofferdam-extra".to_owned(), dependencies: Vec::new() };
        assert_eq!(violations(&[member]).len(), 1);
    }
}
