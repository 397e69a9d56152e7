//! Work on the changes of a finished attempt, where they lie: looked at, applied, discarded, undone.
//!
//! It is done by the same commands that a person types, each a process of its own, so that the answer is what their `--json` prints. Who wanted
//! it goes along, for the record of this host.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use cofferdam_core::control::problem::Problem;
use cofferdam_core::control::report::{Errand, ErrandAnswer, ErrandKind};
use cofferdam_core::id::RunId;
use cofferdam_core::record::Record;
use cofferdam_sandbox::changes::{ChangeSet, EntryState, Ledger, Mark, Workspace, landed};
use cofferdam_sandbox::runs::Store;
use serde_json::{Value, json};

use super::backoff::Backoff;
use super::ground::Ground;
use super::{Link, LinkError, Runner, blocking};
use crate::own::{Said, Work, hear};

/// The exit code of a command that somebody must decide about.
const UNDECIDED: i32 = 3;
/// The most that is handed on of a diff.
const MAX_DIFF: usize = 7 << 20;
/// The most that is handed on of anything else.
const MAX_JSON: usize = 15 << 20;
/// The largest answer that a server takes. A diff may be twice as long as JSON.
pub(crate) const MOST_ANSWER: u64 = 16 << 20;
/// Says to a command of ours for whom it acts.
pub const ACTOR: &str = "COFFERDAM_ACTOR";

/// Does it and answers.
pub(super) async fn run<L: Link>(runner: &Arc<Runner<L>>, errand: Errand) {
    let id = errand.id.clone();
    let done = {
        let runner = Arc::clone(runner);
        blocking(move || carry_out(&runner, &errand)).await
    };
    let done = done.unwrap_or_else(|error| Err(problem(500, "internal", &error.to_string())));
    let (result, problem) = match done {
        Ok(result) => (Some(result), None),
        Err(problem) => (None, Some(*problem)),
    };
    let answer = ErrandAnswer { runner: runner.id(), result, problem };
    send(&runner.link, &id, answer).await;
}

/// Until it is taken, or nobody waits for it. One that the server does not take is told of in its place, so that
/// whoever asked hears it at once.
async fn send<L: Link>(link: &L, id: &str, answer: ErrandAnswer) {
    let runner = answer.runner;
    let length = serde_json::to_vec(&answer).map_or(u64::MAX, |bytes| bytes.len() as u64);
    let refused = match length {
        ..=MOST_ANSWER => insist(link, id, &answer).await,
        _ => Err(None),
    };
    let why = match refused {
        Ok(()) => return,
        Err(Some(error)) if error.is_unknown() => return,
        Err(Some(LinkError::Refused(problem))) if problem.status != 413 => {
            let message = format!("the server did not take the answer: {}", problem.detail);
            self::problem(502, "internal", &message)
        }
        Err(_) => too_large(Work::Look),
    };
    let instead = ErrandAnswer { runner, result: None, problem: Some(*why) };
    // Refused as well, nothing is left to be said.
    insist(link, id, &instead).await.ok();
}

/// Says it again for as long as the server is only away.
async fn insist<L: Link>(
    link: &L,
    id: &str,
    answer: &ErrandAnswer,
) -> Result<(), Option<LinkError>> {
    let mut backoff = Backoff::default();
    loop {
        match link.errand_done(id, answer).await {
            Ok(()) => return Ok(()),
            Err(error) if !error.is_passing() => return Err(Some(error)),
            Err(_) => backoff.wait().await,
        }
    }
}

fn carry_out<L: Link>(runner: &Runner<L>, errand: &Errand) -> Result<Value, Box<Problem>> {
    let missing = || problem(404, "not-found", "this runner has no changes of that attempt");
    let run: RunId = errand.run.parse().map_err(|_| missing())?;
    let record = Store::new(&runner.state).record(run).map_err(|_| missing())?;
    if record.actor != runner.actor {
        // A runner's word goes for what a runner ran; what people ran here is theirs.
        return Err(missing());
    }
    let asked = Asked { runner, errand, record: &record };
    if !record.workspace.exists() {
        return asked.without_a_place();
    }
    match &errand.what {
        ErrandKind::Changes => asked.pending(),
        ErrandKind::Diff { path } => asked.diff(path.as_deref()),
        ErrandKind::Apply { paths, hunks, marks, reviewed, answers } => {
            asked.must_have_a_home()?;
            let mut words = vec!["apply".to_owned(), "--json".to_owned()];
            if !reviewed {
                words.push("--auto".to_owned());
            }
            words.extend(allowances(answers)?);
            for (path, numbers) in hunks {
                words.push(hunks_of(path, numbers, marks.get(path).map(String::as_str))?);
            }
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let done = asked.json(Work::Act, &words, paths, &[UNDECIDED])?;
            Ok(asked.with_tree(asked.with_pending(called_by_its_name(done))))
        }
        ErrandKind::Discard { paths } => {
            let done =
                asked.with_tree(asked.json(Work::Act, &["discard", "--json"], paths, &[])?);
            if done["left"] == 0 && done["at_home"] == 0 {
                // Nothing came home to there, and nothing will. What stays behind is removed with the next.
                Ground { work: &runner.setup.work }.forget_worktree(&record.workspace).ok();
            }
            Ok(asked.with_pending(done))
        }
        ErrandKind::Undo => {
            asked.must_have_a_home()?;
            let done = asked.json(Work::Act, &["undo", "--json"], &[], &[UNDECIDED])?;
            Ok(asked.with_tree(asked.with_pending(done)))
        }
    }
}

struct Asked<'a, L> {
    runner: &'a Runner<L>,
    errand: &'a Errand,
    record: &'a Record,
}

impl<L: Link> Asked<'_, L> {
    /// What a command prints as JSON. `also` are exit codes that come with an answer.
    fn json(
        &self,
        work: Work,
        words: &[&str],
        paths: &[String],
        also: &[i32],
    ) -> Result<Value, Box<Problem>> {
        let said = self.own(work, words, paths, MAX_JSON)?;
        if said.is_cut() {
            return Err(too_large(work));
        }
        let is_answer = said.success() || said.code().is_some_and(|code| also.contains(&code));
        match serde_json::from_slice(&said.stdout) {
            Ok(value) if is_answer => Ok(value),
            _ => Err(refused(&said)),
        }
    }

    /// What nobody has decided about yet, entry by entry.
    fn pending(&self) -> Result<Value, Box<Problem>> {
        // Where it was worked is gone when all was discarded, and nothing is pending then.
        if !self.record.workspace.exists() {
            return Ok(json!([]));
        }
        self.json(Work::Look, &["diff", "--json"], &[], &[])
    }

    /// What was done, with how much is left to be decided: the server keeps a list of what waits for a look. What was
    /// done stays done where that cannot be counted.
    fn with_pending(&self, mut done: Value) -> Value {
        if let Ok(Value::Array(pending)) = self.pending() {
            done["pending"] = json!(pending.len());
        }
        done
    }

    /// And with a hash of what stands in the workspace now, wherever the changes speak of it. Where it cannot be read, the
    /// chain has no such link: nothing else is put in its place.
    fn with_tree(&self, mut done: Value) -> Value {
        let dir = Store::new(&self.runner.state).dir(self.record.run);
        let tree = self.record.changes.as_ref().and_then(|changes| {
            let mut set = ChangeSet::open(&dir, &changes.manifest).ok()?;
            let workspace = Workspace::open(&self.record.workspace).ok()?;
            landed(&mut set, &workspace).ok()
        });
        if let Some(tree) = tree {
            done["tree"] = json!(tree);
        }
        done
    }

    /// The answer where no command can be started, because the directory that was worked in is gone: after all was
    /// discarded, it is removed.
    fn without_a_place(&self) -> Result<Value, Box<Problem>> {
        match (&self.errand.what, self.discarded_whole()) {
            (ErrandKind::Changes, _) => self.pending(),
            (ErrandKind::Discard { .. }, Some(before)) => Ok(self.with_pending(json!({
                "run": self.record.run, "discarded": 0, "applied": 0, "discarded_before": before,
                "left": 0, "at_home": 0,
            }))),
            (_, Some(_)) => {
                let mut problem =
                    problem(409, "changes", "all that the task changed was discarded");
                problem.remedy =
                    Some("run it again: what is discarded does not come back".to_owned());
                Err(problem)
            }
            (_, None) => {
                let message = format!(
                    "the directory that the task worked in is gone: {}",
                    self.record.workspace.display()
                );
                Err(problem(409, "changes", &message))
            }
        }
    }

    /// How many changes there were, where every one of them was discarded.
    fn discarded_whole(&self) -> Option<u64> {
        let dir = Store::new(&self.runner.state).dir(self.record.run);
        let changes = self.record.changes.as_ref()?;
        let entries = changes.created + changes.modified + changes.deleted + changes.retyped;
        let ledger = Ledger::load(&ChangeSet::open(&dir, &changes.manifest).ok()?).ok()?;
        (0..entries).all(|at| ledger.state(at) == EntryState::Discarded).then_some(entries)
    }

    /// What is left to be decided, as hunks are numbered by that; where nothing is, all that was changed.
    fn diff(&self, path: Option<&str>) -> Result<Value, Box<Problem>> {
        let paths: Vec<String> = path.map(str::to_owned).into_iter().collect();
        let words = ["diff", "--color", "never", "--no-pager", "--all"];
        let is_text = |said: &Said| said.is_cut() || said.success();
        let mut said = self.own(Work::Look, &words[..4], &paths, MAX_DIFF)?;
        if !is_text(&said) || said.stdout.is_empty() {
            said = self.own(Work::Look, &words, &paths, MAX_DIFF)?;
        }
        if !is_text(&said) {
            return Err(refused(&said));
        }
        let text = String::from_utf8_lossy(&said.stdout);
        let mark = path.and_then(|_| mark_in(&text));
        let truncated = said.is_cut();
        Ok(
            json!({ "path": path, "diff": text, "mark": mark.map(|mark| mark.to_string()), "truncated": truncated }),
        )
    }

    fn own(
        &self,
        work: Work,
        words: &[&str],
        paths: &[String],
        most: usize,
    ) -> Result<Said, Box<Problem>> {
        let mut command = Command::new(&self.runner.setup.program);
        command.args(words).arg("--").arg(self.record.run.to_string());
        // Whatever a path looks like, it is one below the workspace.
        command
            .args(paths.iter().map(|path| PathBuf::from(".").join(path.trim_start_matches('/'))));
        command
            .current_dir(&self.record.workspace)
            .env(ACTOR, &self.errand.actor)
            .env_remove("COFFERDAM_TOKEN");
        hear(&mut command, work, most).map_err(|error| {
            let message = format!("cannot run `cofferdam {}`: {error}", words[0]);
            problem(500, "internal", &message)
        })
    }

    /// The empty workspace is the same for many tasks, and stays empty.
    fn must_have_a_home(&self) -> Result<(), Box<Problem>> {
        let ground = Ground { work: &self.runner.setup.work };
        match ground.is_empty_one(&self.record.workspace) {
            false => Ok(()),
            true => Err(problem(
                409,
                "no-workspace",
                "a task without a workspace has nowhere to apply its changes to",
            )),
        }
    }
}

/// Some hunks of a file, as `apply` is told of them.
fn hunks_of(path: &str, numbers: &[u32], mark: Option<&str>) -> Result<String, Box<Problem>> {
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    let numbers = numbers.join(",");
    match mark.map(Mark::parse) {
        None => Ok(format!("--hunk=./{path}:{numbers}")),
        Some(Some(mark)) => Ok(format!("--hunk=./{path}:{numbers}@{mark}")),
        Some(None) => {
            let mut problem = problem(422, "invalid", "it is not the mark of a diff");
            problem.field = Some(format!("marks.{path}"));
            Err(problem)
        }
    }
}

/// The mark in the headings of a diff, where it is that of one file. No line of a file begins like a heading.
fn mark_in(diff: &str) -> Option<Mark> {
    let headings = diff.lines().filter(|line| line.starts_with("@@ -"));
    let mut marks = headings.filter_map(|line| {
        let (_, counted) = line.rsplit_once(" hunk ")?;
        let (_, mark) = counted.split_once(" of ")?.0.split_once('@')?;
        Mark::parse(mark)
    });
    let first = marks.next()?;
    marks.all(|mark| mark == first).then_some(first)
}

/// An apply that let nothing pass has not applied anything, and is not told of as if it had.
fn called_by_its_name(mut done: Value) -> Value {
    let none = |value: &Value| *value == 0;
    let changes = done["changes"].as_object();
    let untouched = changes.is_some_and(|changes| changes.values().all(none))
        && ["already", "merged", "partly"].iter().all(|name| none(&done[name]));
    if done["outcome"] == "applied" && untouched {
        done["outcome"] = json!("nothing");
    }
    done
}

/// What somebody has said yes to: `class:NAME` and `budget` may be `allow`; a path `allow`, for all of its classes, or
/// `merge`, where the host has changed it meanwhile.
fn allowances(
    answers: &std::collections::BTreeMap<String, String>,
) -> Result<Vec<String>, Box<Problem>> {
    let mut words = Vec::new();
    for (question, answer) in answers {
        let word = match (question.split_once(':'), answer.as_str()) {
            (Some(("class", name)), "allow") => format!("--allow-class={name}"),
            (None, "allow") if question == "budget" => "--allow-budget".to_owned(),
            (_, "allow") if !question.is_empty() => format!("--allow-path=./{question}"),
            (_, "merge") if !question.is_empty() => "--merge".to_owned(),
            _ => {
                let message = format!("{question:?} cannot be answered with {answer:?}");
                let mut problem = problem(422, "invalid", &message);
                problem.field = Some(format!("answers.{question}"));
                problem.remedy = Some(
                    "answer `class:NAME` and `budget` with `allow`, a path with `allow` or `merge`"
                        .to_owned(),
                );
                return Err(problem);
            }
        };
        // One word is enough for all that are to be merged.
        if !words.contains(&word) {
            words.push(word);
        }
    }
    Ok(words)
}

/// The words of a command that said no.
fn refused(said: &Said) -> Box<Problem> {
    let text = String::from_utf8_lossy(&said.stderr);
    let mut detail = Vec::new();
    let mut remedies = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("error: "), line.strip_prefix("remedy: ")) {
            (Some(error), _) => detail.push(error),
            (_, Some(remedy)) => remedies.push(remedy),
            _ => detail.push(line),
        }
    }
    let mut problem = problem(409, "changes", &detail.join("\n"));
    problem.remedy = (!remedies.is_empty()).then(|| remedies.join("\n"));
    problem
}

fn too_large(work: Work) -> Box<Problem> {
    let detail = match work {
        Work::Look => "the answer is too large",
        Work::Act => "it was done, but what there is to say about it is too large",
    };
    let mut problem = problem(413, "too-large", detail);
    problem.remedy =
        Some("look at less at once, or on the runner's host with `cofferdam diff`".to_owned());
    problem
}

fn problem(status: u16, name: &str, detail: &str) -> Box<Problem> {
    Box::new(Problem {
        kind: format!("urn:cofferdam:problem:{name}"),
        title: "the runner could not do it".to_owned(),
        status,
        detail: detail.to_owned(),
        field: None,
        rule: None,
        remedy: None,
        request_id: None,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use cofferdam_core::control::artifact::Artifact;
    use cofferdam_core::control::id::{RunnerId, TaskId};
    use cofferdam_core::control::report::{
        Beat, ClaimAsk, Claims, Heartbeat, LogChunk, Registered, Registration, StatusAnswer,
        StatusReport, Taken,
    };

    use super::*;
    use crate::plane::NewArtifact;

    /// A server that takes answers up to a size, and refuses others with a status.
    #[derive(Debug)]
    struct Narrow {
        most: usize,
        status: u16,
        heard: Mutex<Vec<ErrandAnswer>>,
    }

    impl Link for Narrow {
        async fn register(&self, _: &Registration) -> Result<Registered, LinkError> {
            unreachable!()
        }
        async fn claim(&self, _: &ClaimAsk) -> Result<Claims, LinkError> {
            unreachable!()
        }
        async fn heartbeat(&self, _: &Heartbeat) -> Result<Beat, LinkError> {
            unreachable!()
        }
        async fn report(&self, _: TaskId, _: &StatusReport) -> Result<StatusAnswer, LinkError> {
            unreachable!()
        }
        async fn log(&self, _: TaskId, _: &LogChunk) -> Result<Taken, LinkError> {
            unreachable!()
        }
        async fn artifact(&self, _: TaskId, _: &NewArtifact) -> Result<Artifact, LinkError> {
            unreachable!()
        }
        async fn errand_done(&self, _: &str, answer: &ErrandAnswer) -> Result<(), LinkError> {
            if serde_json::to_vec(answer).unwrap().len() > self.most {
                return Err(LinkError::Refused(problem(self.status, "x", "no")));
            }
            self.heard.lock().unwrap().push(answer.clone());
            Ok(())
        }
    }

    #[tokio::test]
    async fn whoever_asked_hears_that_an_answer_is_not_taken() {
        let sent = async |most, status, length: usize| {
            let link = Narrow { most, status, heard: Mutex::default() };
            let runner = RunnerId::from_parts(0, 0);
            let result = Some(json!("x".repeat(length)));
            send(&link, "id", ErrandAnswer { runner, result, problem: None }).await;
            let mut heard = link.heard.into_inner().unwrap();
            assert!(heard.len() <= 1, "{heard:?}");
            heard.pop()
        };
        assert!(sent(1 << 20, 413, 1000).await.unwrap().problem.is_none());
        let told = sent(1 << 20, 413, 2 << 20).await.unwrap();
        let problem = told.problem.unwrap();
        assert_eq!((problem.status, problem.detail.as_str()), (413, "the answer is too large"));
        assert_eq!(told.result, None);
        let own = sent(usize::MAX, 413, 17 << 20).await.unwrap();
        assert_eq!(own.problem.unwrap().status, 413, "it does not even try");
        assert_eq!(sent(1 << 20, 422, 2 << 20).await.unwrap().problem.unwrap().status, 502);
        assert!(sent(1 << 20, 404, 2 << 20).await.is_none(), "nobody waits for it");
    }

    #[test]
    fn an_apply_that_let_nothing_pass_is_called_so() {
        let said = |created: u64, merged: u64, outcome: &str| {
            let done = json!({
                "outcome": outcome, "changes": {"created": created, "modified": 0},
                "already": 0, "merged": merged, "partly": 0, "left": 3,
            });
            called_by_its_name(done)["outcome"].clone()
        };
        assert_eq!(said(0, 0, "applied"), "nothing");
        assert_eq!(said(1, 0, "applied"), "applied");
        assert_eq!(said(0, 1, "applied"), "applied");
        assert_eq!(said(0, 0, "refused"), "refused");
        assert_eq!(called_by_its_name(json!({"outcome": "applied"}))["outcome"], "applied");
    }

    #[test]
    fn a_mark_is_read_from_headings_and_goes_with_the_numbers() {
        let (one, two) = ("a".repeat(24), "b".repeat(24));
        let heading = |number: u32, mark: &str| format!("@@ -1 +1 @@ hunk {number}@{mark} of 2\n");
        let body = format!("-x\n+@@ -1 +1 @@ hunk 1@{two} of 2\n");
        let diff = format!("{}{body}{}{body}", heading(1, &one), heading(2, &one));
        let mark = mark_in(&diff).unwrap();
        assert_eq!(mark.to_string(), one, "what a file says is not asked");
        assert_eq!(mark_in(&format!("{diff}{}", heading(1, &two))), None, "of two files");
        assert_eq!(mark_in(&format!("@@ -1 +1 @@ hunk 1 of 2\n{body}")), None);
        let words = |mark: Option<&str>| hunks_of("a:1", &[1, 3], mark);
        assert_eq!(words(None).unwrap(), "--hunk=./a:1:1,3");
        assert_eq!(words(Some(&one)).unwrap(), format!("--hunk=./a:1:1,3@{one}"));
        for wrong in ["", "a", &format!("{one}:2"), &one.to_uppercase()] {
            assert_eq!(words(Some(wrong)).unwrap_err().status, 422, "{wrong}");
        }
    }

    #[test]
    fn only_known_answers_become_flags() {
        let said = |pairs: &[(&str, &str)]| {
            allowances(&pairs.iter().map(|(q, a)| ((*q).to_owned(), (*a).to_owned())).collect())
        };
        let words = said(&[("-x", "allow"), ("budget", "allow"), ("class:ci", "allow")]).unwrap();
        assert_eq!(words, ["--allow-path=./-x", "--allow-budget", "--allow-class=ci"]);
        assert_eq!(said(&[("a", "merge"), ("b", "merge")]).unwrap(), ["--merge"]);
        for (question, answer) in [("a", "yes"), ("class:ci", "yes"), ("", "allow"), ("", "")] {
            assert_eq!(said(&[(question, answer)]).unwrap_err().status, 422, "{question}");
        }
    }
}
