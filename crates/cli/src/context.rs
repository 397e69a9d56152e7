//! Where the user is and where our files are: the only reader of the environment.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context as _, Result};
use cofferdam_core::env::EnvName;
use cofferdam_sandbox::engine::Surroundings;
use cofferdam_sandbox::host::Homes;

/// The place a command runs in.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    uid: u32,
    pub(crate) home: PathBuf,
    account_home: Option<PathBuf>,
    pub(crate) config_dir: PathBuf,
    pub(crate) state_dir: PathBuf,
    pub(crate) cwd: PathBuf,
    /// `user:NAME`, for the record; or, of a runner's errand, `WHO by user:NAME`.
    pub(crate) actor: String,
    /// All variables of the host, for the settings and for what is passed through by name.
    pub(crate) variables: Vec<(OsString, OsString)>,
}

/// What the current directory is to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whereabouts {
    Needed,
    /// It may be gone. What is typed as seen from there is not found then.
    Indifferent,
}

/// Whether whoever reads our words wants colours in them, as far as the environment says. What they are read on is for the
/// caller to ask. The only reader of `NO_COLOR`, see <https://no-color.org>.
pub(crate) fn allows_colour() -> bool {
    env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// How this program is started from here, for commands that are shown to be typed: by its name where the
/// search path leads to this very file, else the way it was started now.
pub(crate) fn program() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        const NAME: &str = "cofferdam";
        let id = |path: &Path| fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()));
        let path = env::var_os("PATH").unwrap_or_default();
        let found = env::split_paths(&path).find_map(|dir| id(&dir.join(NAME)));
        let typed = env::args_os().next().and_then(|word| word.into_string().ok());
        match typed {
            _ if found.is_some() && found == id(Path::new("/proc/self/exe")) => NAME.to_owned(),
            Some(typed) if typed.contains('/') => quoted(typed.as_ref()),
            _ => NAME.to_owned(),
        }
    })
}

/// Opens the holes that a test asks for. Users have no such build.
#[cfg(feature = "weaken")]
pub(crate) fn weaken() {
    let names = env::var("TEST_WEAKEN").unwrap_or_default();
    let known = names.is_empty() || cofferdam_core::weaken::switch_on(&names);
    assert!(known, "TEST_WEAKEN={names}: no such hole");
}

/// The words of this program's own command line, for starting it once more.
pub(crate) fn words() -> Vec<OsString> {
    env::args_os().skip(1).collect()
}

/// A word as a shell takes it. One that cannot be shown as it is comes in bash's own quotes.
pub(crate) fn quoted(word: &OsStr) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c);
    match word.to_str() {
        Some(text) if !text.is_empty() && text.chars().all(plain) => text.to_owned(),
        Some(text) if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) => {
            format!("'{}'", text.replace('\'', "'\\''"))
        }
        _ => {
            let bytes = word.as_bytes().iter();
            let escaped: String = bytes.map(|byte| format!("\\x{byte:02x}")).collect();
            format!("$'{escaped}'")
        }
    }
}

/// Host variables that describe the place and not the person; the program may see them.
const PLACE: [&str; 8] = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TERM"];

/// Stands for a directory that there is none of.
const NOWHERE: &str = "/nonexistent";

impl Context {
    pub(crate) fn from_environment(whereabouts: Whereabouts) -> Result<Self> {
        let home = absolute("HOME")?.context(
            "HOME is not set: Cofferdam keeps its records below it (set HOME, or XDG_STATE_HOME and XDG_CONFIG_HOME)",
        );
        let state = absolute("XDG_STATE_HOME")?;
        let config = absolute("XDG_CONFIG_HOME")?;
        let home = match (&state, &config, home) {
            (Some(_), Some(_), Err(_)) => PathBuf::from(NOWHERE),
            (_, _, home) => home?,
        };
        // The directory that a process appears as belongs to the user it acts as.
        let me =
            fs::metadata("/proc/self").context("cannot look at /proc/self: is /proc mounted?")?;
        let (name, account_home) = account(me.uid());
        let actor = match env::var(cofferdam_server::runner::ACTOR) {
            // A runner works for others; that it was it is part of the record.
            Ok(other) if !other.is_empty() => format!("{other} by user:{name}"),
            _ => format!("user:{name}"),
        };
        let cwd = match env::current_dir() {
            Ok(cwd) => cwd,
            Err(_) if whereabouts == Whereabouts::Indifferent => PathBuf::from(NOWHERE),
            Err(error) => {
                return Err(error).context(
                    "the current directory cannot be read (go to one that is there: it may have been removed)",
                );
            }
        };
        Ok(Self {
            uid: me.uid(),
            config_dir: config.unwrap_or_else(|| home.join(".config")).join("cofferdam"),
            state_dir: state.unwrap_or_else(|| home.join(".local/state")).join("cofferdam"),
            home,
            cwd,
            actor,
            account_home,
            variables: env::vars_os().collect(),
        })
    }

    /// The home directory by the environment and by the accounts' own file: one may be wrong.
    pub(crate) fn homes(&self) -> Vec<PathBuf> {
        let mut homes = vec![self.home.clone()];
        homes.extend(self.account_home.clone());
        homes
    }

    /// The value of a host variable.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsString> {
        self.variables.iter().find(|(n, _)| n == name).map(|(_, value)| value)
    }

    /// Those of [`PLACE`] that are set and are text.
    pub(crate) fn place(&self) -> impl Iterator<Item = (EnvName, String)> + '_ {
        PLACE.iter().filter_map(|name| {
            let value = self.variable(name)?.to_str()?.to_owned();
            Some((name.parse().ok()?, value))
        })
    }

    /// Where the user's tools keep their things.
    pub(crate) fn tool_homes(&self) -> Homes {
        Homes::new(&self.home, |name| self.variable(name).map(PathBuf::from))
    }

    /// Where container engines are looked for.
    pub(crate) fn engines(&self) -> Surroundings {
        let text = |name| self.variable(name).map(|value| value.to_string_lossy().into_owned());
        let dir = |name| self.variable(name).map(PathBuf::from).filter(|dir| dir.is_absolute());
        Surroundings {
            uid: self.uid,
            program: env::current_exe().unwrap_or_default(),
            runtime_dir: dir("XDG_RUNTIME_DIR"),
            docker_host: text("DOCKER_HOST"),
            docker_context: text("DOCKER_CONTEXT"),
            docker_tls: ["DOCKER_TLS_VERIFY", "DOCKER_TLS"]
                .into_iter()
                .filter_map(text)
                .find(|v| !v.is_empty()),
            docker_certs: self
                .variable("DOCKER_CERT_PATH")
                .filter(|path| !path.is_empty())
                .map(|path| self.resolve(Path::new(path))),
            docker_config: dir("DOCKER_CONFIG").unwrap_or_else(|| self.home.join(".docker")),
            container_host: text("CONTAINER_HOST"),
        }
    }

    /// A path as the user meant it, seen from where they are.
    pub(crate) fn resolve(&self, path: &Path) -> PathBuf {
        self.cwd.join(path)
    }
}

/// Whose process this is: name and home. Not from the environment: anybody can set a variable.
fn account(uid: u32) -> (String, Option<PathBuf>) {
    let uid = uid.to_string();
    let accounts = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let ours = accounts.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let ours = ours.into_iter().find(|fields| fields.get(2) == Some(&uid.as_str()));
    match ours.as_deref() {
        Some([name, _, _, _, _, home, ..]) => {
            // Services have the root directory, or nothing, as their home.
            let home = Some(PathBuf::from(home)).filter(|home| home.parent().is_some());
            ((*name).to_owned(), home)
        }
        _ => (uid, None),
    }
}

/// A directory variable. A relative one is ignored, as the base directory specification asks.
fn absolute(name: &str) -> Result<Option<PathBuf>> {
    Ok(env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute()))
}
