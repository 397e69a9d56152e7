//! Environment variables of the program inside: only what is listed, and secrets without their value.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A name that can stand in an environment: letters, digits and `_`, not beginning with a digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EnvName(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the name of a variable: use letters, digits and _")]
pub struct NotAnEnvName(String);

impl EnvName {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a variable of this name is by habit a secret. Its value is then hidden and redacted
    /// even where it was written out in a file or a flag.
    pub fn sounds_secret(&self) -> bool {
        const SIGNS: [&str; 9] = [
            "TOKEN",
            "SECRET",
            "PASSWORD",
            "PASSWD",
            "PASSPHRASE",
            "CREDENTIAL",
            "API_KEY",
            "PRIVATE_KEY",
            "ACCESS_KEY",
        ];
        let name = self.0.to_ascii_uppercase();
        SIGNS.iter().any(|sign| name.contains(sign))
            || name.ends_with("_KEY")
            || name.ends_with("_PAT")
    }
}

impl TryFrom<String> for EnvName {
    type Error = NotAnEnvName;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let good = !text.is_empty()
            && !text.starts_with(|c: char| c.is_ascii_digit())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if good { Ok(Self(text)) } else { Err(NotAnEnvName(text)) }
    }
}

impl std::str::FromStr for EnvName {
    type Err = NotAnEnvName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.to_owned().try_into()
    }
}

impl From<EnvName> for String {
    fn from(name: EnvName) -> Self {
        name.0
    }
}

impl fmt::Display for EnvName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A value whose text must not be recorded. It can be compared and handed to the program; it prints
/// and serialises as `***`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// The text itself, for the program's environment and for the redactor, and for nothing else.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Serialize for Secret {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("***")
    }
}

impl<'de> Deserialize<'de> for Secret {
    /// What was recorded is only that there was a value; reading a record back gives no value.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self)
    }
}

/// Where a variable's value comes from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EnvValue {
    /// Written out by whoever asked, or by us.
    Set(String),
    /// Written out, under a name that sounds like a secret.
    Hidden(Secret),
    /// Passed through from the host.
    Passed(Secret),
}

impl EnvValue {
    /// A literal value; hidden where its name says so.
    pub fn literal(name: &EnvName, value: impl Into<String>) -> Self {
        if name.sounds_secret() {
            Self::Hidden(Secret::new(value))
        } else {
            Self::Set(value.into())
        }
    }

    /// The text the program sees.
    pub fn reveal(&self) -> &str {
        match self {
            Self::Set(text) => text,
            Self::Hidden(secret) | Self::Passed(secret) => secret.reveal(),
        }
    }

    pub fn secret(&self) -> Option<&Secret> {
        match self {
            Self::Set(_) => None,
            Self::Hidden(secret) | Self::Passed(secret) => Some(secret),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert!("GITHUB_TOKEN".parse::<EnvName>().is_ok());
        for bad in ["", "1A", "A-B", "A=B", "A B", "É", "A\0"] {
            assert!(bad.parse::<EnvName>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_secret_never_prints() {
        let name: EnvName = "DEPLOY_TOKEN".parse().unwrap();
        let value = EnvValue::literal(&name, "hunter2");
        assert_eq!(value.reveal(), "hunter2");
        assert!(!format!("{value:?}").contains("hunter2"));
        assert!(!serde_json::to_string(&value).unwrap().contains("hunter2"));
        let plain: EnvName = "LANG".parse().unwrap();
        assert_eq!(EnvValue::literal(&plain, "C"), EnvValue::Set("C".into()));
    }
}
