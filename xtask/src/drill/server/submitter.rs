//! Somebody who submits tasks all the time, and relies on what the server acknowledged.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::plant::Line;
use crate::api::Api;
use crate::drill::report::Report;

/// So many of its tasks are not over at once: there is always work, and the queue does not grow without end.
const OPEN: usize = 8;
/// A task that takes longer is stuck.
const STUCK: Duration = Duration::from_secs(180);
const TERMINAL: [&str; 5] = ["succeeded", "failed", "timed_out", "canceled", "lost"];

/// A task that the server said it has.
#[derive(Debug)]
pub(super) struct Promised {
    id: String,
    /// What it prints, and no other task.
    word: String,
}

pub(super) struct Submitter {
    number: usize,
    line: Line,
    api: Option<Api>,
    sandbox: String,
}

impl Submitter {
    pub(super) fn new(number: usize, line: Line, sandbox: &str) -> Self {
        Self { number, line, api: None, sandbox: sandbox.to_owned() }
    }

    /// Until it is enough; then until every task of its own is over.
    pub(super) fn work(mut self, enough: &AtomicBool) -> Result<Vec<Promised>> {
        let mut promised: Vec<Promised> = Vec::new();
        let mut open: VecDeque<String> = VecDeque::new();
        while !enough.load(Ordering::Relaxed) {
            let count = promised.len();
            let task = self.submit(count)?;
            open.push_back(task.id.clone());
            promised.push(task);
            if open.len() > OPEN {
                self.await_end(&open.pop_front().context("it has open tasks")?)?;
            }
        }
        for id in open {
            self.await_end(&id)?;
        }
        Ok(promised)
    }

    fn submit(&mut self, count: usize) -> Result<Promised> {
        let word = format!("word-{}-{count}", self.number);
        // A container takes its time to come, and has to be there for a while to be killed.
        let seconds = match self.sandbox.as_str() {
            "native" => format!("0.{}", count % 5),
            _ => (count % 3).to_string(),
        };
        let script = format!("sleep {seconds}; echo {word}");
        let body = json!({
            "execution_mode": "no-workspace",
            "command": ["sh", "-c", script],
            "settings": { "sandbox.backend": self.sandbox },
            // A container that somebody kills is a command that was killed. An engine that was is away for a while.
            "retry": {
                "max_attempts": 100, "on": ["lost", "sandbox_failure", "failed"],
                "backoff_ms": if self.sandbox == "native" { 0 } else { 200 },
            },
        });
        let made = self.asking(|api| api.post_once("/v1/tasks", &body.to_string(), &word))?;
        let id = made["id"].as_str().context("a task has an id")?.to_owned();
        Ok(Promised { id, word })
    }

    fn await_end(&mut self, id: &str) -> Result<()> {
        let end = Instant::now() + STUCK;
        loop {
            let task = self.asking(|api| api.get(&format!("/v1/tasks/{id}")))?;
            if task["state"].as_str().is_some_and(|state| TERMINAL.contains(&state)) {
                return Ok(());
            }
            if Instant::now() > end {
                // What it is waiting for is the finding: the whole of it.
                bail!("stuck for {STUCK:?}: {task}");
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Asks until somebody answers: a server that was killed is back in a moment.
    fn asking(&mut self, ask: impl Fn(&mut Api) -> Result<Value>) -> Result<Value> {
        let end = Instant::now() + STUCK;
        loop {
            let answer = self.connected().and_then(&ask);
            match answer {
                Ok(value) => return Ok(value),
                // It has answered, and it was no: that is not what a kill looks like.
                Err(error) if error.is::<crate::api::Refused>() => return Err(error),
                Err(error) if Instant::now() > end => {
                    return Err(error.context("nobody answers any more"));
                }
                Err(_) => {
                    self.api = None;
                    thread::sleep(Duration::from_millis(10));
                }
            }
        }
    }

    fn connected(&mut self) -> Result<&mut Api> {
        if self.api.is_none() {
            self.api = Some(self.line.open()?);
        }
        self.api.as_mut().context("it was just opened")
    }
}

impl Promised {
    /// How many attempts it took. All but the last have failed, and only that one has spoken for the task.
    pub(super) fn look(&self, api: &mut Api, report: &mut Report) -> Result<usize> {
        let Self { id, .. } = self;
        let task = match api.get(&format!("/v1/tasks/{id}")) {
            Ok(task) => task,
            Err(error) => {
                report.wrong(format!("task {id} was acknowledged and is lost: {error:#}"));
                return Ok(0);
            }
        };
        let attempts = api.get(&format!("/v1/tasks/{id}/attempts?limit=500"))?;
        let logs = api.get(&format!("/v1/tasks/{id}/logs"))?;
        self.judge(&task, &attempts, &logs, report);
        Ok(attempts["items"].as_array().map_or(0, Vec::len))
    }

    fn judge(&self, task: &Value, attempts: &Value, logs: &Value, report: &mut Report) {
        let Self { id, word } = self;
        report.expect(task["state"] == "succeeded", || format!("not done: {task}"));
        let items = |page: &Value| page["items"].as_array().cloned().unwrap_or_default();
        let good = items(attempts).iter().filter(|one| one["state"] == "succeeded").count();
        report.expect(good == 1, || format!("done {good} times: {attempts}"));
        let pieces = items(logs);
        let said: String = pieces.iter().filter_map(|piece| piece["text"].as_str()).collect();
        report.expect(said == format!("{word}\n"), || format!("task {id} said {said:?}: {logs}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_that_is_lost_done_twice_or_said_twice_is_noticed() {
        let wrong = |state: &str, attempts: &[&str], texts: &[&str]| {
            let mut report = Report::new("server");
            let page = |key: &str, values: &[&str]| {
                let items: Vec<Value> = values.iter().map(|value| json!({ key: value })).collect();
                json!({ "items": items })
            };
            let task = Promised { id: "t".to_owned(), word: "word".to_owned() };
            let (attempts, logs) = (page("state", attempts), page("text", texts));
            task.judge(&json!({ "state": state }), &attempts, &logs, &mut report);
            report.wrong.len()
        };
        assert_eq!(wrong("succeeded", &["lost", "succeeded"], &["wo", "rd\n"]), 0);
        assert_eq!(wrong("lost", &["lost"], &[]), 3);
        assert_eq!(wrong("succeeded", &["succeeded", "succeeded"], &["word\n"]), 1);
        assert_eq!(wrong("succeeded", &["succeeded"], &["word\n", "word\n"]), 1);
    }
}
