//! A test that is killed takes its browser with it.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use cofferdam_testkit::{Browser, wait_until};

/// Set for the one that is to be killed: where it works.
const VICTIM: &str = "TEST_VICTIM";

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn a_browser_ends_with_the_test_that_opened_it() {
    if let Some(place) = std::env::var_os(VICTIM) {
        let _browser = Browser::open(400, 300);
        fs::write(Path::new(&place).join("open"), "").unwrap();
        std::thread::sleep(Duration::from_secs(600));
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "leftovers::a_browser_ends_with_the_test_that_opened_it"])
        .env(VICTIM, place.path())
        .env("TMPDIR", place.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let is_open = wait_until(Duration::from_secs(60), || place.path().join("open").exists());
    let there = ours(place.path());
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert!(is_open && there > 1, "{there} processes of a browser");
    assert!(
        wait_until(Duration::from_secs(20), || ours(place.path()) == 0),
        "{} are left",
        ours(place.path())
    );
}

/// Processes of a browser whose profile is below `place`.
fn ours(place: &Path) -> usize {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let lines = all.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let place = place.to_str().unwrap();
    lines.filter(|line| String::from_utf8_lossy(line).contains(place)).count()
}
