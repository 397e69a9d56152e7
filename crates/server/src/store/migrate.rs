//! Tables as they came to be: numbered files that are appended to and never changed.

use sqlx::{AnyConnection, Connection as _, Executor as _, Row as _};

use super::error::StoreError;
use super::sql::{Sql, rows, run};

/// In their order; a number once given is never given again.
const MIGRATIONS: &[(i64, &str)] = &[(1, include_str!("migrations/0001_begin.sql"))];

pub(super) async fn migrate(db: &mut AnyConnection) -> Result<(), StoreError> {
    let table =
        "CREATE TABLE IF NOT EXISTS migrations (number BIGINT PRIMARY KEY, checksum TEXT NOT NULL)";
    db.execute(table).await.map_err(StoreError::query("make tables"))?;
    let done =
        rows(db, Sql::new("SELECT number, checksum FROM migrations ORDER BY number")).await?;
    for row in &done {
        let number: i64 = row.try_get(0).map_err(StoreError::query("read"))?;
        let kept: String = row.try_get(1).map_err(StoreError::query("read"))?;
        match MIGRATIONS.iter().find(|(known, _)| *known == number) {
            None => return Err(StoreError::Newer { number }),
            Some((_, text)) if checksum(text) != kept => {
                return Err(StoreError::Migration { number });
            }
            Some(_) => {}
        }
    }
    for (number, text) in MIGRATIONS.iter().skip(done.len()) {
        let mut turn = db.begin().await.map_err(StoreError::query("begin"))?;
        for statement in text.split(";\n").map(str::trim).filter(|each| !each.is_empty()) {
            turn.execute(statement).await.map_err(StoreError::query("make tables"))?;
        }
        let kept = Sql::new("INSERT INTO migrations (number, checksum) VALUES ($1, $2)");
        run(&mut turn, kept.number(*number).text(checksum(text))).await?;
        turn.commit().await.map_err(StoreError::query("commit"))?;
    }
    Ok(())
}

fn checksum(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}
