//! A real browser, headless, driven over WebDriver: Debian's `chromium` by its `chromedriver`.
//!
//! [`Browser`] goes to pages, clicks and types as a person does, asks by script, and takes pictures. From the first
//! moment of each page it listens for what must not happen: violations of the content security policy, errors, long
//! tasks. Its profile is a temporary directory, and it is gone with it.
//!
//! Not here: what the pages are. The driver speaks HTTP with JSON (`wire.rs`), of which this needs very little.

mod wire;

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::unprivileged::caller_is_root;
use crate::wait::wait_until;

/// How long a page may take to become what is waited for. Tests share their machine.
const PATIENCE: Duration = Duration::from_secs(45);

/// The name under which the protocol hands out elements.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// Put into every page before its own scripts.
const WITNESS: &str = "
    window.witness = { violations: [], errors: [], long: [] };
    addEventListener('securitypolicyviolation', (e) => witness.violations.push(e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sourceFile));
    addEventListener('error', (e) => witness.errors.push(String(e.message)));
    addEventListener('unhandledrejection', (e) => witness.errors.push('rejected: ' + String(e.reason)));
    new PerformanceObserver((list) => witness.long.push(...list.getEntries().map((e) => e.duration))).observe({ type: 'longtask', buffered: true });
";

const STILLNESS: (&str, &str) = ("prefers-reduced-motion", "reduce");

/// Which colours the system prefers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    Light,
    Dark,
}

impl Scheme {
    /// As style sheets and the page call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

#[derive(Debug)]
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    profile: TempDir,
}

impl Browser {
    /// Starts one with a window of this size.
    pub fn open(width: u32, height: u32) -> Self {
        let profile = tempfile::tempdir().expect("a temporary directory can be made");
        let mut driver = confined()
            .args(["chromedriver", "--port=0"])
            .env("TMPDIR", profile.path())
            .env("HOME", profile.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver can be started: cargo xtask test installs it");
        let said = BufReader::new(driver.stdout.take().expect("its output is a pipe")).lines();
        let port = said
            .map_while(Result::ok)
            .find_map(|line| {
                let (_, port) = line.split_once("successfully on port ")?;
                port.trim_end_matches('.').parse().ok()
            })
            .expect("chromedriver says its port");
        let options = json!({ "args": [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--force-color-profile=srgb", "--lang=en",
            format!("--window-size={width},{height}"), format!("--user-data-dir={}", profile.path().join("profile").display()),
        ] });
        let wanted =
            json!({ "goog:chromeOptions": options, "goog:loggingPrefs": { "browser": "ALL" } });
        let made = wire::ask(
            port,
            "POST",
            "/session",
            Some(&json!({ "capabilities": { "alwaysMatch": wanted } })),
        );
        let session = made["sessionId"].as_str().expect("a session has an id").to_owned();
        let browser = Self { driver, port, session, profile };
        browser.devtools("Page.addScriptToEvaluateOnNewDocument", json!({ "source": WITNESS }));
        let place = browser.downloads();
        std::fs::create_dir(&place).expect("a directory can be made in a new one");
        let kept = json!({ "behavior": "allow", "downloadPath": place });
        browser.devtools("Browser.setDownloadBehavior", kept);
        browser.resize(width, height);
        browser
    }

    /// Makes the page itself this large.
    pub fn resize(&self, width: u32, height: u32) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", size);
    }

    /// These colours, and nothing that moves: half-way from one scheme to the other a colour is neither's.
    pub fn prefer(&self, scheme: Scheme) {
        self.wish(&[("prefers-color-scheme", scheme.name()), STILLNESS]);
    }

    /// As somebody whom moving things make ill.
    pub fn prefer_stillness(&self) {
        self.wish(&[STILLNESS]);
    }

    /// What was wished for before is forgotten.
    fn wish(&self, features: &[(&str, &str)]) {
        let named = |(name, value): &(&str, &str)| json!({ "name": name, "value": value });
        let features: Vec<_> = features.iter().map(named).collect();
        self.devtools("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// A file that the page gave its user; waits until it is there.
    #[track_caller]
    pub fn downloaded(&self, name: &str) -> Vec<u8> {
        let file = self.downloads().join(name);
        // Until it is whole its bytes have another name, and this one may be taken by nothing.
        let is_whole = || std::fs::metadata(&file).is_ok_and(|found| found.len() > 0);
        assert!(wait_until(PATIENCE, is_whole), "{name} never came");
        std::fs::read(file).expect("a file that is there can be read")
    }

    fn downloads(&self) -> PathBuf {
        self.profile.path().join("downloads")
    }

    pub fn go(&self, url: &str) {
        self.post("/url", json!({ "url": url }));
    }

    pub fn back(&self) {
        self.post("/back", json!({}));
    }

    /// What a function with this body returns.
    pub fn ask(&self, body: &str) -> Value {
        self.ask_with(body, &[])
    }

    /// The same, with `arguments`.
    pub fn ask_with(&self, body: &str, arguments: &[Value]) -> Value {
        self.post("/execute/sync", json!({ "script": body, "args": arguments }))
    }

    /// The same of a function that calls its last argument when it is done.
    pub fn ask_later(&self, body: &str, arguments: &[Value]) -> Value {
        self.post("/execute/async", json!({ "script": body, "args": arguments }))
    }

    /// The text that a reader of the page sees.
    pub fn text(&self) -> String {
        self.ask("return document.body.innerText").as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the expression holds.
    #[track_caller]
    pub fn wait_for(&self, expression: &str) {
        let body = format!("return Boolean({expression})");
        let came = wait_until(PATIENCE, || self.ask(&body) == true);
        assert!(
            came,
            "never came true: {expression}\nthe page: {}\n{:?}",
            self.text(),
            self.console()
        );
    }

    /// Waits until the page says so.
    #[track_caller]
    pub fn wait_for_text(&self, text: &str) {
        let came = wait_until(PATIENCE, || self.text().contains(text));
        assert!(came, "never said: {text:?}\nthe page: {}\n{:?}", self.text(), self.console());
    }

    /// Clicks, as a person does, on the first element that the XPath names and that can be seen.
    #[track_caller]
    pub fn click(&self, xpath: &str) {
        let mut said = Value::Null;
        let clicked = wait_until(PATIENCE, || {
            let path = format!("/session/{}/element/{}/click", self.session, self.element(xpath));
            said = wire::try_ask(self.port, "POST", &path, Some(&json!({})));
            // A page that is live may have drawn it anew, or put a note over it, between the look and the click.
            said["error"] != "stale element reference"
                && said["error"] != "element click intercepted"
        });
        assert!(clicked && said["error"].is_null(), "{xpath}: {said:#}");
    }

    /// Clicks on the button, link or label with these words.
    #[track_caller]
    pub fn press(&self, words: &str) {
        self.click(&format!("//*[self::button or self::a or self::label or self::summary][normalize-space()={words:?}]"));
    }

    /// Types into a control, in the place of what stands in it.
    #[track_caller]
    pub fn fill(&self, css: &str, text: &str) {
        self.wait_for(&format!("document.querySelector({css:?})"));
        let script = "const c = document.querySelector(arguments[0]); c.value = ''; c.focus(); c.scrollIntoView({ block: 'center' });";
        self.ask_with(script, &[json!(css)]);
        let found = self.post("/element", json!({ "using": "css selector", "value": css }));
        let element = found[ELEMENT].as_str().expect("an element has a name");
        self.post(&format!("/element/{element}/value"), json!({ "text": text }));
    }

    /// Chooses an option of a list by its label.
    #[track_caller]
    pub fn choose(&self, css: &str, label: &str) {
        self.wait_for(&format!("document.querySelector({css:?})"));
        let script = "const c = document.querySelector(arguments[0]); const o = [...c.options].find((o) => o.textContent === arguments[1]);
             if (!o) return [...c.options].map((o) => o.textContent).join(); c.value = o.value; c.dispatchEvent(new Event('change', { bubbles: true })); return null;";
        let others = self.ask_with(script, &[json!(css), json!(label)]);
        assert!(others.is_null(), "{css} has no {label:?} but {others}");
    }

    /// Presses keys, one after the other, wherever the focus is.
    pub fn keys(&self, keys: &str) {
        let strokes: Vec<Value> = keys
            .chars()
            .flat_map(|key| {
                [
                    json!({ "type": "keyDown", "value": key }),
                    json!({ "type": "keyUp", "value": key }),
                ]
            })
            .collect();
        self.post(
            "/actions",
            json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": strokes }] }),
        );
    }

    /// What the page looks like, as PNG in base64.
    pub fn picture(&self) -> String {
        self.get("/screenshot").as_str().unwrap_or_default().to_owned()
    }

    /// What the page wrote to its console since this was asked last, but for answers of the server that say no and
    /// servers that are not there: those are news, not mistakes.
    pub fn console(&self) -> Vec<String> {
        let lines = self.post("/se/log", json!({ "type": "browser" }));
        let lines = lines.as_array().into_iter().flatten();
        let own = lines.filter(|line| line["source"] != "network" && line["level"] != "DEBUG");
        own.map(|line| format!("{} {}", line["level"], line["message"])).collect()
    }

    /// Fails if anything happened that must not, since the page was loaded.
    #[track_caller]
    pub fn assert_clean(&self) {
        let seen = self.ask("return [witness.violations, witness.errors]");
        assert_eq!(seen, json!([[], []]), "violations of the policy, and errors");
        assert_eq!(self.console(), Vec::<String>::new(), "the console");
    }

    #[track_caller]
    fn element(&self, xpath: &str) -> String {
        let script = "const found = document.evaluate(arguments[0], document, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE, null);
             for (let i = 0; i < found.snapshotLength; i++) { const node = found.snapshotItem(i); if (node.checkVisibility?.() ?? true) { node.scrollIntoView?.({ block: 'center' }); return node; } } return null;";
        let mut found = Value::Null;
        let came = wait_until(PATIENCE, || {
            found = self.ask_with(script, &[json!(xpath)]);
            !found.is_null()
        });
        assert!(came, "nothing to be seen is {xpath}\nthe page: {}", self.text());
        found[ELEMENT].as_str().expect("an element has a name").to_owned()
    }

    fn devtools(&self, command: &str, params: Value) -> Value {
        self.post("/goog/cdp/execute", json!({ "cmd": command, "params": params }))
    }

    fn post(&self, path: &str, body: Value) -> Value {
        wire::ask(self.port, "POST", &format!("/session/{}{path}", self.session), Some(&body))
    }

    fn get(&self, path: &str) -> Value {
        wire::ask(self.port, "GET", &format!("/session/{}{path}", self.session), None)
    }
}

/// What is started behind this is gone with all its children when whoever starts it is: a driver that is killed
/// leaves its browser behind, unless the kernel sees to it.
fn confined() -> Command {
    let mut command = Command::new("setpriv");
    command.args([
        "--pdeathsig",
        "KILL",
        "unshare",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ]);
    if !caller_is_root() {
        command.args(["--user", "--map-current-user"]);
    }
    command
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser ends with its session; without it, with its driver.
        if !std::thread::panicking() {
            wire::ask(self.port, "DELETE", &format!("/session/{}", self.session), None);
        }
        self.driver.kill().ok();
        self.driver.wait().ok();
    }
}
