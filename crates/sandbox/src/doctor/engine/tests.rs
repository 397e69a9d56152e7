//! Real sockets with something odd behind them: the right check, and in time.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::thread;
use std::time::Instant;

use cofferdam_native::connect;
use tempfile::TempDir;

use super::*;
use crate::doctor::Status;

/// A place whose only Docker socket is the test's own.
fn place(dir: &TempDir) -> Place {
    Place {
        state_dir: dir.path().to_owned(),
        path: vec![dir.path().to_owned()],
        engines: Surroundings {
            uid: 1000,
            program: PathBuf::new(),
            runtime_dir: None,
            docker_host: Some(format!("unix://{}", socket(dir).display())),
            docker_context: None,
            docker_tls: None,
            docker_certs: None,
            docker_config: dir.path().to_owned(),
            container_host: None,
        },
    }
}

fn socket(dir: &TempDir) -> PathBuf {
    dir.path().join("engine.sock")
}

/// Looks at the socket; binary, socket, answer.
fn look(dir: &TempDir) -> Vec<Check> {
    let start = Instant::now();
    let checks = examine(&place(dir), DOCKER);
    assert!(start.elapsed() < Duration::from_secs(15), "took {:?}", start.elapsed());
    checks
}

/// An engine's socket at which `serve` answers each request.
fn served(serve: impl Fn(&str) -> Vec<u8> + Send + 'static) -> Vec<Check> {
    let dir = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(socket(&dir)).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut request = [0; 512];
            let got = stream.read(&mut request).unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..got]).into_owned();
            // The other side may have heard enough.
            if stream.write_all(&serve(&request)).is_err() {
                continue;
            }
        }
    });
    look(&dir)
}

fn http(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

#[test]
fn an_engine_that_answers() {
    let checks = served(|request| match request {
        ping if ping.starts_with("GET /_ping HTTP/1.1\r\n") => http("OK"),
        version if version.starts_with("GET /version ") => {
            http(r#"{"Version":"27.1.0","ApiVersion":"1.46"}"#)
        }
        // It is no engine: no container can be made.
        _ => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec(),
    });
    assert_eq!(checks[1].status, Status::Ok);
    assert_eq!(
        (checks[2].status, checks[2].detail.as_str()),
        (Status::Ok, "Docker 27.1.0, API 1.46")
    );
    assert_eq!((checks[3].id, checks[3].status), ("docker.container", Status::Fail));
}

#[test]
fn an_engine_with_terminal_escapes_for_a_version() {
    let body = r#"{"Version":"\u001b[2J\u202e","ApiVersion":"1.46"}"#;
    let checks = served(move |_| http(body));
    assert_eq!(checks[2].detail, "Docker \\x1b[2J\\u{202e}, API 1.46");
}

#[test]
fn garbage_is_shown_inert_and_short() {
    let checks = served(|_| b"\x1b[31mSSH-2.0-\xff\n".repeat(1000));
    assert_eq!(checks[2].status, Status::Fail);
    assert!(checks[2].detail.contains("\\x1b[31m"), "{}", checks[2].detail);
    assert!(checks[2].detail.len() < 300);
    assert!(!checks[2].detail.chars().any(char::is_control));
}

#[test]
fn an_answer_without_end_is_cut() {
    let checks = served(|_| {
        let mut endless = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        endless.resize(8 << 20, b'x');
        endless
    });
    assert_eq!((checks[1].status, checks[2].status), (Status::Ok, Status::Fail));
    assert!(checks[2].detail.contains("without end"), "{}", checks[2].detail);
}

#[test]
fn one_that_closes_at_once() {
    let checks = served(|_| Vec::new());
    assert_eq!(checks[2].status, Status::Fail);
    assert!(checks[2].detail.contains("closed without an answer"), "{}", checks[2].detail);
}

fn assert_hung(checks: &[Check]) {
    assert_eq!((checks[1].status, checks[2].status), (Status::Ok, Status::Fail), "{checks:?}");
    assert!(checks[2].detail.contains("no answer within 2 s"), "{checks:?}");
}

#[test]
fn one_that_accepts_and_never_answers() {
    let dir = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(socket(&dir)).unwrap();
    let held = thread::spawn(move || listener.accept());
    assert_hung(&look(&dir));
    drop(held.join());
}

#[test]
fn one_that_drips() {
    let dir = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(socket(&dir)).unwrap();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        for byte in b"HTTP/1.1 200 OK\r\n".iter().cycle() {
            if stream.write_all(&[*byte]).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
    });
    assert_hung(&look(&dir));
}

#[test]
fn one_with_a_full_queue_that_never_accepts() {
    let dir = tempfile::tempdir().unwrap();
    let listener = UnixListener::bind(socket(&dir)).unwrap();
    // One fits into a queue of none.
    rustix::net::listen(&listener, 0).unwrap();
    let short = Duration::from_millis(50);
    let _queued = connect::unix_stream(&socket(&dir), short).unwrap();
    assert!(connect::unix_stream(&socket(&dir), short).is_err(), "the queue is not full");
    assert_hung(&look(&dir));
}

#[test]
fn one_that_nobody_listens_on_and_one_that_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(look(&dir)[1].status, Status::NotApplicable);
    drop(UnixListener::bind(socket(&dir)).unwrap());
    let checks = look(&dir);
    assert_eq!((checks[1].status, checks[2].status), (Status::Fail, Status::NotApplicable));
    assert!(checks[1].detail.contains("nobody listens"), "{checks:?}");
}

#[test]
fn a_program_is_a_file_that_runs() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("docker");
    let path = [PathBuf::from("relative"), dir.path().to_owned()];
    assert_eq!(find_program(&path, "docker"), None);
    fs::write(&file, "").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(find_program(&path, "docker"), None);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(find_program(&path, "docker"), Some(file));
}

#[test]
fn of_two_sockets_the_one_that_answers_counts() {
    let dir = tempfile::tempdir().unwrap();
    drop(UnixListener::bind(socket(&dir)).unwrap());
    let missing = dir.path().join("missing.sock");
    let (path, reached) = first_that_answers([missing, socket(&dir)].map(Endpoint::Socket).into());
    assert_eq!(path, Endpoint::Socket(socket(&dir)));
    assert!(matches!(reached, Reached::Refused), "{reached:?}");
}
