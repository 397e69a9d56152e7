//! A log as it grows: server-sent events, read piece by piece.

use cofferdam_core::control::id::TaskId;
use cofferdam_core::control::log_place::LogPlace;
use cofferdam_core::control::report::LogPiece;
use reqwest::header::{self, HeaderMap, HeaderValue};
use reqwest::{Method, Response};

use super::{Client, ClientError, Question};

/// More than this without an end of line is no event of ours.
const MAX_LINE: usize = 16 << 20;

/// A log that is being followed. Ends where the server ends it: the task or the attempt is over, or the server is.
#[derive(Debug)]
pub struct Followed<'a> {
    client: &'a Client,
    response: Response,
    held: Vec<u8>,
    data: Vec<u8>,
}

impl Client {
    /// Log pieces after the one that was seen last, as they come: of one attempt, or of the last one and those after it.
    pub async fn follow_logs(
        &self,
        task: TaskId,
        attempt: Option<u32>,
        seen: Option<LogPlace>,
    ) -> Result<Followed<'_>, ClientError> {
        let question =
            Question::new(Method::GET, format!("/v1/tasks/{task}/logs")).query("attempt", attempt);
        // In place of what every other question accepts, and not beside it.
        let stream = HeaderValue::from_static("text/event-stream");
        let accept = HeaderMap::from_iter([(header::ACCEPT, stream)]);
        let mut request = self.request(&question).headers(accept);
        if let Some(seen) = seen {
            request = request.header("Last-Event-ID", seen.to_string());
        }
        let response = request.send().await.map_err(|source| self.unreachable(source))?;
        if response.status().is_success() {
            return Ok(Followed { client: self, response, held: Vec::new(), data: Vec::new() });
        }
        let status = response.status().as_u16();
        let body = self.body(response).await?;
        Err(ClientError::Refused(Box::new(super::problem(status, &body))))
    }
}

impl Followed<'_> {
    /// The next piece; nothing where the stream has ended.
    pub async fn next(&mut self) -> Result<Option<LogPiece>, ClientError> {
        loop {
            while let Some(end) = self.held.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.held.drain(..=end).collect();
                if let Some(piece) = self.line(line.trim_ascii_end())? {
                    return Ok(Some(piece));
                }
            }
            if self.held.len() > MAX_LINE || self.data.len() > MAX_LINE {
                return Err(ClientError::TooLarge);
            }
            match self.response.chunk().await {
                Ok(Some(bytes)) => self.held.extend_from_slice(&bytes),
                Ok(None) => return Ok(None),
                Err(source) => return Err(self.client.unreachable(source)),
            }
        }
    }

    /// An empty line ends an event; of its other lines only the data matters here.
    fn line(&mut self, line: &[u8]) -> Result<Option<LogPiece>, ClientError> {
        if let Some(data) = line.strip_prefix(b"data:") {
            self.data.extend_from_slice(data.trim_ascii_start());
            return Ok(None);
        }
        if !line.is_empty() || self.data.is_empty() {
            return Ok(None);
        }
        let data = std::mem::take(&mut self.data);
        serde_json::from_slice(&data).map(Some).map_err(|source| ClientError::Garbled { source })
    }
}
