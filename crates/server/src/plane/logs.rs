//! Output of attempts, piece by piece.
//!
//! Pieces are rows beside everything else, so that one database is the whole state and one transaction covers a piece
//! and its number. Of each stream of an attempt so many bytes are kept and no more, by [`Bounded`]: the beginning and the end. Numbers
//! that are missing are what was left out, and how much that is is said at the end.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cofferdam_core::control::id::TaskId;
use cofferdam_core::control::page::Page;
use cofferdam_core::control::report::{LogChunk, LogPiece, Stream, Taken};
use cofferdam_core::control::task::Task;
use cofferdam_core::control::token::Scope;
use serde_json::json;
use sqlx::Row as _;

use super::bounded::Bounded;
use super::caller::Caller;
use super::error::PlaneError;
use super::memory::Streams;
use super::turn::{About, Turn};
use super::{Plane, reports, tasks};
use crate::store::{Sql, StoreError, rows, run};

/// Longest piece, in bytes of output.
const LONGEST: usize = 256 << 10;

impl Plane {
    /// A piece of output from a runner.
    pub async fn log(
        &self,
        caller: &Caller,
        id: TaskId,
        chunk: LogChunk,
    ) -> Result<Taken, PlaneError> {
        caller.needs(Scope::Runner)?;
        let bytes = STANDARD
            .decode(&chunk.data)
            .map_err(|_| PlaneError::field("data", "it is not base64", "encode the bytes"))?;
        if bytes.len() > LONGEST {
            return Err(PlaneError::TooLarge { what: "a piece of output", most: LONGEST as u64 });
        }
        let caller = caller.clone();
        self.write(move |turn| {
            Box::pin(async move { keep(turn, &caller, id, chunk, bytes.len() as u64).await })
        })
        .await
    }

    /// Output of an attempt, of the latest where none is named: what came after the piece `after`.
    pub async fn logs(
        &self,
        caller: &Caller,
        id: TaskId,
        attempt: Option<u32>,
        after: Option<u64>,
        limit: u32,
    ) -> Result<Page<LogPiece>, PlaneError> {
        let mut db = self.inner.store.reader().await?;
        let task = tasks::seen(&mut db, caller, id).await?;
        let attempt = attempt.unwrap_or(task.attempt);
        let limit = limit.clamp(1, 1000);
        let after = after.map_or(-1, |after| i64::try_from(after).unwrap_or(i64::MAX));
        let sql = Sql::new(
            "SELECT seq, stream, data FROM logs WHERE task = $1 AND attempt = $2 AND seq > $3 \
             ORDER BY seq LIMIT $4",
        );
        let sql = sql.text(id).number(attempt).number(after).number(limit + 1);
        let read = |source| StoreError::Query { what: "read", source };
        let mut items = Vec::new();
        for row in rows(&mut db, sql).await? {
            let seq: i64 = row.try_get(0).map_err(read)?;
            let stream: String = row.try_get(1).map_err(read)?;
            let data: String = row.try_get(2).map_err(read)?;
            let bytes = STANDARD.decode(&data).unwrap_or_default();
            let (text, data) = match String::from_utf8(bytes) {
                Ok(text) => (text, None),
                Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), Some(data)),
            };
            let stream = if stream == "stderr" { Stream::Stderr } else { Stream::Stdout };
            items.push(LogPiece { attempt, seq: seq.unsigned_abs(), stream, text, data });
        }
        let more = items.len() > limit as usize;
        items.truncate(limit as usize);
        let next = if more { items.last().map(|piece| piece.seq.to_string()) } else { None };
        Ok(Page { items, next })
    }
}

async fn keep(
    turn: &mut Turn,
    caller: &Caller,
    id: TaskId,
    chunk: LogChunk,
    bytes: u64,
) -> Result<Taken, PlaneError> {
    // Late or forged: there are too many pieces to have an event of each; the status report has one.
    if turn.memory.held.get(&id).is_none_or(|hold| hold.attempt != chunk.attempt) {
        return Ok(Taken::Stale);
    }
    let known = reports::known(turn, caller, id, chunk.attempt, &chunk.fence).await?;
    let Some(known) = known.filter(|known| known.own) else { return Ok(Taken::Stale) };
    let seq = i64::try_from(chunk.seq).unwrap_or(i64::MAX);
    if seq <= known.fenced.log_seq {
        return Ok(Taken::Repeated);
    }
    let sql =
        Sql::new("INSERT INTO logs (task, attempt, seq, stream, data) VALUES ($1, $2, $3, $4, $5)");
    let sql = sql.text(id).number(chunk.attempt).number(chunk.seq).text(name(chunk.stream));
    run(turn.db().await?, sql.text(&chunk.data)).await?;
    let mut output = known.fenced.output;
    let gone = of(&mut output, chunk.stream).take(seq, bytes, turn.settings.log_limit);
    if let Some(gone) = gone {
        leave_out(turn, id, chunk.attempt, chunk.stream, gone).await?;
    }
    if let Some(fenced) = turn.memory.held.get_mut(&id).and_then(|hold| hold.fenced.as_mut()) {
        (fenced.log_seq, fenced.output) = (seq, output);
    }
    Ok(Taken::Accepted)
}

const fn name(stream: Stream) -> &'static str {
    match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    }
}

const fn of(output: &mut Streams, stream: Stream) -> &mut Bounded {
    match stream {
        Stream::Stdout => &mut output.stdout,
        Stream::Stderr => &mut output.stderr,
    }
}

/// Removes the pieces between the beginning of a stream and its end.
async fn leave_out(
    turn: &mut Turn,
    id: TaskId,
    attempt: u32,
    stream: Stream,
    gone: Range<i64>,
) -> Result<(), PlaneError> {
    let sql = Sql::new(
        "DELETE FROM logs WHERE task = $1 AND attempt = $2 AND stream = $3 AND seq >= $4 AND seq < $5",
    );
    let sql = sql.text(id).number(attempt).text(name(stream));
    run(turn.db().await?, sql.number(gone.start).number(gone.end)).await?;
    Ok(())
}

/// What is in the store of an attempt's output, and the number of its last piece: after a restart.
pub(super) async fn found(
    turn: &mut Turn,
    id: TaskId,
    attempt: u32,
) -> Result<(i64, Streams), PlaneError> {
    let sql = Sql::new(
        "SELECT seq, stream, CAST(LENGTH(data) AS BIGINT) FROM logs WHERE task = $1 AND attempt = $2 ORDER BY seq",
    );
    let read = |source| StoreError::Query { what: "read", source };
    let (mut last, mut has_gap, mut output) = (-1, false, Streams::default());
    for row in rows(turn.db().await?, sql.text(id).number(attempt)).await? {
        let seq: i64 = row.try_get(0).map_err(read)?;
        let stream: String = row.try_get(1).map_err(read)?;
        let stream = if stream == "stderr" { Stream::Stderr } else { Stream::Stdout };
        let length: i64 = row.try_get(2).map_err(read)?;
        // Kept as base64: four characters for three bytes.
        let bytes = length.unsigned_abs() / 4 * 3;
        has_gap |= seq != last + 1;
        last = seq;
        let gone = of(&mut output, stream).take(seq, bytes, turn.settings.log_limit);
        if let Some(gone) = gone {
            leave_out(turn, id, attempt, stream, gone).await?;
        }
    }
    if has_gap {
        output.stdout.found_with_a_gap();
        output.stderr.found_with_a_gap();
    }
    Ok((last, output))
}

/// Says of each stream of an attempt that ends how much of it there is, where that is not all. The run's own count is the true one: this
/// server has not seen what was sent before it was started, and was then left out.
pub(super) async fn tell_of_the_cut(turn: &mut Turn, task: &Task) -> Result<(), PlaneError> {
    let fenced = turn.memory.held.get(&task.id).and_then(|hold| hold.fenced.as_ref());
    let Some(Streams { stdout, stderr }) = fenced.map(|fenced| fenced.output.clone()) else {
        return Ok(());
    };
    let counted = task.result.output.as_ref();
    let all = [
        (Stream::Stdout, stdout, counted.map(|output| output.stdout_bytes)),
        (Stream::Stderr, stderr, counted.map(|output| output.stderr_bytes)),
    ];
    for (stream, there, counted) in all.into_iter().filter(|(_, there, _)| there.is_cut) {
        let data = json!({
            "stream": name(stream), "total_bytes": counted.unwrap_or(there.total), "kept_bytes": there.kept,
        });
        turn.tell(&About::task(task), "server", "sandbox.output_truncated", data).await?;
    }
    Ok(())
}
