//! HTTP by hand: what is sent is exactly what a test says, and nothing is repaired on the way.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// Longer than any answer should take, and short enough for a test.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Clone)]
pub(crate) struct Ask {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Ask {
    pub(crate) fn new(method: &str, target: &str) -> Self {
        Self {
            method: method.to_owned(),
            target: target.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub(crate) fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    pub(crate) fn post(target: &str, body: &Value) -> Self {
        Self::new("POST", target).json(body)
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn token(self, secret: &str) -> Self {
        self.header("Authorization", &format!("Bearer {secret}"))
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.body("application/json", body.to_string())
    }

    pub(crate) fn body(mut self, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        let length = self.body.len().to_string();
        self.header("Content-Type", kind).header("Content-Length", &length)
    }

    /// Bytes after the head that no header speaks of.
    pub(crate) fn body_only(mut self, body: &str) -> Self {
        self.body = body.as_bytes().to_vec();
        self
    }

    fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
    }

    fn head(&self, to: SocketAddr) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if !self.has("Host") {
            head.push_str(&format!("Host: {to}\r\n"));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        head.into_bytes()
    }

    /// Writes the request and leaves the connection to whoever reads on.
    #[track_caller]
    pub(crate) fn open(&self, to: SocketAddr) -> TcpStream {
        let mut stream = TcpStream::connect(to).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(&self.head(to)).unwrap();
        stream.write_all(&self.body).unwrap();
        stream
    }

    #[track_caller]
    pub(crate) fn send(&self, to: SocketAddr) -> Reply {
        let ask = if self.has("Connection") {
            self.clone()
        } else {
            self.clone().header("Connection", "close")
        };
        Reply::read(&mut BufReader::new(ask.open(to)), &self.method)
    }
}

impl Reply {
    #[track_caller]
    pub(crate) fn read(from: &mut BufReader<TcpStream>, method: &str) -> Self {
        let Self { status, headers, .. } = Self::head(from);
        let mut reply = Self { status, headers, body: Vec::new() };
        if method == "HEAD" || status == 204 || status == 304 {
            return reply;
        }
        if let Some(length) = reply.header("content-length") {
            reply.body = vec![0; length.parse().unwrap()];
            from.read_exact(&mut reply.body).unwrap();
        } else if reply.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = chunk(from) {
                reply.body.extend(chunk);
            }
        } else {
            from.read_to_end(&mut reply.body).unwrap();
        }
        reply
    }

    #[track_caller]
    pub(crate) fn head(from: &mut BufReader<TcpStream>) -> Self {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            assert_ne!(from.read_line(&mut line).unwrap(), 0, "the server hung up after {lines:?}");
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let status = lines[0].split(' ').nth(1).unwrap().parse().unwrap();
        let headers = lines[1..].iter().map(|line| line.split_once(": ").unwrap());
        let headers =
            headers.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
        Self { status, headers, body: Vec::new() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    #[track_caller]
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(
            self.status,
            status,
            "{:?} {}",
            self.headers,
            String::from_utf8_lossy(&self.body)
        );
        self
    }

    /// A refusal, of that status and name, in the one form that refusals have.
    #[track_caller]
    pub(crate) fn refused(self, status: u16, name: &str) -> Value {
        let reply = self.expect(status);
        assert_eq!(reply.header("content-type"), Some("application/problem+json"));
        let problem = reply.json();
        assert_eq!(problem["type"], format!("urn:cofferdam:problem:{name}"), "{problem}");
        assert_eq!(problem["status"], status, "{problem}");
        assert_eq!(problem["request_id"].as_str(), reply.header("x-request-id"), "{problem}");
        problem
    }
}

/// One chunk of a body that comes in chunks; `None` after the last.
#[track_caller]
pub(crate) fn chunk(from: &mut BufReader<TcpStream>) -> Option<Vec<u8>> {
    let mut size = String::new();
    if from.read_line(&mut size).unwrap() == 0 {
        return None;
    }
    let size = usize::from_str_radix(size.trim(), 16).unwrap();
    let mut chunk = vec![0; size + 2];
    from.read_exact(&mut chunk).unwrap();
    chunk.truncate(size);
    (size > 0).then_some(chunk)
}
