//! Names of container images, by the reference grammar.
//!
//! `[registry[:port]/]path[:tag][@algorithm:hex]`. Whatever parses here cannot be mistaken for a flag:
//! it begins with a letter or a digit and holds no space, quote or shell sign.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A reference that follows the grammar, or the word `host`: no image, the host's own `/usr`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ImageRef(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not an image reference: write name[:tag] or registry/name[:tag][@sha256:…], \
     in lower case"
)]
pub struct NotAnImage(String);

/// Longest name without tag and digest, as engines have it.
const NAME_MAX: usize = 255;

impl ImageRef {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The host's own system tree in place of an image.
    pub fn is_host(&self) -> bool {
        self.0 == "host"
    }
}

/// A reference in its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts<'a> {
    /// Where it comes from, where the name says so.
    pub registry: Option<&'a str>,
    /// With the registry, without tag and digest.
    pub name: &'a str,
    /// The digest, else the tag, else `latest`: exactly one image, never all that a name has.
    pub version: &'a str,
}

impl ImageRef {
    pub fn parts(&self) -> Parts<'_> {
        let (rest, digest) = match self.0.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (self.0.as_str(), None),
        };
        let (name, tag) = name_and_tag(rest);
        let first = name.split_once('/').map(|(first, _)| first);
        Parts {
            registry: first.filter(|first| looks_like_registry(first)),
            name,
            version: digest.or(tag).unwrap_or("latest"),
        }
    }
}

impl FromStr for ImageRef {
    type Err = NotAnImage;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if follows_grammar(text) { Ok(Self(text.to_owned())) } else { Err(NotAnImage(text.into())) }
    }
}

impl TryFrom<String> for ImageRef {
    type Error = NotAnImage;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<ImageRef> for String {
    fn from(image: ImageRef) -> Self {
        image.0
    }
}

impl fmt::Display for ImageRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn follows_grammar(text: &str) -> bool {
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (text, None),
    };
    let (name, tag) = name_and_tag(rest);
    name.len() <= NAME_MAX
        && is_name(name)
        && tag.is_none_or(is_tag)
        && digest.is_none_or(is_digest)
}

/// A colon after the last slash begins a tag; one before it is a registry's port.
fn name_and_tag(rest: &str) -> (&str, Option<&str>) {
    let last = rest.rfind('/').map_or(0, |at| at + 1);
    match rest[last..].find(':') {
        Some(at) => (&rest[..last + at], Some(&rest[last + at + 1..])),
        None => (rest, None),
    }
}

fn looks_like_registry(first: &str) -> bool {
    first.contains(['.', ':']) || first == "localhost"
}

fn is_name(name: &str) -> bool {
    let mut parts = name.split('/').peekable();
    let first = name.split('/').next().unwrap_or_default();
    let has_more = name.contains('/');
    if has_more && looks_like_registry(first) {
        if !is_registry(first) {
            return false;
        }
        parts.next();
    }
    parts.peek().is_some() && parts.all(is_path_part)
}

fn is_registry(text: &str) -> bool {
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    let label = |l: &str| {
        !l.is_empty()
            && l.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !l.starts_with('-')
            && !l.ends_with('-')
    };
    host.split('.').all(label)
        && port.is_none_or(|p| (1..=5).contains(&p.len()) && p.bytes().all(|b| b.is_ascii_digit()))
}

/// Lower-case alphanumerics, held together by one `.`, one or two `_`, or any number of `-`.
fn is_path_part(part: &str) -> bool {
    let alphanumeric = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = part.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return false };
    if !alphanumeric(*first) || !alphanumeric(*last) {
        return false;
    }
    part.split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        .all(|sep| matches!(sep, "" | "." | "_" | "__") || sep.bytes().all(|b| b == b'-'))
}

fn is_tag(tag: &str) -> bool {
    (1..=128).contains(&tag.len())
        && !tag.starts_with(['.', '-'])
        && tag.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}

fn is_digest(digest: &str) -> bool {
    let Some((algorithm, hex)) = digest.split_once(':') else { return false };
    let length = match algorithm {
        "sha256" => 64,
        "sha512" => 128,
        _ => return false,
    };
    hex.len() == length && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_name_exactly_one_image() {
        let parts = |text: &str| {
            let image: ImageRef = text.parse().unwrap();
            let Parts { registry, name, version } = image.parts();
            (registry.map(str::to_owned), name.to_owned(), version.to_owned())
        };
        let none = None::<String>;
        assert_eq!(parts("debian"), (none.clone(), "debian".into(), "latest".into()));
        assert_eq!(parts("team/app:1"), (none, "team/app".into(), "1".into()));
        let local = Some("localhost:5000".to_owned());
        assert_eq!(
            parts("localhost:5000/app"),
            (local.clone(), "localhost:5000/app".into(), "latest".into())
        );
        let digest = format!("sha256:{}", "a".repeat(64));
        assert_eq!(
            parts(&format!("localhost:5000/app:1@{digest}")),
            (local, "localhost:5000/app".into(), digest)
        );
    }

    #[test]
    fn references_people_use() {
        let digest = format!("debian@sha256:{}", "0a".repeat(32));
        for good in [
            "host",
            "debian",
            "debian:12",
            "library/python:3.12-slim",
            "localhost:5000/team/my_image:v1.2",
            "registry.example.com/a/b__c/d-e:latest",
            &digest,
        ] {
            assert_eq!(good.parse::<ImageRef>().unwrap().as_str(), good);
        }
    }

    #[test]
    fn nothing_that_could_be_a_flag_or_break_out_of_an_argument() {
        for bad in [
            "",
            "--privileged",
            "-v/:/h",
            "Debian",
            "a b",
            "a;b",
            "a$(b)",
            "a\nb",
            "a:",
            ":tag",
            "/a",
            "a//b",
            "a/",
            "../a",
            "a..b",
            "a___b",
            "a:-x",
            "a@sha256:00",
            "a@md5:00",
            "a:b:c",
            "reg:port/a",
            "reg:123456/a",
            "-reg.io/a",
            "a@",
            "é",
            "a\0",
        ] {
            assert!(bad.parse::<ImageRef>().is_err(), "{bad:?} must be refused");
        }
        assert!("a".repeat(256).parse::<ImageRef>().is_err());
    }
}
