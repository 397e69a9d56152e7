//! The documents, held against the sources: whatever the program names when it says no has an entry in
//! `docs/troubleshooting.md`, and whatever the README claims leads to a promise that names its tests.
//!
//! Names are read out of the sources where they are written down. A way of writing them that is not known here
//! would be missed, so each kind has a least number that must be found.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

#[test]
fn whatever_says_no_has_an_entry_in_troubleshooting() {
    let page = read("docs/troubleshooting.md");
    let kinds = [
        ("rule", rules(&read("crates/core/src/refusal.rs")), 17),
        ("check of doctor", checks(), 31),
        ("outcome class", variants(&read("crates/core/src/outcome.rs"), "OutcomeClass", '_'), 7),
        ("exit code", exit_codes(&read("crates/core/src/outcome.rs")), 6),
        ("problem of the server", problems(), 30),
    ];
    for (kind, names, least) in kinds {
        assert!(names.len() >= least, "only {} names of a {kind}: {names:?}", names.len());
        let missing: Vec<_> = names.iter().filter(|name| !has_entry(&page, name)).collect();
        assert!(
            missing.is_empty(),
            "docs/troubleshooting.md has no entry for the {kind} {missing:?}"
        );
    }
}

/// As code at the beginning of a table's row, alone or with others.
fn has_entry(page: &str, name: &str) -> bool {
    let cells = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    cells.into_iter().any(|cell| cell.split(", ").any(|word| word == format!("`{name}`")))
}

fn rules(source: &str) -> BTreeSet<String> {
    variants(source, "Rule", '-')
}

/// Variants of an enum without fields, by the names that serde gives them.
fn variants(source: &str, name: &str, between: char) -> BTreeSet<String> {
    let (_, rest) = source.split_once(&format!("pub enum {name} {{\n")).expect("the enum");
    let (body, _) = rest.split_once("\n}").expect("its end");
    let lines = body.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    let words = lines.filter_map(|line| line.strip_suffix(','));
    words.map(|word| kebab(word, between)).collect()
}

fn kebab(word: &str, between: char) -> String {
    let mut text = String::new();
    for letter in word.chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push(between);
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

fn exit_codes(source: &str) -> BTreeSet<String> {
    let (_, module) = source.split_once("pub mod exit_code {").expect("the exit codes");
    let (module, _) = module.split_once("\n}").expect("its end");
    let codes =
        module.lines().filter_map(|line| line.trim().strip_suffix(';')?.split_once(": u8 = "));
    codes.map(|(_, code)| code.to_owned()).collect()
}

fn checks() -> BTreeSet<String> {
    let sources = sources_in(&root().join("crates/sandbox/src/doctor"));
    let names = sources.iter().flat_map(|text| first_literals(text, "Question::new("));
    names.filter(|name| name != "a.b").collect()
}

fn problems() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for text in sources_in(&root().join("crates/server/src/http")) {
        for call in ["Refused::new(", "Self::new(StatusCode", "refused(StatusCode"] {
            names.extend(first_literals(&text, call));
        }
    }
    // What a runner answers is passed on as it is.
    for text in sources_in(&root().join("crates/server/src/runner")) {
        names.extend(first_literals(&text, "problem("));
    }
    let plane = read("crates/server/src/plane/error.rs");
    let (_, body) = plane.split_once("fn problem").expect("the problems of the plane");
    names.extend(first_literals(body, "("));
    let word = |name: &String| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
    names.retain(|name| word(name) && name != "-");
    names
}

/// The first string within each call, where one comes before any bracket closes.
fn first_literals(text: &str, call: &str) -> Vec<String> {
    let calls = text.split(call).skip(1);
    calls
        .filter_map(|rest| rest.split([')', '{']).next()?.split('"').nth(1))
        .map(str::to_owned)
        .collect()
}

fn sources_in(dir: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display())) {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            texts.extend(sources_in(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).expect("a source can be read");
            // Tests say no to things that do not exist.
            texts.push(text.split("#[cfg(test)]").next().unwrap_or_default().to_owned());
        }
    }
    texts
}

#[test]
fn claims_of_the_readme_lead_to_promises_and_promises_to_tests() {
    let (readme, specification) = (read("README.md"), read("SPECIFICATION.md"));
    let promises = promises(&specification);
    assert!(promises.len() >= 10, "{promises:?}");
    for (number, anchor, body) in &promises {
        let proven = body.contains(".rs::");
        assert!(proven, "{number} names no test that proves it");
        let link = format!("[{number}](SPECIFICATION.md#{anchor})");
        assert!(readme.contains(&link), "the README does not speak of {number}: {link}");
    }
    for claim in claims(&readme) {
        let known = promises.iter().any(|(number, anchor, _)| {
            claim.contains(&format!("[{number}](SPECIFICATION.md#{anchor})"))
        });
        assert!(known, "a claim of the README leads to no promise: {claim}");
    }
}

/// Number, anchor and text of each promise.
fn promises(specification: &str) -> Vec<(String, String, String)> {
    let sections = specification.split("\n### P").skip(1);
    let parts = sections.map(|section| {
        let (title, body) = section.split_once('\n').unwrap_or((section, ""));
        let title = format!("P{title}");
        let number = title.split(':').next().unwrap_or_default().to_owned();
        let kept = |c: &char| c.is_alphanumeric() || *c == ' ' || *c == '-';
        let anchor =
            title.to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-");
        (number, anchor, body.split("\n## ").next().unwrap_or_default().to_owned())
    });
    parts.collect()
}

/// What the README claims: every sentence of its opening after the first, which says what it is, and every point of
/// `What it promises`.
fn claims(readme: &str) -> Vec<String> {
    let opening = readme.split("\n\n").nth(1).unwrap_or_default().replace('\n', " ");
    let sentences = opening.split(". ").skip(1).map(str::to_owned);
    let (_, section) = readme.split_once("## What it promises\n").expect("what it promises");
    let section = section.split("\n## ").next().unwrap_or_default();
    let points = section.split("\n- ").skip(1).map(|point| point.replace('\n', " "));
    let claims: Vec<String> = sentences.chain(points).collect();
    assert!(claims.len() >= 12, "{claims:?}");
    claims
}

#[test]
fn names_are_found_as_they_are_written() {
    let source = "pub enum Rule {\n    /// Why.\n    ValueForm,\n    Ceiling,\n}";
    assert_eq!(rules(source), BTreeSet::from(["value-form".to_owned(), "ceiling".to_owned()]));
    let text =
        "Refused::new(\n  StatusCode::X,\n  \"too-slow\",\n  1) Refused::new(status, name) \"no\"";
    assert_eq!(first_literals(text, "Refused::new("), ["too-slow"]);
    let page = "text `a`\n| `b`, `c.d` | what |\n| e `f` | what |\n";
    let found: Vec<bool> =
        ["a", "b", "c.d", "f"].iter().map(|name| has_entry(page, name)).collect();
    assert_eq!(found, [false, true, true, false]);
    let readme = "# C\n\nIt runs. It holds.\n\n## What it promises\n\nWords.\n\n- one\n  more\n- two\n\n## Next\n- no";
    assert!(std::panic::catch_unwind(|| claims(readme)).is_err(), "three claims are too few");
}
