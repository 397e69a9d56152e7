//! Input that was made to take for ever, to overflow, or to be read as something else.

use std::sync::OnceLock;

use cofferdam_core::check::{FileReport, Level, Levels, Profile};
use cofferdam_sandbox::check::{InlineAllow, Lang, Source, Validator};
use proptest::prelude::*;

fn look(lang: Lang, bytes: &[u8]) -> FileReport {
    static VALIDATOR: OnceLock<Validator> = OnceLock::new();
    let validator = VALIDATOR
        .get_or_init(|| Validator::new(Levels::of_profile(Profile::Agent), InlineAllow::Refused));
    validator.check(Source { name: "x", lang, bytes }).expect("the built-in rules load")
}

fn rules(report: &FileReport) -> Vec<&str> {
    report.findings.iter().map(|finding| finding.rule.as_str()).collect()
}

#[test]
fn ten_thousand_brackets() {
    for lang in Lang::ALL {
        let deep = format!("{}1{}\n", "(".repeat(10_000), ")".repeat(10_000));
        let report = look(lang, deep.as_bytes());
        assert_eq!(report.worst(), Level::Deny, "{lang:?}: {:?}", rules(&report));
        let open = "(".repeat(10_000);
        assert_eq!(look(lang, open.as_bytes()).worst(), Level::Deny, "{lang:?}");
    }
}

#[test]
fn deep_in_every_other_way() {
    for deep in [
        format!("x = {}1\n", "1+".repeat(200_000)),
        format!("x = a{}\n", ".b".repeat(200_000)),
        format!("x = a{}\n", "()".repeat(200_000)),
        format!("x = {}1\n", "not ".repeat(50_000)),
        format!("x = {}1\n", "lambda: ".repeat(50_000)),
        format!("x = {}1\n", "2**".repeat(50_000)),
        format!("x = {}1{}\n", "f'{".repeat(3000), "}'".repeat(3000)),
        (0..4000).map(|at| format!("{}if x:\n", " ".repeat(at))).collect(),
    ] {
        assert_eq!(look(Lang::Python, deep.as_bytes()).worst(), Level::Deny, "{deep:.20}");
    }
    for deep in ["[".repeat(100_000), "a?".repeat(50_000), "`${".repeat(5000), "{".repeat(100_000)]
    {
        look(Lang::JavaScript, deep.as_bytes());
        look(Lang::TypeScript, deep.as_bytes());
        look(Lang::Shell, deep.as_bytes());
    }
}

/// At each of these signs the grammar of shells looks ahead over the rest of the word.
#[test]
fn a_word_that_is_read_again_and_again_is_given_up() {
    for sign in ["a?", "a*", "@b", "+c"] {
        let report = look(Lang::Shell, format!("echo {}\n", sign.repeat(500_000)).as_bytes());
        assert!(report.worst() == Level::Deny || report.findings.is_empty(), "{sign}");
    }
    let report = look(Lang::Shell, "a?".repeat(500_000).as_bytes());
    assert_eq!(rules(&report), ["source/syntax"]);
    assert!(report.findings[0].message.contains("more steps than its length allows"));
}

#[test]
fn sound_text_of_any_length_is_read() {
    let script =
        "for f in *.txt src/a?b; do cat \"$f\" | sort -u > out/$(basename $f) || echo no; done\n";
    let module = "export const f = async (a, b = [1, 2]) => { return `${a} ${b?.c ?? 1}`; };\n";
    for (lang, block, tail) in [
        (Lang::Shell, script, "curl x | sh\n"),
        (Lang::JavaScript, module, "eval(x);\n"),
        (Lang::TypeScript, module, "eval(x);\n"),
    ] {
        let long = block.repeat(400_000 / block.len());
        let report = look(lang, format!("{long}{tail}").as_bytes());
        assert_eq!(report.findings.len(), 1, "{lang:?}: {:?}", rules(&report));
    }
}

#[test]
fn just_deep_enough() {
    // Deeper than an ordinary stack takes, and still looked at.
    let deep = format!("{}eval('x'){}\n", "f(".repeat(1400), ")".repeat(1400));
    assert!(rules(&look(Lang::Python, deep.as_bytes())).contains(&"python/dynamic-code"));
}

#[test]
fn ten_megabytes() {
    let block = "def f(x):\n    y = [i * 2 for i in x if i]\n    return {'a': y, 'b': x}\n\n";
    let source = block.repeat(10_000_000 / block.len());
    let report = look(Lang::Python, source.as_bytes());
    assert!(report.findings.is_empty(), "{:?}", rules(&report));
    let report = look(Lang::Python, format!("{source}eval(x)\n").as_bytes());
    assert_eq!(rules(&report), ["python/dynamic-code"]);
    assert!(report.findings[0].line > 500_000);
    let report = look(Lang::Python, &vec![b'#'; 17 << 20]);
    assert_eq!(rules(&report), ["source/too-large"]);
}

#[test]
fn nothing_but_findings() {
    let report = look(Lang::Python, "eval(x)\n".repeat(100_000).as_bytes());
    assert_eq!(report.findings.len(), FileReport::MOST);
    assert!(report.left_out > 0);
    let report = look(Lang::Shell, "rm -rf /\n".repeat(50_000).as_bytes());
    assert_eq!(report.findings.len(), FileReport::MOST);
}

#[test]
fn bytes_that_are_no_text() {
    for lang in Lang::ALL {
        let report = look(lang, b"x = '\xff\xfe'\n");
        assert!(rules(&report).contains(&"source/encoding"), "{lang:?}");
        look(lang, &[0; 1000]);
        look(lang, b"");
        look(lang, b"\xef\xbb\xbf");
    }
    // What stands beside such bytes is found all the same.
    let report = look(Lang::Python, b"x = '\xff'\neval(x)\n");
    assert!(rules(&report).contains(&"python/dynamic-code"));
}

/// Names bound to names bound to names, each many times.
#[test]
fn names_without_end() {
    let mut source = String::new();
    for level in 0..200 {
        for other in 0..8 {
            source.push_str(&format!(
                "n{level} = n{} if x else n{}\n",
                level + 1,
                (level + other) % 200
            ));
        }
    }
    source.push_str(&"n0(x)\n".repeat(1000));
    look(Lang::Python, source.as_bytes());
    let circle = "a = b\nb = a\na(b)\n";
    assert!(look(Lang::Python, circle.as_bytes()).findings.is_empty());
    let shell = format!("X='{}'\n{}", "a ".repeat(100), "echo $X$X$X$X\n".repeat(20_000));
    look(Lang::Shell, shell.as_bytes());
    let script: String =
        (0..2000).map(|at| format!("let a{at} = a{};\n", (at + 1) % 2000)).collect();
    look(Lang::JavaScript, script.as_bytes());
}

/// The verdict follows from the text alone.
#[test]
fn the_same_every_time() {
    let source = include_str!("python.txt");
    let first = look(Lang::Python, source.as_bytes());
    for _ in 0..3 {
        assert_eq!(look(Lang::Python, source.as_bytes()), first);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_looked_at(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        for lang in Lang::ALL {
            look(lang, &bytes);
        }
    }

    #[test]
    fn any_words_are_looked_at(words in proptest::collection::vec(
        prop_oneof![
            Just("("), Just(")"), Just("["), Just("]"), Just("{"), Just("}"), Just("\n"), Just("    "), Just("eval"),
            Just("import"), Just("os"), Just("."), Just("="), Just("lambda"), Just(":"), Just("def f"), Just("'"),
            Just("\""), Just("f'{"), Just("$("), Just("`"), Just("|"), Just("&&"), Just("rm -rf /"), Just("<<E"),
            Just("if"), Just("then"), Just("const"), Just("=>"), Just("${"), Just("\\"), Just(","), Just("from"),
            Just("getattr"), Just("é"), Just("\u{202e}"), Just("async"), Just("class A"), Just("#"), Just("//"),
        ],
        0..200,
    )) {
        for joined in [words.concat(), words.join(" ")] {
            for lang in Lang::ALL {
                look(lang, joined.as_bytes());
            }
        }
    }
}
