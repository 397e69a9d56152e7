//! What is unwise or known to be weak in an image: rules of our own, and whatever scanners the host has, as one
//! list.

mod scanner;

use cofferdam_core::dockerfile::Dockerfile;
use cofferdam_core::dockerfile::rules::{Finding, findings, image_findings};
use serde::Serialize;
use serde_json::Value;

pub use scanner::{Scanner, ScannerReport};

use super::build::BuildError;
use super::store;
use crate::engine::{Engine, Patience, at};
use crate::state::StateDir;

/// What was found, the worst first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scan {
    pub image: Option<String>,
    pub id: Option<String>,
    pub findings: Vec<Finding>,
    pub scanners: Vec<ScannerReport>,
}

/// What is looked at.
#[derive(Debug)]
pub struct Subject<'a> {
    pub dockerfile: Option<&'a Dockerfile>,
    /// An image, in an engine that has it.
    pub image: Option<(&'a Engine, &'a str)>,
    pub scanners: &'a [Scanner],
}

pub fn scan(subject: &Subject<'_>) -> Result<Scan, BuildError> {
    let mut all = subject.dockerfile.map(findings).unwrap_or_default();
    let (mut id, mut reports) = (None, Vec::new());
    if let Some((engine, image)) = subject.image {
        let inspected: Value = engine.get(&format!("/images/{image}/json"), Patience::Short)?;
        let history: Value = engine.get(&format!("/images/{image}/history"), Patience::Short)?;
        all.extend(image_findings(&inspected, &history));
        id = at(&inspected, &["Id"]).as_str().map(str::to_owned);
        for scanner in subject.scanners {
            let (report, found) = scanner.run(&engine.at, image);
            reports.push(report);
            all.extend(found);
        }
    }
    all.sort_by(|a, b| {
        (b.severity, &a.source, &a.id, &a.target).cmp(&(a.severity, &b.source, &b.id, &b.target))
    });
    all.dedup();
    let image = subject.image.map(|(_, image)| image.to_owned());
    Ok(Scan { image, id, findings: all, scanners: reports })
}

/// Writes down what was found in an image of a project, for the gate.
pub fn keep(state: &StateDir, scan: &Scan) -> Result<(), BuildError> {
    let Some(id) = &scan.id else { return Ok(()) };
    for mut known in store::all(state)? {
        let mut is_changed = false;
        for build in known.builds.iter_mut().filter(|build| build.id == *id) {
            build.scan = Some(scan.findings.clone());
            is_changed = true;
        }
        if is_changed {
            store::write(state, &known)?;
        }
    }
    Ok(())
}
