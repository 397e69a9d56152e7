//! Steps that wait for each other, and for people.

use serde_json::{Value, json};

use super::{Person, Server};

fn steps() -> Value {
    let task = |line: &str| json!({ "execution_mode": "isolated-worktree", "command": ["sh", "-c", line] });
    let mut gate = task("echo published");
    gate["requires_approval"] = json!(true);
    json!([
        { "name": "build", "task": task("echo built") },
        { "name": "lint", "depends_on": ["build"], "task": task("echo linted") },
        { "name": "publish", "depends_on": ["build", "lint"], "task": gate },
    ])
}

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn a_workflow_is_drawn_and_its_gate_is_approved_in_place() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    let project = person.project(&server);
    let template = json!({ "project": project, "name": "release", "steps": steps() });
    let made = person.api("POST", "/v1/workflow-templates", template);
    person.visit(&format!("/templates/{}", made["id"].as_str().unwrap()));
    browser.fill("[name=title]", "Release 1");
    browser.press("Run");
    browser.wait_for_text("The run has begun.");
    browser.wait_for("[...document.querySelectorAll('.dag a')].some((a) => a.textContent.includes('awaiting approval'))");
    assert_eq!(browser.ask("return document.querySelectorAll('.dag .edge').length"), 3);
    browser.wait_for("document.querySelector('h1').textContent.includes('Release 1')");
    // The gate holds until somebody says yes.
    let waiting = browser
        .ask("return [...document.querySelectorAll('.dag .step-state')].map((s) => s.textContent)");
    assert_eq!(waiting, json!(["✓ succeeded", "✓ succeeded", "? awaiting approval"]));
    browser.press("Approve");
    browser.fill("#confirm-comment", "looks right");
    browser.click("//dialog//button[normalize-space()='Approve']");
    person.sees_state("succeeded");
    browser.press("Approvals");
    browser.wait_for_text("looks right");
    person.leave();
}

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn a_run_is_paused_resumed_and_aborted() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    let project = person.project(&server);
    let task = |line: &str| json!({ "execution_mode": "isolated-worktree", "command": ["sh", "-c", line] });
    let steps = json!([{ "name": "wait", "task": task("sleep 600") }, { "name": "after", "depends_on": ["wait"], "task": task("true") }]);
    let template = person.api(
        "POST",
        "/v1/workflow-templates",
        json!({ "project": project, "name": "slow", "steps": steps }),
    );
    let run = person.api("POST", "/v1/workflow-runs", json!({ "template": template["id"] }));
    person.visit(&format!("/workflows/{}", run["id"].as_str().unwrap()));
    browser.wait_for("document.querySelector('.dag')?.textContent.includes('running')");
    browser.press("Pause");
    person.sees_state("paused");
    browser.press("Resume");
    person.sees_state("running");
    browser.press("Abort");
    browser.click("//dialog//button[normalize-space()='Abort']");
    person.sees_state("aborted");
    browser.wait_for("document.querySelector('.dag').textContent.includes('canceled')");
    person.leave();
}
