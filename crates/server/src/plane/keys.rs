//! The same request sent twice is done once.

use serde::Serialize;
use sqlx::Row as _;

use super::caller::Caller;
use super::error::PlaneError;
use super::turn::Turn;
use crate::store::{Sql, StoreError, first, run};

/// Chosen by whoever asks, for one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    pub fn new(text: &str) -> Result<Self, PlaneError> {
        let good =
            !text.is_empty() && text.len() <= 200 && text.bytes().all(|b| b.is_ascii_graphic());
        if good {
            return Ok(Self(text.to_owned()));
        }
        let message = "a key has 1 to 200 visible ASCII characters";
        Err(PlaneError::field("Idempotency-Key", message, "use a random UUID"))
    }
}

/// A key together with what it was used for.
#[derive(Debug, Clone)]
pub(super) struct Once {
    token: String,
    key: Option<IdempotencyKey>,
    request: String,
}

impl Once {
    pub(super) fn new<T: Serialize>(
        caller: &Caller,
        key: Option<IdempotencyKey>,
        noun: &str,
        request: &T,
    ) -> Result<Self, PlaneError> {
        let text = crate::store::to_doc(request, "idempotency")?;
        let request = blake3::hash(format!("{noun}\n{text}").as_bytes()).to_hex().to_string();
        Ok(Self { token: caller.token.to_string(), key, request })
    }

    /// The id of what the same request made before.
    pub(super) async fn made(&self, turn: &mut Turn) -> Result<Option<String>, PlaneError> {
        let Some(key) = &self.key else { return Ok(None) };
        let sql = Sql::new("SELECT request, made FROM idempotency WHERE token = $1 AND name = $2");
        let sql = sql.text(&self.token).text(&key.0);
        let Some(row) = first(turn.db().await?, sql).await? else { return Ok(None) };
        let read = |at: usize| {
            row.try_get::<String, _>(at)
                .map_err(|source| StoreError::Query { what: "read", source })
        };
        if read(0)? != self.request {
            return Err(PlaneError::KeyReused);
        }
        Ok(Some(read(1)?))
    }

    pub(super) async fn keep(
        &self,
        turn: &mut Turn,
        made: &impl ToString,
    ) -> Result<(), PlaneError> {
        let Some(key) = &self.key else { return Ok(()) };
        let sql = Sql::new(
            "INSERT INTO idempotency (token, name, request, made, at) VALUES ($1, $2, $3, $4, $5)",
        );
        let sql = sql.text(&self.token).text(&key.0).text(&self.request);
        let sql = sql.text(made.to_string()).text(turn.now);
        run(turn.db().await?, sql).await?;
        Ok(())
    }
}
