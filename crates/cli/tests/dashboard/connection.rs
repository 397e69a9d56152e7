//! The server goes away, and comes back.

use serde_json::Value;

use super::{Person, Server};

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn the_server_is_lost_and_regained() {
    let mut server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    let project = person.project(&server);
    person.visit("/tasks");
    browser.wait_for_text("There are no tasks yet.");
    assert_eq!(browser.ask("return document.getElementById('connection').hidden"), true);

    server.kill();
    browser.wait_for_text("The connection to the server is lost.");
    browser.wait_for("document.querySelector('#live.bad')");
    // What needs the server says so, and can be tried again.
    browser.press("Projects");
    browser.wait_for_text("The server cannot be reached.");

    server.again();
    browser.wait_for(
        "document.getElementById('connection').hidden && document.querySelector('#live.good')",
    );
    browser.press("Try again");
    browser.wait_for_text("demo");
    // And it is live again, without being loaded anew.
    person.visit("/tasks");
    browser.wait_for_text("There are no tasks yet.");
    person.task(&project, "true", Value::Null);
    browser.wait_for("document.querySelector('td .badge')?.textContent.includes('succeeded')");
    person.leave();
}

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn a_server_that_is_slow_is_waited_for_and_that_is_said() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    person.project(&server);
    server.signal("STOP");
    browser.press("Projects");
    browser.wait_for(
        "document.querySelector('main[aria-busy] [role=status]')?.textContent === 'Loading…'",
    );
    server.signal("CONT");
    browser
        .wait_for("document.querySelector('main:not([aria-busy]) h1')?.textContent === 'Projects'");
    browser.wait_for_text("demo");
    // Whoever goes elsewhere meanwhile is not brought back.
    server.signal("STOP");
    browser.press("Roles");
    browser.wait_for("document.querySelector('main[aria-busy]')");
    browser.press("Runners");
    server.signal("CONT");
    browser
        .wait_for("document.querySelector('main:not([aria-busy]) h1')?.textContent === 'Runners'");
    assert_eq!(person.address(), "#/runners");
    person.leave();
}
