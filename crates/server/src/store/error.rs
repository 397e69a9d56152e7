//! What can go wrong with the database.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot open the database {database}")]
    Open { database: String, source: sqlx::Error },
    #[error("{} does not say where the chain of events ended: {reason}", path.display())]
    Head { path: PathBuf, reason: String },
    #[error("cannot lock {path}")]
    Lock { path: PathBuf, source: std::io::Error },
    #[error("another server already works on {database}")]
    InUse { database: String },
    #[error("the database could not {what}")]
    Query { what: &'static str, source: sqlx::Error },
    #[error("a row of {table} cannot be read")]
    Row { table: &'static str, source: serde_json::Error },
    #[error("the bytes of artifact {artifact} are not those that were handed in")]
    Altered { artifact: String },
    #[error("migration {number} of this database is not the one that this program has")]
    Migration { number: i64 },
    #[error("the database was made by a newer version: it has migration {number}")]
    Newer { number: i64 },
}

impl StoreError {
    pub(super) fn query(what: &'static str) -> impl FnOnce(sqlx::Error) -> Self {
        move |source| Self::Query { what, source }
    }
}
