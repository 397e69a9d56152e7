//! Output of attempts, piece by piece.
//!
//! Pieces are rows beside everything else, so that one database is the whole state and one transaction covers a piece
//! and its number. An attempt keeps so many bytes and no more; where it was cut is said.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cofferdam_core::control::id::TaskId;
use cofferdam_core::control::page::Page;
use cofferdam_core::control::report::{LogChunk, LogPiece, Stream, Taken};
use cofferdam_core::control::token::Scope;
use serde_json::json;
use sqlx::Row as _;

use super::caller::Caller;
use super::error::PlaneError;
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
    let before = known.fenced.log_bytes;
    let total = before + bytes;
    let limit = turn.settings.log_limit;
    if total <= limit {
        let stream = match chunk.stream {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        };
        let sql = Sql::new(
            "INSERT INTO logs (task, attempt, seq, stream, data) VALUES ($1, $2, $3, $4, $5)",
        );
        let sql = sql.text(id).number(chunk.attempt).number(chunk.seq).text(stream);
        run(turn.db().await?, sql.text(&chunk.data)).await?;
    } else if before <= limit {
        let task = turn.task(id).await?;
        let data = json!({"limit": limit});
        turn.tell(&About::task(&task), "server", "sandbox.output_truncated", data).await?;
    }
    if let Some(fenced) = turn.memory.held.get_mut(&id).and_then(|hold| hold.fenced.as_mut()) {
        (fenced.log_seq, fenced.log_bytes) = (seq, total);
    }
    Ok(Taken::Accepted)
}
