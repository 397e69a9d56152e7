//! Requests to the driver: HTTP/1.1 with JSON both ways, a connection each.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// Longer than any wait of the driver's own.
const PATIENCE: Duration = Duration::from_secs(120);

/// The `value` of the answer. A no fails the test.
#[track_caller]
pub(super) fn ask(port: u16, method: &str, path: &str, body: Option<&Value>) -> Value {
    let value = try_ask(port, method, path, body);
    assert!(value["error"].is_null(), "{method} {path}: {value:#}");
    value
}

/// The same; a no has its name in `error`.
pub(super) fn try_ask(port: u16, method: &str, path: &str, body: Option<&Value>) -> Value {
    let body = body.map(Value::to_string).unwrap_or_default();
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the driver listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a socket has a timeout");
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("the driver reads");
    stream.write_all(body.as_bytes()).expect("the driver reads");
    let answer = read(&mut stream);
    let mut answer: Value = serde_json::from_slice(&answer).expect("the driver answers with JSON");
    answer["value"].take()
}

/// A body of the length that its head names.
fn read(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 65536];
    loop {
        let count = match stream.read(&mut chunk) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            count => count.expect("the driver answers"),
        };
        bytes.extend_from_slice(&chunk[..count]);
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        let Some(end) = end else {
            assert_ne!(count, 0, "the driver is gone");
            continue;
        };
        let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
        let length =
            head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
        let length: usize = length.expect("an answer says how long it is");
        if bytes.len() >= end + 4 + length {
            return bytes[end + 4..end + 4 + length].to_vec();
        }
        assert_ne!(count, 0, "the driver is gone");
    }
}
