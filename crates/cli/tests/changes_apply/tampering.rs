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
