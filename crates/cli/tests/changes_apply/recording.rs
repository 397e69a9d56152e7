//! What was done stands in the audit log, with the manifest and the ledger it led to.

use super::*;

#[test]
fn every_operation_leaves_an_event() {
    let env = env();
    env.file("f", "old");
    stage(&env, "echo new > f; echo g > g");
    let sealed = env.latest_record()["changes"]["manifest"].as_str().unwrap().to_owned();
    env.run(["apply", "f"]).assert_exit(0);
    env.run(["undo"]).assert_exit(0);
    env.run(["discard", "g"]).assert_exit(0);
    let events: Vec<_> =
        env.events().into_iter().filter(|e| e["manifest"] == sealed.as_str()).collect();
    let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["changes.sealed", "changes.applied", "changes.undone", "changes.discarded"]);
    assert_eq!(events[1]["paths"], serde_json::json!(["f"]));
    assert_eq!((&events[2]["of"], &events[2]["operation"]), (&1.into(), &2.into()));
    let ledger: serde_json::Value =
        serde_json::from_slice(&fs::read(run_dir(&env).join("ledger.json")).unwrap()).unwrap();
    assert_eq!(events[3]["ledger"], ledger["hash"]);
    assert_settled(&env);
}
