//! Each rule finds its violation, and leaves alone what looks like one.

use super::*;

fn file(path: &str, text: &str) -> File {
    File { path: path.to_owned(), bytes: text.as_bytes().to_vec() }
}

/// Lines of `text` that some rule complains about, were it the file at `path`.
fn lines(path: &str, text: &str) -> Vec<usize> {
    let found = violations(&[file(path, text)]);
    found
        .iter()
        .map(|said| {
            let rest = said.strip_prefix(path).expect("a violation begins with its file");
            rest.split(':').nth(1).and_then(|line| line.parse().ok()).unwrap_or(0)
        })
        .collect()
}

#[test]
fn unsafe_is_for_the_syscall_file() {
    let text = "//! unsafe\n#![forbid(unsafe_code)]\nfn f() { unsafe { g() } }\n";
    assert_eq!(lines("crates/native/src/recipe.rs", text), [3]);
    assert_eq!(lines("crates/cli/tests/a.rs", text), [3]);
    assert_eq!(lines("crates/native/src/system.rs", text), [3]);
    assert!(lines("crates/native/src/sys.rs", text).is_empty());
    assert!(lines("crates/native/src/sys/clone.rs", text).is_empty());
}

#[test]
fn the_environment_is_read_by_the_cli() {
    for text in ["\nstd::env::var(\"A\")", "\nuse std::{fs, env};", "\nuse std::env;"] {
        assert_eq!(lines("crates/sandbox/src/a.rs", text), [2], "{text}");
        assert!(lines("crates/cli/src/a.rs", text).is_empty(), "{text}");
    }
    assert!(lines("crates/core/src/a.rs", "use crate::env::EnvName; // std::env::var").is_empty());
    let tests = "#[cfg(test)]\nmod tests {\n    use std::env;\n}\n";
    assert!(lines("crates/sandbox/src/a.rs", tests).is_empty());
}

#[test]
fn an_exception_covers_its_file_and_must_be_needed() {
    let path = "crates/native/src/a.rs";
    let users = &[(path, "why")];
    let reader = file(path, "use std::env;");
    let source = Source::new(path, "use std::env;");
    assert!(environment(&source, users).is_empty());
    assert!(stale(users, &[reader]).is_empty());
    assert_eq!(stale(users, &[file(path, "use std::fs;")]).len(), 1);
    assert_eq!(stale(users, &[]).len(), 1);
}

#[test]
fn libraries_do_not_print() {
    let text = "fn println() {}\n// println!\neprintln!(\"\");\nwriteln!(out)?;\ndbg!(1);\n";
    assert_eq!(lines("crates/server/src/a.rs", text), [3, 5]);
    assert!(lines("crates/cli/src/a.rs", text).is_empty());
    assert!(lines("crates/server/src/a/tests.rs", text).is_empty());
    assert!(lines("crates/server/src/a/tests/b.rs", text).is_empty());
}

#[test]
fn the_sandbox_uses_file_calls_only() {
    let path = "crates/sandbox/src/a.rs";
    assert!(lines(path, "use rustix::fs::openat2;\nuse rustix::{fd, io::Errno};").is_empty());
    assert_eq!(lines(path, "\nuse rustix::mount::mount;"), [2]);
    assert_eq!(lines(path, "\nuse rustix::{fs, process};"), [2]);
    assert!(lines("crates/native/src/a.rs", "use rustix::mount::mount;").is_empty());
}

#[test]
fn an_ignored_test_has_a_reason() {
    let path = "crates/cli/tests/a.rs";
    for bad in ["#[ignore]", "#[cfg_attr(not(unix), ignore)]", "#[ignore = \" \"]"] {
        assert_eq!(lines(path, &format!("\n{bad}\n#[test]\nfn t() {{}}")), [2], "{bad}");
    }
    for good in [
        "#[ignore = \"needs an engine\"]",
        "#[cfg_attr(not(feature = \"x\"), ignore = \"needs an engine\")]",
        "let ignore = a[0];",
        "// #[ignore]",
        "#[test]\nfn t() { ignore(b\"#[ignore]\") }",
    ] {
        assert!(lines(path, good).is_empty(), "{good}");
    }
}

#[test]
fn names_say_something() {
    for bad in ["crates/cli/src/utils.rs", "crates/cli/src/common/a.rs", "xtask/src/manager/mod.rs"]
    {
        assert_eq!(lines(bad, "").len(), 1, "{bad}");
    }
    assert!(lines("crates/cli/src/commonplace.rs", "").is_empty());
}

#[test]
fn no_paths_of_a_machine() {
    let text = format!("a{MACHINE_PATH}b\n\"{MACHINE_PATH}b\"\nworkdir={MACHINE_PATH}b\n");
    assert_eq!(lines("docs/a.md", &text), [2, 3]);
    let binary = [b"\xff\xfe\n".as_slice(), MACHINE_PATH.as_bytes()].concat();
    assert_eq!(violations(&[File { path: "a.bin".to_owned(), bytes: binary }]).len(), 1);
    assert!(lines("docs/a.md", "/workspace/a\n{dir}/work\n").is_empty());
}
