//! The control plane as a service: what is asked of it, by whom, and what it answers.
//!
//! [`Plane`] is the only truth about tasks. Each method takes the [`Caller`] first and judges scope and project
//! itself; nothing outside decides who may what. What changes something goes to one writer (`writer.rs`), which
//! commits it together with whatever else has come meanwhile and then answers. `moves.rs` is the only place where a
//! task changes its state.
//!
//! Deliberately absent: HTTP, and running anything. Time and chance come in with [`PlaneSettings`].

mod approvals;
mod artifacts;
mod audit;
mod bounded;
mod caller;
mod changes;
mod claims;
mod due;
mod enrolment;
mod error;
mod events;
mod kept_head;
mod keys;
mod logs;
mod memory;
mod moves;
mod overview;
mod policy;
mod projects;
mod reports;
mod roles;
mod rows;
mod runners;
mod scheduler;
mod settings;
mod steps;
mod tally;
mod tasks;
mod templates;
mod tokens;
mod turn;
mod workflows;
mod writer;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, RwLock};

use cofferdam_core::control::token::Token;
use tokio::sync::watch;

pub use approvals::ApprovalFilter;
pub use artifacts::{ArtifactFilter, NewArtifact};
pub use caller::Caller;
pub use changes::Apply;
pub use error::PlaneError;
pub use events::EventFilter;
pub use keys::IdempotencyKey;
pub(crate) use reports::MISSING;
pub use settings::{Chance, Clock, HostClock, PlaneSettings};
pub use tasks::TaskFilter;
pub use workflows::WorkflowFilter;

use crate::store::{Database, Sql, Store, StoreError, scalar};
use turn::Turn;
use writer::{Ahead, Bells, Writer};

#[derive(Debug, Clone)]
pub struct Plane {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    store: Arc<Store>,
    settings: Arc<PlaneSettings>,
    writer: Writer,
    bells: Bells,
    /// By the hash of the secret.
    tokens: RwLock<HashMap<[u8; 32], Token>>,
    errands: Mutex<changes::Desk>,
    kept_head: kept_head::KeptHead,
}

impl Plane {
    /// Opens the store and goes on where it was left.
    pub async fn open(database: Database, settings: PlaneSettings) -> Result<Self, StoreError> {
        let store = Arc::new(Store::open(database).await?);
        let settings = Arc::new(settings);
        let kept_head = kept_head::KeptHead::open(settings.head_file.clone(), &store).await?;
        let turn = Turn::new(Arc::clone(&store), Arc::clone(&settings)).await?;
        let bells = Bells::new(turn.memory.head.seq);
        let tokens = RwLock::new(tokens::load(&store).await?);
        let writer = Writer::start(turn, bells.clone());
        let errands = Mutex::default();
        let inner = Inner { store, settings, writer, bells, tokens, errands, kept_head };
        let plane = Self { inner: Arc::new(inner) };
        scheduler::start(&plane);
        kept_head::start(&plane);
        Ok(plane)
    }

    /// The newest event that is durable, whenever there is a newer one.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.inner.bells.seq.subscribe()
    }

    /// Whether it can work: the writer takes commands, and the store answers.
    pub async fn ready(&self) -> Result<(), PlaneError> {
        self.write(|_| Box::pin(async { Ok(()) })).await?;
        let mut db = self.inner.store.reader().await?;
        Ok(scalar(&mut db, Sql::new("SELECT 1")).await.map(drop)?)
    }

    pub fn database(&self) -> &Database {
        self.inner.store.database()
    }

    /// Ends all work on the store. What is asked afterwards fails.
    pub async fn close(&self) {
        self.keep_head().await;
        self.inner.store.close().await;
    }

    async fn write<T, F>(&self, command: F) -> Result<T, PlaneError>
    where
        T: Send + 'static,
        F: for<'a> FnOnce(&'a mut Turn) -> Ahead<'a, Result<T, PlaneError>> + Send + 'static,
    {
        self.inner.writer.write(command).await
    }
}
