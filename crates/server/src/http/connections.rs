//! Connections: taken, served, and ended in order.
//!
//! When the server stops, no new one is taken, requests that were begun are finished, and streams end by themselves
//! (see [`super::stream`]). What is not over by then is cut off.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::StatusCode;
use axum::middleware::from_fn;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::patience::Patient;
use super::problem::{self, Refused};

/// So many at once; further ones wait to be accepted.
const SEATS: usize = 2048;
/// For the whole of a request's head, and for a TLS handshake.
const HEAD: Duration = Duration::from_secs(15);
/// How long a reader may take nothing.
const UNREAD: Duration = Duration::from_secs(30);
/// How long requests that were begun may still take.
const GRACE: Duration = Duration::from_secs(10);

/// Serves until `stop`, and then what was begun.
pub(crate) async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
    stop: CancellationToken,
) {
    let (seats, begun) = (Arc::new(Semaphore::new(SEATS)), TaskTracker::new());
    let cut = CancellationToken::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = accept(&listener, &seats) => accepted,
        };
        let Some((stream, seat)) = accepted else { continue };
        let (tls, router, stop, cut) = (tls.clone(), router.clone(), stop.clone(), cut.clone());
        begun.spawn(async move {
            tokio::select! {
                () = cut.cancelled() => {}
                () = greet(stream, tls, router, stop) => {}
            }
            drop(seat);
        });
    }
    drop(listener);
    begun.close();
    if timeout(GRACE, begun.wait()).await.is_err() {
        tracing::warn!(connections = begun.len() as u64, "cut off what was not over in time");
        cut.cancel();
        begun.wait().await;
    }
}

async fn accept(
    listener: &TcpListener,
    seats: &Arc<Semaphore>,
) -> Option<(TcpStream, impl Sized + use<>)> {
    let seat = Arc::clone(seats).acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, _)) => Some((stream, seat)),
        Err(error) => {
            // The other end has gone already, or descriptors have run out: neither is helped by haste.
            tracing::warn!(%error, "cannot accept a connection");
            sleep(Duration::from_millis(50)).await;
            None
        }
    }
}

async fn greet(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    router: Router,
    stop: CancellationToken,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::warn!(%error, "a connection that is not quick");
    }
    match tls {
        None => talk(stream, router, stop).await,
        Some(tls) => {
            match timeout(HEAD, speaks_tls(&stream)).await {
                Ok(Some(true)) => {}
                // Whoever wrote `http://` is told, and not left to guess why nobody answers.
                Ok(Some(false)) => return talk(stream, only_tls(), stop).await,
                Ok(None) | Err(_) => return,
            }
            if let Ok(Ok(stream)) = timeout(HEAD, tls.accept(stream)).await {
                talk(stream, router, stop).await;
            }
        }
    }
}

/// The first byte of every TLS connection: a record of the handshake.
const HANDSHAKE: u8 = 0x16;

/// By the first byte, which is left where it is; `None` where there is none.
async fn speaks_tls(stream: &TcpStream) -> Option<bool> {
    let mut first = [0];
    let there = stream.peek(&mut first).await.ok()?;
    (there > 0).then_some(first[0] == HANDSHAKE)
}

/// Says to every request in the clear that there is nothing to be had so.
fn only_tls() -> Router {
    let refuse = || async {
        Refused::new(StatusCode::BAD_REQUEST, "tls-wanted", "this server speaks TLS on this port")
            .remedy("write https:// in the URL of the server")
    };
    Router::new().fallback(refuse).layer(from_fn(problem::render))
}

async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    stop: CancellationToken,
) {
    let io = TokioIo::new(Patient::new(stream, UNREAD));
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(64 << 10);
    let connection = builder.serve_connection(io, TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    // Whoever hangs up, reads nothing or speaks no HTTP ends this connection and nothing else.
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
