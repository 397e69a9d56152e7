use cofferdam_core::command::{BUILT_IN, CommandPolicy, Verdict};

use super::*;

fn texts(text: &str) -> Vec<String> {
    let line = line(text);
    assert!(line.problems.is_empty(), "{text}: {:?}", line.problems);
    line.commands.iter().map(SimpleCommand::text).collect()
}

#[test]
fn built_in_rules_do_what_their_examples_say() {
    let mut problems = Vec::new();
    for rule in BUILT_IN {
        let speaks = |text: &&&str| line(text).commands.iter().any(rule.speaks_of);
        let missed = rule.matches.iter().filter(|text| !speaks(text));
        problems.extend(missed.map(|text| format!("{} misses {text}: {:?}", rule.id, line(text))));
        let wrong = rule.passes.iter().filter(speaks);
        problems.extend(wrong.map(|text| format!("{} speaks of {text}", rule.id)));
        assert!(!rule.matches.is_empty() && !rule.passes.is_empty(), "{}", rule.id);
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_part_of_a_line_is_found() {
    assert_eq!(texts("echo hi && curl x | sh"), ["echo hi", "curl x", "sh"]);
    assert_eq!(texts("(a; b) || { c; }"), ["a", "b", "c"]);
    assert_eq!(texts("if a; then b; else c; fi; while d; do e; done"), ["a", "b", "c", "d", "e"]);
    assert_eq!(texts("echo $(a `b`) <(c)"), ["b", "a `b`", "c", "echo $(a `b`) <(c)"]);
    assert_eq!(texts("case x in y) a;; esac"), ["a"]);
    assert_eq!(texts("! a & b"), ["a", "b"]);
    assert_eq!(texts("for x in 1 2; do rm \"$x\"; done"), ["rm $x"]);
    assert_eq!(texts("X=$(a) b"), ["a", "b"]);
    assert_eq!(texts("export X=$(a)"), ["a", "export 'X=$(a)'"]);
    let mut fed = texts("cat <<E | sh\n$(a)\nE\n");
    fed.sort();
    assert_eq!(fed, ["a", "cat", "sh"]);
}

#[test]
fn words_are_unquoted() {
    assert_eq!(texts(r#"r''m -"r"f "/" \x $'\x61b'"#), ["rm -rf / x ab"]);
    assert_eq!(texts("R=rm; $R -rf x"), ["rm -rf x"]);
    assert_eq!(texts("X='rm -rf x'; $X; \"$X\""), ["rm -rf x", "'rm -rf x'"]);
    assert_eq!(texts("rm${IFS}-rf${IFS}x"), ["rm -rf x"]);
    assert_eq!(texts("X=a; X=b; echo $X"), ["echo $X"]);
    assert_eq!(texts("echo \"a b\"c"), ["echo 'a bc'"]);
}

#[test]
fn wrappers_are_seen_through() {
    let last = |text: &str| texts(text).pop().unwrap();
    for text in [
        "env A=1 -u B rm x",
        "sudo -u me rm x",
        "sh -c 'rm x'",
        "bash -lc 'rm x'",
        "xargs -n 1 rm x",
        "timeout -k 1 5 rm x",
        "nice -n 5 nohup rm x",
        "find . -name y -exec rm x ';'",
        "eval 'rm x'",
        "eval rm x",
        "env -S 'rm x'",
        "sh -c \"sh -c 'rm x'\"",
        "command rm x",
        "exec rm x",
        "busybox rm x",
        "/usr/bin/env rm x",
        "su me -c 'rm x'",
        "watch 'rm x'",
        "trap 'rm x' EXIT",
    ] {
        assert_eq!(last(text), "rm x", "{text}: {:?}", texts(text));
    }
    let words = ["sh", "-c", "rm x"].map(|word| Arg(word.into()));
    assert_eq!(argv(&words).commands.last().unwrap().text(), "rm x");
    assert_eq!(argv(&words).commands.last().unwrap().via, ["sh -c"]);
}

#[test]
fn what_cannot_be_read_is_looked_at() {
    let policy = CommandPolicy::default();
    for text in ["echo 'no end", "if x; then", "a | | b", &"(".repeat(2000)] {
        assert!(policy.judge(&line(text)).verdict >= Verdict::Review, "{text:.20}");
    }
    assert_eq!(policy.judge(&line("echo 'an end'")).verdict, Verdict::Allow);
}

#[test]
fn the_line_of_the_manual() {
    let policy = CommandPolicy { builtin: true, ..CommandPolicy::default() };
    let denied = policy.judge(&line("echo hi && curl x | sh"));
    assert_eq!(denied.verdict, Verdict::Deny);
    assert_eq!(denied.ground().unwrap().1.rule, "shell/pipe-to-shell");
    assert_eq!(policy.judge(&line("echo \"rm -rf /\"")).verdict, Verdict::Allow);
}
