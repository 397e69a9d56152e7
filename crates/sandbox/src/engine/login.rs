//! The user's login at a registry, as `docker login` left it, in its file or with a helper. It goes to the engine in the one request that
//! fetches an image, and nowhere else: not into a container, not into a record.

mod helper;

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::{Value, json};

use super::at;
pub(crate) use helper::HelperError;
use helper::Words;

/// As helpers know Docker's own registry.
const HUB: &str = "https://index.docker.io/v1/";
/// The name of a user where the secret is a token.
const TOKEN: &str = "<token>";

/// As an engine wants it in the head of a request. Its text is never shown.
pub(super) struct Login(String);

impl Login {
    /// For a registry, out of the client's directory or of the helper that it names. `None` where nobody logged in.
    pub(super) fn of(
        registry: Option<&str>,
        docker_config: &Path,
    ) -> Result<Option<Self>, HelperError> {
        let text = fs::read(docker_config.join("config.json")).unwrap_or_default();
        // What cannot be read, the engine's own client would complain of; without a login it is fetched all the same.
        let config: Value = serde_json::from_slice(&text).unwrap_or_default();
        if let Some(login) = Self::in_config(registry, &config) {
            return Ok(Some(login));
        }
        let server = registry.unwrap_or(HUB);
        match helper::named(&config, server) {
            Some(name) => {
                Ok(helper::ask(name, server)?.map(|words| Self::in_words(&words, server)))
            }
            None => Ok(None),
        }
    }

    fn in_config(registry: Option<&str>, config: &Value) -> Option<Self> {
        let auths = at(config, &["auths"]).as_object()?;
        let (key, entry) = auths.iter().find(|(key, _)| is_for(key, registry))?;
        let token = at(entry, &["identitytoken"]).as_str().filter(|token| !token.is_empty());
        let said = match token {
            Some(token) => json!({ "identitytoken": token, "serveraddress": key }),
            None => {
                let words = STANDARD.decode(at(entry, &["auth"]).as_str()?.trim()).ok()?;
                let words = String::from_utf8(words).ok()?;
                let (name, password) = words.trim_end_matches('\0').split_once(':')?;
                json!({ "username": name, "password": password, "serveraddress": key })
            }
        };
        Some(Self(URL_SAFE.encode(said.to_string())))
    }

    fn in_words(words: &Words, server: &str) -> Self {
        let Words { username, secret } = words;
        let said = if username == TOKEN {
            json!({ "identitytoken": secret, "serveraddress": server })
        } else {
            json!({ "username": username, "password": secret, "serveraddress": server })
        };
        Self(URL_SAFE.encode(said.to_string()))
    }

    pub(super) fn header(&self) -> String {
        format!("X-Registry-Auth: {}\r\n", self.0)
    }
}

/// Whether a name in the client's list means this registry; without one it is Docker's own.
fn is_for(key: &str, registry: Option<&str>) -> bool {
    let bare = key.trim_start_matches("https://").trim_start_matches("http://");
    let host = bare.split('/').next().unwrap_or_default();
    match registry {
        Some(registry) => host == registry,
        None => matches!(host, "index.docker.io" | "docker.io" | "registry-1.docker.io"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(registry: Option<&str>) -> Option<Value> {
        let config = json!({ "auths": {
            "localhost:5000": { "auth": STANDARD.encode("ada:pass:word") },
            "https://index.docker.io/v1/": { "auth": STANDARD.encode("hub:x") },
            "token.example": { "auth": "", "identitytoken": "tok" },
            "helped.example": {},
        }});
        let login = Login::in_config(registry, &config)?;
        serde_json::from_slice(&URL_SAFE.decode(login.0).unwrap()).ok()
    }

    #[test]
    fn a_helper_gives_a_password_or_a_token() {
        let said = |username: &str| -> Value {
            let words = Words { username: username.to_owned(), secret: "s".to_owned() };
            let login = Login::in_words(&words, "r.example");
            serde_json::from_slice(&URL_SAFE.decode(login.0).unwrap()).unwrap()
        };
        let (ada, token) = (said("ada"), said("<token>"));
        assert_eq!((&ada["username"], &ada["password"]), (&json!("ada"), &json!("s")));
        assert_eq!((&token["identitytoken"], &token["username"]), (&json!("s"), &Value::Null));
    }

    #[test]
    fn a_registry_gets_its_own_login_and_no_other() {
        let ada = said(Some("localhost:5000")).unwrap();
        assert_eq!((&ada["username"], &ada["password"]), (&json!("ada"), &json!("pass:word")));
        assert_eq!(said(None).unwrap()["username"], "hub");
        assert_eq!(said(Some("token.example")).unwrap()["identitytoken"], "tok");
        for stranger in ["localhost", "localhost:5001", "helped.example", "evil.localhost:5000"] {
            assert_eq!(said(Some(stranger)), None, "{stranger}");
        }
    }
}
