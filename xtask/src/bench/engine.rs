//! Every way to start a command in one run, container engines among them: a new container for each start, and one
//! container for all.
//!
//! An engine goes on working after it has answered, so that every start here comes after a pause; the other tables
//! are made without an engine. Where none answers, a private one is started, with its own state and without a
//! network, and stopped at the end; where that cannot be had either, the table says so.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};

use super::case::Case;
use super::driver;
use super::place::Place;
use super::start::{self, NOTHING, prove, shown_by};
use crate::cargo::{output_of, succeed, works};
use crate::engine::{PrivateEngine, client};
use crate::provide::is_there;

const DEFAULT_SOCKET: &str = "unix:///var/run/docker.sock";
pub(super) const IMAGE: &str = "cofferdam-bench";

pub(crate) fn cases(place: &Place) -> Result<Vec<Case>> {
    let mut cases = vec![
        Case::command("plain start of `/bin/true`", place.command(NOTHING)),
        start::native(place)?,
        start::bubblewrap(place)?,
    ];
    cases.extend(driver::cases(place)?);
    let names = ["`docker exec` into a container that runs", "`docker run --rm`, no network"];
    match Engine::find(place) {
        Ok(engine) => cases.extend(engine.cases(names)?),
        Err(error) => {
            let reason = format!("{error:#}");
            cases.extend(names.map(|name| Case::skipped(name, reason.clone())));
        }
    }
    for case in &mut cases {
        case.pause = PAUSE;
    }
    Ok(cases)
}

/// What an engine does after an answer takes it about as long.
pub(super) const PAUSE: Duration = Duration::from_millis(150);

/// An engine that answers, with an image of ours and a container that waits.
pub(super) struct Engine {
    host: String,
    container: String,
    /// Stopped after everything of ours is removed: fields are dropped in order.
    _private: Option<PrivateEngine>,
}

impl Engine {
    pub(super) fn find(place: &Place) -> Result<Self> {
        let answers = |host: &str| {
            is_there("docker") && works(client(host).args(["version", "--format", "x"]))
        };
        let (host, private) = if answers(DEFAULT_SOCKET) {
            (DEFAULT_SOCKET.to_owned(), None)
        } else {
            let private = PrivateEngine::start(place)?;
            (private.host(), Some(private))
        };
        let mut engine = Self { host, container: String::new(), _private: private };
        engine.import(place)?;
        let wait = ["run", "--detach", "--network", "none", IMAGE, "/bin/sleep", "1000000"];
        let id = output_of(engine.docker().args(wait))?;
        engine.container = String::from_utf8(id)?.trim().to_owned();
        Ok(engine)
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn docker(&self) -> Command {
        client(&self.host)
    }

    /// One static program and the names it goes by.
    fn import(&self, place: &Place) -> Result<()> {
        let tree = place.workspace().join("image");
        let bin = tree.join("bin");
        std::fs::create_dir_all(&bin).with_context(|| format!("cannot make {}", bin.display()))?;
        let busybox = [Path::new("/bin/busybox"), Path::new("/usr/bin/busybox")];
        let busybox = busybox.into_iter().find(|path| path.is_file());
        let busybox = busybox.context("there is no busybox (package busybox-static)")?;
        std::fs::copy(busybox, bin.join("busybox")).context("cannot copy busybox")?;
        for name in ["sh", "true", "sleep"] {
            std::os::unix::fs::symlink("busybox", bin.join(name)).context("cannot make a link")?;
        }
        let mut tar = Command::new("tar");
        let mut tar = tar
            .arg("-C")
            .arg(&tree)
            .args(["-c", "."])
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start tar")?;
        let packed = tar.stdout.take().context("tar has no output")?;
        succeed(self.docker().args(["import", "-", IMAGE]).stdin(packed).stdout(Stdio::null()))?;
        tar.wait().context("tar is lost")?;
        Ok(())
    }

    fn cases(self, [exec, run]: [&str; 2]) -> Result<Vec<Case>> {
        let in_new = ["run", "--rm", "--network", "none", IMAGE];
        let in_old = ["exec", self.container.as_str()];
        for args in [&in_new[..], &in_old[..]] {
            prove(shown_by(self.docker(), args), 83, "started\n")?;
        }
        let command = |args: &[&str]| {
            let mut command = self.docker();
            command.args(args).arg(NOTHING);
            command
        };
        let (in_old, in_new) = (command(&in_old), command(&in_new));
        let mut run = Case::command(run, in_new);
        // The last case to go takes the engine with it.
        run.keep(self);
        Ok(vec![Case::command(exec, in_old), run])
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if !self.container.is_empty() && !works(self.docker().args(["rm", "-f", &self.container])) {
            eprintln!("xtask: the engine does not remove the container {}", self.container);
        }
        if !works(self.docker().args(["rmi", "-f", IMAGE])) {
            eprintln!("xtask: the engine does not remove the image {IMAGE}");
        }
    }
}
