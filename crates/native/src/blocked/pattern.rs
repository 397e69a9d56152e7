//! Patterns of paths that are to be hidden: `*` and `?` within a name, `**` for any number of names.
//!
//! A pattern without a slash names entries of the workspace's root, and of nothing below it; one with
//! a slash is a path from there; `**/x` means x at any depth. `.env.*` means no [templates](TEMPLATES).

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A pattern, cut into its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern(pub(super) Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Name(String),
    Glob(String),
    /// `**`: this directory and all below it.
    Anywhere,
}

impl Pattern {
    /// `None` where the text names nothing inside a workspace.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let names = text.split('/').filter(|name| !name.is_empty() && *name != ".");
        let parts: Vec<Part> = names
            .map(|name| match name {
                "**" => Part::Anywhere,
                _ if name.contains(['*', '?']) => Part::Glob(name.to_owned()),
                _ => Part::Name(name.to_owned()),
            })
            .collect();
        let good = parts.last().is_some_and(|last| *last != Part::Anywhere)
            && !parts.contains(&Part::Name("..".to_owned()))
            && !text.contains('\0');
        good.then_some(Self(parts))
    }

    /// Whether it means `path`, or a directory that this lies in.
    pub(super) fn means(&self, path: &Path) -> bool {
        let names: Vec<_> = path.iter().map(|name| name.as_bytes()).collect();
        (1..=names.len()).any(|length| fits(&self.0, &names[..length]))
    }

    /// The one path that it means, where it has no wildcard.
    pub(super) fn literal(&self) -> Option<std::path::PathBuf> {
        self.0
            .iter()
            .map(|part| match part {
                Part::Name(name) => Some(name),
                _ => None,
            })
            .collect()
    }
}

fn fits(parts: &[Part], names: &[&[u8]]) -> bool {
    match (parts, names) {
        ([], []) => true,
        ([Part::Anywhere, rest @ ..], _) => {
            (0..=names.len()).any(|passed| fits(rest, &names[passed..]))
        }
        ([Part::Name(wanted), rest @ ..], [name, below @ ..]) => {
            wanted.as_bytes() == *name && fits(rest, below)
        }
        ([Part::Glob(glob), rest @ ..], [name, below @ ..]) => {
            stands_for(glob, name) && fits(rest, below)
        }
        _ => false,
    }
}

/// What `.env.*` is for: files of settings, in which secrets may be.
const SETTINGS: &str = ".env.*";

/// Files that say which settings there are, by habit with made-up values: they are for everybody, and kept with the source.
/// Hidden, they look emptied to git, and would be committed so. Who wants them hidden names them in full.
const TEMPLATES: [&[u8]; 4] = [b".env.example", b".env.sample", b".env.template", b".env.dist"];

/// Whether `name` is one that `glob` stands for.
pub(super) fn stands_for(glob: &str, name: &[u8]) -> bool {
    matches(glob.as_bytes(), name) && !(glob == SETTINGS && TEMPLATES.contains(&name))
}

/// Byte by byte, so that no name escapes by not being text; `?` is one byte. Every `*` but the last needs to be tried
/// at one place only, so the time is bounded by the product of the lengths.
fn matches(glob: &[u8], name: &[u8]) -> bool {
    let (mut g, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        match glob.get(g) {
            Some(b'*') => {
                retry = Some((g + 1, n));
                g += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[n] => {
                g += 1;
                n += 1;
            }
            _ => match retry {
                Some((after, taken)) => {
                    retry = Some((after, taken + 1));
                    (g, n) = (after, taken + 1);
                }
                None => return false,
            },
        }
    }
    glob[g..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        let m = |glob: &str, name: &str| matches(glob.as_bytes(), name.as_bytes());
        assert!(m(".env.*", ".env.local") && m(".env.*", ".env.") && m("*", "") && m("*", ".x"));
        assert!(!m(".env.*", ".env") && !m(".env.*", "x.env.local"));
        assert!(m("a?c", "abc") && !m("a?c", "ac"));
        assert!(m("*a*b*", "xxaxxbxx") && !m("*a*b*", "xxbxxaxx"));
        assert!(m("*.pem", "key.pem.pem") && !m("*.pem", "key.pem.x"));
        assert!(!m(&"*a".repeat(30), &"b".repeat(2000)));
    }

    #[test]
    fn settings_are_no_templates_and_a_template_can_be_named() {
        assert!(stands_for(".env.*", b".env.local") && stands_for(".env.*", b".env.examples"));
        for template in TEMPLATES {
            assert!(!stands_for(".env.*", template));
            assert!(stands_for(".env.?*", template) && stands_for("*", template));
        }
    }

    #[test]
    fn a_pattern_means_what_lies_in_what_it_means() {
        let means = |text: &str, path: &str| Pattern::parse(text).unwrap().means(Path::new(path));
        assert!(means(".env", ".env") && !means(".env", "a/.env") && !means(".env", ".envrc"));
        assert!(
            means("keys", "keys/a/b")
                && means("a/*.key", "a/x.key")
                && !means("a/*.key", "b/x.key")
        );
        assert!(means("**/.env", ".env") && means("**/.env", "a/b/.env") && means("a/**/x", "a/x"));
        assert!(means(".env.*", ".env.test") && !means(".env.*", ".env.example"));
        assert!(means(".env.example", ".env.example"));
    }

    #[test]
    fn a_pattern_is_cut_at_slashes() {
        let parse = |text: &str| Pattern::parse(text).map(|p| p.0);
        assert_eq!(parse("./a//b/"), Some(vec![Part::Name("a".into()), Part::Name("b".into())]));
        assert_eq!(parse("/.env"), Some(vec![Part::Name(".env".into())]));
        assert_eq!(parse("**/*.key"), Some(vec![Part::Anywhere, Part::Glob("*.key".into())]));
        for bad in ["", "/", ".", "../x", "a/../b", "a/**", "**", "a\0b"] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn only_a_pattern_without_wildcards_is_a_path() {
        let literal = |text: &str| Pattern::parse(text).unwrap().literal();
        assert_eq!(literal("a/b").as_deref(), Some(std::path::Path::new("a/b")));
        assert_eq!(literal("a/*"), None);
        assert_eq!(literal("**/a"), None);
    }
}
