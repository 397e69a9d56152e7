//! What a staged run changed is sealed exactly, whatever the program did to hide or confuse it.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot look at its own surroundings has failed"
)]

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use cofferdam_testkit::{Manifest, TestEnv, claim};
use serde_json::json;

const BINARY: &str = env!("CARGO_BIN_EXE_cofferdam");

/// Runs a script in the sandbox and reads what was sealed. The host's tree is the same after it.
#[track_caller]
fn changes(env: &TestEnv, script: &str) -> Manifest {
    let before = env.tree_hash(env.workspace());
    claim::run(env, &[], script).assert_exit(0);
    assert_eq!(env.tree_hash(env.workspace()), before, "the host tree changed");
    let manifest = env.manifest("last");
    let record = env.latest_record();
    let counted: u64 = ["created", "modified", "deleted", "retyped"]
        .iter()
        .map(|kind| record["changes"][kind].as_u64().unwrap())
        .sum();
    assert_eq!(counted, manifest.entries.len() as u64);
    for gone in ["upper", "work", "bases", "manifest.tmp", "blocked-placeholders"] {
        assert!(!env.run_dir("last").join(gone).exists(), "{gone} is left");
    }
    manifest
}

#[test]
fn every_kind_of_change_and_nothing_else() {
    claim::as_root_and_as_user(BINARY, |env| {
        for (name, text) in [("keep", "k"), ("edit", "old"), ("gone", "g"), ("mode", "m")] {
            env.file(name, text);
        }
        env.file("tree/a/one", "1");
        env.file("tree/two", "2");
        let manifest = changes(
            env,
            "echo new > edit; rm gone; chmod 700 mode; rm -r tree; mkdir -p made/deep; \
             echo x > made/deep/file; ln -s ../edit made/link; cat keep",
        );
        assert_eq!(
            manifest.list(),
            [
                "modified edit",
                "deleted gone",
                "created made",
                "created made/deep",
                "created made/deep/file",
                "created made/link",
                "modified mode",
                "deleted tree",
                "deleted tree/a",
                "deleted tree/a/one",
                "deleted tree/two",
            ]
        );
        assert_eq!(manifest.bytes("before", "edit"), b"old");
        assert_eq!(manifest.bytes("after", "edit"), b"new\n");
        assert_eq!(manifest.bytes("before", "tree/a/one"), b"1");
        assert_eq!(manifest.entry("mode")["after"]["mode"], 0o700);
        assert_eq!(manifest.entry("made/link")["after"]["target"], "../edit");
        // Objects are read-only, and the log knows the manifest.
        for object in fs::read_dir(env.run_dir("last").join("objects")).unwrap() {
            assert_eq!(object.unwrap().metadata().unwrap().mode() & 0o7777, 0o400);
        }
        let sealed = env.events().into_iter().find(|e| e["type"] == "changes.sealed").unwrap();
        assert_eq!(sealed["manifest"], env.latest_record()["changes"]["manifest"]);
        env.run(["audit", "verify"]).assert_exit(0);
    });
}

#[test]
fn what_was_only_touched_or_put_back_is_no_change() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file("a", "same");
        env.file("dir/b", "same");
        env.file("c", "same");
        let manifest = changes(
            env,
            "touch a; touch dir dir/b; cat dir/b > t; cat t > dir/b; rm t; chmod 600 c; chmod 644 c; \
             rm a; printf same > a; mkdir d; rmdir d; echo > n; rm n",
        );
        assert_eq!(manifest.list(), [""; 0]);
        assert_eq!(env.latest_record()["changes"]["created"], 0);
    });
}

#[test]
fn a_run_that_stages_nothing_has_no_manifest() {
    claim::as_root_and_as_user(BINARY, |env| {
        claim::run(env, &["--mode", "readonly"], "true").assert_exit(0);
        assert!(env.latest_record()["changes"].is_null());
        assert!(!env.run_dir("last").join("manifest").exists());
    });
}

#[test]
fn a_directory_that_was_made_anew_has_lost_what_was_in_it() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file("d/old", "o");
        env.file("d/sub/deep", "o");
        env.file("d/stays", "s");
        let manifest = changes(
            env,
            "rm -rf d && mkdir d && echo n > d/new && printf s > d/stays && mkdir -p d/sub/x",
        );
        assert_eq!(
            manifest.list(),
            ["created d/new", "deleted d/old", "deleted d/sub/deep", "created d/sub/x"]
        );
    });
}

#[test]
fn things_become_other_things() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file("file-dir", "x");
        env.file("file-link", "x");
        env.file("dir-file/in", "x");
        env.file("dir-link/in", "x");
        for name in ["link-file", "link-dir"] {
            env.symlink("x", name);
        }
        let manifest = changes(
            env,
            "set -e; rm file-dir; mkdir file-dir; echo i > file-dir/in; ln -sf t file-link; \
             rm -r dir-file; echo f > dir-file; rm -r dir-link; ln -s t dir-link; \
             rm link-file; echo f > link-file; rm link-dir; mkdir link-dir",
        );
        assert_eq!(
            manifest.list(),
            [
                "retyped dir-file",
                "deleted dir-file/in",
                "retyped dir-link",
                "deleted dir-link/in",
                "retyped file-dir",
                "created file-dir/in",
                "retyped file-link",
                "retyped link-dir",
                "retyped link-file",
            ]
        );
        assert_eq!(manifest.entry("dir-file")["before"]["kind"], "directory");
        assert_eq!(manifest.entry("dir-file")["after"]["kind"], "file");
    });
}

#[test]
fn renames_are_a_deletion_and_a_creation_of_the_same_bytes() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file("tree/a", "content of a");
        env.file("tree/sub/b", "content of b");
        env.file("Case", "c");
        let manifest = changes(env, "mv tree moved && mv Case case");
        assert_eq!(
            manifest.list(),
            [
                "deleted Case",
                "created case",
                "created moved",
                "created moved/a",
                "created moved/sub",
                "created moved/sub/b",
                "deleted tree",
                "deleted tree/a",
                "deleted tree/sub",
                "deleted tree/sub/b",
            ]
        );
        let content = |side: &str, path: &str| manifest.entry(path)[side]["content"].clone();
        assert_eq!(content("before", "tree/sub/b"), content("after", "moved/sub/b"));
    });
}

#[test]
fn names_of_any_bytes() {
    claim::as_root_and_as_user(BINARY, |env| {
        let manifest = changes(
            env,
            "echo 1 > 'new\nline'; echo 2 > -rf; echo 3 > 'back\\slash'; \
             echo 4 > \"$(printf 'odd\\377name')\"; echo 5 > \"$(printf 'a\\rb')\"; \
             echo 6 > $(printf 'x%.0s' $(seq 255))",
        );
        let mut names: Vec<String> =
            manifest.entries.iter().map(|entry| entry["path"].to_string()).collect();
        names.sort();
        let mut wanted = vec![
            json!("new\nline").to_string(),
            json!("-rf").to_string(),
            json!("back\\slash").to_string(),
            json!("a\rb").to_string(),
            json!("x".repeat(255)).to_string(),
            // `odd\xffname`
            json!({"b64": "b2Rk/25hbWU="}).to_string(),
        ];
        wanted.sort();
        assert_eq!(names, wanted);
    });
}

#[test]
fn what_is_neither_file_nor_directory_is_named_and_not_waited_for() {
    claim::as_root_and_as_user(BINARY, |env| {
        let manifest = changes(
            env,
            "mkfifo fifo; ln -s /etc/passwd out; \
             perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) and bind(S, sockaddr_un(\"sock\")) or die'",
        );
        assert_eq!(manifest.list(), ["created fifo", "created out", "created sock"]);
        assert_eq!(manifest.entry("fifo")["after"], json!({"kind": "special", "special": "fifo"}));
        assert_eq!(manifest.entry("sock")["after"]["special"], "socket");
        assert_eq!(
            manifest.entry("out")["after"],
            json!({"kind": "symlink", "target": "/etc/passwd"})
        );
    });
}

#[test]
fn closed_files_and_directories_are_read_all_the_same() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file("secret", "before");
        let manifest = changes(
            env,
            "echo hidden > none; chmod 000 none; mkdir -p shut/in; echo deep > shut/in/file; \
             chmod 000 shut/in; chmod 000 shut; echo after > secret; chmod 000 secret; \
             mkdir list; echo in > list/file; chmod 400 list",
        );
        assert_eq!(
            manifest.list(),
            [
                "created list",
                "created list/file",
                "created none",
                "modified secret",
                "created shut",
                "created shut/in",
                "created shut/in/file"
            ]
        );
        assert_eq!(manifest.bytes("after", "none"), b"hidden\n");
        assert_eq!(manifest.bytes("after", "shut/in/file"), b"deep\n");
        assert_eq!(manifest.bytes("after", "list/file"), b"in\n");
        assert_eq!(manifest.entry("list")["after"]["mode"], 0o400);
        for path in ["none", "secret", "shut", "shut/in"] {
            assert_eq!(manifest.entry(path)["after"]["mode"], 0, "{path}");
        }
    });
}

#[test]
fn holes_stay_holes_and_what_is_too_large_is_said_to_be() {
    claim::as_root_and_as_user(BINARY, |env| {
        let manifest = changes(
            env,
            "truncate -s 50G huge; truncate -s 300M holes; printf x >> holes; : > empty",
        );
        assert_eq!(manifest.list(), ["created empty", "created holes", "created huge"]);
        assert_eq!(manifest.entry("huge")["after"]["content"], "unknown");
        assert_eq!(manifest.entry("huge")["after"]["size"], 50_u64 << 30);
        let hash = manifest.entry("holes")["after"]["content"]["kept"].as_str().unwrap();
        let object = env.run_dir("last").join("objects").join(hash).metadata().unwrap();
        assert_eq!(object.len(), (300 << 20) + 1);
        assert!(object.blocks() * 512 < 1 << 20, "{} blocks", object.blocks());
        let mut bytes = vec![0; 300 << 20];
        bytes.push(b'x');
        assert_eq!(blake3::hash(&bytes).to_hex().as_str(), hash);
    });
}

#[test]
fn several_names_of_one_file() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file("old", "old");
        let manifest = changes(env, "echo new > c; ln c b; ln b a; ln old other");
        assert_eq!(manifest.list(), ["created a", "created b", "created c", "created other"]);
        assert!(manifest.entry("a")["after"]["link"].is_null());
        assert_eq!(manifest.entry("b")["after"]["link"], "a");
        assert_eq!(manifest.entry("c")["after"]["link"], "a");
        // What it is another name of did not change, and is none of the entries.
        assert!(manifest.entry("other")["after"]["link"].is_null());
        assert_eq!(manifest.bytes("after", "other"), b"old");
    });
}

#[test]
fn trees_deeper_than_any_path() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file(format!("{}/end", ["d"; 200].join("/")), "deep");
        // One with more bytes than a path may have, one with more levels than files may be open.
        let manifest = changes(
            env,
            "rm -r d; perl -e 'for (0..299) { mkdir \"directory_number_$_\"; \
             chdir \"directory_number_$_\" or die } open F, \">file\" or die'; \
             perl -e 'for (1..1500) { mkdir \"s\"; chdir \"s\" or die } symlink \"x\", \"end\" or die'",
        );
        let list = manifest.list();
        assert_eq!(list.len(), 201 + 301 + 1501);
        assert_eq!(list[200], format!("deleted {}/end", ["d"; 200].join("/")));
        assert!(list[501].len() > 4096 && list[501].ends_with("directory_number_299/file"));
        assert_eq!(list[2002], format!("created {}/end", ["s"; 1500].join("/")));
    });
}

#[test]
fn many_files_in_one_directory() {
    let env = TestEnv::with_binary(BINARY);
    let manifest =
        changes(&env, "mkdir many; cd many; seq 20000 | sed 's/.*/printf & > f&/' | sh -e");
    assert_eq!(manifest.entries.len(), 20_001);
    assert_eq!(manifest.bytes("after", "many/f19999"), b"19999");
}

/// Attributes that the program sets tell the overlay nothing, and they are not carried on.
#[test]
fn attributes_that_the_program_forged() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file("d/kept", "k");
        env.file("plain", "p");
        let set = "import os\n\
                   for path in ['d', 'made', 'plain', 'whited']:\n\
                   \x20   for name in ['overlay.opaque', 'overlay.whiteout', 'overlay.overlay.opaque', 'mine']:\n\
                   \x20       try: os.setxattr(path, 'user.' + name, b'y')\n\
                   \x20       except OSError: pass\n";
        let script = format!(
            "echo n > d/new; echo m > made; echo > plain; : > whited; python3 -c \"{set}\""
        );
        let manifest = changes(env, &script);
        // A forged opaque mark would have deleted d/kept.
        assert_eq!(
            manifest.list(),
            ["created d/new", "created made", "modified plain", "created whited"]
        );
        for path in ["made", "plain", "whited"] {
            assert_eq!(manifest.entry(path)["stripped"], json!(["xattr"]), "{path}");
        }
    });
}

#[test]
fn git_and_what_it_ignores_are_listed_like_everything_else() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file(".gitignore", "*.log\n");
        env.file(".git/config", "[core]\n");
        let manifest =
            changes(env, "echo x > a.log; mkdir .git/hooks; echo y > .git/hooks/pre-commit");
        assert_eq!(
            manifest.list(),
            ["created .git/hooks", "created .git/hooks/pre-commit", "created a.log"]
        );
    });
}

#[test]
fn what_hides_blocked_files_is_no_change_of_the_programs() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.host_config("sandbox:\n  blocked: [\".env\", \"vault/key\", \"safe/key\"]\n");
        env.symlink("elsewhere", ".env");
        let manifest = changes(env, "ls vault safe; echo x > safe/other");
        // `vault` is ours alone; in `safe`, which is ours as well, the program made something.
        assert_eq!(manifest.list(), ["created safe", "created safe/other"]);
    });
}

#[test]
fn a_changed_manifest_is_noticed() {
    let env = TestEnv::with_binary(BINARY);
    changes(&env, "echo x > a; echo y > b");
    env.run(["audit", "verify"]).assert_exit(0);
    let path = env.run_dir("last").join("manifest");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"path\":\"a\"", "\"path\":\"c\"")).unwrap();
    env.run(["audit", "verify"]).assert_exit(1).assert_stderr_has("manifest");
    fs::remove_file(&path).unwrap();
    env.run(["audit", "verify"]).assert_exit(1).assert_stderr_has("manifest");
    fs::write(&path, text).unwrap();
    env.run(["audit", "verify"]).assert_exit(0);
}

#[test]
fn modes_of_directories_count() {
    claim::as_root_and_as_user(BINARY, |env| {
        env.file("d/file", "x");
        let mode = env.workspace().join("d").metadata().unwrap().permissions().mode() & 0o777;
        let manifest = changes(env, "chmod 711 d; echo y > d/file");
        assert_eq!(manifest.list(), ["modified d", "modified d/file"]);
        assert_eq!(manifest.entry("d")["before"]["mode"], mode);
        assert_eq!(manifest.entry("d")["after"]["mode"], 0o711);
    });
}
