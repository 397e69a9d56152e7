//! No space, and a state directory that cannot be written to.

use std::fs;
use std::io::Write as _;

use anyhow::Result;

use super::{Mounted, RUN_TRUE, expect, over};
use crate::drill::report::Report;
use crate::drill::scene::Actor;

/// Nothing fits any more when the program starts: nothing runs, and it says why.
pub(super) fn full(actor: &Actor<'_>, report: &mut Report) -> Result<()> {
    let state = actor.scene.place.state();
    let _mounted = Mounted::new(&state, "1m")?;
    actor.finish(&RUN_TRUE)?;
    let filler = state.join("filler");
    let mut file = fs::File::create(&filler)?;
    while file.write_all(&[0; 1024]).is_ok() {}
    drop(file);
    expect(report, "run", &actor.finish(&RUN_TRUE)?, 125, "No space left on device");
    let words = ["session", "start", "--sandbox", "native"];
    expect(report, "session start", &actor.finish(&words)?, 125, "No space left on device");
    fs::remove_file(&filler)?;
    over(actor.scene, actor, report)
}

/// The command itself fills it, with what it stages: it meets the error, ends as it will, and what it
/// wrote is there once there is room.
pub(super) fn filled_from_inside(actor: &Actor<'_>, report: &mut Report) -> Result<()> {
    let state = actor.scene.place.state();
    let mounted = Mounted::new(&state, "1m")?;
    // Nobody stops it.
    let config = actor.scene.place.top().join("config/cofferdam");
    fs::create_dir_all(&config)?;
    fs::write(config.join("config.yaml"), "sandbox: { disk_reserve: 0 }\n")?;
    let fill = "dd if=/dev/zero of=big bs=1k count=4000 || exit 77";
    let ended = actor.finish(&["run", "--sandbox", "native", "--", "sh", "-c", fill])?;
    expect(report, "the run", &ended, 77, "No space left on device");
    let again = actor.finish(&RUN_TRUE)?;
    expect(report, "the next run", &again, 125, "No space left on device");
    mounted.remount("size=16m")?;
    let sealed = actor.finish(&["gc"])?;
    report.expect(sealed.code() == Some(0), || format!("gc with room: {}", sealed.story()));
    let diff = actor.finish(&["diff", "--name-only"])?;
    report
        .expect(diff.stdout.contains("big"), || format!("what it wrote is lost: {}", diff.story()));
    over(actor.scene, actor, report)
}

pub(super) fn read_only(actor: &Actor<'_>, report: &mut Report) -> Result<()> {
    let state = actor.scene.place.state();
    let mounted = Mounted::new(&state, "16m")?;
    let make = ["run", "--quiet", "--sandbox", "native", "--", "sh", "-c", "echo made > made"];
    let made = actor.finish(&make)?;
    report.expect(made.code() == Some(0), || format!("before: {}", made.story()));
    mounted.remount("ro")?;
    expect(report, "run", &actor.finish(&RUN_TRUE)?, 125, "Read-only file system");
    let apply = actor.finish(&["apply"])?;
    expect(report, "apply", &apply, 1, "Read-only file system");
    let brought = actor.workspace.join("made").exists();
    report.expect(!brought, || "an apply that failed brought something".to_owned());
    mounted.remount("rw")?;
    let apply = actor.finish(&["apply", "--quiet"])?;
    report.expect(apply.code() == Some(0), || format!("apply afterwards: {}", apply.story()));
    over(actor.scene, actor, report)
}
