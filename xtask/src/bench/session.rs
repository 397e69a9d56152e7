//! How long a command takes in a session that is there already: asked for over its socket, as a server does, and by
//! the command line.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::case::Case;
use super::engine::Engine;
use super::place::Place;
use super::start::{NOTHING, prove, shown_by, with};
use crate::release;

pub(crate) fn cases(place: &Place) -> Result<Vec<Case>> {
    let program = release::binary()?;
    let on = ["--sandbox", "native", "--relax", "limits"];
    let session = Session::start(&|args| with(place, &program, args), place, &on)?;
    let mut asked = session.asked("`/bin/true` in a session, recorded");
    let by_hand = with(place, &program, &["session", "exec", &session.run, "--", NOTHING]);
    asked.keep(session);
    Ok(vec![
        Case::command("plain start of `/bin/true`", place.command(NOTHING)),
        asked,
        Case::command("`cofferdam session exec`", by_hand),
    ])
}

/// The same in a container, against the engine's own way into that very container.
pub(crate) fn in_container(place: &Place) -> Result<Vec<Case>> {
    let names = [
        "`docker exec` of `/bin/true` into a session's container",
        "`/bin/true` in that session, recorded",
        "`cofferdam session exec`",
    ];
    let engine = match Engine::find(place) {
        Ok(engine) => engine,
        Err(error) => {
            let reason = format!("{error:#}");
            return Ok(names.map(|name| Case::skipped(name, reason.clone())).into());
        }
    };
    let program = release::binary()?;
    let ours = |args: &[&str]| {
        let mut command = with(place, &program, args);
        command.env("DOCKER_HOST", engine.host());
        command
    };
    let session = Session::start(&ours, place, &["--sandbox", "docker"])?;
    let container = format!("cofferdam-{}", session.run);
    prove(shown_by(engine.docker(), &["exec", &container]), 83, "started\n")?;
    let mut peer = engine.docker();
    peer.args(["exec", &container, NOTHING]);
    let [peer_name, asked_name, by_hand_name] = names;
    let asked = session.asked(asked_name);
    let by_hand = ours(&["session", "exec", &session.run, "--", NOTHING]);
    let mut by_hand = Case::command(by_hand_name, by_hand);
    // The last case to go takes the session with it, and then the engine.
    by_hand.keep((session, engine));
    // No pause between them: the commands of a session follow each other.
    Ok(vec![Case::command(peer_name, peer), asked, by_hand])
}

/// A session that is stopped in the end.
pub(super) struct Session {
    pub(super) run: String,
    socket: PathBuf,
    stop: Command,
}

impl Session {
    /// `ours` is the program with these arguments, where the session is to be.
    pub(super) fn start(
        ours: &dyn Fn(&[&str]) -> Command,
        place: &Place,
        flags: &[&str],
    ) -> Result<Self> {
        let head = [&["session", "start", "--json"], flags].concat();
        let started = ours(&head).output().context("cannot start a session")?;
        let said: serde_json::Value = serde_json::from_slice(&started.stdout)
            .with_context(|| String::from_utf8_lossy(&started.stderr).into_owned())?;
        let run = said["run"].as_str().context("the session has no name")?.to_owned();
        let socket = place.state().join("cofferdam/runs").join(&run).join("socket");
        let stop = ours(&["session", "stop", &run, "--quiet"]);
        // Only a session that runs what it is told is timed.
        exec(&socket, &serde_json::json!(["/bin/sh", "-c", "exit 83"]), 83)?;
        Ok(Self { run, socket, stop })
    }

    /// Nothing, asked for as a server does.
    fn asked(&self, name: &str) -> Case {
        let socket = self.socket.clone();
        Case::new(name, move || exec(&socket, &serde_json::json!([NOTHING]), 0))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // One that stays is seen by whoever removes the place.
        self.stop.status().ok();
    }
}

fn exec(socket: &Path, command: &serde_json::Value, code: i64) -> Result<()> {
    let question = serde_json::json!({
        "exec": { "spec": { "command": command }, "name": null, "given": [], "stay": "to_the_end" }
    });
    let mut stream = UnixStream::connect(socket).context("the session is gone")?;
    let text = question.to_string();
    let length = u32::try_from(text.len())?.to_le_bytes();
    stream.write_all(&[&length, text.as_bytes()].concat())?;
    let begun = answer(&mut stream)?;
    let ended = answer(&mut stream)?;
    if ended["ended"]["outcome"]["exit_code"] != code {
        bail!("expected exit code {code}, and the session said {begun} {ended}");
    }
    Ok(())
}

fn answer(stream: &mut UnixStream) -> Result<serde_json::Value> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut text = vec![0; usize::try_from(u32::from_le_bytes(length))?];
    stream.read_exact(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}
