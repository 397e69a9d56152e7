//! Kills one process of ours at a random moment, until enough have been killed; then cleans up once and
//! looks at what is left and what is lost.
//!
//! Several actors work at once, in workspaces of their own and in one state directory. Each does one
//! [`act`] at a time while its killer waits for a moment to choose a victim among that actor's processes: a
//! part of the program first, then one process of that part, so that the one launcher is hit as often as
//! the many sandboxes it keeps. An engine of the drill's own is such a part too.

mod act;
mod tree;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::Value;

use super::processes::{self, Signal};
use super::report::Report;
use super::scene::{Actor, Scene};
use super::{Asked, traces};
use crate::dice::Dice;
use crate::progress::Progress;
use act::{Act, Doer, Promise};

const ACTORS: usize = 3;
const KILLS: usize = 1000;
/// The part of the engine's daemon, which belongs to all actors.
const ENGINE: &str = "engine's daemon";
/// So long a mark is left alone that nobody has signed; waited for in a long drill only.
const UNSIGNED: Duration = Duration::from_secs(62);

pub(super) fn perform(asked: &Asked) -> Result<Report> {
    let scene = Scene::new(asked)?;
    let kills = asked.size.unwrap_or(KILLS);
    let (tally, progress) = (Tally::default(), Progress::new("crash: kills", kills));
    let mut report = Report::new("crash");
    let mut promises = Vec::new();
    thread::scope(|scope| -> Result<()> {
        let workers: Vec<_> = (0..ACTORS)
            .map(|number| {
                let (scene, tally, progress) = (&scene, &tally, &progress);
                let dice = Dice::seeded(asked.seed + number as u64);
                scope.spawn(move || work(&scene.actor(number)?, dice, tally, kills, progress))
            })
            .collect();
        for worker in workers {
            let done = worker.join().map_err(|_| anyhow!("an actor has panicked"))??;
            promises.extend(done.kept);
            done.wrong.into_iter().for_each(|wrong| report.wrong(wrong));
        }
        Ok(())
    })?;
    report.count("seed", asked.seed);
    report.count("kills", tally.kills.load(Ordering::Relaxed));
    let roles = tally.roles.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    for (role, count) in roles {
        report.count(format!("  {role}"), count);
    }
    let mut seen = tally.seen.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    seen.extend(traces::ids(&scene.state()));
    closing(&scene, &seen, &promises, &mut report)?;
    Ok(report)
}

#[derive(Default)]
struct Tally {
    kills: AtomicUsize,
    /// Actors that have done everything once, undisturbed. What all of them need is left alone until then.
    ready: AtomicUsize,
    roles: Mutex<BTreeMap<&'static str, usize>>,
    /// Every id that was in the state directory when somebody was killed, and where.
    seen: Mutex<BTreeMap<String, String>>,
}

/// What an actor found, and what the program promised it.
struct Done {
    kept: Vec<Promise>,
    wrong: Vec<String>,
}

fn work(
    actor: &Actor<'_>,
    mut dice: Dice,
    tally: &Tally,
    kills: usize,
    progress: &Progress,
) -> Result<Done> {
    let mut doer = Doer::new(actor)?;
    let mut done = Done { kept: Vec::new(), wrong: Vec::new() };
    let mut usual = BTreeMap::new();
    for act in Act::ALL {
        let start = Instant::now();
        done.kept.extend(doer.perform(act)?);
        usual.insert(act, start.elapsed());
        if !doer.went_well {
            bail!("{act:?} does not go well, with nobody killed");
        }
    }
    tally.ready.fetch_add(1, Ordering::Relaxed);
    while tally.kills.load(Ordering::Relaxed) < kills {
        progress.at(tally.kills.load(Ordering::Relaxed));
        let act = Act::ALL[dice.below(Act::ALL.len())];
        let span = usual.get(&act).copied().unwrap_or_default() * 6 / 5;
        let micros = usize::try_from(span.as_micros()).unwrap_or(usize::MAX);
        let moment = Duration::from_micros(dice.below(micros) as u64);
        let start = Instant::now();
        let (kept, took, met) = thread::scope(|scope| -> Result<_> {
            let killer = scope.spawn(|| kill_one(actor, moment, &mut dice, tally));
            let kept = doer.perform(act)?;
            let took = start.elapsed();
            Ok((kept, took, killer.join().map_err(|_| anyhow!("the killer has panicked"))??))
        })?;
        done.kept.extend(kept);
        // Moments are chosen out of the time that it takes with nobody killed, as busy as the host is now.
        if met == Met::Nobody {
            usual.entry(act).and_modify(|usual| *usual = (*usual + took) / 2);
        }
        done.wrong.extend(doer.settle(act)?);
    }
    done.wrong.extend(doer.close()?);
    Ok(done)
}

#[derive(Debug, PartialEq, Eq)]
enum Met {
    Somebody,
    Nobody,
}

fn kill_one(actor: &Actor<'_>, moment: Duration, dice: &mut Dice, tally: &Tally) -> Result<Met> {
    thread::sleep(moment);
    let mut parts: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for process in processes::below(&actor.home) {
        parts.entry(process.role()).or_default().push(process.pid);
    }
    // While somebody works: else nearly all kills would be the engine's, which is always there.
    let is_ready = tally.ready.load(Ordering::Relaxed) == ACTORS;
    if actor.scene.has_own_engine() && is_ready && !parts.is_empty() {
        parts.insert(ENGINE, Vec::new());
    }
    if let Ok(mut seen) = tally.seen.lock() {
        seen.extend(traces::going_on(&actor.scene.state()));
    }
    let part = dice.below(parts.len());
    let Some((role, pids)) = parts.into_iter().nth(part) else { return Ok(Met::Nobody) };
    let killed = if role == ENGINE {
        actor.scene.kill_engine().map(|()| true)?
    } else {
        processes::send(Signal::Kill, pids[dice.below(pids.len())])
    };
    if killed {
        tally.kills.fetch_add(1, Ordering::Relaxed);
        if let Ok(mut roles) = tally.roles.lock() {
            *roles.entry(role).or_default() += 1;
        }
        return Ok(Met::Somebody);
    }
    Ok(Met::Nobody)
}

/// Cleans up once, and looks.
fn closing(
    scene: &Scene,
    seen: &BTreeMap<String, String>,
    promises: &[Promise],
    report: &mut Report,
) -> Result<()> {
    let clean_up = |report: &mut Report| -> Result<()> {
        let gc = scene.finish(&["gc", "--json"])?;
        report.expect(gc.code() == Some(0), || format!("gc: {}", gc.story()));
        Ok(())
    };
    clean_up(report)?;
    let unsigned = traces::unsigned(&scene.state()).len();
    report.count("marks of owners that died before signing them", unsigned);
    if unsigned > 0 && promises.len() > KILLS / 4 {
        thread::sleep(UNSIGNED);
        clean_up(report)?;
        let still = traces::unsigned(&scene.state());
        report.expect(still.is_empty(), || format!("left after a minute: {still:?}"));
    }
    traces::left(scene, seen).into_iter().for_each(|left| report.wrong(format!("left: {left}")));
    if scene.sandbox != "native" {
        traces::containers(scene, seen, report)?;
    }
    let audit = scene.finish(&["audit", "verify"])?;
    report.expect(audit.code() == Some(0), || format!("audit verify: {}", audit.story()));
    let runs = scene.finish(&["runs", "--limit", "0", "--json"])?;
    report.expect(runs.code() == Some(0), || format!("runs: {}", runs.story()));
    let list: Value = serde_json::from_str(&runs.stdout).context("`runs --json` is not JSON")?;
    let list = list.as_array().cloned().unwrap_or_default();
    report.count("runs on record", list.len());
    for run in list.iter().filter(|run| run["outcome"]["class"].is_null()) {
        report.wrong(format!("a run is on record that never ended: {run}"));
    }
    for promise in promises {
        if let Some(broken) = promise.broken(scene)? {
            report.wrong(format!("lost: {broken}"));
        }
    }
    report.count("promises kept to somebody who was answered", promises.len());
    Ok(())
}
