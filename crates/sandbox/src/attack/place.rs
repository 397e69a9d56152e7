//! A place for one attack: a home, a state directory, a workspace, something outside of it, and whoever listens
//! there. All of it is made up, and nothing of the user's is in it.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cofferdam_core::attack::Word;
use cofferdam_native::random;

use super::act::{Done, wait};
use super::surroundings::Surroundings;
use super::{AttackError, Footing, Means};
use crate::tree::remove_tree;

/// Where places are made, and the copy of this program that sandboxes see.
#[derive(Debug)]
pub(super) struct Ground {
    top: PathBuf,
    program: PathBuf,
    variables: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    made: Cell<u32>,
}

impl Ground {
    pub(super) fn make(means: &Means) -> Result<Self, AttackError> {
        let temporary = means.temporary.canonicalize();
        let temporary = temporary.map_err(AttackError::place(&means.temporary))?;
        let mut random = [0; 8];
        random::fill(&mut random).map_err(AttackError::place(&temporary))?;
        let top = temporary.join(format!("cofferdam-attack-{:016x}", u64::from_le_bytes(random)));
        let tools = top.join("tools/bin");
        make_dir(&tools)?;
        let program = tools.join("cofferdam");
        // Where it lies may be closed to the user that programs have inside.
        fs::copy(&means.program, &program).map_err(AttackError::place(&program))?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))
            .map_err(AttackError::place(&program))?;
        Ok(Self { top, program, variables: means.variables.clone(), made: Cell::new(0) })
    }

    pub(super) fn top(&self) -> &Path {
        &self.top
    }
}

fn make_dir(path: &Path) -> Result<(), AttackError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o755).create(path).map_err(AttackError::place(path))
}

/// What a home has that somebody would like to read.
const HOME: [&str; 11] = [
    ".ssh/id_ed25519",
    ".netrc",
    ".aws/credentials",
    ".config/gh/hosts.yml",
    ".kube/config",
    ".docker/config.json",
    ".azure/accessTokens.json",
    ".config/gcloud/credentials.db",
    ".gnupg/private-keys-v1.d/key",
    ".git-credentials",
    ".bash_history",
];

/// Variables of the host that nobody listed.
const SECRETS: [(&str, &str); 5] = [
    ("GITHUB_TOKEN", "attack-secret-token"),
    ("AWS_SECRET_ACCESS_KEY", "attack-secret-aws"),
    ("OPENAI_API_KEY", "attack-secret-key"),
    ("DB_PASSWORD", "attack-secret-password"),
    ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/attack-secret-bus"),
];

/// Longer than any attack takes; one that takes longer has won.
const PATIENCE: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub(super) struct Place<'g> {
    ground: &'g Ground,
    footing: Footing,
    dir: PathBuf,
    surroundings: Surroundings,
}

impl<'g> Place<'g> {
    pub(super) fn make(ground: &'g Ground, footing: Footing) -> Result<Self, AttackError> {
        let number = ground.made.get() + 1;
        ground.made.set(number);
        let dir = ground.top.join(number.to_string());
        for name in ["home", "state", "workspace", "outside", "home/.config/cofferdam"] {
            make_dir(&dir.join(name))?;
        }
        for name in HOME {
            let path = dir.join("home").join(name);
            make_dir(path.parent().unwrap_or(&dir))?;
            // An engine's client reads its own as settings.
            let text = if name.ends_with(".json") { "{}\n" } else { "attack-secret-file\n" };
            fs::write(&path, text).map_err(AttackError::place(&path))?;
        }
        let surroundings = Surroundings::make(&dir)?;
        Ok(Self { ground, footing, dir, surroundings })
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.dir.join("workspace")
    }

    pub(super) fn state(&self) -> PathBuf {
        self.dir.join("state/cofferdam")
    }

    /// Writes the host owner's settings, which nobody else may write, whatever files have by default here.
    pub(super) fn settle(&self, text: &str) -> Result<(), AttackError> {
        let path = self.dir.join("home/.config/cofferdam/config.yaml");
        fs::write(&path, self.fill(text)).map_err(AttackError::place(&path))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600))
            .map_err(AttackError::place(&path))
    }

    /// Runs a script inside.
    pub(super) fn run(&self, flags: &[&str], script: &str) -> Result<Done, AttackError> {
        let (flags, script) = (flags.iter().map(|flag| self.fill(flag)), self.fill(script));
        let mut command = self.ours();
        command.args(["run", "--quiet"]).args(self.footing.flags()).args(flags);
        command.args(["--", "sh", "-c", &script]);
        self.finish(command)
    }

    /// Runs a command of ours.
    pub(super) fn command(&self, args: &[&str]) -> Result<Done, AttackError> {
        let mut command = self.ours();
        command.args(args.iter().map(|arg| self.fill(arg)));
        self.finish(command)
    }

    /// Runs a script on the host, in the workspace.
    pub(super) fn on_the_host(&self, script: &str) -> Result<Done, AttackError> {
        let mut command = self.program(OsStr::new("sh"));
        command.args(["-c", &self.fill(script)]);
        command.env("COFFERDAM", &self.ground.program);
        command.env("SANDBOX", self.footing.flags().join(" "));
        self.finish(command)
    }

    fn ours(&self) -> Command {
        self.program(self.ground.program.as_os_str())
    }

    fn program(&self, program: &OsStr) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.workspace()).stdin(Stdio::null());
        command.envs(self.ground.variables.iter().map(|(name, value)| (name, value)));
        let path = self.ground.variables.iter().find(|(name, _)| name == "PATH");
        let mut search = self.ground.program.parent().unwrap_or(&self.dir).as_os_str().to_owned();
        if let Some((_, path)) = path {
            search.push(":");
            search.push(path);
        }
        // A directory of the search path is shown inside, and with it the copy of this program.
        command.env("PATH", search).env("HOME", self.dir.join("home"));
        command.env("XDG_STATE_HOME", self.dir.join("state"));
        command.env("XDG_CONFIG_HOME", self.dir.join("home/.config"));
        command.env("SSH_AUTH_SOCK", self.surroundings.unix());
        command.envs(SECRETS);
        command
    }

    fn finish(&self, mut command: Command) -> Result<Done, AttackError> {
        let path = self.dir.join("said");
        let said = File::create(&path).map_err(AttackError::place(&path))?;
        let also = said.try_clone().map_err(AttackError::place(&path))?;
        let start = |source| AttackError::Start { program: self.ground.program.clone(), source };
        let child = command.stdout(said).stderr(also).spawn().map_err(start)?;
        let code = wait(child, Instant::now() + PATIENCE).map_err(start)?;
        let said = fs::read(&path).map_err(AttackError::look(&path))?;
        // Enough to find words in; no attack prints its words later.
        let said = String::from_utf8_lossy(&said[..said.len().min(4 << 20)]).into_owned();
        Ok(Done { code, said })
    }

    /// A text with the words of this place in it.
    pub(super) fn fill(&self, text: &str) -> String {
        if !text.contains('{') {
            return text.to_owned();
        }
        let path = |name: &str| self.dir.join(name).display().to_string();
        Word::ALL.into_iter().fold(text.to_owned(), |text, (word, written)| {
            if !text.contains(written) {
                return text;
            }
            let meant = match word {
                Word::Try => {
                    format!("{} {}", self.ground.program.display(), super::trying::WORD)
                }
                Word::Outside => path("outside"),
                Word::Home => path("home"),
                Word::Workspace => path("workspace"),
                Word::State => path("state"),
                other => self.surroundings.word(other),
            };
            text.replace(written, &meant)
        })
    }

    /// What happened to the host that should not have: whatever the attack was.
    pub(super) fn harm(&self) -> Result<Option<String>, AttackError> {
        super::marks::settle(&self.state())?;
        if let Some(reached) = self.surroundings.harm() {
            return Ok(Some(reached));
        }
        let left = super::marks::processes(&self.state())?;
        Ok((!left.is_empty()).then(|| format!("processes of the run are left: {left:?}")))
    }

    /// Takes it away.
    pub(super) fn leave(self) -> Result<(), AttackError> {
        super::marks::settle(&self.state())?;
        let Self { dir, surroundings, .. } = self;
        drop(surroundings);
        remove_tree(&dir).map_err(AttackError::place(&dir))
    }
}
