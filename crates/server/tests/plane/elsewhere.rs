//! A new database on the PostgreSQL that `cargo xtask test` has started.

use cofferdam_server::store::Database;

pub(crate) async fn new_database() -> Database {
    let server = std::env::var("TEST_POSTGRES")
        .expect("TEST_POSTGRES names a server: run `cargo xtask test`");
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random).unwrap();
    let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let make = format!("CREATE DATABASE plane_{name}");
    let mut admin = <sqlx::PgConnection as sqlx::Connection>::connect(&server).await.unwrap();
    sqlx::query(sqlx::AssertSqlSafe(make)).execute(&mut admin).await.unwrap();
    let url = server.replace("/postgres?", &format!("/plane_{name}?"));
    assert_ne!(url, server, "TEST_POSTGRES names the database postgres");
    url.parse().unwrap()
}
