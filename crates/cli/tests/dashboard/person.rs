//! Somebody at the page.

use cofferdam_testkit::Browser;
use serde_json::{Value, json};

use super::Server;

/// Keys that have no sign, as the browser is told of them.
pub(crate) const ENTER: &str = "\u{e007}";
pub(crate) const ESCAPE: &str = "\u{e00c}";

#[derive(Debug)]
pub(crate) struct Person {
    pub(crate) browser: Browser,
    url: String,
    token: String,
}

impl Person {
    /// At the door.
    pub(crate) fn arrive(server: &Server) -> Self {
        let browser = Browser::open(1280, 860);
        browser.go(&server.url);
        browser.wait_for("document.querySelector('#token')");
        Self { browser, url: server.url.clone(), token: server.token.clone() }
    }

    pub(crate) fn signed_in(server: &Server) -> Self {
        let person = Self::arrive(server);
        person.sign_in(&server.token);
        person
    }

    pub(crate) fn sign_in(&self, token: &str) {
        self.browser.fill("#token", token);
        self.browser.press("Sign in");
        self.browser.wait_for("document.querySelector('#live.good')");
    }

    /// To a page, by its address.
    pub(crate) fn visit(&self, path: &str) {
        // The page takes note of another address a moment later; only then can it say that it is busy.
        let script = "const [path, done] = arguments; if (location.hash === '#' + path) return done(); \
             addEventListener('hashchange', () => setTimeout(done), { once: true }); location.hash = path;";
        self.browser.ask_later(script, &[json!(path)]);
        self.browser.wait_for("document.querySelector('main:not([aria-busy]) h1')");
    }

    pub(crate) fn address(&self) -> String {
        self.browser.ask("return location.hash").as_str().unwrap().to_owned()
    }

    /// What the API says, asked from within the page. A no fails the test.
    #[track_caller]
    pub(crate) fn api(&self, method: &str, path: &str, body: Value) -> Value {
        let script = "const [method, url, token, body, done] = arguments;
             fetch(url, { method, headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }, body: body && JSON.stringify(body) })
               .then(async (a) => done([a.status, await a.json().catch(() => null)]), (e) => done([0, String(e)]));";
        let url = format!("{}{path}", self.url.trim_end_matches('/'));
        let answer =
            self.browser.ask_later(script, &[json!(method), json!(url), json!(self.token), body]);
        let status = answer[0].as_u64().unwrap();
        assert!((200..300).contains(&status), "{method} {path}: {answer}");
        answer[1].clone()
    }

    pub(crate) fn project(&self, server: &Server) -> String {
        let root = server.repository();
        let made = self.api("POST", "/v1/projects", json!({ "name": "demo", "root_path": root }));
        made["id"].as_str().unwrap().to_owned()
    }

    /// A task of that project that runs a line of shell in a worktree of its own.
    pub(crate) fn task(&self, project: &str, line: &str, more: Value) -> String {
        let mut asked = json!({ "project": project, "execution_mode": "isolated-worktree", "command": ["sh", "-c", line] });
        for (key, value) in more.as_object().into_iter().flatten() {
            asked[key] = value.clone();
        }
        self.api("POST", "/v1/tasks", asked)["id"].as_str().unwrap().to_owned()
    }

    /// The same, with its page open once it has succeeded.
    #[track_caller]
    pub(crate) fn succeeded(&self, project: &str, line: &str, more: Value) -> String {
        let task = self.task(project, line, more);
        self.visit(&format!("/tasks/{task}"));
        self.sees_state("succeeded");
        task
    }

    /// Waits until the page of the task shows it in that state.
    #[track_caller]
    pub(crate) fn sees_state(&self, state: &str) {
        self.browser.wait_for(&format!(
            "document.querySelector('h1 .badge')?.textContent.includes({state:?})"
        ));
    }

    /// Ends the visit: nothing may have happened on the way that must not.
    #[track_caller]
    pub(crate) fn leave(self) {
        self.browser.assert_clean();
    }
}
