//! What a path of this host is called by an engine that runs in a machine of its own: Docker Desktop's on macOS and
//! Windows, and one in WSL 2. Pure: text in, text out.
//!
//! Main type: [`Machine`]. Mounts of a container are told by it; the workspace is sent there as a copy, by which no
//! path has to be known. Deliberately absent: whether the machine is let see the path at all. That is the user's
//! setting (file sharing), and only the engine can say, which refuses a source that it does not have.

use serde::{Deserialize, Serialize};

/// Whose paths are to be told to an engine, and where that has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Machine {
    /// Docker Desktop on macOS: the host's tree stands in a directory of its own.
    Mac,
    /// Docker Desktop on Windows in a machine of Hyper-V: a drive is a directory.
    Windows,
    /// Docker Desktop on Windows by way of WSL 2.
    WindowsWsl,
    /// A program in a distribution of WSL 2, which speaks with Docker Desktop. Both have the drives of Windows, and a
    /// directory that all distributions share; what else the distribution has is its own.
    Wsl,
}

/// Where a machine has the host's tree.
const HOST: &str = "/host_mnt";
const HOST_WSL: &str = "/run/desktop/mnt/host";

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unmapped {
    #[error("{path:?} is not absolute")]
    Relative { path: String },
    #[error("{path:?} leads upwards")]
    Upwards { path: String },
    #[error("{path:?} is on another host, which the engine's machine does not see")]
    Network { path: String },
    #[error("{path:?} holds a sign that means something else to the engine")]
    Sign { path: String },
    #[error(
        "{path:?} is in a file system of this distribution, which the engine's machine does not see"
    )]
    Own { path: String },
}

impl Machine {
    /// What the engine calls `path`, which is written as programs on this machine's host write it.
    pub fn told(&self, path: &str) -> Result<String, Unmapped> {
        match self {
            Self::Mac => Ok(format!("{HOST}{}", unix(path)?)),
            Self::Windows => drive(path).map(|path| format!("{HOST}{path}")),
            Self::WindowsWsl => drive(path).map(|path| format!("{HOST_WSL}{path}")),
            Self::Wsl => in_wsl(&unix(path)?),
        }
    }
}

/// A drive of Windows is mounted in every distribution, and so is what they share; the rest is one distribution's.
fn in_wsl(path: &str) -> Result<String, Unmapped> {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    match parts.as_slice() {
        ["mnt", letter, rest @ ..] if letter.len() == 1 && is_letter(letter) => {
            Ok(joined(HOST_WSL, letter, rest))
        }
        ["mnt", "wsl", rest @ ..] => Ok(joined(HOST_WSL, "wsl", rest)),
        _ => Err(Unmapped::Own { path: path.to_owned() }),
    }
}

fn is_letter(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_lowercase())
}

fn joined(head: &str, letter: &str, rest: &[&str]) -> String {
    let mut path = format!("{head}/{letter}");
    for part in rest {
        path.push('/');
        path.push_str(part);
    }
    path
}

/// A path of a Unix: absolute, without a way upwards, and in one form.
fn unix(path: &str) -> Result<String, Unmapped> {
    let odd = |kind: fn(String) -> Unmapped| Err(kind(path.to_owned()));
    if !path.starts_with('/') {
        return odd(|path| Unmapped::Relative { path });
    }
    // In what an engine is told, a colon ends a path.
    if path.contains([':', '\0']) {
        return odd(|path| Unmapped::Sign { path });
    }
    let parts = plain(path, path.split('/'))?;
    Ok(parts.iter().map(|part| format!("/{part}")).collect())
}

/// `C:\x\y`, `C:/x/y`, and what other programs make of it (`/c/x/y`, `//c/x/y`), as `/c/x/y`.
fn drive(path: &str) -> Result<String, Unmapped> {
    let odd = |kind: fn(String) -> Unmapped| Err(kind(path.to_owned()));
    // The long form of a path; of one on another host it has one more word.
    let bare = path.strip_prefix(r"\\?\").unwrap_or(path);
    let (letter, rest) = match bare.as_bytes() {
        [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic() => (letter, &bare[2..]),
        [letter, b':', ..] if letter.is_ascii_alphabetic() => {
            // Where that is depends on where somebody is on that drive.
            return odd(|path| Unmapped::Relative { path });
        }
        [b'/', letter, b'/', ..] | [b'/', letter] if letter.is_ascii_alphabetic() => {
            (letter, &bare[2..])
        }
        [b'/', b'/', letter, b'/', ..] | [b'/', b'/', letter] if letter.is_ascii_alphabetic() => {
            (letter, &bare[3..])
        }
        [b'\\', b'\\', ..] | [b'/', b'/', ..] | [b'U', b'N', b'C', b'\\', ..] => {
            return odd(|path| Unmapped::Network { path });
        }
        _ => return odd(|path| Unmapped::Relative { path }),
    };
    if rest.contains([':', '\0', '*', '?', '"', '<', '>', '|']) {
        return odd(|path| Unmapped::Sign { path });
    }
    let letter = char::from(letter.to_ascii_lowercase());
    let parts = plain(path, rest.split(['\\', '/']))?;
    Ok(std::iter::once(format!("/{letter}"))
        .chain(parts.iter().map(|part| format!("/{part}")))
        .collect())
}

/// The parts that name something.
fn plain<'p>(path: &str, parts: impl Iterator<Item = &'p str>) -> Result<Vec<&'p str>, Unmapped> {
    let named: Vec<&str> = parts.filter(|part| !matches!(*part, "" | ".")).collect();
    if named.contains(&"..") {
        return Err(Unmapped::Upwards { path: path.to_owned() });
    }
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(machine: &Machine, path: &str) -> String {
        machine.told(path).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_mac_shows_its_tree_in_a_directory() {
        assert_eq!(told(&Machine::Mac, "/Users/ada/p"), "/host_mnt/Users/ada/p");
        assert_eq!(told(&Machine::Mac, "/private//tmp/./x/"), "/host_mnt/private/tmp/x");
        assert_eq!(
            told(&Machine::Mac, "/Users/ada/mit Leerzeichen/é"),
            "/host_mnt/Users/ada/mit Leerzeichen/é"
        );
    }

    #[test]
    fn a_drive_is_a_directory_however_it_is_written() {
        for path in [
            r"C:\Users\Ada\p",
            "c:/Users/Ada/p",
            "/c/Users/Ada/p",
            "//c/Users/Ada/p",
            r"\\?\C:\Users\Ada\p\",
        ] {
            assert_eq!(told(&Machine::Windows, path), "/host_mnt/c/Users/Ada/p", "{path}");
            let by_wsl = "/run/desktop/mnt/host/c/Users/Ada/p";
            assert_eq!(told(&Machine::WindowsWsl, path), by_wsl, "{path}");
        }
        assert_eq!(told(&Machine::Windows, r"D:\"), "/host_mnt/d");
        assert_eq!(told(&Machine::Windows, "/d"), "/host_mnt/d");
    }

    #[test]
    fn a_distribution_has_the_drives_what_all_share_and_a_tree_of_its_own() {
        let wsl = Machine::Wsl;
        assert_eq!(told(&wsl, "/mnt/c/Users/Ada"), "/run/desktop/mnt/host/c/Users/Ada");
        assert_eq!(told(&wsl, "/mnt/c"), "/run/desktop/mnt/host/c");
        assert_eq!(told(&wsl, "/mnt/wsl/p"), "/run/desktop/mnt/host/wsl/p");
        // No drive has such a name.
        for own in ["/home/ada/p", "/mnt", "/mnt/data/x", "/mnt/C/x", "/"] {
            assert!(matches!(wsl.told(own), Err(Unmapped::Own { .. })), "{own}");
        }
    }

    #[test]
    fn what_leads_elsewhere_is_told_to_nobody() {
        for machine in [&Machine::Mac, &Machine::Wsl] {
            for path in ["", "x", "~/x", "./x"] {
                assert!(matches!(machine.told(path), Err(Unmapped::Relative { .. })), "{path}");
            }
            for path in ["/a/../b", "/.."] {
                assert!(matches!(machine.told(path), Err(Unmapped::Upwards { .. })), "{path}");
            }
            for path in ["/a:/b", "/a\0b"] {
                assert!(matches!(machine.told(path), Err(Unmapped::Sign { .. })), "{path}");
            }
        }
        for machine in [Machine::Windows, Machine::WindowsWsl] {
            for path in ["", "x", r"\x", "C:x", "C:", "/home/ada", "1:/x"] {
                assert!(matches!(machine.told(path), Err(Unmapped::Relative { .. })), "{path}");
            }
            for path in [r"\\server\share\x", "//server/share", r"\\?\UNC\server\share"] {
                assert!(matches!(machine.told(path), Err(Unmapped::Network { .. })), "{path}");
            }
            for path in [r"C:\a\..\b", "C:/.."] {
                assert!(matches!(machine.told(path), Err(Unmapped::Upwards { .. })), "{path}");
            }
            for path in [r"C:\a:b", r"C:\a|b", "C:/a\0"] {
                assert!(matches!(machine.told(path), Err(Unmapped::Sign { .. })), "{path}");
            }
        }
    }
}
