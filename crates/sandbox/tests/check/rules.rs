//! Rules of users, levels, profiles and comments that silence.

use cofferdam_core::check::{Level, Levels, Profile};
use cofferdam_sandbox::check::{InlineAllow, Lang, Source, Validator};

const RULE: &str = r#"
id: mine/print
language: python
severity: warning
message: It prints.
note: Our programs log instead.
rule:
  pattern: print($$$)
metadata:
  examples:
    matches: ["print(1)"]
    passes: ["log(1)"]
"#;

fn found(validator: &Validator, code: &str) -> Vec<(String, Level)> {
    let source = Source { name: "x.py", lang: Lang::Python, bytes: code.as_bytes() };
    let report = validator.check(source).expect("the built-in rules load");
    report.findings.into_iter().map(|finding| (finding.rule, finding.level)).collect()
}

fn validator(profile: Profile) -> Validator {
    Validator::new(Levels::of_profile(profile), InlineAllow::Refused)
}

fn refused(text: &str) -> String {
    validator(Profile::Agent)
        .add_rule_text("mine.yml", text)
        .expect_err("it is refused")
        .to_string()
}

#[test]
fn a_rule_of_a_user_counts() {
    let mut validator = validator(Profile::Agent);
    validator.add_rule_text("mine.yml", RULE).expect("it is a rule");
    assert_eq!(found(&validator, "print(1)\n"), [("mine/print".to_owned(), Level::Warn)]);
    assert_eq!(found(&validator, "log(1)\n"), []);
    assert!(
        validator
            .rules()
            .expect("the built-in rules load")
            .iter()
            .any(|rule| rule.id == "mine/print")
    );
}

#[test]
fn a_rule_proves_itself() {
    assert!(
        refused(&RULE.replace("[\"print(1)\"]", "[\"log(1)\"]"))
            .contains("does not match its example")
    );
    assert!(refused(&RULE.replace("[\"log(1)\"]", "[\"print(2)\"]")).contains("lets pass"));
    assert!(
        refused(&RULE.replace("    passes: [\"log(1)\"]\n", ""))
            .contains("metadata.examples.passes")
    );
    assert!(refused(&RULE.replace("note: Our programs log instead.\n", "")).contains("note"));
    assert!(refused(&RULE.replace("severity: warning\n", "")).contains("severity"));
    assert!(refused(&RULE.replace("id: mine/print", "id: 'a b'")).contains("id"));
    assert!(refused(&RULE.replace("language: python", "language: cobol")).contains("cobol"));
    assert!(refused(&format!("{RULE}surprise: 1\n")).contains("surprise"));
    assert!(refused(&format!("{RULE}fix: log($$$)\n")).contains("fix"));
    assert!(refused("just a text").contains("not a rule"));
    assert!(refused(&RULE.replace("print($$$)", "((")).contains("mine/print"));
}

#[test]
fn resolved_rules_follow_names() {
    let rule = RULE
        .replace("print($$$)", "mylib.send")
        .replace("metadata:\n", "metadata:\n  resolved: true\n");
    let rule = rule.replace("print(1)", "from mylib import send as s\\ns(1)");
    let mut validator = validator(Profile::Agent);
    validator.add_rule_text("mine.yml", &rule).expect("it is a rule");
    assert_eq!(found(&validator, "import mylib as m\nx = m.send\n").len(), 1);
}

#[test]
fn the_profile_of_strategies_has_a_list_of_imports() {
    let strategy = validator(Profile::Strategy);
    assert_eq!(
        found(&strategy, "import numpy as np\nfrom pandas import DataFrame\nimport math\n"),
        []
    );
    for code in
        ["import os\n", "from sys import argv\n", "import numpy, shutil\n", "from . import x\n"]
    {
        assert_eq!(
            found(&strategy, code),
            [("python/import-not-listed".to_owned(), Level::Deny)],
            "{code}"
        );
    }
    assert_eq!(found(&validator(Profile::Agent), "import shutil\n"), []);
    assert_eq!(found(&validator(Profile::Off), "eval(x)\n(\n"), []);
}

#[test]
fn warnings_of_an_agent_are_denials_of_a_strategy() {
    let code = "getattr(x, n)\n";
    assert_eq!(
        found(&validator(Profile::Agent), code),
        [("python/dynamic-attribute".to_owned(), Level::Warn)]
    );
    assert_eq!(
        found(&validator(Profile::Strategy), code),
        [("python/dynamic-attribute".to_owned(), Level::Deny)]
    );
}

#[test]
fn levels_by_name() {
    let levels = Levels { off: vec!["python/*".into()], ..Levels::of_profile(Profile::Agent) };
    let validator = Validator::new(levels, InlineAllow::Refused);
    assert_eq!(found(&validator, "eval(x)\n"), []);
}

#[test]
fn comments_silence_only_where_the_host_allows_it() {
    let code = "eval(x)  # cofferdam: allow python/dynamic-code\n";
    assert_eq!(found(&validator(Profile::Agent), code).len(), 1);
    let honouring = Validator::new(Levels::of_profile(Profile::Agent), InlineAllow::Honoured);
    assert_eq!(found(&honouring, code), []);
    assert_eq!(found(&honouring, "eval(x)  # cofferdam: allow python/process\n").len(), 1);
    let source = Source { name: "x.py", lang: Lang::Python, bytes: code.as_bytes() };
    assert_eq!(honouring.check(source).expect("the built-in rules load").suppressed, 1);
}

#[test]
fn a_place_is_a_line_and_a_column() {
    let validator = validator(Profile::Agent);
    let source =
        Source {
            name: "x.py", lang: Lang::Python, bytes: "ä = 1\nx = 'é' + eval(y)\n".as_bytes()
        };
    let report = validator.check(source).expect("the built-in rules load");
    let finding = &report.findings[0];
    assert_eq!((finding.line, finding.column, finding.end_column), (2, 11, 15));
    assert_eq!(finding.excerpt, "x = 'é' + eval(y)");
}
