//! Statements with their values, and rows that hold a document.

use std::fmt::Write as _;

use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AssertSqlSafe, Row as _};

use super::error::StoreError;

/// A statement and its values. The text is put together from literals alone; what somebody wrote is always a value.
#[derive(Debug, Clone)]
pub(crate) struct Sql {
    text: String,
    values: Vec<Value>,
}

#[derive(Debug, Clone)]
enum Value {
    Text(String),
    Number(i64),
}

impl Sql {
    pub(crate) fn new(text: &'static str) -> Self {
        Self { text: text.to_owned(), values: Vec::new() }
    }

    /// A value for the next `$N`.
    pub(crate) fn text(mut self, value: impl ToString) -> Self {
        self.values.push(Value::Text(value.to_string()));
        self
    }

    /// An id, or the empty text.
    pub(crate) fn maybe(self, value: Option<impl ToString>) -> Self {
        self.text(value.map(|value| value.to_string()).unwrap_or_default())
    }

    pub(crate) fn number(mut self, value: impl TryInto<i64>) -> Self {
        self.values.push(Value::Number(value.try_into().unwrap_or(i64::MAX)));
        self
    }

    /// More of the statement; each `?` of it becomes the next `$N`.
    pub(crate) fn and(mut self, text: &'static str) -> Self {
        let mut next = self.values.len() + 1;
        for part in text.split_inclusive('?') {
            match part.strip_suffix('?') {
                Some(before) => {
                    // A text takes whatever is written to it.
                    write!(self.text, "{before}${next}").ok();
                    next += 1;
                }
                None => self.text.push_str(part),
            }
        }
        self
    }
}

#[cfg(test)]
impl Sql {
    /// The question how SQLite would go about it.
    pub(crate) fn explained(mut self) -> Self {
        self.text.insert_str(0, "EXPLAIN QUERY PLAN ");
        self
    }
}

pub(crate) async fn run(db: &mut AnyConnection, sql: Sql) -> Result<u64, StoreError> {
    let done = prepared(sql).execute(db).await.map_err(StoreError::query("write"))?;
    Ok(done.rows_affected())
}

pub(crate) async fn rows(db: &mut AnyConnection, sql: Sql) -> Result<Vec<AnyRow>, StoreError> {
    prepared(sql).fetch_all(db).await.map_err(StoreError::query("read"))
}

pub(crate) async fn first(db: &mut AnyConnection, sql: Sql) -> Result<Option<AnyRow>, StoreError> {
    prepared(sql).fetch_optional(db).await.map_err(StoreError::query("read"))
}

/// The one number that a statement gives, 0 where it gives none.
pub(crate) async fn scalar(db: &mut AnyConnection, sql: Sql) -> Result<i64, StoreError> {
    match first(db, sql).await? {
        None => Ok(0),
        Some(row) => {
            let value: Option<i64> = row.try_get(0).map_err(StoreError::query("read"))?;
            Ok(value.unwrap_or(0))
        }
    }
}

fn prepared(sql: Sql) -> sqlx::query::Query<'static, sqlx::Any, sqlx::any::AnyArguments> {
    let query = sqlx::query(AssertSqlSafe(sql.text));
    sql.values.into_iter().fold(query, |query, value| match value {
        Value::Text(text) => query.bind(text),
        Value::Number(number) => query.bind(number),
    })
}

/// Where rows go that are written together.
#[derive(Debug)]
pub(crate) struct Table {
    /// As far as `VALUES`.
    pub(crate) into: &'static str,
    /// One row: `(?, ?)`.
    pub(crate) row: &'static str,
    /// What becomes of a row that is there already, or nothing.
    pub(crate) known: &'static str,
}

/// How many rows a statement writes. There are few sizes, so that each statement is prepared once.
const SIZES: [usize; 6] = [32, 16, 8, 4, 2, 1];

/// Writes many rows with few statements: each costs a trip to the store. No two may be the same row.
pub(crate) async fn write_rows<T>(
    db: &mut AnyConnection,
    table: &Table,
    rows: &[T],
    values: impl Fn(Sql, &T) -> Sql,
) -> Result<(), StoreError> {
    let mut rest = rows;
    while !rest.is_empty() {
        let size = SIZES.into_iter().find(|size| *size <= rest.len()).unwrap_or(1);
        let (now, later) = rest.split_at(size);
        let mut sql = Sql::new(table.into);
        for (at, row) in now.iter().enumerate() {
            sql = sql.and(if at == 0 { " " } else { ", " }).and(table.row);
            sql = values(sql, row);
        }
        run(db, sql.and(table.known)).await?;
        rest = later;
    }
    Ok(())
}

/// The document in a row's column `doc`.
pub(crate) fn from_doc<T: DeserializeOwned>(
    row: &AnyRow,
    table: &'static str,
) -> Result<T, StoreError> {
    let text: String = row.try_get("doc").map_err(StoreError::query("read"))?;
    serde_json::from_str(&text).map_err(|source| StoreError::Row { table, source })
}

pub(crate) fn to_doc<T: Serialize>(value: &T, table: &'static str) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|source| StoreError::Row { table, source })
}
