//! A server of a test's own: its own store, its own port.

use std::net::SocketAddr;

use cofferdam_server::http::{Bound, HttpSettings};
use cofferdam_server::plane::{Plane, PlaneSettings};
use cofferdam_server::store::Database;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::elsewhere::new_database;
use crate::wire::{Ask, Reply};

#[derive(Debug, Clone, Copy)]
enum Store {
    Sqlite,
    Postgres,
}

#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    /// Of scope admin.
    pub(crate) admin: String,
    pub(crate) stop: CancellationToken,
    /// It will stop.
    pub(crate) leaving: CancellationToken,
    answering: Option<JoinHandle<()>>,
    runtime: Runtime,
    place: TempDir,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn on_postgres() -> Self {
        Self::on(Store::Postgres, |_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut HttpSettings)) -> Self {
        Self::on(Store::Sqlite, change)
    }

    fn on(store: Store, change: impl FnOnce(&mut HttpSettings)) -> Self {
        let place = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let mut settings = HttpSettings {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            tls: None,
            host_names: Vec::new(),
            rate: None,
        };
        change(&mut settings);
        let stop = CancellationToken::new();
        let (bound, plane, admin) = runtime.block_on(async {
            let bound = Bound::new(&settings).await.unwrap();
            let database = match store {
                Store::Sqlite => Database::Sqlite(place.path().join("plane.db")),
                Store::Postgres => new_database().await,
            };
            let plane = Plane::open(database, PlaneSettings::default()).await.unwrap();
            let admin = plane.first_token().await.unwrap().unwrap().secret;
            (bound, plane, admin)
        });
        let (address, leaving) = (bound.address(), bound.leaving());
        let answering = Some(runtime.spawn(bound.serve(plane, stop.clone())));
        Self { address, admin, stop, leaving, answering, runtime, place }
    }

    #[track_caller]
    pub(crate) fn get(&self, target: &str) -> Reply {
        self.send(Ask::get(target))
    }

    #[track_caller]
    pub(crate) fn post(&self, target: &str, body: &Value) -> Reply {
        self.send(Ask::post(target, body))
    }

    /// As admin.
    #[track_caller]
    pub(crate) fn send(&self, ask: Ask) -> Reply {
        ask.token(&self.admin).send(self.address)
    }

    /// A project whose root is there.
    pub(crate) fn project(&self, name: &str) -> String {
        let root = self.place.path().join(name);
        std::fs::create_dir_all(&root).unwrap();
        let body = json!({ "name": name, "root_path": root.canonicalize().unwrap() });
        let made = self.post("/v1/projects", &body).expect(201).json();
        made["id"].as_str().unwrap().to_owned()
    }

    /// A token of scope and projects; id and secret.
    #[track_caller]
    pub(crate) fn token(
        &self,
        name: &str,
        scope: &str,
        projects: Option<&[&str]>,
    ) -> (String, String) {
        let body = json!({ "name": name, "scopes": [scope], "projects": projects });
        let made = self.post("/v1/tokens", &body).expect(201).json();
        (made["id"].as_str().unwrap().to_owned(), made["secret"].as_str().unwrap().to_owned())
    }

    /// A task that waits to be dispatched.
    #[track_caller]
    pub(crate) fn task(&self, project: &str) -> String {
        let made = self.post("/v1/tasks", &waiting_task(project)).expect(201).json();
        made["id"].as_str().unwrap().to_owned()
    }

    /// Stops it, and says how long that took.
    pub(crate) fn end(&mut self) -> std::time::Duration {
        let begun = std::time::Instant::now();
        self.stop.cancel();
        if let Some(answering) = self.answering.take() {
            self.runtime.block_on(answering).unwrap();
        }
        begun.elapsed()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

pub(crate) fn waiting_task(project: &str) -> Value {
    json!({ "project": project, "execution_mode": "isolated-worktree", "command": ["true"], "dispatch": false })
}
