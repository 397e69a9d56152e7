//! A server as a process, and those who listen to it.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::api::Api;
use crate::place::Place;

/// A server that is stopped with this.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    address: String,
    token: String,
}

impl Server {
    /// With a store of its own.
    pub(super) fn start(place: &Place, program: &Path, name: &str, flags: &[&str]) -> Result<Self> {
        let database = place.workspace().join(format!("{name}.db"));
        let mut command = place.command(program);
        command
            .args(["serve", "--json", "--listen", "127.0.0.1:0", "--rate-limit", "0", "--database"])
            .arg(&database)
            .args(flags);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the server")?;
        let mut line = String::new();
        let stdout = child.stdout.take().context("its output is a pipe")?;
        BufReader::new(stdout).read_line(&mut line)?;
        let said: Value =
            serde_json::from_str(&line).with_context(|| format!("it said {line:?}"))?;
        let text =
            |name: &str| said[name].as_str().map(str::to_owned).context("it says where it is");
        let address = text("url")?.trim_start_matches("http://").to_owned();
        Ok(Self { child, address, token: text("token")? })
    }

    pub(super) fn api(&self) -> Result<Api> {
        Api::new(&self.address, &self.token)
    }

    /// In KiB.
    pub(super) fn resident(&self) -> Result<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let text =
            line.and_then(|line| line.split_whitespace().next()).context("there is a VmRSS")?;
        Ok(text.parse()?)
    }

    /// In user and system mode, all threads.
    pub(super) fn processor_time(&self) -> Result<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let (_, rest) = stat.rsplit_once(')').context("a stat has a name")?;
        let ticks: Vec<u64> =
            rest.split_whitespace().skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
        // A hundred a second, on every Linux that this runs on.
        Ok(Duration::from_millis(ticks.iter().sum::<u64>() * 10))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let pid = self.child.id().to_string();
        for _ in 0..2 {
            // One that has ended by itself needs none.
            Command::new("kill").args(["-TERM", &pid]).status().ok();
            std::thread::sleep(Duration::from_millis(200));
        }
        self.child.wait().ok();
    }
}

/// Somebody who hears every event.
#[derive(Debug)]
pub(super) struct Listener(#[expect(dead_code, reason = "open is all that it has to be")] Api);

impl Listener {
    pub(super) fn open(server: &Server) -> Result<Self> {
        let mut api = server.api()?;
        api.ask("GET", "/v1/events", "", "Accept: text/event-stream\r\n")?;
        let (status, _) = api.head()?;
        ensure!(status == 200, "a listener was answered {status}");
        Ok(Self(api))
    }
}
