//! Who may come in, and for how long.

use serde_json::{Value, json};

use super::{Person, Server};

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn a_wrong_token_is_refused_and_a_right_one_is_not_kept() {
    let server = Server::start();
    let person = Person::arrive(&server);
    let browser = &person.browser;
    browser.fill("#token", "wrong");
    browser.press("Sign in");
    browser.wait_for_text("This token is not known");
    person.sign_in(&server.token);
    let kept = "return JSON.stringify({ ...localStorage, ...sessionStorage, c: document.cookie, u: location.href })";
    assert!(!browser.ask(kept).as_str().unwrap().contains(&server.token));
    // Loaded anew it is gone, unless its owner asked for it to stay as long as the tab.
    browser.go(&server.url);
    browser.wait_for("document.querySelector('#token')");
    browser.press("Stay signed in until this tab is closed");
    person.sign_in(&server.token);
    browser.go(&format!("{}/#/tasks", server.url.trim_end_matches('/')));
    browser.ask("location.reload()");
    browser.wait_for("document.querySelector('#live.good') && location.hash === '#/tasks'");
    browser.press("Sign out");
    browser.wait_for("document.querySelector('#token')");
    assert_eq!(browser.ask("return sessionStorage.length"), 0);
    person.leave();
}

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn a_token_that_ends_leads_back_to_the_door_and_from_there_to_where_one_was() {
    let server = Server::start();
    let person = Person::arrive(&server);
    let browser = &person.browser;
    let soon = browser.ask("return new Date(Date.now() + 6000).toISOString()");
    let made = person.api(
        "POST",
        "/v1/tokens",
        json!({ "name": "brief", "scopes": ["submit"], "expires_at": soon }),
    );
    person.sign_in(made["secret"].as_str().unwrap());
    person.visit("/workflows");
    browser.wait_for_text("Your token is no longer valid.");
    assert!(!browser.text().contains("Workflow runs"), "nothing is shown without a token");
    person.sign_in(&server.token);
    browser.wait_for_text("No workflow has been run.");
    assert_eq!(person.address(), "#/workflows");
    person.leave();
}

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn tokens_are_made_shown_once_and_revoked() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    browser.press("Tokens");
    browser.fill("[name=name]", "ci");
    browser.press("submit: reads, makes tasks and workflow runs");
    browser.press("Make the token");
    browser.wait_for_text("This is the only time that it is shown.");
    let secret = browser.ask("return document.querySelector('dialog input').value");
    browser.press("I have it");
    browser.wait_for("document.querySelectorAll('tbody tr').length >= 2");
    assert!(!browser.text().contains(secret.as_str().unwrap()));
    browser.click("//tr[contains(., 'ci')]//button[normalize-space()='Revoke']");
    browser.click("//dialog//button[normalize-space()='Revoke']");
    browser.wait_for("[...document.querySelectorAll('tbody tr')].some((r) => r.textContent.includes('ci') && r.textContent.includes('revoked'))");
    let all = person.api("GET", "/v1/tokens", Value::Null);
    let ci = all["items"].as_array().unwrap().iter().find(|token| token["name"] == "ci").unwrap();
    assert!(!ci["revoked_at"].is_null(), "{all}");
    person.leave();
}

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn whoever_may_only_submit_is_offered_nothing_else() {
    let server = Server::start();
    let person = Person::arrive(&server);
    let browser = &person.browser;
    let project = person.project(&server);
    let asking = json!({ "title": "asks first", "requires_approval": true });
    person.task(&project, "true", asking);
    let task = person.task(&project, "echo new > notes.txt", Value::Null);
    let made = json!({ "name": "ci", "scopes": ["submit"] });
    let made = person.api("POST", "/v1/tokens", made);
    person.sign_in(made["secret"].as_str().unwrap());
    let offered = || {
        let words = "return [...document.querySelectorAll('#main button, #main a.button, #bar nav a')].filter((b) => b.checkVisibility()).map((b) => b.textContent)";
        let all = browser.ask(words);
        all.as_array()
            .unwrap()
            .iter()
            .map(|one| one.as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let has = |word: &str| offered().iter().any(|one| one == word);
    assert!(has("New task") && !has("Tokens"), "{:?}", offered());
    person.visit(&format!("/projects/{project}"));
    assert!(has("New task") && !has("Save") && !has("Remove"), "{:?}", offered());
    person.visit("/roles");
    assert!(!has("Make the role"), "{:?}", offered());
    person.visit("/approvals");
    browser.wait_for_text("Your token may not answer this.");
    assert!(!has("Approve") && !has("Reject"), "{:?}", offered());
    person.visit(&format!("/tasks/{task}"));
    person.sees_state("succeeded");
    person.visit(&format!("/tasks/{task}/review"));
    browser.wait_for("document.querySelector('[role=treeitem]')");
    assert!(!has("Apply") && !has("Discard") && !has("Undo"), "{:?}", offered());
    browser.keys("a");
    assert_eq!(browser.ask("return document.querySelector('dialog')"), Value::Null);

    // By its address the page is reached, and the server says no.
    browser.ask("location.hash = '/tokens'");
    browser.wait_for_text("This cannot be shown");
    assert!(!browser.text().contains("New token"), "{}", browser.text());
    person.leave();
}
