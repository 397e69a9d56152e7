//! Many agents at once: all are inside their sandboxes at the same moment, and each has its own.
//!
//! Every agent has a workspace with a word of its own and a variable with another. It says what it sees,
//! then waits on its input, which is closed only when all have said it: nobody leaves before the last is in.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result};

use super::report::Report;
use super::scene::{Actor, Scene};
use super::{Asked, traces};

const AGENTS: usize = 64;

/// What an agent does: says its word, its variable, what else is there and who it sees; waits; writes.
const ACT: &str = "echo \"$(cat word) $WORD $(ls) $(ls /tmp | wc -l) $(ls -d /proc/[0-9]* | wc -l)\"; \
                   echo here > /tmp/trace; read -r end; cp word made; rm word; exit $CODE";

pub(super) fn perform(asked: &Asked) -> Result<Report> {
    let scene = Scene::new(asked)?;
    let mut report = Report::new("load");
    let count = asked.size.unwrap_or(AGENTS);
    let start = Instant::now();
    let mut agents = Vec::new();
    for number in 0..count {
        agents.push(Agent::start(scene.actor(number)?, number)?);
    }
    let said: Vec<String> = agents.iter_mut().map(Agent::said).collect::<Result<_>>()?;
    report.count(
        "agents inside at once",
        agents.iter_mut().filter_map(|a| a.is_there().ok()).filter(|is| *is).count(),
    );
    report.count("milliseconds until all were in", start.elapsed().as_millis());
    for (agent, said) in agents.iter_mut().zip(&said) {
        agent.look(said, &mut report);
        agent.let_go();
    }
    for agent in &mut agents {
        agent.leave(&mut report)?;
    }
    for agent in &agents {
        agent.bring_home(&mut report)?;
    }
    let seen = traces::ids(&scene.state());
    let gc = scene.finish(&["gc"])?;
    report.expect(gc.code() == Some(0), || format!("gc: {}", gc.story()));
    traces::left(&scene, &seen).into_iter().for_each(|left| report.wrong(format!("left: {left}")));
    let audit = scene.finish(&["audit", "verify"])?;
    report.expect(audit.code() == Some(0), || format!("audit verify: {}", audit.story()));
    Ok(report)
}

struct Agent<'a> {
    actor: Actor<'a>,
    number: usize,
    child: Child,
    /// `None` once it said what it has to say and was let go.
    stdin: Option<std::process::ChildStdin>,
    stdout: BufReader<std::process::ChildStdout>,
}

impl<'a> Agent<'a> {
    fn start(actor: Actor<'a>, number: usize) -> Result<Self> {
        fs::write(actor.workspace.join("word"), format!("word-{number}"))?;
        let (word, code) = (format!("WORD=variable-{number}"), format!("CODE={}", code(number)));
        let sandbox = actor.scene.sandbox.as_str();
        let mut command = actor.command(&["run", "--quiet", "--sandbox", sandbox]);
        // Together they ask for no more than hosts have.
        command.args(["--memory", "64m", "--env", &word, "--env", &code, "--", "sh", "-c", ACT]);
        let log = fs::File::create(actor.home.join("stderr"))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().context("cannot start an agent")?;
        let stdout = BufReader::new(child.stdout.take().context("an agent has no output")?);
        Ok(Self { stdin: child.stdin.take(), child, stdout, actor, number })
    }

    fn said(&mut self) -> Result<String> {
        let mut line = String::new();
        self.stdout.read_line(&mut line).context("an agent's output")?;
        Ok(line.trim_end().to_owned())
    }

    fn is_there(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// Its own word and variable, its one file, an empty `/tmp`, and few processes: its own.
    fn look(&self, said: &str, report: &mut Report) {
        let number = self.number;
        let words: Vec<&str> = said.split(' ').collect();
        let own = format!("word-{number} variable-{number} word 0");
        let processes = words.last().and_then(|count| count.parse::<usize>().ok());
        let alone = processes.is_some_and(|count| (1..8).contains(&count));
        let right = said.starts_with(&own) && words.len() == 5 && alone;
        let stderr = || fs::read_to_string(self.actor.home.join("stderr")).unwrap_or_default();
        report.expect(right, || format!("agent {number} saw {said:?}; {}", stderr().trim()));
    }

    fn let_go(&mut self) {
        drop(self.stdin.take());
    }

    fn leave(&mut self, report: &mut Report) -> Result<()> {
        let status = self.child.wait()?;
        let (number, code) = (self.number, code(self.number));
        report.expect(status.code() == Some(code), || {
            format!("agent {number}: {status}, not {code}")
        });
        let tree = names(&self.actor)?;
        report.expect(tree == ["word"], || format!("agent {number} left {tree:?} on the host"));
        Ok(())
    }

    /// Its own changes, and no others.
    fn bring_home(&self, report: &mut Report) -> Result<()> {
        let number = self.number;
        let applied = self.actor.finish(&["apply", "--quiet"])?;
        report.expect(applied.code() == Some(0), || format!("agent {number}: {}", applied.story()));
        let made = fs::read_to_string(self.actor.workspace.join("made")).unwrap_or_default();
        let tree = names(&self.actor)?;
        let right = tree == ["made"] && made == format!("word-{number}");
        report.expect(right, || format!("agent {number} brought home {tree:?}, {made:?}"));
        Ok(())
    }
}

/// Exit codes that tell agents apart, none of which means something else.
fn code(number: usize) -> i32 {
    i32::try_from(10 + number % 90).unwrap_or(10)
}

fn names(actor: &Actor<'_>) -> Result<Vec<String>> {
    let mut names: Vec<String> = fs::read_dir(&actor.workspace)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_>>()?;
    names.sort();
    Ok(names)
}
