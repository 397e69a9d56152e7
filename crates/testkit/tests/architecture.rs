//! The rules between the rooms of this house, checked: who may depend on whom (`doors`), and what may
//! not stand in which file (`sources`).
//!
//! Each rule is a pure function with tests of its own that show it finds a violation; here they are
//! held against the real workspace.

#[path = "architecture/code.rs"]
mod code;
#[path = "architecture/doors.rs"]
mod doors;
#[path = "architecture/sources.rs"]
mod sources;

use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{DependencyKind, MetadataCommand};

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the workspace root exists")
}

#[test]
fn crates_depend_only_through_the_doors() {
    let metadata = MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .exec()
        .expect("cargo metadata describes the workspace");
    let members: Vec<doors::Member> = metadata
        .packages
        .iter()
        .map(|package| doors::Member {
            name: package.name.to_string(),
            dependencies: package
                .dependencies
                .iter()
                .map(|dependency| doors::Dependency {
                    name: dependency.name.clone(),
                    reach: match dependency.kind {
                        DependencyKind::Development => doors::Reach::Tests,
                        _ => doors::Reach::Users,
                    },
                })
                .collect(),
        })
        .collect();
    assert!(members.iter().any(|member| member.name == "cofferdam-core"), "{members:?}");
    assert_none(&doors::violations(&members));
}

#[test]
fn files_keep_the_rules() {
    let root = root();
    let listed = Command::new("git")
        // The checkout may belong to another user than the one who runs the tests.
        .args(["-c", "safe.directory=*", "ls-files", "-z"])
        .args(["--cached", "--others", "--exclude-standard"])
        .current_dir(&root)
        .output()
        .expect("git can be started");
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let names = String::from_utf8(listed.stdout).expect("file names here are UTF-8");
    let files: Vec<sources::File> = names
        .split_terminator('\0')
        // Listed and yet not there: deleted, and the deletion not committed.
        .filter(|name| root.join(name).is_file())
        .map(|name| sources::File {
            path: name.to_owned(),
            bytes: std::fs::read(root.join(name)).expect("a listed file can be read"),
        })
        .collect();
    assert!(files.iter().any(|file| file.path == "crates/core/src/lib.rs"), "{names}");
    assert_none(&sources::violations(&files));
}

#[track_caller]
/// A build with holes is for tests: nothing turns them on by itself, and no release can be built with them.
#[test]
fn no_release_has_holes() {
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec().unwrap();
    for package in &metadata.packages {
        let default = package.features.get("default").cloned().unwrap_or_default();
        assert!(!default.iter().any(|feature| feature.contains("weaken")), "{}", package.name);
        for dependency in &package.dependencies {
            let asks = dependency.features.iter().any(|feature| feature == "weaken");
            assert!(!asks, "{} has holes in {}", package.name, dependency.name);
        }
    }
    let root = metadata.workspace_root.as_std_path();
    let source = std::fs::read_to_string(root.join("crates/core/src/weaken.rs")).unwrap();
    let guard = "#[cfg(all(feature = \"weaken\", not(debug_assertions)))]\ncompile_error!(";
    assert!(source.contains(guard), "a release could be built with holes");
}

fn assert_none(violations: &[String]) {
    assert!(violations.is_empty(), "{} violations:\n{}", violations.len(), violations.join("\n"));
}
