//! Contents that are neither the host's nor the run's, but made of both: some hunks only, or a merge.

use std::io;

use cofferdam_core::changes::text::{self, CONTEXT, Sight};
use cofferdam_core::changes::{Content, Entry, FileNode, Node, Permissions};

use super::ApplyError;
use crate::changes::Objects;
use crate::changes::beneath::Workspace;
use crate::changes::hunks::{Hunks, Stale};
use crate::changes::rights::as_put;

/// A content that was made, and the mode it gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) bytes: Vec<u8>,
    pub(crate) mode: Permissions,
}

/// The host's file, which stands as it did before, with some hunks of the change. `put` is what was put
/// there of the same change before.
pub(crate) fn picked(
    workspace: &Workspace,
    entry: &Entry,
    objects: &Objects,
    chosen: &Hunks,
    put: Option<&Node>,
) -> Result<Made, ApplyError> {
    let no = |why: &'static str| ApplyError::NoHunks { path: entry.path.clone(), why };
    let Some(Node::File(after)) = as_put(entry) else {
        return Err(no("only a file that is there afterwards can be applied in part"));
    };
    match &entry.before {
        Some(Node::File(_)) => {}
        // As one hunk it would be all of the file, whatever hunks a move was shown with.
        None => return Err(no("it is new or moved: it is applied whole or not at all")),
        Some(_) => return Err(no("it was no file before")),
    }
    let new = kept(entry, &after, objects)?.ok_or_else(|| no("it is no text"))?;
    let (old, mode) = host(workspace, entry)?.ok_or_else(|| no("it is no text"))?;
    chosen.check(&old, put).map_err(|stale| {
        let path = entry.path.clone();
        match stale {
            Stale::Begun => ApplyError::CountedAnew { path },
            Stale::Other => ApplyError::OtherHunks { path },
        }
    })?;
    let hunks = text::hunks(&old, &new, CONTEXT);
    let is_there = |number: &&usize| hunks.iter().any(|hunk| hunk.number == **number);
    if let Some(number) = chosen.numbers.iter().find(|number| !is_there(number)) {
        return Err(ApplyError::NoSuchHunk {
            path: entry.path.clone(),
            number: *number,
            hunks: hunks.len(),
        });
    }
    let bytes = text::pick(&old, &new, &chosen.numbers);
    let mode = if bytes == new { after.mode } else { mode };
    Ok(Made { bytes, mode })
}

/// What the host and the run made of the same file, where they did not touch the same lines. The words
/// say why not.
pub(crate) fn merged(
    workspace: &Workspace,
    entry: &Entry,
    objects: &Objects,
) -> Result<Result<Made, String>, ApplyError> {
    let no = |why: &str| Ok(Err(why.to_owned()));
    let (Some(Node::File(before)), Some(Node::File(after))) = (&entry.before, as_put(entry)) else {
        return no("only a file that was there before and after can be");
    };
    let Content::Kept(_) = before.content else {
        return no("what it was when the run began was not kept");
    };
    let Some(base) = kept(entry, before, objects)? else { return no("it is no text") };
    let Some(theirs) = kept(entry, &after, objects)? else { return no("it is no text") };
    let Some((ours, host_mode)) = host(workspace, entry)? else {
        return no("the host has no text there");
    };
    let mode = if after.mode == before.mode { host_mode } else { after.mode };
    Ok(text::merge(&base, &ours, &theirs)
        .map(|bytes| Made { bytes, mode })
        .map_err(|overlap| overlap.to_string()))
}

/// The bytes of a kept text; `None` where it is none.
fn kept(entry: &Entry, file: &FileNode, objects: &Objects) -> Result<Option<Vec<u8>>, ApplyError> {
    let Content::Kept(hash) = file.content else { return Ok(None) };
    if Sight::by_size(file.size).is_some() {
        return Ok(None);
    }
    let bytes = objects.read(hash, file.size);
    let bytes = bytes.map_err(|source| ApplyError::Stage { path: entry.path.clone(), source })?;
    Ok((Sight::of(&bytes) == Sight::Text).then_some(bytes))
}

/// The bytes and mode of the host's file; `None` where it is no text.
fn host(
    workspace: &Workspace,
    entry: &Entry,
) -> Result<Option<(Vec<u8>, Permissions)>, ApplyError> {
    let failed = |source| ApplyError::Stage { path: entry.path.clone(), source };
    let Ok(place) = workspace.place(&entry.path) else { return Ok(None) };
    let seen = place.look().map_err(failed)?;
    let Some(seen) = seen.filter(|seen| seen.kind == crate::changes::seen::Kind::File) else {
        return Ok(None);
    };
    if Sight::by_size(seen.size).is_some() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    let file = place.open_file().map_err(failed)?;
    io::Read::read_to_end(&mut io::Read::take(file, text::LARGEST + 1), &mut bytes)
        .map_err(failed)?;
    Ok((Sight::of(&bytes) == Sight::Text).then_some((bytes, seen.permissions())))
}
