//! A file that was changed on both sides: merged, kept, or left for later. What the host has is never overwritten.

use std::fs;

use serde_json::Value;

use super::{Person, Server};

const LINE: &str = "for f in long app notes; do sed -i '2s/.*/two/' $f.txt; done";

/// A review of three files of which the host has changed two meanwhile: `long.txt` far from the change, `app.txt`
/// in the same line.
fn clashing(server: &Server, person: &Person) -> std::path::PathBuf {
    let project = person.project(server);
    let root = server.root();
    for name in ["app.txt", "notes.txt"] {
        fs::copy(root.join("long.txt"), root.join(name)).unwrap();
    }
    server.commit("more");
    let task = person.succeeded(&project, LINE, Value::Null);
    let tree = server.worktree(&task);
    let edit = |name: &str, from: &str, to: &str| {
        let text = fs::read_to_string(tree.join(name)).unwrap();
        assert!(text.contains(from));
        fs::write(tree.join(name), text.replace(from, to)).unwrap();
    };
    edit("long.txt", "line 38\n", "mine\n");
    edit("app.txt", "line 2\n", "mine\n");
    person.visit(&format!("/tasks/{task}/review"));
    person.browser.wait_for("document.querySelectorAll('[role=treeitem]').length === 3");
    tree
}

fn answer(person: &Person, path: &str, way: &str) {
    let script = format!(
        "[...document.querySelectorAll('.clash')].forEach((l, i) => l.querySelector('select').id = 'clash-' + i); return [...document.querySelectorAll('.clash')].findIndex((l) => l.textContent.startsWith({path:?}))"
    );
    let at = person.browser.ask(&script);
    person.browser.choose(&format!("#clash-{at}"), way);
}

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn a_conflict_is_merged_or_the_hosts_side_is_kept() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    let tree = clashing(&server, &person);
    let text = |name: &str| fs::read_to_string(tree.join(name)).unwrap();
    // Marked in the list, and said in words.
    browser.wait_for_text("2 files changed on the host since the run began");
    let marked = "return [...document.querySelectorAll('[role=treeitem]')].filter((r) => r.textContent.includes('conflict')).map((r) => r.title)";
    assert_eq!(browser.ask(marked), serde_json::json!(["app.txt", "long.txt"]));
    browser.click("//*[@role='treeitem'][@title='app.txt']");
    browser.wait_for_text("On the host:");

    // Both sides where they do not touch; where they do, nothing at all.
    for path in ["app.txt", "long.txt", "notes.txt"] {
        browser
            .click(&format!("//*[@role='treeitem'][@title={path:?}]//*[contains(@class, 'tick')]"));
    }
    browser.press("Apply");
    browser.wait_for_text("These changed on the host meanwhile");
    browser.click("//dialog//button[normalize-space()='Apply']");
    browser.wait_for_text("Nothing was applied.");
    assert!(text("long.txt").contains("line 2\n") && text("notes.txt").contains("line 2\n"));
    assert!(text("app.txt").contains("mine\n") && !text("app.txt").contains("two\n"));

    // One is merged, the other stays as the host has it, and its change is gone.
    browser.press("Apply");
    answer(&person, "app.txt", "keep the host's, discard this change");
    browser.click("//dialog//button[normalize-space()='Apply']");
    browser.wait_for_text("Applied: 2 modified, 1 merged");
    browser.wait_for_text("Discarded 1 change; 0 left.");
    assert!(text("long.txt").contains("two\n") && text("long.txt").contains("mine\n"));
    assert!(text("app.txt").contains("mine\n") && !text("app.txt").contains("two\n"));
    assert!(text("notes.txt").contains("two\n"));
    browser.wait_for_text("Nothing is pending");
    person.leave();
}

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn a_conflict_can_wait() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    let tree = clashing(&server, &person);
    for path in ["app.txt", "notes.txt"] {
        browser
            .click(&format!("//*[@role='treeitem'][@title={path:?}]//*[contains(@class, 'tick')]"));
    }
    browser.press("Apply");
    answer(&person, "app.txt", "decide later");
    browser.click("//dialog//button[normalize-space()='Apply']");
    browser.wait_for_text("Applied: 1 modified");
    browser.wait_for("document.querySelectorAll('[role=treeitem]').length === 2");
    let kept = fs::read_to_string(tree.join("app.txt")).unwrap();
    assert!(kept.contains("mine\n") && !kept.contains("two\n"), "{kept}");
    person.leave();
}
