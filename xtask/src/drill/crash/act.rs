//! What an actor does while somebody waits to kill: run, hold a session, have a launcher run, apply and undo.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::tree::Tree;
use crate::drill::processes;
use crate::drill::scene::{Actor, Ended, PATIENCE, Scene};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Act {
    Run,
    Session,
    Launcher,
    ApplyOrUndo,
}

impl Act {
    /// Those that are about one's own files come twice: their moments are short.
    pub(super) const ALL: [Self; 5] =
        [Self::Run, Self::Session, Self::Launcher, Self::ApplyOrUndo, Self::ApplyOrUndo];
}

/// Files that a run makes, slowly enough to be met in the middle of it.
const MAKE: &str = "for n in 0 1 2 3 4 5 6 7 8 9; do echo $n > made-$n; done; sleep 0.02";
const MADE: usize = 10;
/// Runs by one launcher.
const LINES: usize = 3;

/// What changes a tree from one state to the other: forty files changed, made, removed.
const CHANGE: &str = "mkdir new; for n in 0 1 2 3 4 5 6 7 8 9; do echo changed > old/a$n; rm old/b$n; \
                      echo new > new/c$n; chmod 600 old/d$n; done";

/// A run of which somebody was told that it went well.
pub(super) struct Promise(String);

impl Promise {
    /// Its record must say so, and its changes must be there.
    pub(super) fn broken(&self, scene: &Scene) -> Result<Option<String>> {
        let path = scene.state().join("runs").join(&self.0).join("record.json");
        let record = match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice::<Value>(&bytes)?,
            Err(error) => return Ok(Some(format!("{}: {error}", path.display()))),
        };
        if record["outcome"]["class"] != "exited" || record["changes"]["created"] != MADE {
            return Ok(Some(format!("the record of {} says {}", self.0, record["outcome"])));
        }
        let diff = scene.finish(&["diff", &self.0, "--name-only"])?;
        let listed = diff.stdout.lines().filter(|line| line.contains("made-")).count();
        Ok((listed != MADE).then(|| format!("{} lists {listed} changes: {}", self.0, diff.story())))
    }
}

pub(super) struct Doer<'a> {
    actor: &'a Actor<'a>,
    /// A workspace of their own for apply and undo, with its two states.
    home: Actor<'a>,
    before: Tree,
    after: Tree,
    /// The run whose changes are applied and undone.
    run: String,
    /// Whether the latest act came to its good end.
    pub(super) went_well: bool,
}

impl<'a> Doer<'a> {
    /// Makes the tree and the changes to it, undisturbed.
    pub(super) fn new(actor: &'a Actor<'a>) -> Result<Self> {
        let workspace = actor.home.join("applied");
        fs::create_dir_all(workspace.join("old"))?;
        for name in
            ["a", "b", "c", "d"].iter().flat_map(|kind| (0..10).map(move |n| format!("{kind}{n}")))
        {
            fs::write(workspace.join("old").join(name), "old\n")?;
        }
        let home = Actor { scene: actor.scene, home: actor.home.clone(), workspace };
        let before = Tree::read(&home.workspace)?;
        let made = home.finish(&[
            "run",
            "--json",
            "--sandbox",
            &actor.scene.sandbox,
            "--",
            "sh",
            "-c",
            CHANGE,
        ])?;
        let run = promised(&made).with_context(|| format!("the run to apply: {}", made.story()))?.0;
        let mut doer = Self { actor, home, after: before.clone(), before, run, went_well: true };
        let applied = doer.apply_or_undo()?;
        doer.after = Tree::read(&doer.home.workspace)?;
        if doer.after.unlike(&doer.before).len() != 41 {
            let changed = doer.after.unlike(&doer.before);
            bail!("the apply changed {changed:?}: {}", applied.story());
        }
        Ok(doer)
    }

    /// Goes on whatever happens to it; what it was promised is what counts.
    pub(super) fn perform(&mut self, act: Act) -> Result<Vec<Promise>> {
        let sandbox = self.actor.scene.sandbox.as_str();
        match act {
            Act::Run => {
                let words = ["run", "--json", "--sandbox", sandbox, "--", "sh", "-c", MAKE];
                let kept: Vec<_> = promised(&self.actor.finish(&words)?).into_iter().collect();
                self.went_well = kept.len() == 1;
                Ok(kept)
            }
            Act::Session => {
                for words in [
                    &["session", "start", "--sandbox", sandbox][..],
                    &["session", "exec", "last", "--", "sh", "-c", MAKE],
                    &["session", "stop", "--quiet"],
                ] {
                    self.went_well = self.actor.finish(words)?.code() == Some(0);
                }
                Ok(Vec::new())
            }
            Act::Launcher => {
                let kept = self.launch()?;
                self.went_well = kept.len() == LINES;
                Ok(kept)
            }
            Act::ApplyOrUndo => {
                self.went_well = self.apply_or_undo()?.code() == Some(0);
                Ok(Vec::new())
            }
        }
    }

    /// Some runs by a process that lives on. A launcher is for native alone; elsewhere the lines are run as they are.
    fn launch(&self) -> Result<Vec<Promise>> {
        let mut command = self.actor.command(&["drive", "recorded"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("cannot start the driver")?;
        let line = serde_json::json!(["--sandbox", "native", "--", "sh", "-c", MAKE]);
        let mut stdin = child.stdin.take().context("the driver has no input")?;
        // A driver that was killed takes no more lines: the broken pipe is what was to be expected.
        let told = (0..LINES).try_for_each(|_| writeln!(stdin, "{line}"));
        drop(stdin);
        let output = child.wait_with_output()?;
        if told.is_err() && output.status.success() {
            bail!("the driver took no lines and ended well");
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(of_record).collect())
    }

    fn apply_or_undo(&mut self) -> Result<Ended> {
        let verb = if Tree::read(&self.home.workspace)? == self.before { "apply" } else { "undo" };
        let mut words = vec![verb, self.run.as_str(), "--quiet"];
        if verb == "apply" {
            words.push("--allow-budget");
        }
        self.home.finish(&words)
    }

    /// After somebody was killed: what was wrong, once the program had a chance to put it right.
    pub(super) fn settle(&self, act: Act) -> Result<Vec<String>> {
        match act {
            Act::Session => {
                let holds = |p: &processes::Process| p.role() == "session holder";
                let end = Instant::now() + PATIENCE;
                // One whose starter was killed may still be in the making, and is not to be found before it stands.
                while processes::below(&self.actor.home).iter().any(holds) {
                    let stop = self.actor.finish(&["session", "stop", "--quiet"])?;
                    if Instant::now() >= end {
                        return Ok(vec![format!("a session that does not stop: {}", stop.story())]);
                    }
                }
                Ok(Vec::new())
            }
            Act::ApplyOrUndo => {
                let gc = self.home.finish(&["gc"])?;
                let tree = Tree::read(&self.home.workspace)?;
                if tree == self.before || tree == self.after {
                    return Ok(Vec::new());
                }
                let (near, far) = (tree.unlike(&self.before).len(), tree.unlike(&self.after).len());
                bail!(
                    "a half-applied tree: {near} names unlike before, {far} unlike after; gc: {}",
                    gc.story()
                )
            }
            Act::Run | Act::Launcher => Ok(Vec::new()),
        }
    }

    /// Undisturbed, both ways still lead where they should.
    pub(super) fn close(&mut self) -> Result<Vec<String>> {
        let mut wrong = Vec::new();
        for _ in 0..2 {
            let was = Tree::read(&self.home.workspace)?;
            let ended = self.apply_or_undo()?;
            let expected = if was == self.before { &self.after } else { &self.before };
            if ended.code() != Some(0) || Tree::read(&self.home.workspace)? != *expected {
                wrong.push(format!("an apply or undo after all kills: {}", ended.story()));
            }
        }
        Ok(wrong)
    }
}

/// The run of a record, where somebody was told that it ended well.
fn promised(ended: &Ended) -> Option<Promise> {
    (ended.code() == Some(0)).then(|| of_record(&ended.stdout)).flatten()
}

fn of_record(text: &str) -> Option<Promise> {
    let record: Value = serde_json::from_str(text).ok()?;
    let well = record["outcome"]["class"] == "exited" && record["outcome"]["exit_code"] == 0;
    well.then(|| record["run"].as_str().map(|run| Promise(run.to_owned()))).flatten()
}
