//! What the gate and the host say about an item.

use cofferdam_core::changes::manifest::Moment;
use cofferdam_core::changes::{Allowances, Change, Entry, Gate, Judgement, Node};
use cofferdam_core::record::Record;
use cofferdam_sandbox::changes::conflict::{self, Standing};
use cofferdam_sandbox::changes::diff::Item;
use cofferdam_sandbox::changes::{ChangeSet, Inspector, Workspace};

use crate::context::Context;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::settings;

/// Looks at items of one set.
pub(crate) struct Judging {
    inspector: Inspector,
    /// Absent where there is no such directory to be applied to.
    workspace: Option<Workspace>,
    base: Moment,
    /// What becomes a directory and was none. What is below it has no place on the host until then.
    turned: Vec<Entry>,
}

#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) judgement: Judgement,
    /// Why the host does not take it, in words.
    pub(crate) conflict: Option<String>,
}

/// Before every file: none is believed without being read.
const NEVER: Moment = Moment { seconds: i64::MIN, nanos: 0 };

impl Judging {
    pub(crate) fn new(
        record: &Record,
        set: &mut ChangeSet,
        context: &Context,
    ) -> Result<Self, Failure> {
        let resolved = settings::load_to_judge(context, &record.workspace)
            .map_err(|error| error.failure(Exit::Failed))?;
        let gate = Gate::new(&resolved.settings().changes, &Allowances::default())?;
        let workspace = Workspace::open(&record.workspace).ok();
        let origin = record.plan.as_ref().map(|plan| plan.workspace.source.identity);
        let same = workspace.as_ref().is_some_and(|ws| Some(ws.identity()) == origin);
        let base = if same { set.header().base } else { NEVER };
        let inspector = Inspector::new(gate, set.objects()).on(&record.workspace);
        let mut turned = Vec::new();
        if record.changes.as_ref().is_some_and(|changes| changes.retyped > 0) {
            for entry in set.entries()? {
                let entry = entry?;
                let is_directory = matches!(entry.after, Some(Node::Directory { .. }));
                if entry.change == Change::Retyped && is_directory {
                    turned.push(entry);
                }
            }
        }
        Ok(Self { inspector, workspace, base, turned })
    }

    /// Of a move both ends count.
    pub(crate) fn look(&self, item: &Item) -> Result<Judged, Failure> {
        let mut judged = self.entry(&item.entry)?;
        if let Some(origin) = &item.origin {
            let from = self.entry(&origin.from)?;
            let (all, more) = (&mut judged.judgement, from.judgement);
            all.verdict = all.verdict.max(more.verdict);
            let add = |to: &mut Vec<String>, from: Vec<String>| {
                from.into_iter().for_each(|one| {
                    if !to.contains(&one) {
                        to.push(one);
                    }
                });
            };
            add(&mut all.reasons, more.reasons);
            add(&mut all.blocks, more.blocks);
            all.classes.extend(more.classes);
            all.classes.dedup();
            all.missing.extend(more.missing);
            all.missing.dedup();
            judged.conflict = judged.conflict.or(from.conflict);
        }
        Ok(judged)
    }

    fn entry(&self, entry: &Entry) -> Result<Judged, Failure> {
        let judgement = self.inspector.judge(entry).map_err(|error| {
            let words = format!("cannot look into the content of {}", entry.path);
            anyhow::Error::from(error).context(words)
        })?;
        let conflict = self.workspace.as_ref().and_then(|ws| self.conflict(ws, entry));
        Ok(Judged { judgement, conflict })
    }

    fn conflict(&self, workspace: &Workspace, entry: &Entry) -> Option<String> {
        let Standing::Conflict(words) = conflict::check(workspace, entry, self.base) else {
            return None;
        };
        let above =
            |turned: &&Entry| entry.path != turned.path && entry.path.is_within(&turned.path);
        let comes = |turned: &Entry| {
            let standing = conflict::check(workspace, turned, self.base);
            entry.before.is_none() && standing == Standing::AsBefore
        };
        // Apply makes the directory first.
        let has_a_place = self.turned.iter().find(above).is_some_and(comes);
        (!has_a_place).then_some(words)
    }
}
