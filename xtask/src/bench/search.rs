//! What a loop adds to the runs it is made of: a loop of trivial iterations, against the same commands run one by one.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::place::Place;
use crate::progress::Progress;
use crate::release;

const ROUNDS: usize = 5;
const ITERATIONS: u32 = 40;
const GENERATE: &str = "cat > /dev/null; echo 1";
const SCORE: &str = r#"echo "{\"score\": $(cat guess)}" > "$COFFERDAM_RESULT""#;

/// A table of both, and the difference for one iteration.
pub(crate) fn overhead(place: &Place) -> Result<String> {
    let program = release::binary()?;
    let workspace = place.workspace();
    let file = format!(
        "generator:\n  command: [sh, -c, '{GENERATE}']\n  writes: guess\nrun:\n  command: [sh, -c, '{SCORE}']\n\
         metrics: {{score: 'pointer:/score'}}\nobjective: {{metric: score, goal: max}}\n\
         budget: {{iterations: {ITERATIONS}}}\n",
    );
    for (name, text) in [("guess", "0\n"), ("loop.yaml", file.as_str())] {
        fs::write(workspace.join(name), text).with_context(|| format!("cannot write {name}"))?;
    }
    let sandboxed = |args: &[&str]| {
        let mut command = place.command(&program);
        command.args(args);
        command
    };
    let (mut alone, mut in_loop) = (Vec::new(), Vec::new());
    let progress = Progress::new("loop: rounds", ROUNDS + 1);
    for round in 0..=ROUNDS {
        progress.at(round);
        let begun = Instant::now();
        for _ in 0..ITERATIONS {
            done(sandboxed(&["run", "-q", "--sandbox", "native", "--", "sh", "-c", GENERATE]))?;
            let result = ["run", "-q", "--sandbox", "native", "--result", "--metric"];
            let rest = ["score=pointer:/score", "--", "sh", "-c", SCORE];
            done(sandboxed(&[&result[..], &rest[..]].concat()))?;
        }
        let by_hand = begun.elapsed() / ITERATIONS;
        let begun = Instant::now();
        done(sandboxed(&["loop", "loop.yaml", "--sandbox", "native", "--json"]))?;
        let looped = begun.elapsed() / ITERATIONS;
        // The first is for the machine to warm up.
        if round > 0 {
            alone.push(by_hand);
            in_loop.push(looped);
        }
    }
    let (alone, in_loop) = (median(alone), median(in_loop));
    let ms = |time: Duration| time.as_secs_f64() * 1000.0;
    let own = ms(in_loop) - ms(alone);
    Ok(format!(
        "| one iteration | median |\n|---|---:|\n| its two commands by `cofferdam run`, one after the other | {:.2} ms |\n\
         | in `cofferdam loop` | {:.2} ms |\n| the loop's own part | {own:.2} ms |\n\n\
         Median of {ROUNDS} rounds of {ITERATIONS} iterations, native, interleaved.",
        ms(alone),
        ms(in_loop),
    ))
}

fn done(mut command: Command) -> Result<()> {
    let output = command.output().context("cannot start the program")?;
    if !output.status.success() {
        bail!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
