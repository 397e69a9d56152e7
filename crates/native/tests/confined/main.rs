//! Sandboxes for real: what is allowed works inside, what is forbidden fails, nothing is left behind.
//!
//! Cases run one after the other on the only thread. As root they run as root and, again, as a user
//! without privileges; as anybody else, once. Speaks as much of the harness's language as test runners
//! need: `--list`, a name, `--exact`.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "all of this is a test, and its harness"
)]

mod cases;
mod sandbox;
mod templates;

use std::os::unix::process::CommandExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, ExitCode};

use cases::{CASES, Case, Who};

/// Given to ourselves to run one case as whoever we are now.
pub(crate) const HERE: &str = "--here";
/// An id that owns nothing but what a test gives it.
pub(crate) const STRANGER: u32 = 12345;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, name] = &args[..]
        && flag == HERE
    {
        let case = CASES.iter().find(|case| case.name == *name).expect("a case of that name");
        return verdict(run_here(case));
    }
    let wants_ignored = args.iter().any(|arg| arg == "--ignored");
    let names = args.iter().filter(|arg| !arg.starts_with('-') && *arg != "terse");
    let names: Vec<&String> = names.collect();
    let exact = args.iter().any(|arg| arg == "--exact");
    let chosen = all().into_iter().filter(|(name, _, _)| {
        let named = |wanted: &&String| if exact { *wanted == name } else { name.contains(*wanted) };
        names.is_empty() || names.iter().any(named)
    });
    let mut failed = Vec::new();
    for (name, case, as_stranger) in chosen.filter(|_| !wants_ignored) {
        if args.iter().any(|arg| arg == "--list") {
            println!("{name}: test");
            continue;
        }
        let good = if as_stranger { run_as_stranger(case) } else { run_here(case) };
        println!("test {name} ... {}", if good { "ok" } else { "FAILED" });
        if !good {
            failed.push(name);
        }
    }
    if !failed.is_empty() {
        println!("failed: {}", failed.join(", "));
    }
    verdict(failed.is_empty())
}

/// Every case with the name it has in a list, and whether another user is to run it.
fn all() -> Vec<(String, &'static Case, bool)> {
    let root = is_root();
    let mut all = Vec::new();
    for case in CASES {
        if case.who == Who::Helper {
            continue;
        }
        if case.who != Who::User && root {
            all.push((format!("root::{}", case.name), case, false));
        }
        if case.who != Who::Root {
            all.push((format!("user::{}", case.name), case, root));
        }
    }
    all
}

fn run_here(case: &Case) -> bool {
    catch_unwind(AssertUnwindSafe(case.run)).is_ok()
}

/// Runs a case in a process of the user without privileges, from a copy of us that he can reach.
fn run_as_stranger(case: &Case) -> bool {
    let dir = tempfile::Builder::new().permissions(open_door()).tempdir().expect("a directory");
    let copy = dir.path().join("confined");
    std::fs::copy(std::env::current_exe().expect("our own path"), &copy).expect("a copy");
    let status = Command::new(&copy).args([HERE, case.name]).uid(STRANGER).gid(STRANGER).status();
    status.expect("it can be started").success()
}

fn open_door() -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::Permissions::from_mode(0o755)
}

pub(crate) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").expect("/proc is mounted").uid() == 0
}

fn verdict(good: bool) -> ExitCode {
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
