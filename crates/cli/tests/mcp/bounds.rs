//! However much a session has changed, an answer about it is bounded, and so is what it costs.

use cofferdam_testkit::TestEnv;
use serde_json::json;

use crate::{BINARY, Client};

#[test]
fn changes_name_so_many_and_say_how_many_there_are() {
    let env = TestEnv::with_binary(BINARY);
    let mut client = Client::connect(&env);
    client.prints("touch one two");
    let few = client.call("changes", json!({}))["structuredContent"].clone();
    assert_eq!((few["entries"].as_array().unwrap().len(), &few["in_all"]), (2, &json!(2)), "{few}");
    client.prints(
        "rm one two; mkdir d; seq -f d/%.0f-$(printf '%200s' x | tr ' ' y) 4999 | xargs touch",
    );
    let many = client.call("changes", json!({}));
    assert_eq!(many["isError"], false, "{many}");
    assert!(many.to_string().len() < 512 << 10, "{} bytes", many.to_string().len());
    let value = &many["structuredContent"];
    let named = value["entries"].as_array().unwrap().len();
    assert!((10..1000).contains(&named), "{named}");
    assert_eq!(value["in_all"], 5000);
    client.end(&env);
}

#[test]
fn a_large_diff_is_not_held_in_memory() {
    let env = TestEnv::with_binary(BINARY);
    let mut client = Client::connect(&env);
    client.prints("for i in $(seq 16); do yes \"line $i\" | head -c 4000000 > f$i; done");
    let diff = client.call("diff", json!({}));
    assert_eq!(diff["isError"], false, "{diff}");
    assert!(diff.to_string().len() < 256 << 10, "{} bytes", diff.to_string().len());
    let value = &diff["structuredContent"];
    assert!(value["left_out_bytes"].as_u64().unwrap() > 100_000, "{value}");
    assert_eq!(value["at_least"], true, "{value}");
    let status = format!("/proc/{}/status", client.server.id());
    let status = std::fs::read_to_string(status).unwrap();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let most: u64 = most.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(most < 80 << 10, "{most} KiB");
    client.end(&env);
}
