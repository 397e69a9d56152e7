//! A PostgreSQL of the tests' own: made anew, on a socket in a directory that goes with it.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::cargo::{output_of, succeed, works};
use crate::ending::{Kept, keep};

const PATIENCE: Duration = Duration::from_secs(60);
/// It refuses to run as root, and Debian's package has made this user.
const USER: &str = "postgres";

#[derive(Debug)]
pub(crate) struct Postgres {
    dir: PathBuf,
    server: Option<Child>,
    kept: Kept,
}

impl Postgres {
    pub(crate) fn start() -> Result<Self> {
        let dir = std::env::temp_dir().join(format!("cofferdam-postgres-{}", std::process::id()));
        fs::create_dir(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755))?;
        // INT ends its sessions and writes everything out.
        let kept = keep(&dir, "-INT");
        let mut made = Self { dir, server: None, kept };
        let (user, group) = (id("-u")?, id("-g")?);
        chown(&made.dir, Some(user), Some(group))?;
        let data = made.dir.join("data");
        let mut init = as_user("initdb")?;
        // Thrown away afterwards: what tests is durable is SQLite, on the disk; here it is the same commands.
        init.args(["--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync", "-D"]).arg(&data);
        succeed(init.current_dir(&made.dir).stdin(Stdio::null()).stdout(Stdio::null()))?;
        let mut server = as_user("postgres")?;
        server.arg("-D").arg(&data).arg("-k").arg(&made.dir).args(["-c", "listen_addresses="]);
        server.args(["-c", "max_connections=300"]);
        let log = fs::File::create(made.dir.join("log")).context("cannot make a log")?;
        server.current_dir(&made.dir).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let server = server.spawn().context("cannot start PostgreSQL")?;
        made.kept.are(&[server.id()]);
        made.server = Some(server);
        made.wait()?;
        Ok(made)
    }

    /// Where tests reach it; each makes a database of its own there.
    pub(crate) fn url(&self) -> String {
        format!("postgres:///postgres?host={}&user={USER}", self.dir.display())
    }

    fn wait(&self) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if works(as_user("pg_isready")?.arg("-h").arg(&self.dir)) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let log = fs::read_to_string(self.dir.join("log")).unwrap_or_default();
        bail!("PostgreSQL does not answer:\n{log}")
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            // INT ends its sessions and writes everything out.
            let pid = server.id().to_string();
            if !works(Command::new("kill").args(["-INT", &pid])) {
                eprintln!("xtask: cannot stop process {pid}");
            }
            if let Err(error) = server.wait() {
                eprintln!("xtask: cannot wait for process {pid}: {error}");
            }
        }
        if let Err(error) = fs::remove_dir_all(&self.dir) {
            eprintln!("xtask: {} is left: {error}", self.dir.display());
        }
    }
}

fn id(what: &str) -> Result<u32> {
    let output = output_of(Command::new("id").args([what, USER]))?;
    let text = String::from_utf8_lossy(&output);
    text.trim().parse().with_context(|| format!("there is no user {USER}"))
}

/// A program of PostgreSQL's, as its own user.
fn as_user(program: &str) -> Result<Command> {
    let path = newest(Path::new("/usr/lib/postgresql"), program)?;
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid", USER, "--regid", USER, "--init-groups", "--pdeathsig", "TERM"])
        .arg(path);
    Ok(command)
}

/// Debian keeps each version in a directory of its own, out of the way.
fn newest(dir: &Path, program: &str) -> Result<PathBuf> {
    let versions = fs::read_dir(dir).with_context(|| format!("cannot read {}", dir.display()))?;
    let mut found: Vec<(u32, PathBuf)> = versions
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
        .map(|(version, path)| (version, path.join("bin").join(program)))
        .filter(|(_, path)| path.is_file())
        .collect();
    found.sort();
    let newest = found.pop().with_context(|| format!("no {program} below {}", dir.display()))?;
    Ok(newest.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_that_has_the_program_is_taken() {
        let dir = std::env::temp_dir().join(format!("cofferdam-newest-{}", std::process::id()));
        for version in ["9", "15", "16"] {
            fs::create_dir_all(dir.join(version).join("bin")).unwrap();
        }
        for version in ["9", "15"] {
            fs::write(dir.join(version).join("bin/initdb"), "").unwrap();
        }
        assert_eq!(newest(&dir, "initdb").unwrap(), dir.join("15/bin/initdb"));
        assert!(newest(&dir, "nothing").is_err());
        fs::remove_dir_all(&dir).unwrap();
    }
}
