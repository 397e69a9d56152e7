//! The control plane over HTTP: `/v1`, its description, and what watches it.
//!
//! [`Bound`] holds the address; [`Bound::serve`] answers until it is told to stop. On its way to a handler a request
//! gets an id ([`request_id`]), is observed ([`observe`]), let in or not ([`admit`]), and, under `/v1`, known by its token
//! ([`who`]). Handlers, a file a noun, turn HTTP into a call of the [`Plane`] and its answer into HTTP, and decide
//! nothing: what a caller may do is decided there.

mod admit;
mod app;
mod approval;
mod artifact;
mod body;
mod change;
mod conditions;
mod connections;
mod event;
mod health;
mod leaving;
mod log;
mod metrics;
mod names;
mod observe;
mod openapi;
mod overview;
mod paged;
mod patience;
mod problem;
mod project;
mod rate;
mod reference;
mod request_id;
mod role;
mod router;
mod runner;
mod runner_protocol;
mod stream;
pub mod strict;
mod tail;
mod tally;
mod task;
mod template;
mod tls;
mod token;
mod who;
mod workflow_run;

use std::fmt;
use std::io;
use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::plane::Plane;

pub use change::DiscardAsk;
pub use names::{Names, NotAName};
pub use tls::{TlsError, TlsFiles};
pub use workflow_run::Rerun;

/// Where and how to listen.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    pub listen: SocketAddr,
    pub tls: Option<TlsFiles>,
    /// Names beside those of the loopback.
    pub host_names: Vec<String>,
    /// Requests a second that a token may make; `None`: as many as it likes.
    pub rate: Option<u32>,
}

#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error(
        "{0} is not on the loopback, and whoever listens in between would read the tokens: TLS is needed there"
    )]
    NeedsTls(SocketAddr),
    #[error("cannot listen on {address}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Name(#[from] NotAName),
}

/// An address that is held, and not yet answered on.
pub struct Bound {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    names: Names,
    rate: Option<u32>,
    leaving: CancellationToken,
}

impl fmt::Debug for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Bound").field(&self.url()).finish()
    }
}

impl Bound {
    pub async fn new(settings: &HttpSettings) -> Result<Self, ListenError> {
        let names = Names::new(settings.listen, &settings.host_names)?;
        if !settings.listen.ip().is_loopback() && settings.tls.is_none() {
            return Err(ListenError::NeedsTls(settings.listen));
        }
        let tls = settings.tls.as_ref().map(TlsFiles::acceptor).transpose()?;
        let failed = |source| ListenError::Listen { address: settings.listen, source };
        let listener = TcpListener::bind(settings.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let leaving = CancellationToken::new();
        Ok(Self { listener, address, tls, names, rate: settings.rate, leaving })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }

    /// To be canceled where a server is to end and has something to finish first: it goes on to answer, is not ready any
    /// more, and makes nothing new.
    pub fn leaving(&self) -> CancellationToken {
        self.leaving.clone()
    }

    /// Answers until `stop`, and then finishes what was begun.
    pub async fn serve(self, plane: Plane, stop: CancellationToken) {
        let ends = app::Ends { leaving: self.leaving, stop: stop.clone() };
        let app = app::App::new(plane, self.names, self.rate, ends);
        connections::serve(self.listener, self.tls, router::router(&app), stop).await;
    }
}

/// The description of the API, as JSON.
pub fn openapi() -> serde_json::Result<String> {
    router::description().to_pretty_json()
}
