//! Looking at changes, and deciding.

use std::fs;

use serde_json::Value;

use super::{Person, Server};

const LINE: &str = "sed -i s/8080/9090/ app.yaml; echo new > notes.txt; echo 'all:' > Makefile";

fn choose(person: &Person, path: &str) {
    person
        .browser
        .click(&format!("//*[@role='treeitem'][@title={path:?}]//*[contains(@class, 'tick')]"));
}

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn one_file_is_applied_another_discarded_and_the_first_taken_back() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    let project = person.project(&server);
    let task = person.succeeded(&project, LINE, Value::Null);
    browser.press("Review changes");
    browser.wait_for("document.querySelectorAll('[role=treeitem]').length === 3");
    let tree = server.worktree(&task);
    let settings = || fs::read_to_string(tree.join("app.yaml")).unwrap();
    assert!(settings().contains("8080"));

    // The gate, in words, and the difference with the changed word marked.
    browser.wait_for_text("1 change will be executed or obeyed later");
    browser.click("//*[@role='treeitem'][@title='app.yaml']");
    browser.wait_for("[...document.querySelectorAll('.diff mark')].map((m) => m.textContent).join() === '8080,9090'");
    browser.press("Side by side");
    browser.wait_for("document.querySelector('.diff.split')");

    choose(&person, "app.yaml");
    browser.wait_for_text("1 file chosen");
    browser.press("Apply");
    browser.wait_for_text("Apply 1 change?");
    browser.click("//dialog//button[normalize-space()='Apply']");
    browser.wait_for_text("Applied: 1 modified");
    assert!(settings().contains("9090"), "{}", settings());
    assert!(!tree.join("notes.txt").exists());
    browser.wait_for("document.querySelectorAll('[role=treeitem]').length === 2");

    choose(&person, "notes.txt");
    browser.press("Discard");
    browser.click("//dialog//button[normalize-space()='Discard']");
    browser.wait_for_text("Discarded 1 change");
    browser.wait_for("document.querySelectorAll('[role=treeitem]').length === 1");
    assert!(!tree.join("notes.txt").exists());

    browser.press("Undo");
    browser.wait_for_text("Took back 1 change");
    assert!(settings().contains("8080"), "{}", settings());
    browser.wait_for("document.querySelectorAll('[role=treeitem]').length === 2");

    // Who did it stands in the audit.
    let events = person.api("GET", &format!("/v1/tasks/{task}/events?limit=500"), Value::Null);
    let applied =
        events["items"].as_array().unwrap().iter().find(|event| event["type"] == "changes.applied");
    assert!(applied.unwrap()["actor"].as_str().unwrap().starts_with("token:"), "{events}");
    person.leave();
}

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn what_will_be_executed_needs_a_yes_of_its_own() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    let project = person.project(&server);
    let task = person.succeeded(&project, LINE, Value::Null);
    person.visit(&format!("/tasks/{task}/review?path=Makefile"));
    browser.wait_for("document.querySelector('.diff-head')?.textContent === 'Makefile'");
    choose(&person, "Makefile");
    browser.press("Apply");
    browser.wait_for_text("These need a yes of their own");
    // Without the yes the form is not sent.
    browser.click("//dialog//button[normalize-space()='Apply']");
    assert_eq!(browser.ask("return Boolean(document.querySelector('dialog'))"), true);
    let tree = server.worktree(&task);
    assert!(!tree.join("Makefile").exists());
    browser.press("I have read them and want them applied");
    browser.click("//dialog//button[normalize-space()='Apply']");
    browser.wait_for_text("Applied: 1 created");
    assert!(tree.join("Makefile").exists() && !tree.join("notes.txt").exists());
    person.leave();
}

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn one_hunk_of_a_file_is_applied() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    let project = person.project(&server);
    let task =
        person.succeeded(&project, "sed -i '2s/.*/two/; 38s/.*/last/' long.txt", Value::Null);
    person.visit(&format!("/tasks/{task}/review?path=long.txt"));
    browser.wait_for("document.querySelectorAll('.hunk').length === 2");
    browser.press("hunk 2");
    browser.wait_for_text("1 file chosen, 1 in part");
    browser.press("Apply");
    browser.click("//dialog//button[normalize-space()='Apply']");
    browser.wait_for_text("Applied: 1 modified");
    let text = fs::read_to_string(server.worktree(&task).join("long.txt")).unwrap();
    assert!(text.contains("last") && !text.contains("two"), "{text}");
    person.leave();
}

/// What is left has other numbers; the page says which diff it counts by.
#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn the_hunks_of_a_file_are_applied_one_after_the_other() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    let project = person.project(&server);
    let script = "sed -i '2s/.*/two/; 20s/.*/middle/; 38s/.*/last/' long.txt";
    let task = person.succeeded(&project, script, Value::Null);
    person.visit(&format!("/tasks/{task}/review?path=long.txt"));
    let worktree = server.worktree(&task).join("long.txt");
    let here = |words: [bool; 3]| {
        let text = fs::read_to_string(&worktree).unwrap();
        let found = ["two", "middle", "last"].map(|word| text.lines().any(|line| line == word));
        assert_eq!(found, words, "{text}");
    };
    let apply = |hunk: &str| {
        browser.press(hunk);
        browser.wait_for_text("1 file chosen, 1 in part");
        browser.press("Apply");
        browser.click("//dialog//button[normalize-space()='Apply']");
        browser.wait_for_text("Applied: 1 modified");
    };
    browser.wait_for("document.querySelectorAll('.hunk').length === 3");
    apply("hunk 2");
    here([false, true, false]);
    browser.wait_for("document.querySelectorAll('.hunk').length === 2");
    apply("hunk 2");
    here([false, true, true]);
    browser.wait_for("document.querySelectorAll('.hunk').length === 1");
    browser.press("hunk 1");
    browser.wait_for_text("1 file chosen");
    browser.press("Apply");
    browser.click("//dialog//button[normalize-space()='Apply']");
    browser.wait_for_text("Nothing is pending");
    here([true, true, true]);
    person.leave();
}

/// A file that was moved is one line of the list: with one of its names applied and the other not, there would be two of it.
#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn a_moved_file_is_applied_and_discarded_under_both_its_names() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    let project = person.project(&server);
    let task = person.succeeded(&project, "mv app.yaml conf.yaml", Value::Null);
    browser.press("Review changes");
    browser.wait_for("document.querySelectorAll('[role=treeitem]').length === 1");
    let tree = server.worktree(&task);
    let are = || ["app.yaml", "conf.yaml"].map(|name| tree.join(name).exists());

    choose(&person, "conf.yaml");
    browser.press("Apply");
    browser.wait_for_text("Apply 1 change?");
    browser.click("//dialog//button[normalize-space()='Apply']");
    browser.wait_for_text("Applied: 1 created, 1 deleted");
    assert_eq!(are(), [false, true]);
    browser.wait_for_text("Nothing is pending");

    browser.press("Undo");
    browser.wait_for("document.querySelectorAll('[role=treeitem]').length === 1");
    assert_eq!(are(), [true, false]);
    choose(&person, "conf.yaml");
    browser.press("Discard");
    browser.click("//dialog//button[normalize-space()='Discard']");
    browser.wait_for_text("Nothing is pending");
    person.leave();
}
