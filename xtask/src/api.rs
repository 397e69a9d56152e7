//! Just enough HTTP to ask a server: one connection, JSON there and back.

use std::fmt;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// Longer than any answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// An answer that says no.
#[derive(Debug)]
pub(crate) struct Refused {
    status: u16,
    text: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.status, self.text)
    }
}

impl std::error::Error for Refused {}

/// One connection.
#[derive(Debug)]
pub(crate) struct Api {
    stream: BufReader<TcpStream>,
    address: String,
    token: String,
}

impl Api {
    /// To `HOST:PORT`, with a token.
    pub(crate) fn new(address: &str, token: &str) -> Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let (address, token) = (address.to_owned(), token.to_owned());
        Ok(Self { stream: BufReader::new(stream), address, token })
    }

    pub(crate) fn get(&mut self, path: &str) -> Result<Value> {
        self.ask("GET", path, "", "Accept: application/json\r\n")?;
        self.answer()
    }

    pub(crate) fn post(&mut self, path: &str, body: &str) -> Result<Value> {
        self.ask("POST", path, body, "")?;
        self.answer()
    }

    /// Asked again with the same key, it is done once.
    pub(crate) fn post_once(&mut self, path: &str, body: &str, key: &str) -> Result<Value> {
        self.ask("POST", path, body, &format!("Idempotency-Key: {key}\r\n"))?;
        self.answer()
    }

    /// `headers` are whole lines.
    pub(crate) fn ask(
        &mut self,
        method: &str,
        path: &str,
        body: &str,
        headers: &str,
    ) -> Result<()> {
        let Self { address, token, .. } = self;
        let kind = if body.is_empty() { "" } else { "Content-Type: application/json\r\n" };
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             {headers}{kind}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        Ok(self.stream.get_mut().write_all(text.as_bytes())?)
    }

    /// The status, and how long the body is.
    pub(crate) fn head(&mut self) -> Result<(u16, usize)> {
        let mut line = String::new();
        ensure!(self.stream.read_line(&mut line)? > 0, "the connection was closed");
        let status = line.split(' ').nth(1).context("an answer has a status")?.parse()?;
        let mut length = 0;
        loop {
            line.clear();
            ensure!(self.stream.read_line(&mut line)? > 0, "the answer broke off");
            let header = line.trim_end().to_ascii_lowercase();
            if header.is_empty() {
                return Ok((status, length));
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
        }
    }

    fn answer(&mut self) -> Result<Value> {
        let (status, length) = self.head()?;
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        if !(200..300).contains(&status) {
            return Err(
                Refused { status, text: String::from_utf8_lossy(&body).into_owned() }.into()
            );
        }
        Ok(if body.is_empty() { Value::Null } else { serde_json::from_slice(&body)? })
    }
}
