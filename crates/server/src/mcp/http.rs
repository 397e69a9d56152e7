//! The same tools over HTTP, for clients that cannot start a program: on the loopback, for who knows the token.
//!
//! Each client has a session of its own, by the protocol's `Mcp-Session-Id`: it begins with the first call, and ends when
//! the client ends it, when it has asked for nothing for long, or with the server. The newest versions of the protocol know
//! no sessions; they are not spoken here, and their clients fall back to an older one. A request that a browser sends is refused by its `Origin`, and
//! one to another name than the loopback's by its `Host`.

use std::fs::File;
use std::io::{self, Read as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::Semaphore;

use super::held::Held;
use super::server::{Lives, Server};
use super::{McpError, Setting};

/// So many clients may have a sandbox at once.
const SEATS: usize = 32;

/// Where a server listens, and what a client must know.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Listening {
    pub url: String,
    /// To be sent as `Authorization: Bearer`.
    pub token: String,
}

/// Serves until the process is ended. `ready` is told where, and the token, which is made anew each time. A client
/// that has been silent for `idle` is forgotten, with its session.
pub fn serve_http(
    setting: &Setting,
    address: SocketAddr,
    idle: Duration,
    ready: impl FnOnce(&Listening) -> io::Result<()>,
) -> Result<(), McpError> {
    if !address.ip().is_loopback() {
        return Err(McpError::NotLoopback { address });
    }
    let token = token()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(address).await?;
        let url = format!("http://{}/mcp", listener.local_addr()?);
        ready(&Listening { url, token: token.clone() })?;
        Ok(axum::serve(listener, router(setting, idle, token)).await?)
    })
}

fn router(setting: &Setting, idle: Duration, token: String) -> Router {
    let (setting, seats) = (Arc::new(setting.clone()), Arc::new(Semaphore::new(SEATS)));
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(idle);
    let service = StreamableHttpService::new(
        move || {
            let held = Held::new(&setting, &seats).map_err(io::Error::other)?;
            Ok(Server::new(held, Lives::WithSession))
        },
        Arc::new(sessions),
        // No page of a browser has business here.
        StreamableHttpServerConfig::default().enforce_origin_validation(),
    );
    let token: Arc<str> = format!("Bearer {token}").into();
    let check = from_fn(move |request: Request, next: Next| {
        let token = Arc::clone(&token);
        async move { admit(&token, request, next).await }
    });
    Router::new().route_service("/mcp", service).layer(check)
}

async fn admit(token: &str, request: Request, next: Next) -> Response {
    let given = request.headers().get(header::AUTHORIZATION).map(|value| value.as_bytes());
    if given.is_some_and(|given| is_same(given, token.as_bytes())) {
        return next.run(request).await;
    }
    StatusCode::UNAUTHORIZED.into_response()
}

/// Takes as long for one wrong byte as for many.
fn is_same(given: &[u8], wanted: &[u8]) -> bool {
    let differences = given.iter().zip(wanted).fold(0, |sum, (a, b)| sum | (a ^ b));
    given.len() == wanted.len() && differences == 0
}

fn token() -> io::Result<String> {
    let mut bytes = [0_u8; 32];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
