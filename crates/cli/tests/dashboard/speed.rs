//! How heavy and how fast the page is, measured in the browser.

use std::fs::OpenOptions;
use std::io::Write as _;

use serde_json::{Value, json};

use super::{Person, Server};

/// Files that a task makes: many, and few in each directory.
const MANY: &str = "for d in $(seq 1 100); do mkdir -p d$d; for f in $(seq 1 50); do echo $d > d$d/f$f.txt; done; done";

/// Keeps a figure for `cargo xtask bench dashboard`, which names the file in `TEST_FIGURES`.
fn note(what: &str, figure: &str) {
    let Some(file) = std::env::var_os("TEST_FIGURES") else { return };
    let mut file = OpenOptions::new().append(true).create(true).open(file).unwrap();
    writeln!(file, "{what}\t{figure}").unwrap();
}

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn the_page_is_light_and_there_at_once() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let weigh = "return performance.getEntriesByType('resource').filter((e) => e.name.includes('/ui/') && !e.name.endsWith('.svg')).reduce((s, e) => s + e.decodedBodySize, 0) + performance.getEntriesByType('navigation')[0].decodedBodySize";
    let weight = person.browser.ask(weigh).as_f64().unwrap();
    assert!((50_000.0..=150_000.0).contains(&weight), "{weight} bytes");
    let elsewhere = "return performance.getEntriesByType('resource').map((e) => e.name).filter((n) => !n.startsWith(location.origin))";
    assert_eq!(person.browser.ask(elsewhere), json!([]));
    // The best of some: the machine has other things to do, the page has not.
    let first = (0..5).map(|_| {
        person.browser.go(&server.url);
        person.browser.wait_for("document.querySelector('#token') && performance.getEntriesByName('first-contentful-paint').length");
        person.browser.ask("return performance.getEntriesByName('first-contentful-paint')[0].startTime").as_f64().unwrap()
    });
    let first = first.fold(f64::INFINITY, f64::min);
    note("weight of the page, without images", &format!("{weight:.0} bytes"));
    note("first view", &format!("{first:.0} ms"));
    assert!(first < 300.0, "first view after {first} ms");
    person.leave();
}

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn five_thousand_files_scroll_without_long_tasks() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    let project = person.project(&server);
    let task = person.succeeded(&project, MANY, Value::Null);
    person.visit(&format!("/tasks/{task}/review"));
    browser.wait_for("document.querySelector('.tree-row')");
    let height = browser
        .ask("return parseInt(document.querySelector('.tree-sheet').style.height)")
        .as_u64()
        .unwrap();
    assert_eq!(height, (5000 + 100) * 30, "every file has its row");
    let nodes =
        browser.ask("return document.querySelectorAll('.tree-row').length").as_u64().unwrap();
    assert!(nodes < 100, "{nodes} rows have nodes");
    // The best of some passes: what the machine does beside it is not the page's.
    let scroll = "const done = arguments[0]; const tree = document.querySelector('.tree'); tree.scrollTop = 0; witness.long.length = 0; let steps = 0;
         (function step() { tree.scrollTop += 500; if (++steps < 300) requestAnimationFrame(step); else setTimeout(() => done([Math.max(0, ...witness.long), tree.scrollTop]), 200); })();";
    let mut longest = f64::INFINITY;
    for pass in 1..=10 {
        let seen = browser.ask_later(scroll, &[]);
        assert!(seen[1].as_f64().unwrap() > 100_000.0, "{seen}");
        longest = longest.min(seen[0].as_f64().unwrap());
        if pass >= 3 && longest <= 100.0 {
            break;
        }
    }
    // The browser tells of tasks from 50 ms on.
    let said = if longest == 0.0 { "below 50 ms".to_owned() } else { format!("{longest:.0} ms") };
    note("longest task while 5,000 files are scrolled through", &said);
    assert!(longest <= 100.0, "{longest} ms");
    // And to its end, by a key, with the difference of what is there.
    browser.ask("document.querySelector('.tree').focus()");
    browser.keys("\u{e010}");
    browser.wait_for("document.querySelector('.diff-head').textContent.startsWith('d99/f') && document.querySelector('.diff')");
    person.leave();
}
