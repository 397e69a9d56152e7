//! An item as diffs have it: one kind of thing on either side.
//!
//! A path at which another kind of thing stands now is two pieces: the old one goes, the new one comes.

use cofferdam_core::changes::text::{LARGEST, Sight};
use cofferdam_core::changes::{Change, ChangePath, Node};
use cofferdam_sandbox::changes::diff::{Contents, DiffError, Found, Item};

/// What is shown under one header.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub(crate) from: &'a ChangePath,
    pub(crate) to: &'a ChangePath,
    pub(crate) old: Option<&'a Node>,
    pub(crate) new: Option<&'a Node>,
    /// Of a move, in percent.
    pub(crate) likeness: Option<u8>,
}

/// What stands under the header.
#[derive(Debug)]
pub(crate) enum Body {
    /// Contents are the same, or there are none.
    Same,
    Text {
        old: Vec<u8>,
        new: Vec<u8>,
    },
    Binary,
    TooLarge,
    /// Nobody knows what was there before.
    OnlyNew {
        why: &'static str,
        new: Vec<u8>,
    },
    /// There is nothing left to show.
    Gone(&'static str),
}

pub(crate) fn pieces(item: &Item) -> Vec<Piece<'_>> {
    let entry = &item.entry;
    let (old, new) = (entry.before.as_ref(), entry.after.as_ref());
    let piece = Piece { from: &entry.path, to: &entry.path, old, new, likeness: None };
    match (&item.origin, entry.change) {
        (Some(origin), _) => vec![Piece {
            from: &origin.from.path,
            old: origin.from.before.as_ref(),
            likeness: Some(origin.likeness),
            ..piece
        }],
        (None, Change::Retyped) => vec![Piece { new: None, ..piece }, Piece { old: None, ..piece }],
        (None, _) => vec![piece],
    }
}

impl Piece<'_> {
    pub(crate) fn body(&self, contents: &Contents) -> Result<Body, DiffError> {
        if self.has_same_content() {
            return Ok(Body::Same);
        }
        let old =
            self.old.map_or(Ok(Found::Nothing), |n| contents.before(self.from, n, LARGEST))?;
        let new = self.new.map_or(Ok(Found::Nothing), |n| contents.after(self.to, n, LARGEST))?;
        Ok(match (old, new) {
            (Found::Nothing, Found::Nothing) => Body::Same,
            (Found::TooLarge, _) | (_, Found::TooLarge) => Body::TooLarge,
            (_, Found::Gone(why)) | (Found::Gone(why), Found::Nothing) => Body::Gone(why),
            (Found::Gone(why), Found::Bytes(new)) => match Sight::of(&new) {
                Sight::Text => Body::OnlyNew { why, new },
                Sight::Binary | Sight::TooLarge => Body::Binary,
            },
            (old, new) => {
                let (old, new) = (bytes(old), bytes(new));
                let text = [&old, &new].iter().all(|side| Sight::of(side) == Sight::Text);
                if text { Body::Text { old, new } } else { Body::Binary }
            }
        })
    }

    fn has_same_content(&self) -> bool {
        let hash = |node: Option<&Node>| node?.file()?.content.hash();
        match (self.old, self.new) {
            (Some(Node::Directory { .. } | Node::Special { .. }), _) => true,
            (_, Some(Node::Directory { .. } | Node::Special { .. })) => true,
            (Some(Node::Symlink { target: old }), Some(Node::Symlink { target: new })) => {
                old == new
            }
            (old, new) => hash(old).zip(hash(new)).is_some_and(|(old, new)| old == new),
        }
    }
}

fn bytes(found: Found) -> Vec<u8> {
    match found {
        Found::Bytes(bytes) => bytes,
        Found::TooLarge | Found::Gone(_) | Found::Nothing => Vec::new(),
    }
}

/// The mode as git writes it: kind and permissions in one number.
pub(crate) fn mode(node: &Node) -> String {
    match node {
        Node::File(file) => format!("100{:03o}", file.mode.bits()),
        Node::Directory { mode } => format!("40{:03o}", mode.bits()),
        Node::Symlink { .. } => "120000".to_owned(),
        Node::Special { .. } => "000000".to_owned(),
    }
}
