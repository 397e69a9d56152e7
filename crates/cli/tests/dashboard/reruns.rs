//! What failed, once more: a task, or some steps of a workflow.

use serde_json::{Value, json};

use super::{Person, Server};

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn a_failed_task_is_tried_again_and_each_attempt_can_be_looked_at() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    let project = person.project(&server);
    let line = "if [ -e go ]; then echo it goes; else echo 'no way' >&2; exit 7; fi";
    let task = person.task(&project, line, Value::Null);
    person.visit(&format!("/tasks/{task}"));
    person.sees_state("failed");
    browser.wait_for_text("exit code 7");
    browser.wait_for("document.querySelector('.log').textContent.includes('no way')");
    assert!(!browser.text().contains("Attempts"), "one attempt needs no list");

    std::fs::write(server.worktree(&task).join("go"), "").unwrap();
    browser.press("Retry");
    person.sees_state("succeeded");
    browser.wait_for("document.querySelector('.log').textContent.includes('it goes')");
    browser.wait_for_text("2 attempts");
    let tries = "return [...document.querySelectorAll('[aria-label=Attempts] tbody tr')].map((r) => [r.cells[0].innerText, r.cells[1].innerText.replace(/^\\W+/, ''), r.cells[5].innerText])";
    assert_eq!(browser.ask(tries), json!([["1", "failed", "7"], ["2", "succeeded", "0"]]));
    // What is over cannot be tried again.
    assert_eq!(
        browser.ask("return [...document.querySelectorAll('button')].filter((b) => b.textContent === 'Retry').length"),
        0
    );

    // The output of the first has an address of its own.
    browser.click("//*[@aria-label='Attempts']//a[.='1']");
    browser.wait_for("document.querySelector('.log')?.textContent.includes('no way')");
    let log = browser.ask("return document.querySelector('.log').textContent");
    assert!(!log.as_str().unwrap().contains("it goes"), "{log}");
    assert_eq!(person.address(), format!("#/tasks/{task}?attempt=1"));
    browser.back();
    browser.wait_for("document.querySelector('.log')?.textContent.includes('it goes')");
    person.leave();
}

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn some_steps_of_a_workflow_are_run_again_and_the_rest_is_taken_over() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    let project = person.project(&server);
    let task = |line: &str| json!({ "execution_mode": "isolated-worktree", "command": ["sh", "-c", line] });
    let steps = json!([
        { "name": "build", "task": task("true") },
        { "name": "check", "depends_on": ["build"], "task": task("exit 3") },
        { "name": "publish", "depends_on": ["check"], "task": task("true") },
    ]);
    let template = json!({ "project": project, "name": "release", "steps": steps });
    let template = person.api("POST", "/v1/workflow-templates", template);
    let run = person.api("POST", "/v1/workflow-runs", json!({ "template": template["id"] }));
    let first = run["id"].as_str().unwrap();
    person.visit(&format!("/workflows/{first}"));
    person.sees_state("failed");
    browser.press("Run again from…");
    browser.wait_for_text("Which steps again?");
    // What failed is what one wants again.
    let ticked =
        "return [...document.querySelectorAll('dialog input:checked')].map((b) => b.value)";
    assert_eq!(browser.ask(ticked), json!(["check"]));
    browser.click("//dialog//button[normalize-space()='Run']");
    browser.wait_for(&format!(
        "location.hash.startsWith('#/workflows/') && !location.hash.includes({first:?})"
    ));
    browser.wait_for("document.querySelector('.crumbs')?.textContent.includes('repeats')");
    person.sees_state("failed");
    let states = "return [...document.querySelectorAll('.dag .step-state')].map((s) => s.textContent.replace(/^\\W+/, ''))";
    assert_eq!(browser.ask(states), json!(["taken over", "failed", "skipped"]));

    let address = person.address();
    let id = address.rsplit('/').next().unwrap();
    let now = person.api("GET", &format!("/v1/workflow-runs/{id}"), Value::Null);
    assert_eq!(now["of"], first, "{now}");
    assert_eq!(now["steps"][0]["state"], "reused", "{now}");
    person.leave();
}
