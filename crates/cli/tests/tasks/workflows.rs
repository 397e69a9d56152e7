//! Workflows on the command line.

use std::fs;

use cofferdam_testkit::TestEnv;
use serde_json::{Value, json};

use crate::place::{BINARY, Place};

/// The page's file, of a project that is there, is taken as it stands.
#[test]
fn the_file_that_is_shown_is_one_that_a_server_takes() {
    const PAGE: &str = include_str!("../../../../docs/usage/tasks.md");
    let shown = PAGE.split_once("```json release.json\n").unwrap().1.split_once("```").unwrap().0;
    let env = TestEnv::with_binary(BINARY);
    let place = Place::with(&env, None, &["--no-runner"]);
    let project = place.run(&["project", "create", "shop", "--json"]).assert_exit(0).json();
    let of_the_page: Value = serde_json::from_str(shown).unwrap();
    let help = place.run(&["workflow", "create", "--help"]).stdout_text().into_owned();
    let (_, of_the_help) = help.split_once("{\"project\": \"PROJECT\"").unwrap();
    let of_the_help = format!("{{\"project\": \"PROJECT\"{of_the_help}");
    let of_the_help: Value = serde_json::from_str(&of_the_help).unwrap();
    for (name, mut template) in [("page", of_the_page), ("help", of_the_help)] {
        template["project"] = project["id"].clone();
        template["name"] = name.into();
        let file = env.top().join("release.json");
        fs::write(&file, template.to_string()).unwrap();
        let made = place.run(&["workflow", "create", file.to_str().unwrap(), "--json"]);
        let made = made.assert_exit(0).json();
        let steps = made["steps"].as_array().unwrap();
        assert_eq!(steps[1]["depends_on"][0], steps[0]["name"]);
        assert_eq!(steps[1]["task"]["requires_approval"], true);
        let run = place.run(&["workflow", "start", made["id"].as_str().unwrap(), "--json"]);
        let run = run.assert_exit(0).json();
        assert_eq!(
            (&run["steps"][0]["state"], &run["steps"][1]["state"]),
            (&json!("started"), &json!("waiting"))
        );
    }
}

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
