//! Writes down what happens to one run: events, the record, and nothing that is secret.

use cofferdam_core::backend::Backend;
use cofferdam_core::event::{Event, EventKind, Evidence};
use cofferdam_core::id::RunId;
use cofferdam_core::paths::ExactPath;
use cofferdam_core::plan::Plan;
use cofferdam_core::record::{Anchor, Record};
use cofferdam_core::redact::Redactor;
use cofferdam_core::stamp::Stamp;
use serde_json::{Map, Value};

use super::store::{PLAN, RECORD, ROOM};
use super::{Mark, Store, current_owner, evidence};
use crate::ballast::Ballast;
use crate::clock;
use crate::events::Journal;
use crate::run::Hearing;
use crate::state::{StateDir, StateError};

/// Everything about a run that reaches the disk as text goes through here.
#[derive(Debug)]
pub(crate) struct Scribe {
    journal: Journal,
    store: Store,
    ballast: Ballast,
    redactor: Redactor,
    run: RunId,
    workspace: ExactPath,
    actor: String,
    anchor: Option<Anchor>,
    hearing: Option<Hearing>,
}

impl Scribe {
    pub(crate) fn new(
        state: &StateDir,
        run: RunId,
        workspace: ExactPath,
        actor: String,
        redactor: Redactor,
    ) -> Self {
        Self {
            journal: Journal::new(state),
            store: Store::new(state),
            ballast: Ballast::of(state),
            redactor,
            run,
            workspace,
            actor,
            anchor: None,
            hearing: None,
        }
    }

    /// From now on somebody is told of each event that was written.
    pub(crate) fn tell(&mut self, hearing: Hearing) {
        self.hearing = Some(hearing);
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
        if let Some(hearing) = &self.hearing {
            lines.iter().for_each(|line| hearing.hear(line));
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

    /// What a run that begins now is marked with.
    pub(crate) fn mark(&self, started_at: Stamp, backend: Option<Backend>) -> Mark {
        let actor = self.redactor.text(&self.actor);
        Mark { owner: current_owner(), actor, started_at, backend }
    }

    /// Writes down what is to be done. Whole or not at all: others look at it while the run goes on.
    pub(crate) fn plan(&self, plan: &Plan) -> Result<(), StateError> {
        match self.redactor.is_empty() {
            true => self.store.replace(self.run, PLAN, plan),
            false => self.store.replace(self.run, PLAN, &self.redacted(plan)),
        }
    }

    /// Closes a run: writes its last events, the very last of which carries the evidence, and its record
    /// with that event as its anchor. Returns the record as it was written: without the values of secrets.
    pub(crate) fn close(
        &mut self,
        record: &Record,
        mut events: Vec<EventKind>,
        last: impl FnOnce(Evidence) -> EventKind,
    ) -> Result<Record, StateError> {
        let dir = self.store.dir(self.run);
        let unread = StateError::io("read", &dir);
        if self.redactor.is_empty() {
            // With nothing to hide it is kept as it is.
            let mut kept = Record { anchor: None, ..record.clone() };
            events.push(last(evidence::gather(&kept, &dir).map_err(unread)?));
            self.last_events(events, &kept)?;
            kept.anchor = self.anchor.clone();
            self.store.replace(self.run, RECORD, &kept)?;
            return Ok(kept);
        }
        let mut kept = self.as_kept(record);
        kept["anchor"] = Value::Null;
        events.push(last(evidence::gather(&kept, &dir).map_err(unread)?));
        self.last_events(events, &kept)?;
        kept["anchor"] = self.redacted(&self.anchor);
        self.store.replace(self.run, RECORD, &kept)?;
        let path = dir.join(RECORD);
        serde_json::from_value(kept).map_err(|source| StateError::Unreadable { path, source })
    }

    /// The events that a record is to follow. A log that tells of a record which is not there looks like one that was
    /// taken away: where the disk is nearly full, it is first seen that there is room for both.
    fn last_events(
        &mut self,
        events: Vec<EventKind>,
        record: &impl serde::Serialize,
    ) -> Result<(), StateError> {
        if !self.ballast.is_short() {
            return self.events(events);
        }
        self.store.replace(self.run, ROOM, record)?;
        let written = self.events(events);
        self.store.remove(self.run, ROOM)?;
        written
    }

    /// A record as it is kept. Commands may hold bytes that JSON has to encode, which hides a secret from a
    /// search for its text, so they come first.
    fn as_kept(&self, record: &Record) -> Value {
        let mut record = record.clone();
        record.command = self.redactor.args(&record.command);
        if let Some(plan) = &mut record.plan {
            plan.command = self.redactor.args(&plan.command);
        }
        self.redacted(&record)
    }

    /// A value as it may be shown and kept.
    fn redacted(&self, value: &impl serde::Serialize) -> Value {
        let mut value = serde_json::to_value(value)
            .unwrap_or_else(|_| unreachable!("records are structs of text, numbers and lists"));
        self.redactor.json(&mut value);
        value
    }
}
