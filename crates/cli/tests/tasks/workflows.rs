//! Workflows on the command line.

use std::fs;

use cofferdam_testkit::TestEnv;
use serde_json::{Value, json};

use crate::place::{BINARY, Place};

#[test]
fn runs_of_workflows_are_listed_page_by_page() {
    let env = TestEnv::with_binary(BINARY);
    let place = Place::with(&env, None, &["--no-runner"]);
    let answer = |args: &[&str]| -> Value {
        let done = place.run(args);
        done.assert_exit(0);
        serde_json::from_str(&done.stdout_text()).unwrap()
    };
    let project = answer(&["project", "create", "shop", "--json"]);
    let task = json!({"execution_mode": "no-workspace", "command": ["true"]});
    let file = env.top().join("steps.json");
    let steps = [json!({"name": "only", "task": task})];
    let template = json!({"project": project["id"], "name": "one", "steps": steps});
    fs::write(&file, template.to_string()).unwrap();
    let made = answer(&["workflow", "create", file.to_str().unwrap(), "--json"]);
    let template = made["id"].as_str().unwrap();
    for title in ["first", "second", "third"] {
        place.run(&["workflow", "start", template, "--title", title]).assert_exit(0);
    }
    let mut seen = Vec::new();
    let mut next: Option<String> = None;
    for left in [2, 1, 0] {
        let mut words = vec!["workflow", "ls", "--limit", "1"];
        words.extend(next.iter().flat_map(|next| ["--after", next.as_str()]));
        let done = place.run(&words);
        done.assert_exit(0);
        let text = done.stdout_text().into_owned();
        seen.extend(["first", "second", "third"].into_iter().filter(|title| text.contains(title)));
        let more = text.lines().find_map(|line| line.strip_prefix("more: --after "));
        assert_eq!(more.is_some(), left > 0, "{text}");
        next = more.map(str::to_owned);
    }
    seen.sort_unstable();
    assert_eq!(seen, ["first", "second", "third"]);
    let all = answer(&["workflow", "ls", "--json"]);
    assert_eq!(all["items"].as_array().unwrap().len(), 3);
}
