//! What came of an apply, and what is written down about one that was refused.

use cofferdam_core::changes::manifest::Summary;
use cofferdam_core::changes::{ChangePath, ContentHash};
use cofferdam_core::event::EventKind;

use super::survey::Survey;

/// What came of it.
#[derive(Debug)]
pub enum Outcome {
    Applied(Applied),
    /// With [`Intent::Check`]: what would be applied.
    Would(Applied),
    /// Nothing was written.
    Refused(Applied),
    /// Nothing of what was selected is pending.
    Nothing {
        applied_before: u64,
        discarded_before: u64,
    },
}

#[derive(Debug, Default)]
pub struct Applied {
    /// Number of the operation, where something was done.
    pub operation: Option<u64>,
    pub summary: Summary,
    /// The host had them already.
    pub already: u64,
    /// Selected, and not applied.
    pub left: u64,
    /// Texts that were merged with what the host made of them.
    pub merged: u64,
    /// Files of which some hunks are still pending.
    pub partly: u64,
    /// What could not be applied; the first of them, where they are many.
    pub refused: Vec<Refused>,
    pub refused_in_all: u64,
    /// Files that are left where they are because they moved to where they are not put; the first of them.
    pub held: Vec<Held>,
}

/// A deletion that is not applied, because the file would be under neither name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub path: ChangePath,
    /// Where the program moved it.
    pub to: ChangePath,
}

impl Held {
    pub fn why(&self) -> String {
        format!("moved to {}, which is not applied", self.to)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// `None` where it is about all together.
    pub path: Option<ChangePath>,
    pub why: Why,
    pub words: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    Gate,
    Budget,
    Conflict,
}

pub(super) fn report(survey: &Survey) -> Applied {
    Applied {
        summary: survey.summary(),
        already: survey.already,
        left: survey.left,
        refused: survey.refused.clone(),
        refused_in_all: survey.refused_in_all,
        held: survey.held.clone(),
        ..Applied::default()
    }
}

/// Paths and reasons that are named in one event.
pub(crate) const NAMED: usize = 20;

pub(super) fn objections(manifest: ContentHash, report: &Applied) -> Vec<EventKind> {
    let manifest = manifest.to_string();
    let of = |conflict: bool| {
        let these = report.refused.iter().filter(move |r| (r.why == Why::Conflict) == conflict);
        let these: Vec<_> = these.take(NAMED).collect();
        let paths = these.iter().filter_map(|r| r.path.as_ref()).map(ToString::to_string).collect();
        let reasons = these.iter().map(|refused| refused.words.join("; ")).collect();
        (these.len(), paths, reasons)
    };
    let mut events = Vec::new();
    let (conflicts, paths, reasons): (_, Vec<String>, Vec<String>) = of(true);
    if conflicts > 0 {
        events.push(EventKind::Conflict { manifest: manifest.clone(), paths, reasons });
    }
    let (blocked, paths, reasons): (_, Vec<String>, Vec<String>) = of(false);
    if blocked > 0 {
        let entries = report.refused_in_all;
        events.push(EventKind::ApplyRefused { manifest, entries, paths, reasons });
    }
    events
}
