//! A program of the host's that keeps the user's logins, as Docker's own client asks it: `docker-credential-NAME get`,
//! with the registry on its standard input.
//!
//! Which one, the user's own configuration of Docker says. It is asked when an image is fetched and never inside a
//! sandbox; what it answers goes to the engine alone.

use std::io::{self, Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;

use super::super::at;

/// A user may have to say yes to somebody first.
const PATIENCE: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_millis(10);
/// Of what it says.
const MOST: u64 = 64 << 10;
/// What helpers say, and end with a failure, where they have nothing.
const NOTHING: &str = "credentials not found";

/// A name and a secret; where the name says so, the secret is a token.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
pub(super) struct Words {
    pub(super) username: String,
    pub(super) secret: String,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum HelperError {
    #[error("{name:?} is not the name of a credential helper")]
    Name { name: String },
    #[error("{program}: {source}")]
    Start { program: String, source: io::Error },
    #[error("{program} does not answer")]
    Hung { program: String },
    /// What it says may hold a secret.
    #[error("{program} failed, or said what cannot be understood")]
    Failed { program: String },
}

/// Which helper keeps the login for a registry, by its short name.
pub(super) fn named<'c>(config: &'c Value, server: &str) -> Option<&'c str> {
    let own = at(config, &["credHelpers", server]).as_str();
    own.or_else(|| at(config, &["credsStore"]).as_str()).filter(|name| !name.is_empty())
}

/// Asks it. `None` where it has nothing.
pub(super) fn ask(name: &str, server: &str) -> Result<Option<Words>, HelperError> {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if !name.bytes().all(is_sign) {
        return Err(HelperError::Name { name: name.to_owned() });
    }
    let program = format!("docker-credential-{name}");
    let started = |source| HelperError::Start { program: program.clone(), source };
    let mut child = Command::new(&program)
        .arg("get")
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(started)?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that does not read it will say so.
        stdin.write_all(server.as_bytes()).ok();
    }
    let is_well = ended(&mut child).map_err(started)?;
    let mut said = Vec::new();
    if let (Some(stdout), Some(_)) = (child.stdout.take(), is_well) {
        stdout.take(MOST).read_to_end(&mut said).map_err(started)?;
    }
    match is_well {
        None => Err(HelperError::Hung { program }),
        Some(true) => {
            serde_json::from_slice(&said).map(Some).map_err(|_| HelperError::Failed { program })
        }
        Some(false) if String::from_utf8_lossy(&said).contains(NOTHING) => Ok(None),
        Some(false) => Err(HelperError::Failed { program }),
    }
}

/// Whether it ended well; `None` for one that had to be killed. What it says fits into a pipe.
fn ended(child: &mut Child) -> io::Result<Option<bool>> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status.success()));
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(TICK);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_registry_may_have_a_helper_of_its_own() {
        let config = json!({ "credsStore": "pass", "credHelpers": { "r.example": "own" } });
        assert_eq!(named(&config, "r.example"), Some("own"));
        assert_eq!(named(&config, "other.example"), Some("pass"));
        assert_eq!(named(&json!({ "credsStore": "" }), "r.example"), None);
        assert_eq!(named(&json!({}), "r.example"), None);
    }

    #[test]
    fn a_name_is_a_name() {
        for name in ["../../bin/sh", "a b", "a/b", "a;b", "a\0b"] {
            assert!(matches!(ask(name, "r.example"), Err(HelperError::Name { .. })), "{name}");
        }
        assert!(matches!(ask("no-such-helper", "r"), Err(HelperError::Start { .. })));
    }
}
