//! Making, watching, canceling.

use serde_json::{Value, json};

use super::{Person, Server};

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn a_project_and_a_task_are_made_and_the_task_is_watched_live() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    let root = server.repository();

    browser.press("Projects");
    browser.wait_for_text("There is no project yet");
    browser.fill("[name=name]", "shop");
    browser.fill("[name=root_path]", root.to_str().unwrap());
    browser.press("Make the project");
    browser.wait_for_text("The project is made.");
    browser.press("New task");
    browser.choose("[name=execution_mode]", "in a git worktree of its own");
    browser.fill("[name=title]", "Say two things");
    browser.fill("[name=command]", "sh -c 'echo begun; sleep 2; echo oops >&2; echo ended'");
    assert_eq!(browser.ask("return [...document.querySelectorAll('.argv code')].map((c) => c.textContent).filter(Boolean)"),
        json!(["sh", "-c", "echo begun; sleep 2; echo oops >&2; echo ended"]));
    browser.press("Make the task");

    // It is seen while it runs, and nothing is loaded anew for that.
    browser.wait_for("document.querySelector('.log')?.textContent.includes('begun')");
    person.sees_state("running");
    assert!(!browser.text().contains("exit code"));
    person.sees_state("succeeded");
    browser.wait_for("document.querySelector('.log').textContent.includes('ended')");
    browser.wait_for_text("exit code 0");
    browser.wait_for_text("staged workspace");

    // Streams apart.
    browser.choose(".log-box select", "stderr");
    let seen = "return [...document.querySelectorAll('.log-lines li')].filter((l) => l.checkVisibility()).map((l) => l.textContent)";
    assert_eq!(browser.ask(seen), json!(["oops"]));
    // The chain is verified by the server.
    browser.press("Verify the chain");
    browser.wait_for_text("the chain holds");

    // Back leads where one was.
    let here = person.address();
    browser.press("Overview");
    browser.wait_for("location.hash === '#/'");
    browser.back();
    browser.wait_for(&format!("location.hash === {here:?} && document.querySelector('.log')"));
    person.leave();
}

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn what_is_wrong_with_a_form_is_said_beside_the_field() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    let project = person.project(&server);
    person.visit(&format!("/tasks/new?project={project}"));
    // What the page can see itself, and what only the server knows.
    browser.press("Make the task");
    browser.wait_for("document.activeElement.name === 'sandbox.command'");
    browser.fill("[name='sandbox.command']", "true");
    browser.press("More settings");
    browser.fill("[name='sandbox.mounts']", "/etc:/etc");
    browser.press("Make the task");
    browser.wait_for("document.querySelector('[name=\"sandbox.mounts\"]').getAttribute('aria-invalid') === 'true'");
    let said = browser.ask("const c = document.querySelector('[name=\"sandbox.mounts\"]'); return document.getElementById(c.getAttribute('aria-describedby').split(' ')[0]).textContent");
    assert!(said.as_str().unwrap().contains("/etc"), "{said}");
    assert_eq!(browser.ask("return document.activeElement.name"), "sandbox.mounts");
    let tasks = person.api("GET", "/v1/tasks", Value::Null);
    assert_eq!(tasks["items"], json!([]), "nothing was made");
    person.leave();
}

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn a_running_task_is_canceled() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let project = person.project(&server);
    let task = person.task(&project, "echo begun; sleep 600", Value::Null);
    person.visit(&format!("/tasks/{task}"));
    person.sees_state("running");
    person.browser.press("Cancel task");
    person.browser.wait_for_text("Cancel this task?");
    person.browser.click("//dialog//button[normalize-space()='Cancel task']");
    person.sees_state("canceled");
    let now = person.api("GET", &format!("/v1/tasks/{task}"), Value::Null);
    assert_eq!(now["state"], "canceled");
    person.leave();
}
