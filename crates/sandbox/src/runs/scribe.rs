//! Writes down what happens to one run: events, the record, and nothing that is secret.

use cofferdam_core::event::{Event, EventKind, Evidence};
use cofferdam_core::id::RunId;
use cofferdam_core::paths::ExactPath;
use cofferdam_core::record::{Anchor, Record};
use cofferdam_core::redact::Redactor;
use serde_json::{Map, Value};

use super::{Store, evidence};
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
        self.redact_commands(&mut record);
        let value = self.redacted(&record);
        self.store.replace(self.run, "record.json", &value)?;
        let path = self.store.dir(self.run).join("record.json");
        serde_json::from_value(value).map_err(|source| StateError::Unreadable { path, source })
    }

    /// Closes a run: writes its last events, the very last of which carries the evidence, and its record.
    pub(crate) fn close(
        &mut self,
        mut record: Record,
        mut events: Vec<EventKind>,
        last: impl FnOnce(Evidence) -> EventKind,
    ) -> Result<Record, StateError> {
        self.redact_commands(&mut record);
        let dir = self.store.dir(self.run);
        let evidence = evidence::gather(&self.redacted(&record), &dir);
        events.push(last(evidence.map_err(StateError::io("read", &dir))?));
        self.events(events)?;
        self.record(record)
    }

    /// Writes a file of the run that is not there yet.
    pub(crate) fn write(
        &self,
        file: &str,
        value: &impl serde::Serialize,
    ) -> Result<(), StateError> {
        self.store.write_new(self.run, file, &self.redacted(value))
    }

    /// Commands may hold bytes that JSON has to encode, which hides a secret from a search for its text.
    fn redact_commands(&self, record: &mut Record) {
        record.command = self.redactor.args(&record.command);
        if let Some(plan) = &mut record.plan {
            plan.command = self.redactor.args(&plan.command);
        }
    }

    /// A value as it may be shown and kept.
    fn redacted(&self, value: &impl serde::Serialize) -> Value {
        let mut value = serde_json::to_value(value)
            .unwrap_or_else(|_| unreachable!("records are structs of text, numbers and lists"));
        self.redactor.json(&mut value);
        value
    }
}
