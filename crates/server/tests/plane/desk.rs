//! A plane on a database of its own, with a clock that the test moves, and those who ask.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cofferdam_core::config::{Entries, FileLayer, parse_file};
use cofferdam_core::control::id::TaskId;
use cofferdam_core::control::project::{NewProject, Project};
use cofferdam_core::control::report::{
    Claim, ClaimAsk, Held, Registered, Registration, ReportedStatus, StatusAnswer, StatusReport,
};
use cofferdam_core::control::task::{AttemptResult, NewTask, Task};
use cofferdam_core::control::token::{NewToken, Scope};
use cofferdam_core::stamp::Stamp;
use cofferdam_server::plane::{Caller, Clock, Plane, PlaneSettings};
use cofferdam_server::store::Database;
use serde_json::{Value, json};

use crate::elsewhere::new_database;

/// Stands still until it is moved.
#[derive(Debug, Default)]
pub(crate) struct MovedClock(AtomicU64);

impl MovedClock {
    pub(crate) fn advance(&self, by: Duration) {
        self.0.fetch_add(u64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for MovedClock {
    fn now(&self) -> Stamp {
        let millis = 1_800_000_000_000 + i64::try_from(self.0.load(Ordering::SeqCst)).unwrap();
        Stamp::new(jiff::Timestamp::from_millisecond(millis).unwrap())
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::SeqCst))
    }
}

pub(crate) struct Desk {
    pub(crate) plane: Plane,
    pub(crate) admin: Caller,
    pub(crate) clock: Arc<MovedClock>,
    database: Database,
    dir: tempfile::TempDir,
}

impl Desk {
    pub(crate) async fn on_sqlite() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let database = Database::Sqlite(dir.path().join("plane.db"));
        Self::on(database, dir).await
    }

    pub(crate) async fn on_postgres() -> Self {
        Self::on(new_database().await, tempfile::tempdir().unwrap()).await
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    pub(crate) fn dir(&self) -> &std::path::Path {
        self.dir.path()
    }

    /// Lets time pass, and what is due happen.
    pub(crate) async fn pass(&self, time: Duration) {
        self.clock.advance(time);
        self.plane.tick().await.unwrap();
    }

    pub(crate) async fn holds(&self) {
        let verdict = self.plane.verify(&self.admin).await.unwrap();
        assert!(verdict.holds, "{verdict:?}");
    }

    async fn on(database: Database, dir: tempfile::TempDir) -> Self {
        let clock = Arc::new(MovedClock::default());
        let plane = Plane::open(database.clone(), settings(&clock)).await.unwrap();
        let made = plane.first_token().await.unwrap().unwrap();
        let admin = plane.caller(&made.secret).unwrap();
        Self { plane, admin, clock, database, dir }
    }

    /// The server is gone and another one opens the same database.
    pub(crate) async fn restart(&mut self) {
        self.plane.close().await;
        self.plane = self.reopened(Entries::default()).await;
    }

    /// The same, as somebody set it up otherwise.
    pub(crate) async fn restart_with(&mut self, change: impl FnOnce(&mut PlaneSettings)) {
        self.plane.close().await;
        let mut settings = settings(&self.clock);
        change(&mut settings);
        self.plane = Plane::open(self.database.clone(), settings).await.unwrap();
    }

    /// The same, on a host whose file says something.
    pub(crate) async fn restart_under(&mut self, host: &str) {
        self.plane.close().await;
        let host = parse_file(host, "host file", FileLayer::Host).unwrap();
        self.plane = self.reopened(host).await;
    }

    async fn reopened(&self, host: Entries) -> Plane {
        let settings = PlaneSettings { host, ..settings(&self.clock) };
        Plane::open(self.database.clone(), settings).await.unwrap()
    }

    pub(crate) async fn caller(&self, name: &str, scopes: &[Scope]) -> Caller {
        self.caller_of(name, scopes, None).await
    }

    pub(crate) async fn caller_of(
        &self,
        name: &str,
        scopes: &[Scope],
        projects: Option<Vec<cofferdam_core::control::id::ProjectId>>,
    ) -> Caller {
        let asked =
            NewToken { name: name.into(), scopes: scopes.to_vec(), projects, expires_at: None };
        let made = self.plane.make_token(&self.admin, asked, None).await.unwrap();
        self.plane.caller(&made.secret).unwrap()
    }

    pub(crate) async fn project(&self, name: &str) -> Project {
        let root = self.dir.path().join(name);
        std::fs::create_dir_all(&root).unwrap();
        let asked = NewProject {
            name: name.into(),
            root_path: root.canonicalize().unwrap().to_str().unwrap().into(),
            allowed_paths: vec![],
            max_running: None,
            default_role: None,
        };
        self.plane.create_project(&self.admin, asked, None).await.unwrap()
    }

    pub(crate) async fn submit(&self, more: Value) -> Task {
        self.plane.create_task(&self.admin, task(more), None).await.unwrap()
    }

    pub(crate) async fn runner(&self, name: &str) -> Worker {
        let caller = self.caller(name, &[Scope::Runner]).await;
        let registered = self.register(&caller, name).await;
        Worker { caller, registered }
    }

    pub(crate) async fn register(&self, caller: &Caller, name: &str) -> Registered {
        self.register_holding(caller, name, []).await
    }

    pub(crate) async fn register_holding(
        &self,
        caller: &Caller,
        name: &str,
        holding: impl IntoIterator<Item = (TaskId, u32)>,
    ) -> Registered {
        let asked = Registration {
            name: name.into(),
            labels: vec![],
            capacity: 10,
            host: None,
            holding: holding.into_iter().map(|(task, attempt)| Held { task, attempt }).collect(),
            removed: vec![],
        };
        self.plane.register(caller, asked).await.unwrap()
    }

    pub(crate) async fn state(&self, task: &Task) -> String {
        self.plane.task(&self.admin, task.id).await.unwrap().state.to_string()
    }

    /// Types of the events of a task, in their order.
    pub(crate) async fn kinds(&self, task: &Task) -> Vec<String> {
        let filter =
            cofferdam_server::plane::EventFilter { task: Some(task.id), ..Default::default() };
        let paging = cofferdam_core::control::page::Paging { limit: 500, after: None };
        let page = self.plane.events(&self.admin, &filter, &paging).await.unwrap();
        page.items.into_iter().map(|event| event.kind).collect()
    }
}

fn settings(clock: &Arc<MovedClock>) -> PlaneSettings {
    PlaneSettings {
        clock: Arc::clone(clock) as Arc<dyn Clock>,
        lease: Duration::from_secs(30),
        // Only what a test asks for happens by time.
        tick: Duration::from_secs(3600),
        ..PlaneSettings::default()
    }
}

/// A task that needs nothing, with more said about it.
pub(crate) fn task(more: Value) -> NewTask {
    let mut asked = json!({"execution_mode": "no-workspace", "command": ["true"]});
    for (key, value) in more.as_object().unwrap() {
        asked[key] = value.clone();
    }
    serde_json::from_value(asked).unwrap()
}

pub(crate) struct Worker {
    pub(crate) caller: Caller,
    pub(crate) registered: Registered,
}

impl Worker {
    pub(crate) async fn claim(&self, desk: &Desk, room: u32) -> Vec<Claim> {
        let ask = ClaimAsk { runner: self.registered.runner, room, wait_ms: 0 };
        desk.plane.claim(&self.caller, ask).await.unwrap().claims
    }

    pub(crate) async fn report(
        &self,
        desk: &Desk,
        claim: &Claim,
        seq: u64,
        status: ReportedStatus,
    ) -> StatusAnswer {
        let report = StatusReport {
            attempt: claim.attempt,
            fence: claim.fence.clone(),
            seq,
            status,
            result: AttemptResult::default(),
            events: vec![],
        };
        desk.plane.report(&self.caller, claim.task.id, report).await.unwrap()
    }
}
