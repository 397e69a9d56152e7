//! The typed client of the control plane's API, for the command line and for runners.
//!
//! [`Client`] has one method a route, in `client/<noun>.rs`, and gives back the values of `cofferdam_core::control`. What the server
//! refuses is a [`ClientError::Refused`] with its problem; what never reached it, or came back broken, is another kind,
//! because only that may be tried again. [`Waiting`] is the same for callers without a runtime.
//!
//! Deliberately absent: reading the environment, and retries. A token goes over TLS or to the loopback, and nowhere else.

mod address;
mod approvals;
mod artifacts;
mod changes;
mod error;
mod follow;
mod projects;
mod runners;
mod tasks;
mod tokens;
mod waiting;
mod workflows;

use std::time::Duration;

use cofferdam_core::control::page::{Page, Paging};
use cofferdam_core::control::problem::Problem;
use reqwest::{Method, RequestBuilder, Response, Url, header};
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use address::{Address, AddressError};
pub use error::ClientError;
pub use follow::Followed;
pub use tasks::TaskQuery;
pub use waiting::{OpenError, Waiting};

/// How long an answer may take that waits for nothing.
const PATIENCE: Duration = Duration::from_secs(30);
/// How much longer than it was asked to wait an answer may take.
const SLACK: Duration = Duration::from_secs(15);
const CONNECT: Duration = Duration::from_secs(10);
/// The most that is read of an answer.
const MAX_ANSWER: usize = 64 << 20;

/// A server, and who asks.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    token: Token,
}

/// Not to be shown by accident.
#[derive(Clone)]
struct Token(String);

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// One question.
#[derive(Debug)]
struct Question {
    method: Method,
    path: String,
    query: Vec<(&'static str, String)>,
    body: Option<Vec<u8>>,
    /// What the body is.
    kind: &'static str,
    key: Option<String>,
    /// Of the attempt that is spoken for.
    fence: Option<String>,
    patience: Duration,
}

impl Client {
    pub fn new(address: &Address) -> Result<Self, AddressError> {
        let (http, base) = address.open()?;
        Ok(Self { http, base, token: Token(address.token.clone()) })
    }

    /// Where it is.
    pub fn url(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// Whether it is on this host, and the paths of one are those of the other.
    pub fn is_here(&self) -> bool {
        self.base.host_str().is_some_and(address::is_here)
    }

    async fn get<T: DeserializeOwned>(&self, path: impl Into<String>) -> Result<T, ClientError> {
        self.ask(Question::new(Method::GET, path)).await
    }

    /// A list from its first page to its last, as one.
    async fn every<T: DeserializeOwned>(
        &self,
        path: &str,
        query: Option<(&'static str, &str)>,
    ) -> Result<Page<T>, ClientError> {
        let (mut items, mut after) = (Vec::new(), None);
        loop {
            let mut question = Question::new(Method::GET, path).query("limit", Some(Paging::MOST));
            if let Some((name, value)) = query {
                question = question.query(name, Some(value));
            }
            let page: Page<T> = self.ask(question.query("after", after)).await?;
            items.extend(page.items);
            after = page.next;
            if after.is_none() {
                return Ok(Page { items, next: None });
            }
        }
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: impl Into<String>,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.ask(Question::new(Method::POST, path).with(body)).await
    }

    async fn ask<T: DeserializeOwned>(&self, question: Question) -> Result<T, ClientError> {
        let bytes = self.raw(question).await?;
        // A nothing that was asked for has no body.
        let bytes = if bytes.is_empty() { b"null".as_slice() } else { &bytes };
        serde_json::from_slice(bytes).map_err(|source| ClientError::Garbled { source })
    }

    async fn raw(&self, question: Question) -> Result<Vec<u8>, ClientError> {
        let patience = question.patience;
        let response = self.send(question, Some(patience)).await?;
        self.body(response).await
    }

    /// Sends a question; an answer that refuses it is an error. `None` sets no end to the whole answer.
    async fn send(
        &self,
        question: Question,
        patience: Option<Duration>,
    ) -> Result<Response, ClientError> {
        let mut request = self.request(&question);
        if let Some(patience) = patience {
            request = request.timeout(patience);
        }
        let response = request.send().await.map_err(|source| self.unreachable(source))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        let body = self.body(response).await?;
        Err(ClientError::Refused(Box::new(problem(status, &body))))
    }

    fn request(&self, question: &Question) -> RequestBuilder {
        let mut url = self.base.clone();
        url.set_path(&question.path);
        if !question.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&question.query);
        }
        let mut request = self
            .http
            .request(question.method.clone(), url)
            .bearer_auth(&self.token.0)
            .header(header::ACCEPT, "application/json");
        if let Some(body) = &question.body {
            request = request.header(header::CONTENT_TYPE, question.kind).body(body.clone());
        }
        if let Some(fence) = &question.fence {
            request = request.header("Cofferdam-Fence", fence);
        }
        if let Some(key) = &question.key {
            request = request.header("Idempotency-Key", key);
        }
        request
    }

    async fn body(&self, mut response: Response) -> Result<Vec<u8>, ClientError> {
        let mut body = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(|source| self.unreachable(source))? {
            if body.len() + piece.len() > MAX_ANSWER {
                return Err(ClientError::TooLarge);
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }

    fn unreachable(&self, source: reqwest::Error) -> ClientError {
        let (url, source) = (self.url().to_owned(), source.without_url());
        match error::is_clear(&source) {
            true => ClientError::Clear { url },
            false => ClientError::Unreachable { url, source: Box::new(source) },
        }
    }
}

impl Question {
    fn new(method: Method, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            query: Vec::new(),
            body: None,
            kind: "application/json",
            key: None,
            fence: None,
            patience: PATIENCE,
        }
    }

    fn with(mut self, body: &impl Serialize) -> Self {
        let body = serde_json::to_vec(body);
        self.body = Some(body.unwrap_or_else(|_| unreachable!("wire types are plain values")));
        self
    }

    /// Bytes that are whatever they are, for an attempt.
    fn carrying(mut self, bytes: Vec<u8>, fence: &str) -> Self {
        self.body = Some(bytes);
        self.kind = "application/octet-stream";
        self.fence = Some(fence.to_owned());
        self
    }

    fn query(mut self, name: &'static str, value: Option<impl ToString>) -> Self {
        self.query.extend(value.map(|value| (name, value.to_string())));
        self
    }

    fn key(mut self, key: Option<&str>) -> Self {
        self.key = key.map(str::to_owned);
        self
    }

    /// For an answer that may wait so long for news.
    fn waits(mut self, wait_ms: u64) -> Self {
        self.patience = Duration::from_millis(wait_ms) + SLACK;
        self
    }
}

/// What the server says is wrong; something else may stand between it and us, and speaks otherwise.
fn problem(status: u16, body: &[u8]) -> Problem {
    serde_json::from_slice(body).unwrap_or_else(|_| Problem {
        kind: "about:blank".to_owned(),
        title: format!("HTTP {status}"),
        status,
        detail: String::from_utf8_lossy(&body[..body.len().min(500)]).into_owned(),
        field: None,
        rule: None,
        remedy: None,
        request_id: None,
    })
}
