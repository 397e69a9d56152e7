//! Which files of a repository mean something to us, by their names.

use super::tip::Kind;

/// The parts of a repository that are looked at. All else is not.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    Object,
    Pack,
    Reference,
    PackedReferences,
}

impl Part {
    pub(super) fn of(name: &str) -> Option<Self> {
        let names: Vec<&str> = name.split('/').collect();
        match names.as_slice() {
            ["objects", two, rest] if two.len() == 2 && is_id(&format!("{two}{rest}")) => {
                Some(Self::Object)
            }
            ["objects", "pack", pack] => {
                let id = pack.strip_prefix("pack-").and_then(|pack| pack.strip_suffix(".pack"));
                id.is_some_and(is_id).then_some(Self::Pack)
            }
            ["packed-refs"] => Some(Self::PackedReferences),
            _ => Kind::of(name).map(|_| Self::Reference),
        }
    }
}

/// A hash as git writes it, of either kind.
pub(super) fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

pub(super) fn packed(text: &str) -> impl Iterator<Item = (String, String)> + '_ {
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    pairs.filter(|(id, _)| is_id(id)).map(|(id, name)| (name.to_owned(), id.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_objects_and_references_are_looked_at() {
        let id = "0".repeat(38);
        let whole = "a".repeat(40);
        for (name, part) in [
            (format!("objects/ab/{id}"), Some(Part::Object)),
            (format!("objects/pack/pack-{whole}.pack"), Some(Part::Pack)),
            (format!("objects/pack/pack-{whole}.idx"), None),
            (format!("objects/pack/pack-{whole}.promisor"), None),
            ("objects/info/alternates".to_owned(), None),
            ("objects/info/commit-graph".to_owned(), None),
            ("refs/heads/a/b".to_owned(), Some(Part::Reference)),
            ("refs/tags/v1".to_owned(), Some(Part::Reference)),
            ("refs/stash".to_owned(), Some(Part::Reference)),
            ("refs/replace/x".to_owned(), None),
            ("worktrees/w/HEAD".to_owned(), Some(Part::Reference)),
            ("config".to_owned(), None),
            ("config.worktree".to_owned(), None),
            ("hooks/post-checkout".to_owned(), None),
            ("info/attributes".to_owned(), None),
            ("modules/m/config".to_owned(), None),
        ] {
            assert_eq!(Part::of(&name), part, "{name}");
        }
    }

    #[test]
    fn a_line_of_packed_references_is_an_id_and_a_name() {
        let id = "b".repeat(40);
        let text =
            format!("# pack-refs with: peeled\n{id} refs/heads/x\n^{id}\nnot an id refs/heads/y\n");
        assert_eq!(packed(&text).collect::<Vec<_>>(), [("refs/heads/x".to_owned(), id)]);
    }
}
