//! How much a token may have the server keep of its runners: how many of them, and how much each says of itself.
//!
//! A runner is believed about its own host and nothing else, and what it says is kept for good. So all of it has a bound.

use std::time::Duration;

use cofferdam_core::control::id::RunnerId;
use cofferdam_core::control::report::{Registration, Removed};
use serde_json::json;

use super::error::PlaneError;
use super::memory::Present;
use super::runners::is_online;
use super::turn::{About, Turn};
use crate::store::{Sql, run, scalar};

/// Runners of one token, whether or not they are there.
const MOST_RUNNERS: usize = 64;
/// Bytes of what a runner says of its host, as JSON.
const LARGEST_HOST: usize = 64 * 1024;
const MOST_LABELS: usize = 256;
/// How long one must have been silent to make room for another.
const LONG_SILENT: Duration = Duration::from_secs(24 * 3600);
/// What was removed is told of one by one, so often of one runner. How many there were is in each registration.
const MOST_ORPHANS: u64 = 1000;
const ORPHAN: &str = "sandbox.orphan_removed";

/// Refuses what is longer than any runner needs.
pub(super) fn fits(asked: &Registration) -> Result<(), PlaneError> {
    let host = asked.host.as_ref().map_or(0, |host| host.to_string().len());
    if host > LARGEST_HOST {
        let message = format!("it has {host} bytes, and no more than {LARGEST_HOST} are kept");
        return Err(PlaneError::field("host", message, "send what `doctor --json` says, or less"));
    }
    let lists = [
        ("labels", asked.labels.len(), MOST_LABELS),
        ("holding", asked.holding.len(), Registration::MOST_HELD),
        ("removed", asked.removed.len(), Registration::MOST_REMOVED),
    ];
    for (field, length, most) in lists {
        if length > most {
            let message = format!("it has {length} items, and no more than {most} are taken");
            return Err(PlaneError::field(field, message, "send fewer"));
        }
    }
    Ok(())
}

/// Room for one more runner of a token; where there is none, one that has long been silent and holds nothing goes.
pub(super) async fn make_room(turn: &mut Turn, token: &str, actor: &str) -> Result<(), PlaneError> {
    let own = |present: &&Present| present.token == token;
    if turn.memory.runners.values().filter(own).count() < MOST_RUNNERS {
        return Ok(());
    }
    let silent = |present: &Present| turn.elapsed.saturating_sub(present.heard.unwrap_or_default());
    let gone = turn.memory.runners.values().filter(own).filter(|present| {
        let id = present.runner.id;
        silent(present) >= LONG_SILENT && !is_online(turn, id) && turn.memory.held_by(id) == 0
    });
    let Some(gone) = gone.max_by_key(|present| (silent(present), present.runner.id)) else {
        return Err(PlaneError::Conflict {
            message: format!("this token has {MOST_RUNNERS} runners already"),
            remedy: "use one of their names, or make a token of its own for this host",
        });
    };
    let (id, name) = (gone.runner.id, gone.runner.name.clone());
    run(turn.db().await?, Sql::new("DELETE FROM runners WHERE id = $1").text(id)).await?;
    turn.memory.runners.remove(&id);
    let data = json!({"runner": id, "name": name, "token": token});
    turn.tell(&About::default(), actor, "runner.forgotten", data).await?;
    Ok(())
}

/// Tells of what a runner removed, unless it has told of enough.
pub(super) async fn orphans(
    turn: &mut Turn,
    runner: RunnerId,
    actor: &str,
    removed: Vec<Removed>,
) -> Result<(), PlaneError> {
    if removed.is_empty() {
        return Ok(());
    }
    // Ids hold nothing that LIKE takes for a sign.
    let sql = Sql::new("SELECT COUNT(*) FROM events WHERE kind = $1 AND line LIKE $2");
    let sql = sql.text(ORPHAN).text(format!("%\"runner\":\"{runner}\"%"));
    let before = scalar(turn.db().await?, sql).await?.unsigned_abs();
    let short = |text: String| text.chars().take(200).collect::<String>();
    for (number, Removed { kind, name, run }) in (before + 1..=MOST_ORPHANS).zip(removed) {
        let run = run.map(short);
        let mut data =
            json!({"runner": runner, "run": run, "kind": short(kind), "name": short(name)});
        if number == MOST_ORPHANS {
            data["last"] = "further ones are not written down".into();
        }
        turn.tell(&About::default(), actor, ORPHAN, data).await?;
    }
    Ok(())
}
