//! Checks out of what was found about an engine.

use std::path::Path;

use cofferdam_core::caps::Lack;

use super::{Engine, Seen};
use crate::doctor::check::Check;
use crate::engine::ask::{Reached, Version};
use crate::engine::{OLDEST_API, by_hand};

pub(super) fn judge(engine: Engine, program: Option<&Path>, seen: &Seen) -> [Check; 3] {
    let binary = match program {
        Some(path) => engine.binary.ok(path.display().to_string()),
        None => {
            engine.binary.not_applicable("not on PATH; it is not needed where a socket answers")
        }
    };
    let (at, reached) = match seen {
        Seen::Endpoint { at, reached } => (at, reached),
        Seen::Elsewhere(Lack { reason, remedy }) => {
            let socket = engine.socket.warn(format!("{reason}: not looked at"), remedy);
            return [binary, socket, engine.answer.not_applicable("no socket to ask")];
        }
        Seen::Unreadable(Lack { reason, remedy }) => {
            let socket = engine.socket.fail(reason, remedy);
            return [binary, socket, engine.answer.not_applicable("no socket to ask")];
        }
    };
    let remedies = engine.remedies;
    let unasked = engine.answer.not_applicable("no connection to ask over");
    let there = || engine.socket.ok(format!("{at}{}", at.way()));
    // Where somebody else carries the words, it is their doing that has to be looked at.
    if let (Some(remedy), false) = (by_hand(at), matches!(reached, Reached::Engine(_))) {
        return [
            binary,
            engine.socket.fail(format!("{at}: {}", reached.in_words(at)), remedy),
            unasked,
        ];
    }
    let [socket, answer] = match reached {
        Reached::Missing if program.is_none() => {
            let seen = format!("{} is not installed: no {at}", engine.name);
            let socket = Check {
                remedy: Some(remedies.install.to_owned()),
                ..engine.socket.not_applicable(seen)
            };
            [socket, unasked]
        }
        Reached::Missing => [engine.socket.fail(format!("no {at}"), remedies.start), unasked],
        Reached::Denied => {
            [engine.socket.fail(format!("{at}: permission denied"), remedies.permit), unasked]
        }
        Reached::Refused => {
            let seen = format!("{at} is there, but nobody listens");
            [engine.socket.fail(seen, remedies.start), unasked]
        }
        Reached::Failed(error) => {
            [engine.socket.fail(format!("{at}: {error}"), remedies.start), unasked]
        }
        Reached::Hung => [
            there(),
            engine.answer.fail(
                reached.in_words(at),
                format!("look at the engine's log and restart it ({})", remedies.start),
            ),
        ],
        Reached::Stranger(_) => [
            there(),
            engine.answer.fail(reached.in_words(at), format!("find out what listens on {at}")),
        ],
        Reached::Engine(version) => [there(), answers(engine, version)],
    };
    [binary, socket, answer]
}

fn answers(engine: Engine, version: &Version) -> Check {
    let name = version.name.as_deref().unwrap_or(engine.name);
    let seen = format!("{name} {}, API {}", version.engine, version.api);
    match version.api_numbers() {
        Some(api) if api >= OLDEST_API => engine.answer.ok(seen),
        Some(_) => engine.answer.warn(
            format!("{seen}: too old"),
            "update it: API 1.41, which came with Docker 20.10, is the oldest that is known to serve",
        ),
        None => engine.answer.warn(
            format!("{seen}: not a version that is understood"),
            format!("check that it is {}", engine.name),
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::super::{DOCKER, PODMAN};
    use super::*;
    use crate::doctor::Status::{self, *};
    use crate::engine::Endpoint;

    fn with(program: Option<&str>, reached: Reached) -> [Check; 3] {
        let seen = Seen::Endpoint { at: Endpoint::Socket("/run/docker.sock".into()), reached };
        judge(DOCKER, program.map(Path::new), &seen)
    }

    fn statuses(checks: &[Check; 3]) -> [Status; 3] {
        [checks[0].status, checks[1].status, checks[2].status]
    }

    fn engine(version: &str, api: &str) -> Reached {
        Reached::Engine(Version { name: None, engine: version.to_owned(), api: api.to_owned() })
    }

    const BIN: Option<&str> = Some("/usr/bin/docker");

    #[test]
    fn an_engine_that_is_not_installed_is_no_failure() {
        let checks = with(None, Reached::Missing);
        assert_eq!(statuses(&checks), [NotApplicable; 3]);
        assert!(checks[1].remedy.as_deref().unwrap().contains("install"));
    }

    #[test]
    fn each_obstacle_has_its_own_remedy() {
        for (reached, remedy) in [
            (Reached::Missing, "systemctl start docker"),
            (Reached::Denied, "usermod -aG docker"),
            (Reached::Refused, "systemctl start docker"),
            (Reached::Failed(io::Error::other("odd")), "systemctl start docker"),
        ] {
            let checks = with(BIN, reached);
            assert_eq!(statuses(&checks), [Ok, Fail, NotApplicable]);
            assert!(checks[1].remedy.as_deref().unwrap().contains(remedy), "{checks:?}");
        }
    }

    #[test]
    fn a_connection_is_not_an_answer() {
        assert_eq!(statuses(&with(BIN, Reached::Hung)), [Ok, Ok, Fail]);
        let said = "\x1b]0;owned\x07".to_owned();
        let checks = with(None, Reached::Stranger(said));
        assert_eq!(statuses(&checks), [NotApplicable, Ok, Fail]);
        assert!(!checks[2].detail.chars().any(char::is_control), "{checks:?}");
    }

    #[test]
    fn versions_old_new_and_strange() {
        let answer = |version, api| {
            let [_, _, answer] = with(BIN, engine(version, api));
            answer
        };
        assert_eq!(answer("20.10.24", "1.41").status, Ok);
        assert_eq!(answer("28.0.1", "1.48").status, Ok);
        assert_eq!(answer("99", "2.0").status, Ok);
        assert_eq!(answer("19.03.15", "1.40").status, Warn);
        assert_eq!(answer("1.9", "1.9").status, Warn);
        let strange = answer("\x1b[2Jv", "\u{202e}");
        assert_eq!(strange.status, Warn);
        assert!(strange.detail.contains("\\x1b[2Jv") && strange.detail.contains("\\u{202e}"));
    }

    #[test]
    fn what_is_not_looked_at_is_said() {
        let lack =
            || Lack { reason: "DOCKER_HOST is odd".to_owned(), remedy: "use ssh".to_owned() };
        let tcp = judge(PODMAN, None, &Seen::Elsewhere(lack()));
        assert_eq!(statuses(&tcp), [NotApplicable, Warn, NotApplicable]);
        assert!(tcp[1].detail.contains("DOCKER_HOST") && tcp[1].detail.contains("not looked at"));
        let broken = judge(DOCKER, None, &Seen::Unreadable(lack()));
        assert_eq!(statuses(&broken), [NotApplicable, Fail, NotApplicable]);
    }

    #[test]
    fn by_ssh_the_way_there_is_what_has_to_be_looked_at() {
        let by_ssh = |reached| {
            let at = Endpoint::try_from("ssh://me@box:2222".to_owned()).unwrap();
            judge(DOCKER, BIN.map(Path::new), &Seen::Endpoint { at, reached })
        };
        let good = by_ssh(engine("28.0.1", "1.48"));
        assert_eq!(statuses(&good), [Ok; 3]);
        assert_eq!(good[1].detail, "ssh://me@box:2222 (by ssh)");
        let refused = Reached::Failed(io::Error::other("ssh: Permission denied (publickey)."));
        for reached in [refused, Reached::Hung, Reached::Stranger("x".to_owned())] {
            let checks = by_ssh(reached);
            assert_eq!(statuses(&checks), [Ok, Fail, NotApplicable]);
            let remedy = checks[1].remedy.as_deref().unwrap();
            assert!(remedy.contains("ssh -l me -p 2222 box docker version"), "{remedy}");
        }
    }
}
