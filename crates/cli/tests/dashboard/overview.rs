//! How things stand, on one page, and how one task stood: with figures of tasks that were really run.

use serde_json::{Value, json};

use super::{Person, Server};

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn the_overview_says_what_runs_waits_and_failed_and_draws_what_was_done() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    browser.wait_for_text("No task is over yet.");
    browser.wait_for_text("Nothing runs.");
    let project = person.project(&server);
    let titled = |title: &str| json!({ "title": title });
    for number in 0..3 {
        person.task(&project, "sleep 0.2", titled(&format!("part {number}")));
    }
    person.task(&project, "exit 7", titled("breaks"));
    person.task(&project, "echo new > notes.txt", titled("writes"));
    let slow = person.task(&project, "sleep 600", titled("takes long"));
    let asking = json!({ "title": "asks first", "requires_approval": true });
    person.task(&project, "true", asking);

    // It is live: none of this was there when the page was opened.
    let sums = "Object.fromEntries([...document.querySelectorAll('.sums a')].map((a) => [a.querySelector('span').textContent, Number(a.querySelector('b').textContent)]))";
    browser.wait_for(&format!("((s) => s.Running === 1 && s.Queued === 0 && s['Waiting for you'] === 2 && s.Failed === 1 && s.Succeeded === 4)({sums})"));
    let panel = |title: &str| {
        let script = "return [...document.querySelectorAll('.panel')].find((p) => p.querySelector('h2').textContent === arguments[0]).innerText";
        browser.ask_with(script, &[json!(title)]).as_str().unwrap().to_owned()
    };
    assert!(panel("Running now").contains("takes long"));
    let waits = panel("Waits for you");
    assert!(waits.contains("asks first") && waits.contains("writes changed 1 created"), "{waits}");
    let failed = panel("Failed last");
    assert!(failed.contains("breaks") && failed.contains('7'), "why is said: {failed}");

    // Charts, which say in words what they show.
    browser.wait_for("document.querySelector('[aria-label=\"Outcomes: succeeded 4, failed 1\"]')");
    let finished = "return [...document.querySelectorAll('[aria-label^=\"Tasks finished by hour\"] title')].map((t) => t.textContent.match(/(\\d+) succeeded, (\\d+) failed/).slice(1).map(Number)).reduce((a, b) => [a[0] + b[0], a[1] + b[1]])";
    assert_eq!(browser.ask(finished), json!([4, 1]));
    let heights = "return [...document.querySelectorAll('[aria-label=\"Durations of 5 tasks\"] .bar-mark')].map((r) => Number(r.getAttribute('height')))";
    let heights = browser.ask(heights);
    let heights: Vec<f64> = heights.as_array().unwrap().iter().filter_map(Value::as_f64).collect();
    assert!(heights.len() == 5 && heights.iter().all(|height| *height > 0.0), "{heights:?}");
    assert!(
        heights.iter().any(|height| (height - 44.0).abs() < 0.1),
        "the longest fills it: {heights:?}"
    );

    // Who runs it all, and what the host can do.
    let runners = panel("Runners");
    assert!(runners.contains("online") && runners.contains("1 of "), "{runners}");
    assert!(runners.contains("confines by") && runners.contains("native"), "{runners}");
    assert!(runners.contains("checks"), "{runners}");
    assert!(!runners.contains("local"), "the bare host confines nothing: {runners}");
    let runner = person.api("GET", "/v1/runners", Value::Null)["items"][0].clone();
    person.visit(&format!("/runners/{}", runner["id"].as_str().unwrap()));
    let checks =
        browser.ask("return document.querySelectorAll('[aria-label=Checks] tbody tr').length");
    assert_eq!(checks.as_u64().unwrap(), runner["host"]["checks"].as_array().unwrap().len() as u64);
    assert!(panel("Runs now").contains("takes long"));

    // What is asked is answered where it stands.
    person.visit("/");
    browser.press("Approve");
    browser.click("//dialog//button[normalize-space()='Approve']");
    browser.wait_for(&format!("((s) => s['Waiting for you'] === 1 && s.Succeeded === 5)({sums})"));
    person.api("POST", &format!("/v1/tasks/{slow}/cancel"), Value::Null);
    browser.wait_for(&format!("({sums}).Running === 0"));
    person.leave();
}

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn a_task_shows_what_held_what_it_used_and_whether_the_record_is_whole() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    let project = person.project(&server);
    let task =
        person.succeeded(&project, "sleep 0.3; echo new > notes.txt", json!({ "timeout": "2m" }));
    browser.wait_for("document.querySelector('[aria-label=Receipt] tbody tr')");
    // Asked for, planned and in effect, side by side.
    let sides = browser.ask("return [...document.querySelectorAll('.sides h3')].map((h) => [h.textContent, Math.round(h.getBoundingClientRect().top)])");
    let sides = sides.as_array().unwrap();
    assert_eq!(
        sides.iter().map(|side| side[0].clone()).collect::<Vec<_>>(),
        ["Asked for", "Planned", "In effect, as read back"]
    );
    assert!(sides.iter().all(|side| side[1] == sides[0][1]), "{sides:?}");

    let held = browser.ask("return [...document.querySelectorAll('[aria-label=Receipt] tbody tr')].map((r) => [r.cells[0].innerText, r.cells[1].innerText.replace(/^\\W+/, '')])");
    let receipt = person.api("GET", &format!("/v1/tasks/{task}"), Value::Null)["receipt"].clone();
    let listed = receipt.as_array().or(receipt["receipt"].as_array()).unwrap();
    assert_eq!(held.as_array().unwrap().len(), listed.len(), "each guarantee: {held}");
    assert!(held.as_array().unwrap().iter().any(|one| one[1] == "enforced"), "{held}");

    // Use against limits, drawn.
    let time = "return [...document.querySelectorAll('.gauge svg')].find((g) => g.getAttribute('aria-label').startsWith('Time: ')).outerHTML";
    let time = browser.ask(time);
    let time = time.as_str().unwrap();
    assert!(time.contains("of 2m") && time.contains("share busy"), "{time}");
    assert!(!time.contains("below 1 ms"), "it slept: {time}");

    // From the request to the host, and whether the chain holds: asked for, and remembered.
    let links =
        browser.ask("return [...document.querySelectorAll('.proof b')].map((b) => b.textContent)");
    assert!(links.as_array().unwrap().contains(&json!("Asked for")), "{links}");
    browser.wait_for_text("not verified since you came");
    browser.press("Verify the chain");
    browser.wait_for_text("the chain holds");
    person.visit("/events");
    browser.wait_for_text("the chain holds");
    person.leave();
}
