use super::*;

/// Pattern, paths that match, paths that do not. A path that ends in a slash is a directory.
const CASES: &[(&str, &[&str], &[&str])] = &[
    ("*.md", &["a.md", "docs/a.md", "x.md/inside", ".md", "a\n.md"], &["a.mdx", "md", "a.md~"]),
    ("docs", &["docs", "docs/", "docs/a/b", "x/docs", "x/docs/y"], &["docsy", "x/docsy/z"]),
    ("docs/", &["docs/", "docs/a", "x/docs/", "x/docs/a/b"], &["docs", "x/docs", "docsy/"]),
    ("docs/**", &["docs/", "docs/a", "docs/a/b"], &["docs", "x/docs/", "x/docs/a", "docsy/a"]),
    ("/docs", &["docs", "docs/a"], &["x/docs"]),
    ("./docs", &["docs", "docs/a"], &["x/docs"]),
    ("src/*.rs", &["src/a.rs", "src/.rs"], &["src/a/b.rs", "a/src/b.rs"]),
    ("src/**/*.rs", &["src/a.rs", "src/a/b/c.rs"], &["src/a.c", "a.rs"]),
    ("**/gen/*.rs", &["gen/a.rs", "x/y/gen/a.rs"], &["gen/x/a.rs"]),
    ("**", &["a", "a/", "a/b", "."], &[]),
    ("**/", &["a", "a/b"], &[]),
    ("a?c", &["abc", "x/a.c"], &["ac", "a/c", "abbc"]),
    ("[a-c]x", &["ax", "d/cx"], &["dx", "ax1"]),
    ("[!a-c]x", &["dx"], &["ax", "/x"]),
    ("a[!b]c", &["adc"], &["a/c", "abc"]),
    ("a[^b]c", &["adc"], &["a/c", "abc"]),
    ("a[!]]c", &["adc"], &["a/c", "a]c"]),
    ("a[]b]c", &["a]c", "abc"], &["a/c"]),
    ("a[!b-]c", &["adc"], &["a-c", "a/c", "abc"]),
    ("*.{yml,yaml}", &["a.yml", "b/c.yaml"], &["a.yl"]),
    ("a{,.b}", &["a", "a.b"], &["a.c"]),
    ("a\\*", &["a*"], &["ab"]),
    ("\\!a", &["!a"], &["a"]),
    ("end.", &["end.", "x/end.", "end./y"], &["end", "endx"]),
    ("*.", &["end."], &["end"]),
];

fn matches(pattern: &str, path: &str) -> bool {
    let (path, shape) = match path.strip_suffix('/') {
        Some(directory) => (directory, Shape::Directory),
        None => (path, Shape::Other),
    };
    !Globs::new(&[pattern]).unwrap().matching(path.as_bytes(), shape).is_empty()
}

#[test]
fn patterns_match_what_they_say_and_nothing_else() {
    for (pattern, yes, no) in CASES {
        Globs::check(pattern).unwrap();
        yes.iter().for_each(|path| assert!(matches(pattern, path), "{pattern} on {path:?}"));
        no.iter().for_each(|path| assert!(!matches(pattern, path), "{pattern} on {path:?}"));
    }
}

#[test]
fn bytes_that_are_not_text_escape_nothing() {
    let globs = Globs::new(&["*.key", "secrets/", "a?b"]).unwrap();
    assert_eq!(globs.matching(b"x/\xff\xfe.key", Shape::Other), [0]);
    assert_eq!(globs.matching(b"secrets/\xff\n", Shape::Other), [1]);
    assert_eq!(globs.matching(b"a\xffb", Shape::Other), [2]);
    assert_eq!(globs.matching(b"A\xffb", Shape::Other), Vec::<usize>::new());
}

#[test]
fn every_pattern_that_matches_is_named_once() {
    let globs = Globs::new(&["*.md", "docs", "docs/**", "src"]).unwrap();
    assert_eq!(globs.matching(b"docs/docs/a.md", Shape::Other), [0, 1, 2]);
    assert_eq!(Globs::new::<&str>(&[]).unwrap().matching(b"a", Shape::Other), Vec::<usize>::new());
}

#[test]
fn what_is_no_pattern_is_said_so() {
    let long = "x".repeat(1025);
    for bad in [
        "", "/", "./", "..", "../x", "a/../b", "a//b", "a/./b", "[a", "[z-a]", "a[.-9]b", "a[/]b",
        "{a", "a}", "!a", "a\0", "a\nb", "a\\", &long,
    ] {
        assert!(Globs::check(bad).is_err(), "{bad:?}");
        assert!(Globs::new(&["ok", bad]).is_err(), "{bad:?}");
    }
    let said = Globs::check("\u{1b}[a").unwrap_err().to_string();
    assert!(!said.contains('\u{1b}'), "{said:?}");
}
