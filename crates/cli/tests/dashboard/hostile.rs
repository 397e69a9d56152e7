//! Names, contents and output that want to be more than text.

use serde_json::{Value, json};

use super::{Person, Server};

/// What a hostile program writes. `$'…'` is no word of `sh`, so Python makes the names.
const PROGRAM: &str = r#"
import os, sys
os.makedirs("<img src=x onerror=pwned()>", exist_ok=True)
names = ["<script>pwned()</script>", "<img src=x onerror=pwned()>/a", "evil\u202egnp.exe", "tab\there", "esc\x1b[31m", "x" * 251 + ".txt", "\"'><svg onload=pwned()>"]
for name in names:
    if name.count("/") > 1: continue
    with open(name.replace("</", "<\u2215"), "w") as f:
        f.write("<script>pwned()</script>\n\x1b]0;title\x07\u202etxet\n<img src=x onerror=pwned()>\n")
with open(b"not-utf8-\xff\xfe", "w") as f: f.write("x")
sys.stdout.write("<script>pwned()</script>\n\x1b[31mred\x1b[0m \x1b]8;;javascript:pwned()\x07link\x1b]8;;\x07 \x1b[8mhidden\x1b[0m \u202eodd\n")
"#;

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn a_hostile_change_set_stays_inert() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    let project = person.project(&server);
    let title = "<script>pwned()</script><img src=x onerror=pwned()>\u{202e}";
    let asked = json!({ "project": project, "execution_mode": "isolated-worktree", "title": title, "command": ["python3", "-c", PROGRAM] });
    let task = person.api("POST", "/v1/tasks", asked)["id"].as_str().unwrap().to_owned();
    browser.ask("window.pwned = () => (window.wasPwned = true)");
    person.visit(&format!("/tasks/{task}"));
    person.sees_state("succeeded");
    browser.wait_for("document.querySelector('.log').textContent.includes('hidden')");
    let log = browser.ask("return document.querySelector('.log').textContent");
    let log = log.as_str().unwrap();
    assert!(log.contains("<script>pwned()</script>") && log.contains("\\u{202e}odd"), "{log}");
    assert!(
        !log.contains('\u{1b}') && !log.contains('\u{202e}') && !log.contains('\u{7}'),
        "{log}"
    );
    // A colour is shown as one; a concealed word and a link are not.
    assert_eq!(browser.ask("return document.querySelector('.log .c1').textContent"), "red");
    assert_eq!(browser.ask("return document.querySelectorAll('.log a').length"), 0);

    person.visit(&format!("/tasks/{task}/review"));
    browser.wait_for("document.querySelectorAll('[role=treeitem]').length > 5");
    let names = browser.ask(
        "return [...document.querySelectorAll('[role=treeitem] .path')].map((n) => n.textContent)",
    );
    let names: Vec<&str> = names.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let is_there = |wanted: &str| names.iter().any(|name| name.contains(wanted));
    assert!(
        is_there("<img src=x onerror=pwned()>")
            && is_there("evil\\u{202e}gnp.exe")
            && is_there("esc\\x1b[31m"),
        "{names:?}"
    );
    assert!(names.iter().any(|name| name.len() == 255), "{names:?}");
    // Each is opened, in both forms.
    let rows =
        browser.ask("return document.querySelectorAll('[role=treeitem]').length").as_u64().unwrap();
    for form in ["s", "s"] {
        browser.keys(form);
        for _ in 0..rows {
            browser.keys("k");
        }
        for _ in 0..rows {
            browser.keys("j");
            browser
                .wait_for("!document.querySelector('.diff-place').textContent.includes('Loading')");
        }
    }
    assert!(browser.text().contains("<script>pwned()</script>"), "{}", browser.text());
    // Nothing of it has become part of the page.
    let found = browser.ask("return [window.wasPwned ?? null, document.scripts.length, document.querySelectorAll('main img, main script, main iframe, main [onerror], main [onload]').length, document.body.innerText.includes('\\u202e')]");
    assert_eq!(found, json!([null, 1, 0, false]));
    for page in ["/tasks", "/"] {
        person.visit(page);
        browser.wait_for_text("<script>pwned()</script>");
    }
    person.visit("/events");
    browser.wait_for_text("task.created");
    assert_eq!(
        browser.ask("return [window.wasPwned ?? null, document.scripts.length]"),
        json!([null, 1])
    );
    person.leave();
}
