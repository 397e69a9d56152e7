//! Fewer and fewer descriptors: at some number nothing works, at some number all does, and in between
//! nothing is half done.

use std::process::Command;

use anyhow::Result;

use super::RUN_TRUE;
use crate::drill::report::Report;
use crate::drill::scene::Actor;

pub(super) fn few(actor: &Actor<'_>, report: &mut Report) -> Result<()> {
    let mut codes = Vec::new();
    for most in 4..=40 {
        let plain = actor.command(&RUN_TRUE);
        let mut limited = Command::new("prlimit");
        limited.arg(format!("--nofile={most}:{most}")).arg(plain.get_program());
        limited.args(plain.get_args()).env_clear();
        limited.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        limited.current_dir(&actor.workspace);
        let ended = actor.scene.begin(limited)?.finish()?;
        let refused = ended.code() == Some(125) && ended.stderr.contains("Too many open files");
        let right = refused || ended.code() == Some(0);
        report.expect(right, || format!("{most} descriptors: {}", ended.story()));
        codes.push(ended.code());
    }
    let both = codes.contains(&Some(0)) && codes.contains(&Some(125));
    report.expect(both, || format!("no number of descriptors made a difference: {codes:?}"));
    Ok(())
}
