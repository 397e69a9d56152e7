//! Where a drill plays: a place, the program, and workspaces for as many actors as it has.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::{Asked, Whose};
use crate::cargo::shown;
use crate::engine::PrivateEngine;
use crate::place::Place;

/// Longer than anything here may take; more is a hang.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Scene {
    pub(super) place: Place,
    program: PathBuf,
    pub(super) sandbox: String,
    own: Option<OwnEngine>,
    said: AtomicUsize,
}

/// An engine that is part of the scene. It has a place of its own, so that nothing of the engine's is taken for
/// something that we left.
struct OwnEngine {
    host: String,
    /// Stopped before its place goes: fields are dropped in order.
    engine: Mutex<PrivateEngine>,
    _place: Place,
}

/// How a command of ours ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// `None` where it had to be killed for taking too long.
    pub(super) status: Option<ExitStatus>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Ended {
    pub(super) fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// For a reader who has to find out what went wrong.
    pub(super) fn story(&self) -> String {
        let how = self.status.map_or("never ended".to_owned(), |status| status.to_string());
        format!("{how}: {}", self.stderr.trim().replace('\n', " / "))
    }
}

impl Scene {
    pub(super) fn new(asked: &Asked) -> Result<Self> {
        let (program, sandbox) = (asked.program.clone(), asked.sandbox.clone());
        let own = match asked.engine {
            Whose::Anybodys => None,
            Whose::Own => {
                let place = Place::new()?;
                let engine = PrivateEngine::start(&place)?;
                Some(OwnEngine { host: engine.host(), engine: Mutex::new(engine), _place: place })
            }
        };
        Ok(Self { place: Place::new()?, program, sandbox, own, said: AtomicUsize::new(0) })
    }

    pub(super) fn has_own_engine(&self) -> bool {
        self.own.is_some()
    }

    /// Kills the scene's own engine, and has it come up again.
    pub(super) fn kill_engine(&self) -> Result<()> {
        let own = self.own.as_ref().context("the scene has no engine of its own")?;
        let engine = own.engine.lock();
        engine.unwrap_or_else(|poisoned| poisoned.into_inner()).kill()
    }

    /// Where the engine of this name is looked for, if that is the one which the drill is about.
    pub(super) fn engine(&self, variable: &str) -> Option<String> {
        let used = match self.sandbox.as_str() {
            "docker" => "DOCKER_HOST",
            "podman" => "CONTAINER_HOST",
            _ => return None,
        };
        if variable != used {
            return None;
        }
        self.own.as_ref().map(|own| own.host.clone()).or_else(|| std::env::var(variable).ok())
    }

    pub(super) fn state(&self) -> PathBuf {
        self.place.state().join("cofferdam")
    }

    /// A home and a workspace of one actor, who shares the state directory with all others.
    pub(super) fn actor(&self, number: usize) -> Result<Actor<'_>> {
        let home = self.place.top().join(format!("actor-{number}"));
        let workspace = home.join("workspace");
        fs::create_dir_all(&workspace)
            .with_context(|| format!("cannot make {}", workspace.display()))?;
        Ok(Actor { scene: self, home, workspace })
    }

    /// The program, as nobody in particular: for `gc` and `audit`.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.place.command(&self.program);
        for name in ["DOCKER_HOST", "CONTAINER_HOST"] {
            let nowhere = || "unix:///nonexistent/engine.sock".to_owned();
            command.env(name, self.engine(name).unwrap_or_else(nowhere));
        }
        command.args(words);
        command
    }

    pub(super) fn finish(&self, words: &[&str]) -> Result<Ended> {
        self.begin(self.command(words))?.finish()
    }

    /// Starts it; what it says goes to files, so that nobody has to listen.
    pub(super) fn begin(&self, mut command: Command) -> Result<Begun> {
        let number = self.said.fetch_add(1, Ordering::Relaxed);
        let words = self.place.top().join(format!("said-{number}"));
        let file =
            |end: &str| File::create(words.with_extension(end)).context("cannot make a file");
        command.stdin(Stdio::null()).stdout(file("out")?).stderr(file("err")?);
        let child = command.spawn().with_context(|| format!("cannot start {}", shown(&command)))?;
        Ok(Begun { child, words })
    }
}

/// Somebody with a workspace.
pub(super) struct Actor<'a> {
    pub(super) scene: &'a Scene,
    pub(super) home: PathBuf,
    pub(super) workspace: PathBuf,
}

impl Actor<'_> {
    /// The variables tell whose processes these are.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut command = self.scene.command(words);
        command.env("HOME", &self.home).current_dir(&self.workspace);
        command
    }

    pub(super) fn begin(&self, words: &[&str]) -> Result<Begun> {
        self.scene.begin(self.command(words))
    }

    pub(super) fn finish(&self, words: &[&str]) -> Result<Ended> {
        self.begin(words)?.finish()
    }
}

/// A command that goes on.
pub(super) struct Begun {
    pub(super) child: Child,
    words: PathBuf,
}

impl Begun {
    pub(super) fn finish(mut self) -> Result<Ended> {
        let end = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break Some(status);
            }
            if Instant::now() > end {
                self.child.kill().context("cannot end what hangs")?;
                self.child.wait()?;
                break None;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        Ok(Ended { status, stdout: taken(&self.words, "out")?, stderr: taken(&self.words, "err")? })
    }
}

fn taken(words: &Path, end: &str) -> Result<String> {
    let path = words.with_extension(end);
    let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    fs::remove_file(&path)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
