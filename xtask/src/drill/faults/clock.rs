//! A clock that is wrong, or jumps. The host's own is left alone: `libfaketime` stands between the program
//! and the C library, so it needs a program that is linked with one; the static one asks the kernel
//! by itself. Only the clock on the wall jumps, as when somebody sets it; the steady one does not.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::RUN_TRUE;
use crate::cargo::{cargo, output_of, succeed, target_dir};
use crate::drill::report::Report;
use crate::drill::scene::Actor;

/// A run of a month ago, one of next month, and one of today.
pub(super) fn between_runs(actor: &Actor<'_>, report: &mut Report) -> Result<()> {
    let program = dynamic(actor)?;
    for (days, year) in [("-400d", -400), ("+400d", 400), ("+0d", 0)] {
        let ended =
            actor.scene.begin(faked(actor, &program, &RUN_TRUE, ("FAKETIME", days))?)?.finish()?;
        report.expect(ended.code() == Some(0), || format!("{days}: {}", ended.story()));
        let shown = actor.finish(&["runs", "--json"])?;
        let stamp =
            output_of(Command::new("date").args(["-u", "-d", &format!("{year} days"), "+%Y-%m-"]))?;
        let stamp = String::from_utf8_lossy(&stamp).trim().to_owned();
        // Otherwise the clock was never wrong.
        report.expect(shown.stdout.contains(&stamp), || format!("no run of {stamp}"));
        let audit = actor.finish(&["audit", "verify"])?;
        report.expect(audit.code() == Some(0), || format!("{days}: {}", audit.story()));
    }
    Ok(())
}

/// Hours pass within a moment: a run of a second has not timed out.
pub(super) fn during_a_run(actor: &Actor<'_>, report: &mut Report) -> Result<()> {
    let program = dynamic(actor)?;
    for jump in ["+3h", "-3h"] {
        let clock = actor.home.join("clock");
        fs::write(&clock, "+0\n")?;
        let words =
            ["run", "--json", "--sandbox", "native", "--timeout", "1m", "--", "sleep", "0.8"];
        let file = clock.to_str().context("a path that is not text")?;
        let begun = actor.scene.begin(faked(
            actor,
            &program,
            &words,
            ("FAKETIME_TIMESTAMP_FILE", file),
        )?)?;
        std::thread::sleep(Duration::from_millis(400));
        fs::write(&clock, format!("{jump}\n"))?;
        let ended = begun.finish()?;
        report.expect(ended.code() == Some(0), || format!("{jump}: {}", ended.story()));
        let record: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
        let took = record["usage"]["wall_ms"].as_u64();
        report.expect(took.is_some_and(|took| (500..60_000).contains(&took)), || {
            format!("{jump}: it says that it took {took:?} ms")
        });
        let hours = |name: &str| {
            record[name].as_str().and_then(|text| text.get(11..13)?.parse::<u32>().ok())
        };
        // Otherwise the clock never jumped.
        report.expect(hours("started_at") != hours("finished_at"), || format!("{jump}: no jump"));
    }
    Ok(())
}

fn faked(
    actor: &Actor<'_>,
    program: &PathBuf,
    words: &[&str],
    clock: (&str, &str),
) -> Result<Command> {
    let plain = actor.command(words);
    let mut command = Command::new(program);
    command.args(words).env_clear().current_dir(&actor.workspace);
    command.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("LD_PRELOAD", library()?).env(clock.0, clock.1);
    command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("FAKETIME_NO_CACHE", "1");
    Ok(command)
}

fn library() -> Result<PathBuf> {
    let machine = if cfg!(target_arch = "aarch64") { "aarch64" } else { "x86_64" };
    let path = PathBuf::from(format!("/usr/lib/{machine}-linux-gnu/faketime/libfaketime.so.1"));
    if !path.is_file() {
        bail!("{} is missing: install faketime", path.display());
    }
    Ok(path)
}

/// The program itself where it has a loader that can be told to load something before it, else one that is built so.
fn dynamic(actor: &Actor<'_>) -> Result<PathBuf> {
    let given = PathBuf::from(actor.command(&[]).get_program());
    // Of a program that loads itself `ldd` speaks well, too: the C library must be named.
    let needs = Command::new("ldd").arg(&given).output().context("cannot start ldd")?;
    if String::from_utf8_lossy(&needs.stdout).contains("libc.so") {
        return Ok(given);
    }
    let build =
        ["build", "--quiet", "--package", "cofferdam-cli", "--bin", "cofferdam", "--all-features"];
    succeed(&mut cargo(build))?;
    Ok(target_dir()?.join("debug/cofferdam"))
}
