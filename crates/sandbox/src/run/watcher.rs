//! Sees a run happen: keeps its output and writes its events.

use std::path::Path;

use cofferdam_core::changes::manifest::Moment;
use cofferdam_core::event::{EventKind, Status};
use cofferdam_core::inert::Inert;
use cofferdam_core::plan::Plan;
use cofferdam_core::quantity::Span;
use cofferdam_core::receipt::{Holding, Violation};
use cofferdam_core::record::{Output, Record};
use cofferdam_native::UPPER;
use cofferdam_native::supervise::{Notice, StreamName, Watch};
use serde_json::{Map, Value};

use super::sealing::{Sealing, seal_run};
use crate::backend::{Observer, Standing};
use crate::ballast::Ballast;
use crate::changes::bases::BaseKeeper;
use crate::changes::halt::Halt;
use crate::runs::evidence::of_receipt;
use crate::runs::{OutputKeeper, Scribe};
use crate::spare::Spare;
use crate::state::{StateDir, StateError};
use crate::waste::Waste;

/// What was seen by the end.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) container_id: Option<String>,
    pub(super) effective: Map<String, Value>,
    pub(super) receipt: Vec<Holding>,
    pub(super) output: Output,
    /// To be dropped when there is nothing else to do.
    pub(super) bases: Option<BaseKeeper>,
    /// What came of sealing, where that could be done before the sandbox was taken down.
    pub(super) sealing: Option<Sealing>,
}

pub(super) struct Watcher<'a> {
    scribe: &'a mut Scribe,
    plan: &'a Plan,
    stdout: OutputKeeper,
    stderr: OutputKeeper,
    seen: Seen,
    base: Moment,
    dir: &'a Path,
    record: &'a mut Record,
    halt: &'a Halt<'a>,
    waste: Waste,
    spare: Spare,
    ballast: Ballast,
    bases: Option<BaseKeeper>,
    /// The first event that could not be written; reported when the run is over, for a run is not
    /// killed because its log is full.
    trouble: Option<StateError>,
}

impl<'a> Watcher<'a> {
    pub(super) fn new(
        scribe: &'a mut Scribe,
        plan: &'a Plan,
        dir: &'a Path,
        base: Moment,
        record: &'a mut Record,
        halt: &'a Halt<'a>,
        state: &StateDir,
    ) -> Self {
        let keeper =
            |name| OutputKeeper::new(dir.join(name), plan.limits.output, scribe.redactor());
        let (stdout, stderr) = (keeper("stdout"), keeper("stderr"));
        Self {
            scribe,
            plan,
            stdout,
            stderr,
            seen: Seen::default(),
            base,
            dir,
            record,
            halt,
            waste: Waste::of(state),
            spare: Spare::of(state),
            ballast: Ballast::of(state),
            bases: None,
            trouble: None,
        }
    }

    fn keep_bases(&mut self) {
        if self.plan.stages() && !self.plan.copies() {
            let upper = self.dir.join(UPPER);
            let workspace = &self.plan.workspace.source.real;
            // Without it, a file that changes on both sides meanwhile has no base to merge from.
            self.bases = BaseKeeper::start(&upper, self.dir, workspace, self.base).ok();
        }
    }

    fn event(&mut self, kind: EventKind) {
        if let Err(error) = self.scribe.event(kind)
            && self.trouble.is_none()
        {
            self.trouble = Some(error);
        }
    }

    /// The command as text for the log: without secrets first, then harmless.
    fn command(&self) -> Vec<String> {
        let args = self.scribe.redactor().args(&self.plan.command);
        args.iter().map(|arg| Inert::os(&arg.0).to_string()).collect()
    }

    /// What was seen, and the first event that could not be written.
    pub(super) fn finish(self) -> (Seen, Option<StateError>) {
        let Self { stdout, stderr, mut seen, bases, trouble, .. } = self;
        if let Some(bases) = &bases {
            bases.stop();
        }
        seen.bases = bases;
        let (stdout_bytes, stdout, _) = stdout.finish();
        let (stderr_bytes, stderr, _) = stderr.finish();
        let truncated = stdout.dropped > 0 || stderr.dropped > 0;
        seen.output = Output { stdout_bytes, stderr_bytes, truncated, stdout, stderr };
        (seen, trouble)
    }
}

impl Watch for Watcher<'_> {
    fn output(&mut self, stream: StreamName, bytes: &[u8]) {
        match stream {
            StreamName::Stdout => self.stdout.take(bytes),
            StreamName::Stderr => self.stderr.take(bytes),
        }
    }

    fn notice(&mut self, notice: &Notice) {
        let event = match notice {
            Notice::Lasting => return self.keep_bases(),
            Notice::TimedOut { limit, idle } => {
                let millis = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
                EventKind::Timeout { limit: Span { millis }.to_string(), idle: *idle }
            }
            Notice::Stopping { reason, signal } => {
                EventKind::Stopping { reason: (*reason).to_owned(), signal: *signal }
            }
        };
        self.event(event);
    }
}

impl Observer for Watcher<'_> {
    fn standing(&mut self, standing: Standing) {
        let event = EventKind::Started {
            state: Status {
                container_id: standing.container_id.clone(),
                status: "running".to_owned(),
                message: None,
                exit_code: None,
            },
            backend: self.plan.backend,
            command: self.command(),
            effective: standing.effective.clone(),
            image_digest: standing.image_digest,
            env: self.plan.env.keys().map(ToString::to_string).collect(),
            receipt: of_receipt(&standing.receipt),
        };
        self.event(event);
        self.seen.container_id = standing.container_id;
        self.seen.effective = standing.effective;
        self.seen.receipt = standing.receipt;
    }

    fn at_leisure(&mut self) {
        self.waste.reduce();
        self.spare.provide();
        self.ballast.keep();
    }

    fn violated(&mut self, violation: &Violation) {
        let guarantee = violation.act.guarantee().to_string();
        let message = Inert::line(&violation.to_string()).to_string();
        self.event(EventKind::Violation { guarantee, message });
    }

    fn proved_again(&mut self) {
        let probes = self.seen.receipt.iter_mut().flat_map(|held| &mut held.probes);
        probes.for_each(|probe| probe.again = true);
    }

    fn quiet(&mut self) {
        if let Some(bases) = &self.bases {
            bases.stop();
        }
        self.ballast.ease();
        self.seen.sealing =
            Some(seal_run(self.dir, self.base, self.record, self.halt, &self.waste));
    }
}
