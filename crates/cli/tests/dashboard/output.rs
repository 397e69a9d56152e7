//! What a task wrote: searched, and had as it was written.

use serde_json::{Value, json};

use super::person::ENTER;
use super::{Person, Server};

const LINE: &str = "for n in $(seq 1 300); do echo \"line $n\"; done; printf '\\033[31mneedle\\033[0m one\\n'; \
    echo 'Needle two' >&2; printf 'a\\tb \\342\\202\\254 no end'";

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn output_is_searched_and_downloaded_byte_by_byte() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    let project = person.project(&server);
    let task = person.succeeded(&project, LINE, Value::Null);
    browser.wait_for("document.querySelector('.log-box').innerText.includes('complete')");

    // It was followed to its end, and is no longer once somebody looks for something.
    let is_at_end = "const l = document.querySelector('.log'); return l.scrollTop + l.clientHeight >= l.scrollHeight - 4";
    assert_eq!(browser.ask(is_at_end), true);
    browser.keys("/");
    assert_eq!(browser.ask("return document.activeElement.placeholder"), "search in the output");
    browser.keys("needle");
    browser.wait_for("document.querySelector('.log-box .number').textContent === '2 lines'");
    browser.keys(ENTER);
    browser.wait_for("document.querySelector('.log-box .number').textContent === '1 of 2 lines'");
    browser.keys(ENTER);
    let at = "return document.querySelector('.at-hit').textContent";
    assert_eq!(browser.ask("return document.querySelectorAll('.at-hit').length"), 1);
    let both = [browser.ask(at), {
        browser.keys(ENTER);
        browser.ask(at)
    }];
    assert!(both.contains(&json!("needle one")) && both.contains(&json!("Needle two")), "{both:?}");
    assert_eq!(
        browser.ask("return document.querySelector('.log-box input[type=checkbox]').checked"),
        false
    );

    browser.fill(".log-box input[type=search]", "nowhere");
    browser.wait_for("document.querySelector('.log-box .number').textContent === '0 lines'");
    assert_eq!(browser.ask("return document.querySelectorAll('.hit').length"), 0);

    browser.press("Download");
    let kept = String::from_utf8(browser.downloaded(&format!("task-{task}-1.log"))).unwrap();
    let lines: String = (1..=300).map(|number| format!("line {number}\n")).collect();
    // Only within a stream is there an order to be kept.
    assert_eq!(kept.matches("Needle two\n").count(), 1, "{kept}");
    let stdout = kept.replacen("Needle two\n", "", 1);
    assert_eq!(stdout, format!("{lines}\u{1b}[31mneedle\u{1b}[0m one\na\tb € no end"));
    person.leave();
}
