//! What people are used to: keys, addresses that can be kept, the way back, and a page that holds still.

use cofferdam_testkit::Scheme;
use serde_json::{Value, json};

use super::person::{ENTER, ESCAPE};
use super::{Person, Server};

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn questions_are_answered_by_keys_and_help_names_them() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    let project = person.project(&server);
    let asking = |title: &str| json!({ "title": title, "requires_approval": true });
    let yes = person.task(&project, "true", asking("first"));
    let no = person.task(&project, "true", asking("second"));
    browser.keys("ga");
    browser.wait_for("document.querySelectorAll('.ask').length === 2");
    browser.keys("?");
    browser.wait_for_text("approve the question you stand on");
    browser.keys(ESCAPE);
    browser.wait_for("!document.querySelector('dialog')");
    // Newest first: the second question is the older one.
    browser.keys("jj");
    browser.wait_for(&format!("document.querySelector('.ask.at')?.dataset.row === '/tasks/{yes}'"));
    browser.keys("a");
    browser.wait_for("document.activeElement.id === 'confirm-comment'");
    browser.keys("by key\t");
    browser.keys(ENTER);
    browser.wait_for("document.querySelectorAll('.ask').length === 1");
    browser.keys("d");
    browser.wait_for("document.activeElement.id === 'confirm-comment'");
    browser.keys("\t");
    browser.keys(ENTER);
    browser.wait_for_text("Nothing waits for an answer.");
    let state = |task: &str| {
        let all = person.api("GET", &format!("/v1/approvals?task={task}"), Value::Null);
        (all["items"][0]["state"].clone(), all["items"][0]["comment"].clone())
    };
    assert_eq!(state(&yes), (json!("approved"), json!("by key")));
    assert_eq!(state(&no), (json!("rejected"), Value::Null));
    person.leave();
}

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn an_address_leads_back_to_what_was_seen() {
    let server = Server::start();
    let person = Person::arrive(&server);
    let browser = &person.browser;
    let project = person.project(&server);
    let line = "sed -i s/8080/9090/ app.yaml; echo new > notes.txt";
    let task = person.task(&project, line, json!({ "title": "changes two" }));
    person.task(&project, "exit 1", json!({ "title": "breaks" }));

    // A link that somebody was sent: first the door, then what it names.
    let deep = format!("#/tasks/{task}/review?path=notes.txt");
    browser.go(&format!("{}{deep}", server.url));
    browser.ask("location.reload()");
    person.sign_in(&server.token);
    // The task may still be running; its page says when it is not.
    person.visit(&format!("/tasks/{task}"));
    person.sees_state("succeeded");
    person.visit(&deep[1..]);
    browser.wait_for("document.querySelector('.diff-head')?.textContent === 'notes.txt' && document.querySelector('.diff')");

    // Moving through the files is remembered in the address, and is no step in the history.
    browser.keys("k");
    browser.wait_for("location.hash.endsWith('?path=app.yaml')");
    browser.wait_for("document.querySelectorAll('.diff mark').length === 2");
    assert_eq!(browser.ask("return document.querySelector('.diff.split')"), Value::Null);
    browser.keys("s");
    browser.wait_for("document.querySelector('.diff.split .half.del mark')?.textContent === '8080' && document.querySelector('.diff.split .half.add mark').textContent === '9090'");
    let rows = browser.ask("return [...document.querySelectorAll('.diff.split .dl')].map((r) => [...r.querySelectorAll('.half')].map((h) => h.querySelector('code')?.textContent))");
    assert!(
        rows.as_array().unwrap().contains(&json!(["port: 8080", "port: 9090"])),
        "old on the left, new on the right: {rows}"
    );
    browser.back();
    browser
        .wait_for(&format!("location.hash === '#/tasks/{task}' && document.querySelector('.log')"));
    browser.ask("history.forward()");
    browser.wait_for("document.querySelector('.diff.split')");
    browser.keys("s");
    browser.wait_for("document.querySelector('.diff:not(.split)')");

    // A filter is part of the address.
    browser.keys("gt");
    browser.wait_for("document.querySelectorAll('tbody tr').length === 2");
    browser.keys("/breaks");
    browser.wait_for("location.hash === '#/tasks?text=breaks' && document.querySelectorAll('tbody tr').length === 1");
    browser.keys(ESCAPE);
    browser.keys("j");
    browser.keys(ENTER);
    browser.wait_for("document.querySelector('h1')?.textContent.includes('breaks')");
    browser.back();
    browser.wait_for("document.querySelectorAll('tbody tr').length === 1");
    assert_eq!(browser.ask("return document.querySelector('[data-search]').value"), "breaks");
    person.visit("/nowhere");
    browser.wait_for_text("This address names no page.");
    person.leave();
}

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn whoever_wants_less_motion_gets_none_and_colours_can_be_chosen() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    person.visit("/tasks/new");
    let moving = "return [...document.querySelectorAll('*')].filter((e) => { const s = getComputedStyle(e); return s.transitionDuration !== '0s' || s.animationName !== 'none' || s.scrollBehavior === 'smooth' }).length";
    assert!(browser.ask(moving).as_u64().unwrap() > 0, "without the wish there is a little");
    browser.prefer_stillness();
    browser.wait_for("matchMedia('(prefers-reduced-motion: reduce)').matches");
    assert_eq!(browser.ask(moving), 0);

    // As the system has it, unless somebody chooses.
    let ground = "return getComputedStyle(document.body).backgroundColor";
    browser.prefer(Scheme::Light);
    browser.wait_for("document.documentElement.dataset.theme === 'light'");
    let light = browser.ask(ground);
    browser.prefer(Scheme::Dark);
    browser.wait_for("document.documentElement.dataset.theme === 'dark'");
    let dark = browser.ask(ground);
    assert_ne!(light, dark);
    browser.choose(".bar-end select", "Light");
    assert_eq!(browser.ask(ground), light);
    person.leave();
}
