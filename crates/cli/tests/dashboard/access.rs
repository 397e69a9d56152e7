//! Every page, light, dark and narrow: held to the rules of accessibility, and looked at.
//!
//! With `TEST_SCREENSHOTS` set to a directory the pictures are kept there; `cargo xtask screenshots` does that.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cofferdam_testkit::Scheme;
use serde_json::{Value, json};

use super::{Person, Server};

/// A picture that is larger shows too much, or nothing but noise.
const LARGEST: usize = 150_000;

const FORMS: [(&str, Scheme, (u32, u32)); 3] = [
    ("light", Scheme::Light, (1160, 720)),
    ("dark", Scheme::Dark, (1160, 720)),
    ("narrow", Scheme::Light, (390, 780)),
];

const BELOW: [(&str, &str, &str); 2] = [
    ("overview", "overview-charts", "[aria-label^='Tasks finished']"),
    ("task", "task-receipt", "[aria-label=Receipt]"),
];

/// A server with something of everything, and the addresses of its pages.
fn furnished(server: &Server, person: &Person) -> Vec<(&'static str, String)> {
    let project = person.project(server);
    let role = json!({ "name": "builder", "settings": { "sandbox.network": "none" }, "ceiling": {}, "overridable": [] });
    let role = person.api("POST", "/v1/roles", role);
    let titled = |title: &str| json!({ "title": title });
    let lines = "printf '\\033[32m   Compiling\\033[0m shop v0.4.1\\n\\033[32m    Finished\\033[0m in 2.31 s\\n'; echo 'warning: one field is never read' >&2; \
                 sed -i 's/port: 8080/port: 9090/; s/debug: false/debug: true/' app.yaml; mkdir src; printf 'pub fn read(text: &str) -> u64 {\\n    // Large values are common.\\n    text.len() as u64\\n}\\n' > src/lib.rs; echo 'all: build' > Makefile";
    let done = person.task(&project, lines, titled("Read values of any size"));
    let failed = person.task(
        &project,
        "echo 'test parser::reads ... FAILED' >&2; exit 101",
        titled("Update the schema"),
    );
    for number in 0..6 {
        person.task(
            &project,
            &format!("sleep 0.{number}; exit $(({number} / 5))"),
            titled(&format!("Check part {number}")),
        );
    }
    person.visit(&format!("/tasks/{failed}"));
    person.sees_state("failed");
    person.visit(&format!("/tasks/{done}"));
    person.sees_state("succeeded");
    let task = |line: &str| json!({ "execution_mode": "isolated-worktree", "command": ["sh", "-c", line] });
    let mut gate = task("make publish");
    gate["requires_approval"] = json!(true);
    let steps = json!([
        { "name": "fetch", "task": task("true") },
        { "name": "build", "depends_on": ["fetch"], "task": task("true") },
        { "name": "lint", "depends_on": ["fetch"], "task": task("exit 1") },
        { "name": "publish", "depends_on": ["build"], "task": gate },
        { "name": "tell", "depends_on": ["lint"], "when": "any_failed", "task": task("sleep 600") },
    ]);
    let template = person.api(
        "POST",
        "/v1/workflow-templates",
        json!({ "project": project, "name": "release", "steps": steps }),
    );
    let run = person.api(
        "POST",
        "/v1/workflow-runs",
        json!({ "template": template["id"], "title": "Release 0.4.1" }),
    );
    let id = |made: &Value| made["id"].as_str().unwrap().to_owned();
    person.visit(&format!("/workflows/{}", id(&run)));
    person.browser.wait_for("document.querySelector('.dag')?.textContent.includes('awaiting approval') && document.querySelector('.dag').textContent.includes('running')");
    let runner = person.api("GET", "/v1/runners", Value::Null)["items"][0].clone();
    vec![
        ("overview", "/".to_owned()),
        ("tasks", "/tasks".to_owned()),
        ("task", format!("/tasks/{done}")),
        ("task-failed", format!("/tasks/{failed}")),
        ("new-task", "/tasks/new".to_owned()),
        ("review", format!("/tasks/{done}/review?path=app.yaml")),
        ("approvals", "/approvals".to_owned()),
        ("workflows", "/workflows".to_owned()),
        ("workflow", format!("/workflows/{}", id(&run))),
        ("templates", "/templates".to_owned()),
        ("template", format!("/templates/{}", id(&template))),
        ("projects", "/projects".to_owned()),
        ("project", format!("/projects/{project}")),
        ("roles", "/roles".to_owned()),
        ("role", format!("/roles/{}", id(&role))),
        ("policy", format!("/policy?project={project}")),
        ("runners", "/runners".to_owned()),
        ("runner", format!("/runners/{}", id(&runner))),
        ("tokens", "/tokens".to_owned()),
        ("events", "/events?kind=workflow".to_owned()),
    ]
}

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn every_page_can_be_used_by_everybody_in_light_dark_and_narrow() {
    let axe = std::env::var("TEST_AXE")
        .expect("TEST_AXE names the script of axe-core: cargo xtask test fetches it");
    let axe = std::fs::read_to_string(axe).unwrap();
    let kept = std::env::var_os("TEST_SCREENSHOTS").map(PathBuf::from);
    let server = Server::start();
    let person = Person::arrive(&server);
    let browser = &person.browser;
    let mut found = Vec::new();
    for (form, scheme, size) in FORMS {
        person.looks_in(scheme, size);
        found.extend(judged(&person, &axe, &format!("login-{form}")));
        take(&person, kept.as_deref(), &format!("login-{form}"));
    }
    person.sign_in(&server.token);
    let pages = furnished(&server, &person);
    for (form, scheme, size) in FORMS {
        person.looks_in(scheme, size);
        for (name, address) in &pages {
            person.visit("/nowhere");
            person.visit(address);
            browser.wait_for("!document.body.innerText.includes('Loading…') && !document.querySelector('.log-box')?.innerText.includes('nothing')");
            let name = format!("{name}-{form}");
            found.extend(judged(&person, &axe, &name));
            take(&person, kept.as_deref(), &name);
            let wide = browser.ask("return document.documentElement.scrollWidth - innerWidth");
            assert!(wide.as_f64().unwrap() <= 0.0, "{name} is wider than the window by {wide}");
            // What lies below, of the two pages that have most there.
            for (page, more, place) in BELOW {
                if name == format!("{page}-{form}") {
                    let down = "document.querySelector(arguments[0]).closest('.panel').scrollIntoView(); scrollBy(0, -16)";
                    browser.ask_with(down, &[json!(place)]);
                    take(&person, kept.as_deref(), &format!("{more}-{form}"));
                }
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
    person.leave();
}

impl Person {
    /// The page hears of the wish a moment later: judged before, it would be half in one scheme.
    fn looks_in(&self, scheme: Scheme, (width, height): (u32, u32)) {
        self.browser.prefer(scheme);
        self.browser.resize(width, height);
        let taken = format!("document.documentElement.dataset.theme === '{}'", scheme.name());
        self.browser.wait_for(&taken);
    }
}

/// What axe-core finds serious or critical.
fn judged(person: &Person, axe: &str, page: &str) -> Vec<String> {
    // Scripts of the driver are not the page's: its policy does not hold for them.
    person.browser.ask(axe);
    let script = "const done = arguments[0]; axe.run(document, { resultTypes: ['violations'] }).then((r) => done(r.violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => v.id + ': ' + v.nodes.map((n) => n.html.slice(0, 120) + ' ' + n.any.map((a) => a.message).join()).join(' | '))), (e) => done([String(e)]));";
    let found = person.browser.ask_later(script, &[]);
    found
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{page}: {}", one.as_str().unwrap_or_default()))
        .collect()
}

fn take(person: &Person, kept: Option<&Path>, name: &str) {
    let picture = STANDARD.decode(person.browser.picture()).unwrap();
    assert!(picture.len() > 5_000 && picture.len() <= LARGEST, "{name}: {} bytes", picture.len());
    // What a runner's host is, is nobody's business but its owner's.
    if let Some(dir) = kept.filter(|_| !name.starts_with("runner")) {
        std::fs::write(dir.join(format!("{name}.png")), picture).unwrap();
    }
}
