//! Patterns of paths that are to be hidden: `*` and `?` within a name, `**` for any number of names.
//!
//! A pattern without a slash names entries of the workspace's root, and of nothing below it; one with
//! a slash is a path from there; `**/x` means x at any depth.

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

/// Whether `name` is one that `glob` stands for. Byte by byte, so that no name escapes by not being
/// text; `?` is one byte. Every `*` but the last needs to be tried at one place only, so the time is
/// bounded by the product of the lengths.
pub(super) fn matches(glob: &[u8], name: &[u8]) -> bool {
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
