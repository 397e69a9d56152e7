//! Where the control plane keeps what it must not forget: SQLite in a file, or PostgreSQL by URL.
//!
//! [`Store`] owns the connections. There is one writer, which commits many commands at once (see `plane/writer.rs`),
//! and several readers. Every statement is written once, in the part of SQL that both databases understand: TEXT and
//! BIGINT, `$1` for values, no dialect.
//!
//! Locking: a second server on the same database is refused, by a lock on a file beside SQLite's, by an advisory lock
//! of PostgreSQL. Durability: SQLite writes its log through to the disk before a commit returns (WAL, FULL).
//! Compatibility: migrations are appended, never changed; each has its checksum kept, and a database that knows
//! migrations which this program does not is refused.
//!
//! Deliberately absent: what the rows mean. That is the plane's.

mod database;
mod error;
mod migrate;
mod sql;

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx::any::AnyPoolOptions;
use sqlx::pool::PoolConnection;
use sqlx::{Any, AnyConnection, AnyPool, Connection as _, Executor as _, Row as _, Transaction};

pub use database::{Database, NotADatabase};
pub use error::StoreError;
pub(crate) use sql::{Sql, Table, first, from_doc, rows, run, scalar, to_doc, write_rows};

/// The number that a server takes in PostgreSQL's table of advisory locks: "coffer" in ASCII.
const ADVISORY: i64 = 0x0000_636f_6666_6572;

/// How long PostgreSQL may take to notice that a server is dead, and how often it is asked.
const DYING: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub struct Store {
    writer: AnyPool,
    readers: AnyPool,
    database: Database,
    /// Held as long as the store is open.
    alone: Mutex<Option<std::fs::File>>,
}

impl Store {
    /// Opens the database and brings its tables up to date.
    pub async fn open(database: Database) -> Result<Self, StoreError> {
        sqlx::any::install_default_drivers();
        let alone = database.lock()?;
        let url = database.url();
        try_it(&database, &url).await?;
        // A connection to a server can be gone when it is needed next; one to a file cannot.
        let can_break = matches!(database, Database::Postgres(_));
        let of_writer = database.clone();
        let writer = AnyPoolOptions::new()
            .max_connections(1)
            .idle_timeout(None)
            .max_lifetime(None)
            .test_before_acquire(can_break)
            .after_connect(move |connection, _| {
                let database = of_writer.clone();
                Box::pin(async move { settle(connection, &database, Role::Writer).await })
            })
            .connect(&url)
            .await
            .map_err(|source| StoreError::Open { database: database.to_string(), source })?;
        let mut connection = writer.acquire().await.map_err(StoreError::query("open"))?;
        migrate::migrate(&mut connection).await?;
        drop(connection);
        let of_readers = database.clone();
        let readers = AnyPoolOptions::new()
            .max_connections(4)
            .test_before_acquire(can_break)
            .after_connect(move |connection, _| {
                let database = of_readers.clone();
                Box::pin(async move { settle(connection, &database, Role::Reader).await })
            })
            .connect(&url)
            .await
            .map_err(|source| StoreError::Open { database: database.to_string(), source })?;
        Ok(Self { writer, readers, database, alone: Mutex::new(alone) })
    }

    pub fn database(&self) -> &Database {
        &self.database
    }

    pub(crate) async fn reader(&self) -> Result<PoolConnection<Any>, StoreError> {
        self.readers.acquire().await.map_err(StoreError::query("read"))
    }

    pub(crate) async fn begin(&self) -> Result<Transaction<'static, Any>, StoreError> {
        self.writer.begin().await.map_err(StoreError::query("begin"))
    }

    /// Waits until nothing uses it, and closes it.
    pub async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
        self.alone.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Writer,
    Reader,
}

async fn settle(
    connection: &mut AnyConnection,
    database: &Database,
    role: Role,
) -> Result<(), sqlx::Error> {
    match (database, role) {
        (Database::Sqlite(_), Role::Writer) => {
            connection.execute("PRAGMA busy_timeout = 10000").await?;
            connection.execute("PRAGMA journal_mode = WAL").await?;
            connection.execute("PRAGMA synchronous = FULL").await?;
            // What a statement would be undone by; in a file it would be made and removed with every task.
            connection.execute("PRAGMA temp_store = MEMORY").await?;
            // In pages. The same few pages change with every task: the longer they wait, the fewer are copied home.
            connection.execute("PRAGMA wal_autocheckpoint = 4000").await?;
        }
        (Database::Sqlite(_), Role::Reader) => {
            connection.execute("PRAGMA busy_timeout = 10000").await?;
            connection.execute("PRAGMA query_only = ON").await?;
        }
        (Database::Postgres(_), Role::Writer) => {
            if !alone(connection).await? {
                return Err(sqlx::Error::Configuration(
                    "another server already works on this database".into(),
                ));
            }
        }
        (Database::Postgres(_), Role::Reader) => {
            connection.execute("SET default_transaction_read_only = on").await?;
        }
    }
    Ok(())
}

/// One connection, so that what is wrong is said at once: a pool would ask again and again.
async fn try_it(database: &Database, url: &str) -> Result<(), StoreError> {
    let failed = |source| StoreError::Open { database: database.to_string(), source };
    let mut connection = AnyConnection::connect(url).await.map_err(failed)?;
    let free = match database {
        Database::Sqlite(_) => {
            // A file is not looked into before that.
            connection.execute("PRAGMA schema_version").await.map_err(failed)?;
            true
        }
        Database::Postgres(_) => alone_soon(&mut connection).await.map_err(failed)?,
    };
    connection.close().await.map_err(failed)?;
    if free { Ok(()) } else { Err(StoreError::InUse { database: database.to_string() }) }
}

/// The lock of a server that was killed is free once PostgreSQL has noticed: that moment is waited for.
async fn alone_soon(connection: &mut AnyConnection) -> Result<bool, sqlx::Error> {
    let end = Instant::now() + DYING;
    while !alone(connection).await? {
        if Instant::now() > end {
            return Ok(false);
        }
        tokio::time::sleep(AGAIN).await;
    }
    Ok(true)
}

/// Takes PostgreSQL's lock for as long as the connection lasts; says whether it was free.
async fn alone(connection: &mut AnyConnection) -> Result<bool, sqlx::Error> {
    let ask = sqlx::query("SELECT pg_try_advisory_lock($1)").bind(ADVISORY);
    ask.fetch_one(connection).await?.try_get(0)
}
