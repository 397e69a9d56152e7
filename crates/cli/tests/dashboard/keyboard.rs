//! Without a mouse.

use std::fs;

use serde_json::Value;

use super::person::{ENTER, ESCAPE};
use super::{Person, Server};

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn a_change_is_found_applied_and_taken_back_by_keys_alone() {
    let server = Server::start();
    let person = Person::arrive(&server);
    let browser = &person.browser;
    let project = person.project(&server);
    let task =
        person.task(&project, "sed -i s/8080/9090/ app.yaml; echo new > notes.txt", Value::Null);

    // The field has the focus.
    browser.keys(&server.token);
    browser.keys(ENTER);
    browser.wait_for("document.querySelector('#live.good')");
    browser.keys("gt");
    browser.wait_for("document.querySelector('td .badge')?.textContent.includes('succeeded')");
    browser.keys("j");
    browser.keys(ENTER);
    browser
        .wait_for(&format!("location.hash === '#/tasks/{task}' && document.querySelector('.log')"));
    browser.keys("?");
    browser.wait_for_text("review the changes");
    browser.keys(ESCAPE);
    browser.wait_for("!document.querySelector('dialog')");
    browser.keys("r");
    browser.wait_for("document.querySelectorAll('[role=treeitem]').length === 2");
    browser.wait_for("document.querySelector('.tree-row.at')?.title === 'app.yaml'");
    browser.keys("j");
    browser.wait_for("document.querySelector('.tree-row.at')?.title === 'notes.txt'");
    browser.keys("k ");
    browser
        .wait_for("document.querySelector('.tree-row.at').getAttribute('aria-checked') === 'true'");
    browser.keys("a");
    browser.wait_for_text("Apply 1 change?");
    browser.keys(ENTER);
    browser.wait_for_text("Applied: 1 modified");
    let settings = server.worktree(&task).join("app.yaml");
    assert!(fs::read_to_string(&settings).unwrap().contains("9090"));
    browser.keys("u");
    browser.wait_for_text("Took back 1 change");
    assert!(fs::read_to_string(&settings).unwrap().contains("8080"));
    browser.keys("/not");
    browser.wait_for("document.querySelectorAll('[role=treeitem]').length === 1");
    browser.keys(ESCAPE);
    browser.keys("d");
    browser.wait_for_text("Discard 1 change?");
    browser.keys(ENTER);
    browser.wait_for_text("Discarded 1 change");
    person.leave();
}
