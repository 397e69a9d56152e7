//! A set that is not the one that was sealed is not applied.

use super::*;

#[track_caller]
fn refused(env: &TestEnv, words: &str) {
    let before = tree(env);
    for flags in [&["apply"][..], &["apply", "--rest"], &["apply", "--rest", "--allow-budget"]] {
        env.run(flags.iter().copied()).assert_exit(1).assert_stderr_has(words);
        assert_eq!(tree(env), before, "{flags:?}");
    }
    assert!(!names(env).iter().any(|name| name.starts_with(".cofferdam")));
}

fn flip(path: &Path) -> Vec<u8> {
    let whole = fs::read(path).unwrap();
    let mut flipped = whole.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    let _removed = fs::remove_file(path);
    fs::write(path, flipped).unwrap();
    whole
}

#[test]
fn one_bit_of_an_object_the_manifest_or_the_ledger_is_enough() {
    let env = env();
    env.file("f", "old");
    stage(&env, "echo new-content > f; echo g > g; echo h > h");
    let dir = run_dir(&env);
    let new = blake3::hash(b"new-content\n").to_hex();
    let object = dir.join("objects").join(new.as_str());
    let whole = flip(&object);
    refused(&env, "not what was sealed");
    fs::write(&object, whole).unwrap();
    let manifest = dir.join("manifest");
    let whole = flip(&manifest);
    refused(&env, "not the manifest that was sealed");
    fs::write(&manifest, whole).unwrap();
    env.run(["discard", "h"]).assert_exit(0);
    let ledger = dir.join("ledger.json");
    let text_before = fs::read_to_string(&ledger).unwrap();
    fs::write(&ledger, text_before.replace("discard", "apply")).unwrap();
    refused(&env, "not what was written");
    fs::write(&ledger, text_before).unwrap();
    env.run(["apply"]).assert_exit(0);
    assert_eq!(
        (names(&env), text(&env, "f")),
        (vec!["f".into(), "g".into()], "new-content\n".into())
    );
}

#[test]
fn entries_in_another_order_are_not_the_set() {
    let env = env();
    stage(&env, "echo a > a; echo b > b");
    let manifest = run_dir(&env).join("manifest");
    let text = fs::read_to_string(&manifest).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.swap(1, 2);
    let _removed = fs::remove_file(&manifest);
    fs::write(&manifest, lines.join("\n") + "\n").unwrap();
    refused(&env, "not the manifest that was sealed");
}

/// A ledger that was forged together with its own hash agrees with itself, and not with the log.
#[test]
fn a_ledger_that_agrees_with_itself_only_is_found() {
    let env = env();
    stage(&env, "echo a > a; echo b > b");
    env.run(["discard", "a"]).assert_exit(0);
    env.run(["apply"]).assert_exit(0);
    env.run(["audit", "verify"]).assert_exit(0);
    let ledger = run_dir(&env).join("ledger.json");
    let whole: serde_json::Value = serde_json::from_slice(&fs::read(&ledger).unwrap()).unwrap();
    let mut body = whole["ledger"].clone();
    body["operations"].as_array_mut().unwrap().remove(0);
    let hash = blake3::hash(body.to_string().as_bytes()).to_hex().to_string();
    let forged = serde_json::json!({ "ledger": body, "hash": hash });
    fs::write(&ledger, forged.to_string()).unwrap();
    env.run(["audit", "verify"]).assert_exit(1).assert_stderr_has("ledger.json");
    fs::remove_file(&ledger).unwrap();
    env.run(["audit", "verify"]).assert_exit(1).assert_stderr_has("ledger.json");
}

#[test]
fn what_undo_would_put_back_is_what_was_taken_or_nothing_is_put_back() {
    let env = env();
    for name in ["edited", "gone", "other"] {
        env.file(name, format!("{name} as it was"));
    }
    stage(&env, "echo new > edited; rm gone; echo new > other");
    env.run(["apply"]).assert_exit(0);
    let applied = tree(&env);
    let slots = run_dir(&env).join("applies/1/slots");
    let kept = |text: &str| {
        let mut slots = fs::read_dir(&slots).unwrap().map(|slot| slot.unwrap().path());
        slots.find(|slot| fs::read_to_string(slot).unwrap() == text).unwrap()
    };
    for name in ["edited", "gone"] {
        let kept = kept(&format!("{name} as it was"));
        let times = fs::metadata(&kept).unwrap().modified().unwrap();
        let whole = fs::read(&kept).unwrap();
        fs::write(&kept, whole.to_ascii_uppercase()).unwrap();
        fs::File::options().write(true).open(&kept).unwrap().set_modified(times).unwrap();
        let undone = env.run(["undo"]);
        undone.assert_exit(3).assert_stderr_has(name).assert_stderr_has("written to since");
        assert_eq!(tree(&env), applied);
        fs::write(&kept, whole).unwrap();
    }
    env.run(["undo", "other"]).assert_exit(0);
    env.run(["undo"]).assert_exit(0);
    for name in ["edited", "gone", "other"] {
        assert_eq!(text(&env, name), format!("{name} as it was"));
    }
}

#[test]
fn a_pipe_in_place_of_a_file_of_the_set_is_not_waited_for() {
    let env = env();
    stage(&env, "echo a > a");
    let dir = run_dir(&env);
    let object = dir.join("objects").join(blake3::hash(b"a\n").to_hex().as_str());
    for path in [object, dir.join("manifest")] {
        let whole = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        refused(&env, "not a regular file");
        env.run(["diff"]).assert_exit(1).assert_stderr_has("not a regular file");
        if path.ends_with("manifest") {
            env.run(["audit", "verify"]).assert_exit(1).assert_stderr_has("manifest is not what");
        }
        fs::remove_file(&path).unwrap();
        fs::write(&path, whole).unwrap();
    }
    env.run(["apply"]).assert_exit(0);
}
