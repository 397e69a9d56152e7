//! Kills the server, its runner, both at once, the runner's launcher or the engine at random moments, while tasks are
//! submitted all the time; then waits for what was acknowledged, and looks at what is lost, done twice or left.
//!
//! The [`plant`] is the processes, a [`submitter`] is who relies on them. A submitter that gets no answer asks
//! again with the same key, as clients do; what it was once told, it holds the server to.

mod plant;
mod submitter;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};

use super::report::Report;
use super::scene::Scene;
use super::{Asked, Store, traces};
use crate::dice::Dice;
use crate::test::postgres::Postgres;
use plant::{Plant, Victim};
use submitter::{Promised, Submitter};

const KILLS: usize = 300;
const SUBMITTERS: usize = 3;
/// Longest time between the parts being up again and the next kill.
const PAUSE_MILLIS: usize = 700;

pub(super) fn perform(asked: &Asked) -> Result<Report> {
    let postgres = match asked.store {
        Store::Sqlite => None,
        Store::Postgres => Some(Postgres::start()?),
    };
    let scene = Scene::new(asked)?;
    let mut plant = Plant::start(&scene, postgres.as_ref().map(Postgres::url))?;
    let mut report = Report::new("server");
    report.count("seed", asked.seed);
    let enough = AtomicBool::new(false);
    let line = plant.line();
    let (mut seen, promised) = thread::scope(|scope| -> Result<_> {
        let submitting: Vec<_> = (0..SUBMITTERS)
            .map(|number| {
                let submitter = Submitter::new(number, line.clone(), &scene.sandbox);
                let enough = &enough;
                scope.spawn(move || submitter.work(enough))
            })
            .collect();
        let killed = kill(&scene, &mut plant, asked, &mut report);
        enough.store(true, Ordering::Relaxed);
        // Where nobody was there to answer, why not is the finding.
        let seen = killed?;
        let mut promised = Vec::new();
        for submitter in submitting {
            promised.extend(submitter.join().map_err(|_| anyhow!("a submitter has panicked"))??);
        }
        Ok((seen, promised))
    })?;
    look(&line, &promised, &mut report)?;
    seen.extend(traces::going_on(&scene.state()));
    plant.stop(&mut report)?;
    seen.extend(traces::ids(&scene.state()));
    left(&scene, &seen, &mut report)?;
    Ok(report)
}

/// Everybody in turn by chance; gives the ids of what was going on.
fn kill(
    scene: &Scene,
    plant: &mut Plant<'_>,
    asked: &Asked,
    report: &mut Report,
) -> Result<BTreeMap<String, String>> {
    let mut dice = Dice::seeded(asked.seed);
    let mut seen = BTreeMap::new();
    let mut counts: BTreeMap<Victim, usize> = BTreeMap::new();
    let victims = Victim::of(scene);
    while counts.values().sum::<usize>() < asked.size.unwrap_or(KILLS) {
        thread::sleep(Duration::from_millis(dice.below(PAUSE_MILLIS) as u64));
        seen.extend(traces::going_on(&scene.state()));
        let victim = victims[dice.below(victims.len())];
        if plant.kill(victim, &mut dice)? {
            *counts.entry(victim).or_default() += 1;
        }
    }
    report.count("kills", counts.values().sum::<usize>());
    for (victim, count) in counts {
        report.count(format!("  of {victim}"), count);
    }
    Ok(seen)
}

/// Every task that was acknowledged is there once, has succeeded once, and has said its word once.
fn look(line: &plant::Line, promised: &[Promised], report: &mut Report) -> Result<()> {
    let mut api = line.open()?;
    let mut attempts = 0;
    for task in promised {
        attempts += task.look(&mut api, report)?;
    }
    report.count("tasks acknowledged, each done once", promised.len());
    report.count("attempts made for them", attempts);
    report.expect(attempts >= promised.len(), || "fewer attempts than tasks".to_owned());
    let states = api.get("/v1/overview")?["tasks"].clone();
    let stored: u64 = states
        .as_object()
        .into_iter()
        .flat_map(|states| states.values())
        .filter_map(|n| n.as_u64())
        .sum();
    report.expect(stored == promised.len() as u64, || {
        format!("{} tasks were asked for, {stored} are stored: {states}", promised.len())
    });
    let verdict = api.get("/v1/audit/verify")?;
    report.expect(verdict["holds"] == true, || format!("the chain of events: {verdict}"));
    report.count("events in the chain", &verdict["events"]);
    Ok(())
}

/// Cleans up once, and looks at the host.
fn left(scene: &Scene, seen: &BTreeMap<String, String>, report: &mut Report) -> Result<()> {
    let gc = scene.finish(&["gc", "--json"])?;
    report.expect(gc.code() == Some(0), || format!("gc: {}", gc.story()));
    report.count(
        "marks of owners that died before signing them",
        traces::unsigned(&scene.state()).len(),
    );
    traces::left(scene, seen).into_iter().for_each(|left| report.wrong(format!("left: {left}")));
    if scene.sandbox != "native" {
        traces::containers(scene, seen, report)?;
    }
    let audit = scene.finish(&["audit", "verify"])?;
    report.expect(audit.code() == Some(0), || format!("audit verify: {}", audit.story()));
    Ok(())
}
