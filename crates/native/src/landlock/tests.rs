//! On a real thread: rules belong to threads, so each test confines one of its own.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, test_kill_process};

use super::{Abi, LandlockError, restrict_here};
use crate::seccomp::no_new_privileges;

/// What `attempt` gives in a thread that may change only what is beneath `writable`.
fn held<T: Send + 'static>(
    writable: &[&Path],
    attempt: impl FnOnce(Abi) -> T + Send + 'static,
) -> T {
    let places: Vec<CString> = writable
        .iter()
        .map(|place| CString::new(place.as_os_str().as_encoded_bytes()).unwrap())
        .collect();
    let thread = std::thread::spawn(move || {
        no_new_privileges().unwrap();
        let places: Vec<_> = places.iter().map(CString::as_c_str).collect();
        attempt(restrict_here(&places).unwrap())
    });
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn denied<T>(done: std::io::Result<T>) -> bool {
    done.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
}

#[test]
fn changes_happen_inside_and_reading_everywhere() {
    let dir = tempfile::tempdir().unwrap();
    let (inside, outside) = (dir.path().join("inside"), dir.path().join("outside"));
    fs::create_dir(&inside).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("old"), "old").unwrap();
    held(&[&inside.clone()], move |_| {
        fs::write(inside.join("new"), "new").unwrap();
        fs::write(inside.join("new"), "").unwrap();
        fs::create_dir_all(inside.join("a/b")).unwrap();
        std::os::unix::fs::symlink("a", inside.join("link")).unwrap();
        fs::remove_dir_all(inside.join("a")).unwrap();
        UnixListener::bind(inside.join("socket")).unwrap();

        assert_eq!(fs::read_to_string(outside.join("old")).unwrap(), "old");
        assert!(denied(fs::write(outside.join("new"), "new")));
        assert!(denied(OpenOptions::new().append(true).open(outside.join("old"))));
        assert!(denied(fs::create_dir(outside.join("dir"))));
        assert!(denied(fs::remove_file(outside.join("old"))));
        assert!(denied(std::os::unix::fs::symlink("old", outside.join("link"))));
        assert!(denied(UnixListener::bind(outside.join("socket"))));
        // Through a link, too: it is the file that counts and not the way to it.
        std::os::unix::fs::symlink(outside.join("old"), inside.join("way-out")).unwrap();
        assert!(denied(File::create(inside.join("way-out"))));
    });
    let left: Vec<_> =
        fs::read_dir(dir.path().join("outside")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["old"]);
    assert_eq!(fs::read_to_string(dir.path().join("outside/old")).unwrap(), "old");
}

#[test]
fn files_move_between_writable_places_and_not_out_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let [one, two, outside] = ["one", "two", "outside"].map(|name| dir.path().join(name));
    for place in [&one, &two, &outside] {
        fs::create_dir(place).unwrap();
    }
    fs::write(outside.join("theirs"), "").unwrap();
    held(&[&one.clone(), &two.clone()], move |abi| {
        fs::write(one.join("file"), "").unwrap();
        // Version 1 cannot allow it: programs then copy, as between file systems.
        assert_eq!(fs::rename(one.join("file"), two.join("file")).is_ok(), abi.number() >= 2);
        fs::write(one.join("file"), "").unwrap();
        assert!(fs::rename(one.join("file"), outside.join("file")).is_err());
        assert!(fs::hard_link(one.join("file"), outside.join("file")).is_err());
        assert!(fs::rename(outside.join("theirs"), one.join("theirs")).is_err());
        assert!(fs::hard_link(outside.join("theirs"), one.join("theirs")).is_err());
    });
}

#[test]
fn a_single_file_can_be_writable() {
    let dir = tempfile::tempdir().unwrap();
    let [mine, theirs] = ["mine", "theirs"].map(|name| dir.path().join(name));
    fs::write(&mine, "").unwrap();
    fs::write(&theirs, "").unwrap();
    held(&[&mine.clone()], move |_| {
        fs::write(&mine, "new").unwrap();
        assert!(denied(fs::write(&theirs, "new")));
    });
}

#[test]
fn programs_run_and_devices_work_and_proc_is_read_only() {
    held(&[], |_| {
        assert!(Command::new("true").status().unwrap().success());
        File::create("/dev/null").unwrap().write_all(b"gone").unwrap();
        assert!(fs::read_to_string("/proc/self/comm").is_ok());
        assert!(denied(OpenOptions::new().write(true).open("/proc/self/comm")));
        assert!(denied(File::create("/dev/made-up")));
    });
}

#[test]
fn signals_and_abstract_sockets_stay_inside_where_the_kernel_can() {
    let name = format!("cofferdam-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).unwrap();
    let listener = UnixListener::bind_addr(&address).unwrap();
    let mut before = Command::new("sleep").arg("60").spawn().unwrap();
    let before_id = Pid::from_child(&before);
    let (abi, signal, connect) = held(&[], move |abi| {
        let mut after = Command::new("sleep").arg("60").spawn().unwrap();
        test_kill_process(Pid::from_child(&after)).unwrap();
        after.kill().unwrap();
        after.wait().unwrap();
        let own = SocketAddr::from_abstract_name(format!("{name}-own")).unwrap();
        let _own_listener = UnixListener::bind_addr(&own).unwrap();
        UnixStream::connect_addr(&own).unwrap();
        (abi, test_kill_process(before_id).is_ok(), UnixStream::connect_addr(&address).is_ok())
    });
    before.kill().unwrap();
    before.wait().unwrap();
    drop(listener);
    assert_eq!((signal, connect), (!abi.scopes(), !abi.scopes()), "{abi:?}");
}

#[test]
fn a_place_that_is_not_there_is_an_error_and_holds_nobody() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    let outcome = std::thread::spawn(move || {
        no_new_privileges().unwrap();
        let error = restrict_here(&[c"/no/such/place"]).unwrap_err();
        fs::write(file, "").unwrap();
        error
    });
    let LandlockError::Sys(error) = outcome.join().unwrap() else { panic!("Landlock is missing") };
    assert_eq!(error.subject.as_deref(), Some("/no/such/place"));
    assert_eq!(error.source.kind(), ErrorKind::NotFound);
}

#[test]
fn each_version_handles_what_it_knows() {
    let rights = |version| Abi(version).handled().fs;
    assert_eq!([1, 2, 3, 4, 5, 7].map(rights), [0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff, 0xffff]);
    assert_eq!([5, 6].map(|version| Abi(version).handled().scoped), [0, 3]);
}
