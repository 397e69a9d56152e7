//! Upper directories and copies made by hand. What real sandboxes leave is tested through the binary.

use std::fs::{create_dir, create_dir_all, hard_link, remove_dir_all, remove_file, write};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use cofferdam_core::changes::{Content, Entry};
use rustix::fs::{CWD, FileType, Mode, XattrFlags, mknodat, setxattr};

use super::*;
use crate::changes::copy::{self, Copying};
use crate::host::look_up;
use crate::state::StateDir;
use crate::tree::Names;

/// A workspace and the directory of a run, on a file system that keeps attributes.
struct Place {
    dir: tempfile::TempDir,
    workspace: PathBuf,
    run: PathBuf,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let (workspace, run) = (dir.path().join("workspace"), dir.path().join("run"));
        for path in [&workspace, &run] {
            create_dir(path).unwrap();
        }
        Self { dir, workspace, run }
    }

    fn upper(&self, name: &str) -> PathBuf {
        self.run.join(UPPER).join(name)
    }

    /// What a mark that is made now has for its time.
    fn now(&self) -> Moment {
        let mark = self.run.join("mark");
        write(&mark, "").unwrap();
        let stat = rustix::fs::stat(&mark).unwrap();
        crate::changes::capture::changed_at(&stat)
    }

    fn copy(&self) {
        let (tree, to, dir) = (&*self.workspace, &*self.run.join(COPY), &*self.run);
        copy::make(Copying { tree, to, dir }, &Halt::never()).unwrap();
    }

    fn waste(&self) -> Waste {
        Waste::of(&StateDir::open(self.dir.path().join("state")).unwrap())
    }

    fn seal(&self, base: Moment) -> Vec<Entry> {
        let request = SealRequest {
            run: "01jck4s8b7xgpz3m5t0v9yq2rd".parse().unwrap(),
            dir: &self.run,
            workspace: &look_up(&self.workspace).unwrap(),
            tree: Tree::Workspace,
            base,
            from: None,
            halt: &Halt::never(),
        };
        let sealed = seal(&request, &self.waste()).unwrap();
        assert!(!is_due(&self.run));
        // What takes up room is gone; only directories wait for that.
        let left = self.dir.path().join(format!("state/waste/{}-workspace-upper", request.run));
        assert!(!left.exists() || left.read_dir().unwrap().next().is_none());
        let mut set = crate::changes::ChangeSet::open(&self.run, &sealed.hash.to_string()).unwrap();
        let first = sealed.first.as_ref().map(Vec::len);
        assert_eq!(first, Some(sealed.summary.total().min(10) as usize));
        let again = Sealed { first: None, ..sealed.clone() };
        assert_eq!(seal(&request, &self.waste()).unwrap(), again, "done again, it is the same");
        let entries: Vec<Entry> = set.entries().unwrap().map(Result::unwrap).collect();
        assert_eq!(sealed.summary.total(), entries.len() as u64);
        entries
    }
}

fn list(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|e| format!("{:?} {}", e.change, e.path).to_lowercase()).collect()
}

fn whiteout(path: &Path) {
    mknodat(CWD, path, FileType::CharacterDevice, Mode::empty(), 0).unwrap();
}

#[test]
fn whiteouts_of_both_kinds_and_of_nothing() {
    let place = Place::new();
    for name in ["gone", "marked/gone", "marked/stays", "unmarked/empty", "opaque/old"] {
        create_dir_all(place.workspace.join(name).parent().unwrap()).unwrap();
        write(place.workspace.join(name), "x").unwrap();
    }
    for dir in ["marked", "unmarked", "opaque"] {
        create_dir_all(place.upper(dir)).unwrap();
    }
    whiteout(&place.upper("gone"));
    whiteout(&place.upper("never"));
    let marks = Marks::ours().unwrap();
    let of = |name: &str| marks.opaque().replace("opaque", name);
    let set = |path: &str, name: &str, value: &[u8]| {
        setxattr(place.upper(path), of(name), value, XattrFlags::empty()).unwrap();
    };
    for path in ["marked/gone", "unmarked/empty"] {
        write(place.upper(path), "").unwrap();
        set(path, "whiteout", b"y");
    }
    set("marked", "opaque", b"x");
    set("opaque", "opaque", b"y");
    let entries = place.seal(place.now());
    assert_eq!(
        list(&entries),
        ["deleted gone", "deleted marked/gone", "deleted opaque/old", "modified unmarked/empty"]
    );
}

#[test]
fn devices_and_sockets_are_special() {
    let place = Place::new();
    create_dir_all(place.upper("")).unwrap();
    mknodat(CWD, place.upper("fifo"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(place.upper("s")).unwrap();
    let entries = place.seal(place.now());
    assert_eq!(list(&entries), ["created fifo", "created s"]);
}

#[test]
fn large_files_before_are_known_by_their_hash_only() {
    let place = Place::new();
    write(place.workspace.join("large"), vec![1; 5 << 20]).unwrap();
    write(place.workspace.join("small"), "s").unwrap();
    create_dir_all(place.upper("")).unwrap();
    write(place.upper("large"), "now small").unwrap();
    write(place.upper("small"), "t").unwrap();
    let entries = place.seal(place.now());
    let before = |at: usize| match &entries[at].before {
        Some(cofferdam_core::changes::Node::File(file)) => file.content,
        other => panic!("{other:?}"),
    };
    assert_eq!(before(0), Content::Known(ContentHash::of(&vec![1; 5 << 20])));
    assert_eq!(before(1), Content::Kept(ContentHash::of(b"s")));
}

#[test]
fn a_run_that_changed_nothing_has_a_small_manifest_and_no_objects() {
    let place = Place::new();
    create_dir_all(place.upper("")).unwrap();
    assert!(place.seal(place.now()).is_empty());
    let run = std::fs::File::open(&place.run).unwrap();
    let names = Names::of(rustix::fd::AsFd::as_fd(&run)).unwrap();
    let names: Vec<_> = names.iter().map(|name| name.to_str().unwrap()).collect();
    assert_eq!(names, ["manifest", "mark"]);
}

fn furnish(top: &Path) {
    for name in ["same", "edit", "gone", "dir/a", "dir/b", "tree/x/y", "becomes", "mode", "back"] {
        create_dir_all(top.join(name).parent().unwrap()).unwrap();
        write(top.join(name), name).unwrap();
    }
    symlink("same", top.join("link")).unwrap();
}

/// What a program does to a tree that is wholly its own.
fn damage(top: &Path) {
    write(top.join("edit"), "edited").unwrap();
    remove_file(top.join("gone")).unwrap();
    remove_dir_all(top.join("tree")).unwrap();
    remove_dir_all(top.join("dir")).unwrap();
    create_dir(top.join("dir")).unwrap();
    write(top.join("dir/a"), "dir/a").unwrap();
    write(top.join("dir/new"), "n").unwrap();
    remove_file(top.join("becomes")).unwrap();
    create_dir(top.join("becomes")).unwrap();
    write(top.join("becomes/in"), "i").unwrap();
    std::fs::set_permissions(top.join("mode"), std::fs::Permissions::from_mode(0o700)).unwrap();
    write(top.join("back"), "x").unwrap();
    write(top.join("back"), "back").unwrap();
    remove_file(top.join("link")).unwrap();
    symlink("edit", top.join("link")).unwrap();
    write(top.join("h1"), "h").unwrap();
    hard_link(top.join("h1"), top.join("h2")).unwrap();
}

#[test]
fn a_copy_tells_the_same_as_an_overlay_would() {
    let place = Place::new();
    furnish(&place.workspace);
    let base = place.now();
    place.copy();
    let copied = place.run.join(COPY);
    assert_eq!(std::fs::read(copied.join("tree/x/y")).unwrap(), b"tree/x/y");
    damage(&copied);
    // Nothing that the host made since was deleted by the program.
    write(place.workspace.join("made-since"), "host").unwrap();
    let entries = place.seal(base);
    assert_eq!(
        list(&entries),
        [
            "retyped becomes",
            "created becomes/in",
            "deleted dir/b",
            "created dir/new",
            "modified edit",
            "deleted gone",
            "created h1",
            "created h2",
            "modified link",
            "modified mode",
            "deleted tree",
            "deleted tree/x",
            "deleted tree/x/y",
        ]
    );
    assert!(!copied.exists() && !place.run.join("copied").exists());
}

/// Whoever renames a directory leaves the times of all below it alone, even where the same names are.
#[test]
fn what_came_with_a_renamed_directory_is_not_taken_for_untouched() {
    let place = Place::new();
    for (name, content) in [("a/f", "one"), ("b/f", "two"), ("b/deep/g", "g"), ("c", "c")] {
        create_dir_all(place.workspace.join(name).parent().unwrap()).unwrap();
        write(place.workspace.join(name), content).unwrap();
    }
    let base = place.now();
    place.copy();
    let copied = place.run.join(COPY);
    std::fs::rename(copied.join("a"), copied.join("x")).unwrap();
    std::fs::rename(copied.join("b"), copied.join("a")).unwrap();
    std::fs::rename(copied.join("x"), copied.join("b")).unwrap();
    let entries = place.seal(base);
    let expected = [
        "created a/deep",
        "created a/deep/g",
        "modified a/f",
        "deleted b/deep",
        "deleted b/deep/g",
    ];
    assert_eq!(list(&entries), [&expected[..], &["modified b/f"]].concat());
    assert_eq!(entries[2].after.as_ref().unwrap().file().unwrap().size, 3);
}

#[test]
fn what_cannot_be_copied_was_not_removed() {
    let place = Place::new();
    furnish(&place.workspace);
    let _listener = UnixListener::bind(place.workspace.join("dir/socket")).unwrap();
    mknodat(CWD, place.workspace.join("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let base = place.now();
    place.copy();
    let copied = place.run.join(COPY);
    assert!(!copied.join("dir/socket").exists() && copied.join("pipe").exists());
    write(copied.join("dir/a"), "changed").unwrap();
    assert_eq!(list(&place.seal(base)), ["modified dir/a"]);
}

#[test]
fn a_copy_that_was_never_finished_is_removed() {
    let place = Place::new();
    create_dir_all(place.run.join(COPY).join("half")).unwrap();
    drop_unfinished(&place.run).unwrap();
    assert!(!is_due(&place.run));
    place.copy();
    drop_unfinished(&place.run).unwrap();
    assert!(is_due(&place.run), "this one is whole");
}

#[test]
fn an_untouched_copy_is_no_change() {
    let place = Place::new();
    furnish(&place.workspace);
    let base = place.now();
    place.copy();
    assert!(place.seal(base).is_empty());
}

#[test]
fn a_tree_that_took_the_workspaces_name_is_not_taken_for_it() {
    let place = Place::new();
    create_dir_all(place.upper("")).unwrap();
    let workspace = look_up(&place.workspace).unwrap();
    std::fs::rename(&place.workspace, place.run.join("moved")).unwrap();
    create_dir(&place.workspace).unwrap();
    let run = "01jck4s8b7xgpz3m5t0v9yq2rd".parse().unwrap();
    let base = place.now();
    let request = SealRequest {
        run,
        dir: &place.run,
        workspace: &workspace,
        tree: Tree::Workspace,
        base,
        from: None,
        halt: &Halt::never(),
    };
    assert!(matches!(seal(&request, &place.waste()), Err(SealError::OtherWorkspace { .. })));
    assert!(is_due(&place.run) && !is_sealed(&place.run));
}
