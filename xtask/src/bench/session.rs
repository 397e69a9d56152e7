//! How long a command takes in a session that is there already: asked for over its socket, as a server does, and by
//! the command line.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::case::Case;
use super::place::Place;
use super::start::{NOTHING, with};
use crate::release;

pub(crate) fn cases(place: &Place) -> Result<Vec<Case>> {
    let program = release::binary()?;
    let session = Session::start(place, &program)?;
    session.exec("exit 83", 83)?;
    let socket = session.socket.clone();
    let mut asked = Case::new("`/bin/true` in a session, recorded", move || {
        exec(&socket, &serde_json::json!([NOTHING]), 0)
    });
    let by_hand = with(place, &program, &["session", "exec", &session.run, "--", NOTHING]);
    asked.keep(session);
    Ok(vec![
        Case::command("plain start of `/bin/true`", place.command(NOTHING)),
        asked,
        Case::command("`cofferdam session exec`", by_hand),
    ])
}

/// A session that is stopped in the end.
struct Session {
    run: String,
    socket: PathBuf,
    stop: Command,
}

impl Session {
    fn start(place: &Place, program: &Path) -> Result<Self> {
        let head = ["session", "start", "--json", "--sandbox", "native", "--relax", "limits"];
        let started = with(place, program, &head).output().context("cannot start a session")?;
        let said: serde_json::Value = serde_json::from_slice(&started.stdout)
            .with_context(|| String::from_utf8_lossy(&started.stderr).into_owned())?;
        let run = said["run"].as_str().context("the session has no name")?.to_owned();
        let socket = place.state().join("cofferdam/runs").join(&run).join("socket");
        let stop = with(place, program, &["session", "stop", &run, "--quiet"]);
        Ok(Self { run, socket, stop })
    }

    /// Only a session that runs what it is told is timed.
    fn exec(&self, script: &str, code: i64) -> Result<()> {
        exec(&self.socket, &serde_json::json!(["/bin/sh", "-c", script]), code)
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
