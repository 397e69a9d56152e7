//! Rules that the page's files keep, and how they are given out.

use axum::http::HeaderValue;

use super::*;

fn scripts() -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.iter().copied().filter(|(name, _)| name.ends_with(".js"))
}

#[test]
fn every_file_beside_this_one_is_served() {
    let beside = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/ui")).unwrap();
    let mut beside: Vec<String> =
        beside.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    beside.retain(|name| !name.ends_with(".rs"));
    beside.sort();
    let mut listed: Vec<_> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
    listed.sort();
    assert_eq!(listed, beside);
}

#[test]
fn data_never_becomes_markup_or_code() {
    let forbidden = [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "DOMParser",
        "createContextualFragment",
        "srcdoc",
        "eval(",
        "new Function",
        "javascript:",
        "setTimeout(\"",
        "setAttribute(\"style\"",
        "setAttribute(\"on",
        "document.cookie",
    ];
    for (name, text) in scripts() {
        for word in forbidden {
            assert!(!text.contains(word), "{name} has {word}");
        }
    }
}

#[test]
fn nothing_is_inline_and_nothing_comes_from_elsewhere() {
    for (name, text) in FILES {
        let text = text.replace("http://www.w3.org/2000/svg", "");
        assert!(
            !text.contains("http://") && !text.contains("https://") && !text.contains("@import"),
            "{name}"
        );
    }
    let (_, page) = FILES[0];
    assert!(page.contains("<script type=\"module\" src=\"/ui/main.js\"></script>"), "{page}");
    assert!(
        page.matches("<script").count() == 1
            && !page.contains("<style")
            && !page.contains(" style="),
        "{page}"
    );
    assert!(!page.contains(" onload=") && !page.contains(" onclick="), "{page}");
}

#[test]
fn only_the_session_knows_the_token() {
    let users: Vec<_> = scripts()
        .filter(|(_, text)| text.contains("sessionStorage"))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(users, ["session.js"]);
    let readers: Vec<_> = scripts()
        .filter(|(_, text)| text.contains("session.secret()"))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(readers, ["api.js"]);
}

#[test]
fn the_whole_page_weighs_no_more_than_150_kilobytes() {
    let weight: usize =
        SERVED.iter().filter(|file| !file.name.ends_with(".svg")).map(|file| file.text.len()).sum();
    assert!(weight <= 150_000, "{weight}");
    assert!(weight > 50_000, "{weight}: is all of it there?");
}

#[test]
fn sources_keep_to_what_can_be_made_lean() {
    for (name, text) in scripts() {
        for line in text.lines().map(str::trim).filter(|line| !line.starts_with("//")) {
            assert!(!line.contains(" // "), "{name}: a comment behind code: {line}");
        }
    }
    assert_eq!(
        lean::script("// a\nf(\n  a,\n  {\n    b: 1,\n  },\n);\n/** c */\nlet d = 1\nlet e"),
        "f(a,{b:1});let d=1\nlet e"
    );
    // What is quoted, and patterns, stay as they are; signs that would become others stay apart.
    for same in [
        "say(\"a , b\");",
        "x=`a ${b ? \"c , d\" : e} f`;",
        "y=/[ ,/] = \\/ /.test(z);",
        "return / = /;",
        "a - -b;",
        "c / d;",
        "'it\\'s , so';",
    ] {
        assert_eq!(lean::script(same), same);
    }
    assert_eq!(
        lean::script("a = (b) => c / (d + 1) ? { e } : [ f ];"),
        "a=(b)=>c /(d + 1)?{e}:[f];"
    );
    assert_eq!(
        lean::sheet("/* a */\n* { i: j; }\na b:hover { c: d e;\n  f: g; }\nh {}"),
        "*{i:j}a b:hover{c:d e;f:g}h{}"
    );
}

#[test]
fn a_file_comes_with_its_type_its_tag_and_the_policy() {
    let first = give("main.js", &HeaderMap::new());
    assert_eq!(first.status(), StatusCode::OK);
    assert_eq!(first.headers()[header::CONTENT_TYPE], "text/javascript; charset=utf-8");
    assert_eq!(first.headers()[header::X_CONTENT_TYPE_OPTIONS], "nosniff");
    assert!(POLICY.starts_with("default-src 'none'") && !POLICY.contains("unsafe"));
    assert_eq!(first.headers()[header::CONTENT_SECURITY_POLICY], POLICY);
    let mut headers = HeaderMap::new();
    headers.insert(header::IF_NONE_MATCH, first.headers()[header::ETAG].clone());
    let again = give("main.js", &headers);
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    assert_eq!(again.headers()[header::CONTENT_SECURITY_POLICY], POLICY);
    headers.insert(header::IF_NONE_MATCH, HeaderValue::from_static("\"other\""));
    assert_eq!(give("main.js", &headers).status(), StatusCode::OK);
}

#[test]
fn no_other_file_is_given_out() {
    for name in ["", "tests.rs", "../lib.rs", "lean.rs", "main.js/", "MAIN.JS"] {
        assert_eq!(give(name, &HeaderMap::new()).status(), StatusCode::NOT_FOUND, "{name}");
    }
}

/// What the page takes for not plainly visible, as ranges of the class in `inert.js`.
fn hidden_on_the_page(script: &str) -> Vec<(u32, u32)> {
    let (_, rest) = script.split_once("new RegExp(").unwrap();
    let (class, _) = rest.split_once("]\"").unwrap();
    let code = |text: &str| {
        let hex = text.trim_matches(|c: char| !c.is_ascii_hexdigit());
        u32::from_str_radix(hex, 16).unwrap()
    };
    let class: String = class.chars().filter(|c| !"\" +\n[".contains(*c)).collect();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    let mut to = false;
    for one in class.split("\\\\u").skip(1) {
        let at = code(one);
        match ranges.last_mut().filter(|_| to) {
            Some(range) => range.1 = at,
            None => ranges.push((at, at)),
        }
        to = one.ends_with('-');
    }
    ranges
}

/// The page and the terminal have one opinion of what is plainly visible.
#[test]
fn the_page_hides_what_the_terminal_does() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/ui/inert.js");
    let hidden = hidden_on_the_page(&std::fs::read_to_string(path).unwrap());
    let is_hidden = |c: char| hidden.iter().any(|(from, to)| (*from..=*to).contains(&c.into()));
    for c in (0..=0x10_FFFF).filter_map(char::from_u32).filter(|c| *c != '\\') {
        let text = c.to_string();
        let plain = cofferdam_core::inert::Inert::line(&text).to_string() == text;
        assert_eq!(is_hidden(c), !plain, "{:x}", u32::from(c));
    }
}
