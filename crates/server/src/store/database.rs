//! Which database: a file, or a server by URL.

use std::fmt;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::error::StoreError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Database {
    Sqlite(PathBuf),
    /// The URL, with its password.
    Postgres(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a database: write postgres://USER@HOST/NAME, sqlite:PATH or a path")]
pub struct NotADatabase(String);

impl FromStr for Database {
    type Err = NotADatabase;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Self::Postgres(text.to_owned()));
        }
        let path = text.strip_prefix("sqlite:").unwrap_or(text);
        let path = path.strip_prefix("//").unwrap_or(path);
        // A colon before the first slash is the scheme of something else.
        let scheme = path.split('/').next().is_some_and(|first| first.contains(':'));
        if path.is_empty() || scheme || path.contains('\0') {
            return Err(NotADatabase(text.to_owned()));
        }
        Ok(Self::Sqlite(path.into()))
    }
}

impl fmt::Display for Database {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Postgres(url) => {
                let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
                let place = rest.split_once('@').map_or(rest, |(_, place)| place);
                let place = place.split('?').next().unwrap_or(place);
                write!(f, "{scheme}://{place}")
            }
        }
    }
}

impl Database {
    pub(super) fn url(&self) -> String {
        match self {
            Self::Sqlite(path) => format!("sqlite://{}?mode=rwc", escape(path)),
            Self::Postgres(url) => url.clone(),
        }
    }

    /// Where the newest event is kept outside of it: beside a file, in `dir` for one that is elsewhere.
    pub fn head_file(&self, dir: &Path) -> PathBuf {
        match self {
            Self::Sqlite(path) => beside(path, ".head"),
            Self::Postgres(_) => {
                let name = blake3::hash(self.to_string().as_bytes()).to_hex();
                dir.join(format!("chain-{}.head", &name[..16]))
            }
        }
    }

    /// Keeps a second server from the same file.
    pub(super) fn lock(&self) -> Result<Option<std::fs::File>, StoreError> {
        let Self::Sqlite(path) = self else { return Ok(None) };
        let name = beside(path, ".lock");
        let open = |path: &Path| {
            let mut options = std::fs::OpenOptions::new();
            // What is kept here is its owner's alone; SQLite gives its other files the same mode.
            options.create(true).truncate(false).write(true).mode(0o600);
            options.open(path).map_err(|source| StoreError::Lock { path: path.to_owned(), source })
        };
        let file = open(&name)?;
        match file.try_lock() {
            Ok(()) => {
                open(path)?;
                Ok(Some(file))
            }
            Err(std::fs::TryLockError::WouldBlock) => {
                Err(StoreError::InUse { database: self.to_string() })
            }
            Err(std::fs::TryLockError::Error(source)) => {
                Err(StoreError::Lock { path: name, source })
            }
        }
    }
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(end);
    name.into()
}

/// A path as it can stand in a URL.
fn escape(path: &Path) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte);
    let bytes = path.as_os_str().as_bytes().iter();
    bytes
        .map(
            |byte| {
                if plain(*byte) { char::from(*byte).to_string() } else { format!("%{byte:02X}") }
            },
        )
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_urls_and_nothing_else() {
        let sqlite = |path: &str| Ok(Database::Sqlite(path.into()));
        assert_eq!("sqlite:/var/a.db".parse(), sqlite("/var/a.db"));
        assert_eq!("sqlite:///var/a.db".parse(), sqlite("/var/a.db"));
        assert_eq!("a b.db".parse(), sqlite("a b.db"));
        assert!(matches!("postgres://u:p@h/d".parse(), Ok(Database::Postgres(_))));
        for bad in ["", "sqlite:", "mysql://h/d", "redis:x"] {
            assert!(bad.parse::<Database>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        let database: Database = "postgres://u:hunter2@h/d?password=hunter2".parse().unwrap();
        assert_eq!(database.to_string(), "postgres://h/d");
    }

    #[test]
    fn any_path_can_stand_in_a_url() {
        assert_eq!(escape(Path::new("/a b?#%/c")), "/a%20b%3F%23%25/c");
    }
}
