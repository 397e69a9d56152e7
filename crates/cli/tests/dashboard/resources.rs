//! Projects, roles and templates, made and changed in forms.

use serde_json::{Value, json};

use super::{Person, Server};

/// What is said beside a control.
const SAID: &str = "const c = document.querySelector(arguments[0]); return document.getElementById(c.getAttribute('aria-describedby').split(' ')[0]).textContent";

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn a_project_is_changed_unless_somebody_was_faster() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    let project = person.project(&server);
    let path = format!("/v1/projects/{project}");
    let now = || person.api("GET", &path, Value::Null);
    person.visit(&format!("/projects/{project}"));
    browser.fill("[name=max_running]", "many");
    browser.press("Save");
    browser.wait_for("document.activeElement.name === 'max_running'");
    assert_eq!(browser.ask_with(SAID, &[json!("[name=max_running]")]), "This is not a number.");
    browser.fill("[name=max_running]", "3");
    browser.press("Save");
    browser.wait_for_text("Saved.");
    assert_eq!(now()["max_running"], 3);

    // What only the server knows stands beside the field as well.
    browser.fill("[name=root_path]", "/etc");
    browser.press("Save");
    browser.wait_for(
        "document.querySelector('[name=root_path]').getAttribute('aria-invalid') === 'true'",
    );
    assert_eq!(now()["root_path"].as_str(), server.root().to_str());

    // Somebody else, meanwhile.
    person.visit("/projects");
    person.visit(&format!("/projects/{project}"));
    let mut other = now();
    for key in ["id", "version", "created_at"] {
        other.as_object_mut().unwrap().remove(key);
    }
    other["max_running"] = json!(9);
    person.api("PUT", &path, other);
    browser.fill("[name=max_running]", "4");
    browser.press("Save");
    browser.wait_for_text("it was changed meanwhile");
    assert_eq!(now()["max_running"], 9);

    person.visit("/projects");
    person.visit(&format!("/projects/{project}"));
    browser.press("Remove");
    browser.click("//dialog//button[normalize-space()='Remove']");
    browser.wait_for("location.hash === '#/projects'");
    browser.wait_for_text("There is no project yet");
    assert!(server.root().join("app.yaml").exists(), "the directory is not touched");
    person.leave();
}

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn a_role_is_made_and_changed_and_its_rules_are_shown_with_where_they_come_from() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    let project = person.project(&server);
    browser.press("Roles");
    browser.wait_for_text("There is no role yet");
    browser.fill("[name=name]", "builder");
    browser.fill("[name=settings]", "sandbox.colour: green");
    browser.press("Make the role");
    browser.wait_for(
        "document.querySelector('[name=settings]').getAttribute('aria-invalid') === 'true'",
    );
    let said = browser.ask_with(SAID, &[json!("[name=settings]")]);
    assert!(said.as_str().unwrap().contains("sandbox.colour"), "{said}");
    browser.fill("[name=settings]", "sandbox.network: none");
    browser.press("Make the role");
    browser.wait_for_text("The role is made.");
    browser.wait_for("document.querySelector('h1')?.textContent === 'builder'");
    browser.fill("[name=settings]", "sandbox.network: none\nsandbox.timeout: 90s");
    browser.fill("[name=ceiling]", "memory_limit: 1g");
    browser.press("Save");
    browser.wait_for_text("Saved.");
    let role = person.api("GET", "/v1/roles", Value::Null)["items"][0].clone();
    assert_eq!(role["settings"], json!({ "sandbox.network": "none", "sandbox.timeout": "90s" }));
    assert_eq!(role["ceiling"], json!({ "memory_limit": "1g" }));

    // Which of all that holds, and why.
    person.visit(&format!("/policy?project={project}"));
    let rules = "return Object.fromEntries([...document.querySelectorAll('[aria-label=Rules] tbody tr')].map((r) => [r.cells[0].innerText, [r.cells[1].innerText, r.cells[2].innerText]]))";
    browser.wait_for("document.querySelectorAll('[aria-label=Rules] tbody tr').length > 20");
    let all = browser.ask(rules);
    assert_eq!(all["sandbox.backend"][0], "native", "{all}");
    let host = all["sandbox.backend"][1].as_str().unwrap();
    assert!(host.ends_with("config.yaml:2"), "the host's own file, and its line: {all}");
    assert_eq!(all["sandbox.timeout"][1], "built-in default", "{all}");
    assert_eq!(all["project.max_running"][1], "project demo", "{all}");
    browser.choose("[name=role]", "builder");
    browser.wait_for(
        "[...document.querySelectorAll('td')].some((d) => d.innerText === 'role builder')",
    );
    let all = browser.ask(rules);
    assert_eq!(all["sandbox.timeout"], json!(["90s", "role builder"]), "{all}");
    assert!(person.address().contains("role=builder"), "it can be linked to: {}", person.address());
    browser.keys("/timeout");
    browser.wait_for("document.querySelectorAll('[aria-label=Rules] tbody tr').length < 5");

    browser.press("Roles");
    browser.press("builder");
    browser.press("Remove");
    browser.click("//dialog//button[normalize-space()='Remove']");
    browser.wait_for_text("There is no role yet");
    person.leave();
}

#[test]
#[cfg_attr(not(feature = "test-browser"), ignore = "needs a browser: cargo xtask test")]
fn a_template_is_written_in_a_form_and_what_is_wrong_is_said_at_its_step() {
    let server = Server::start();
    let person = Person::signed_in(&server);
    let browser = &person.browser;
    person.project(&server);
    browser.press("Templates");
    let step =
        |number: usize, field: &str| format!("fieldset:nth-of-type({number}) [name={field:?}]");
    browser.fill("[name=name]", "release");
    // What is missing, before it is sent.
    browser.press("Make the template");
    browser.wait_for("document.activeElement.name === 'task.command'");
    assert_eq!(browser.ask_with(SAID, &[json!(step(1, "task.command"))]), "This is needed.");
    browser.fill(&step(1, "task.command"), "sh -c 'echo built'");
    browser.press("Add a step");
    browser.wait_for("document.activeElement.matches('fieldset:nth-of-type(2) [name=name]')");
    // It waits for the one before it, until somebody says otherwise.
    assert_eq!(
        browser.ask(
            "return document.querySelector('fieldset:nth-of-type(2) [name=depends_on]').value"
        ),
        "build"
    );
    browser.fill(&step(2, "name"), "publish");
    browser.fill(&step(2, "depends_on"), "build, sign");
    browser.fill(&step(2, "task.command"), "make publish");
    browser.click("//fieldset[2]//label[contains(., 'Ask for approval first')]");
    browser.wait_for("document.querySelectorAll('.dag .step').length === 2 && document.querySelectorAll('.dag .edge').length === 1");
    browser.press("Make the template");
    // The server's words, beside the field that they are about.
    browser.wait_for("document.querySelector('fieldset:nth-of-type(2) [name=depends_on]').getAttribute('aria-invalid') === 'true'");
    let said = browser.ask_with(SAID, &[json!(step(2, "depends_on"))]);
    assert!(said.as_str().unwrap().contains("sign"), "{said}");
    browser.fill(&step(2, "depends_on"), "build");
    browser.choose(&step(2, "when"), "these are over");
    browser.press("Make the template");
    browser.wait_for_text("The template is made.");
    let now = || person.api("GET", "/v1/workflow-templates", Value::Null)["items"][0].clone();
    let made = now();
    assert_eq!(made["steps"][0]["task"]["command"], json!(["sh", "-c", "echo built"]), "{made}");
    assert_eq!(made["steps"][1]["depends_on"], json!(["build"]), "{made}");
    assert_eq!(made["steps"][1]["when"], "always", "{made}");
    assert_eq!(made["steps"][1]["task"]["requires_approval"], true, "{made}");

    // Changed as text, for what the form has no field for, and back again.
    browser.wait_for("document.querySelector('h1')?.textContent === 'release'");
    browser.press("As text");
    let write = "const c = document.querySelector('[name=steps]'); const all = JSON.parse(c.value); all[0].task.timeout = '5m'; c.value = JSON.stringify(all); c.dispatchEvent(new Event('input', { bubbles: true }))";
    browser.ask(write);
    browser.press("As a form");
    browser.fill(&step(2, "name"), "ship");
    browser.click("//fieldset[1]//button[normalize-space()='Remove this step']");
    browser.wait_for("document.querySelectorAll('fieldset').length === 1");
    browser.press("Save");
    browser.wait_for(
        "document.querySelector('[name=depends_on]').getAttribute('aria-invalid') === 'true'",
    );
    browser.fill(&step(1, "depends_on"), "");
    browser.press("Add a step");
    browser.fill(&step(2, "name"), "tell");
    browser.choose(&step(2, "task.execution_mode"), "staged, in a container");
    browser.fill(&step(2, "task.sandbox.command"), "true");
    browser.press("Save");
    browser.wait_for_text("Saved.");
    let made = now();
    assert_eq!(made["steps"][0]["name"], "ship", "{made}");
    assert_eq!(made["steps"][1]["depends_on"], json!(["ship"]), "{made}");
    assert_eq!(made["steps"][1]["task"]["sandbox"]["command"], json!(["true"]), "{made}");
    assert_eq!(made["steps"].as_array().unwrap().len(), 2, "{made}");
    // What is no list of steps is said, and nothing is lost.
    browser.wait_for("document.querySelectorAll('fieldset').length === 2");
    browser.press("As text");
    browser.fill("[name=steps]", "{ \"not\": \"a list\" }");
    browser.press("As a form");
    browser.wait_for_text("These are not steps");
    person.leave();
}
