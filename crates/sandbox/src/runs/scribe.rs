//! Writes down what happens to one run: events, the record, and nothing that is secret.

use cofferdam_core::event::{Event, EventKind};
use cofferdam_core::id::RunId;
use cofferdam_core::paths::ExactPath;
use cofferdam_core::record::{Anchor, Record};
use cofferdam_core::redact::Redactor;
use serde_json::{Map, Value};

use super::Store;
use crate::clock;
use crate::events::Journal;
use crate::state::{StateDir, StateError};

/// Everything about a run that reaches the disk as text goes through here.
#[derive(Debug)]
pub(crate) struct Scribe {
    journal: Journal,
    store: Store,
    redactor: Redactor,
    run: RunId,
    workspace: ExactPath,
    actor: String,
    anchor: Option<Anchor>,
}

impl Scribe {
    pub(crate) fn new(
        state: &StateDir,
        run: RunId,
        workspace: ExactPath,
        actor: String,
        redactor: Redactor,
    ) -> Self {
        let (journal, store) = (Journal::new(state), Store::new(state));
        Self { journal, store, redactor, run, workspace, actor, anchor: None }
    }

    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    pub(crate) fn event(&mut self, kind: EventKind) -> Result<(), StateError> {
        self.events([kind])
    }

    /// Several events at once: one write for what happened together.
    pub(crate) fn events(
        &mut self,
        kinds: impl IntoIterator<Item = EventKind>,
    ) -> Result<(), StateError> {
        let lines: Vec<_> = kinds.into_iter().map(|kind| self.line(kind)).collect();
        if let Some(anchor) = self.journal.append(&lines)? {
            self.anchor = Some(anchor);
        }
        Ok(())
    }

    fn line(&self, kind: EventKind) -> Map<String, Value> {
        let event = Event {
            ts: clock::now(),
            run: Some(self.run),
            workspace: Some(self.workspace.clone()),
            actor: self.actor.clone(),
            kind,
        };
        let mut line = crate::events::as_map(&event);
        line.values_mut().for_each(|member| self.redactor.json(member));
        line
    }

    /// Writes the record as it stands, with the latest event as its anchor, and returns it as it was
    /// written: without the values of secrets.
    pub(crate) fn record(&self, mut record: Record) -> Result<Record, StateError> {
        record.anchor = self.anchor.clone();
        let value = self.redacted(&record);
        self.store.replace(self.run, "record.json", &value)?;
        let path = self.store.dir(self.run).join("record.json");
        serde_json::from_value(value).map_err(|source| StateError::Unreadable { path, source })
    }

    /// Writes a file of the run that is not there yet.
    pub(crate) fn write(
        &self,
        file: &str,
        value: &impl serde::Serialize,
    ) -> Result<(), StateError> {
        self.store.write_new(self.run, file, &self.redacted(value))
    }

    /// A value as it may be shown and kept.
    fn redacted(&self, value: &impl serde::Serialize) -> Value {
        let mut value = serde_json::to_value(value)
            .unwrap_or_else(|_| unreachable!("records are structs of text, numbers and lists"));
        self.redactor.json(&mut value);
        value
    }
}
