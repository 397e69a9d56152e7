//! What the gate and the host say about an item.

use cofferdam_core::changes::manifest::Moment;
use cofferdam_core::changes::{Allowances, Entry, Gate, Judgement};
use cofferdam_core::config::Entries;
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
        set: &ChangeSet,
        context: &Context,
    ) -> Result<Self, Failure> {
        let resolved = settings::load(context, &record.workspace, Entries::default())
            .map_err(|error| error.failure(Exit::Failed))?;
        let gate = Gate::new(&resolved.settings().changes, &Allowances::default())?;
        let workspace = Workspace::open(&record.workspace).ok();
        let origin = record.plan.as_ref().map(|plan| plan.workspace.source.identity);
        let same = workspace.as_ref().is_some_and(|ws| Some(ws.identity()) == origin);
        let base = if same { set.header().base } else { NEVER };
        let inspector = Inspector::new(gate, set.objects()).on(&record.workspace);
        Ok(Self { inspector, workspace, base })
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
        let standing = self.workspace.as_ref().map(|ws| conflict::check(ws, entry, self.base));
        let conflict = match standing {
            Some(Standing::Conflict(words)) => Some(words),
            Some(Standing::AsBefore | Standing::AsAfter) | None => None,
        };
        Ok(Judged { judgement, conflict })
    }
}
