//! How much is found of what should be, and how much of what is found should have been.

use std::collections::BTreeSet;

use cofferdam_core::check::{Levels, Profile};
use cofferdam_sandbox::check::{InlineAllow, Lang, Source, Validator};

/// A snippet, and the rules that must speak of it.
struct Snippet {
    line: usize,
    rules: BTreeSet<String>,
    /// Rules that are known not to speak of it, though they should.
    misses: BTreeSet<String>,
    code: String,
}

fn snippets(text: &str) -> Vec<Snippet> {
    let mut all: Vec<Snippet> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if let Some(label) = line.strip_prefix("== ") {
            let names = |from: &str| from.split_whitespace().map(str::to_owned).collect();
            let (rules, misses) = match label.strip_prefix("miss ") {
                Some(misses) => (BTreeSet::new(), names(misses)),
                None if label == "ok" => (BTreeSet::new(), BTreeSet::new()),
                None => (names(label), BTreeSet::new()),
            };
            all.push(Snippet { line: at + 1, rules, misses, code: String::new() });
        } else if let Some(snippet) = all.last_mut() {
            snippet.code.push_str(line);
            snippet.code.push('\n');
        }
    }
    all
}

/// Looks at all snippets of a file, prints the figures and holds them to what they were when this was written.
#[track_caller]
#[expect(clippy::print_stdout, reason = "the figures are for people to read")]
fn measure(name: &str, text: &str, lang: Lang, at_least: usize) {
    let validator = Validator::new(Levels::of_profile(Profile::Agent), InlineAllow::Refused);
    let all = snippets(text);
    assert!(all.len() >= at_least, "{name} has only {} snippets", all.len());
    let (mut right, mut wrong, mut missed, mut known) = (0_usize, 0_usize, 0_usize, 0_usize);
    let mut problems = Vec::new();
    for snippet in &all {
        let source = Source { name, lang, bytes: snippet.code.as_bytes() };
        let report = validator.check(source).expect("the built-in rules load");
        let found: BTreeSet<String> =
            report.findings.into_iter().map(|finding| finding.rule).collect();
        right += found.intersection(&snippet.rules).count();
        known += snippet.misses.difference(&found).count();
        let extra: Vec<_> = found.difference(&snippet.rules).collect();
        let lacking: Vec<_> = snippet.rules.difference(&found).collect();
        let no_longer: Vec<_> = snippet.misses.intersection(&found).collect();
        wrong += extra.len();
        missed += lacking.len();
        if !extra.is_empty() || !lacking.is_empty() || !no_longer.is_empty() {
            problems.push(format!(
                "{name}.txt:{}: not to be found {extra:?}, not found {lacking:?}, a miss no more {no_longer:?}\n{}",
                snippet.line, snippet.code
            ));
        }
    }
    let part = |of: usize, all: usize| 100.0 * of as f64 / all.max(1) as f64;
    println!(
        "{name}: {} snippets, precision {:.1} %, recall {:.1} %, with known misses {:.1} %",
        all.len(),
        part(right, right + wrong),
        part(right, right + missed),
        part(right, right + missed + known)
    );
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    // What is known to be missed is part of the figure too.
    assert!(part(right, right + known) >= 95.0, "{known} of {} are missed", right + known);
}

#[test]
fn python() {
    measure("python", include_str!("python.txt"), Lang::Python, 150);
}

#[test]
fn shell() {
    measure("shell", include_str!("shell.txt"), Lang::Shell, 150);
}

#[test]
fn script() {
    measure("script", include_str!("script.txt"), Lang::JavaScript, 150);
}

#[test]
fn typescript() {
    measure("typescript", include_str!("typescript.txt"), Lang::TypeScript, 15);
}

/// JavaScript is TypeScript too, so its grammar must find the same.
#[test]
fn script_as_typescript() {
    let only: String = include_str!("script.txt").to_owned();
    measure("script", &only, Lang::TypeScript, 150);
}
