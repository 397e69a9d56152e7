//! Files as browsers get them: without comments, indentation and line ends that mean nothing. Names and order stay, so
//! what a browser shows is still the source. Not a minifier: it looks at whole lines, and the sources keep to what it
//! can see (no comment behind code, no text over several lines), which a test holds.

/// Of a module. A line end is left out where a line cannot end there anyway.
pub(super) fn script(source: &str) -> String {
    let mut lean = String::with_capacity(source.len());
    for line in lines(source, &["//", "/*", "* ", "*/"]) {
        let closes = line.starts_with(['}', ')', ']']);
        if closes && lean.ends_with(',') {
            lean.pop();
        }
        if !(lean.is_empty() || closes || lean.ends_with(['{', '(', '[', ',', ';'])) {
            lean.push('\n');
        }
        lean.push_str(line);
    }
    lean
}

/// Of a style sheet, where spaces around signs mean nothing either. (Before a colon they do, and stay.)
pub(super) fn sheet(source: &str) -> String {
    let mut lean: String = lines(source, &["/*"]).collect();
    for (wide, narrow) in [
        (": ", ":"),
        ("; ", ";"),
        (", ", ","),
        (" {", "{"),
        ("{ ", "{"),
        (" }", "}"),
        ("} ", "}"),
        (";}", "}"),
    ] {
        lean = lean.replace(wide, narrow);
    }
    lean
}

fn lines<'a>(source: &'a str, comments: &'a [&str]) -> impl Iterator<Item = &'a str> {
    let is_comment = |line: &str| comments.iter().any(|sign| line.starts_with(sign));
    source.lines().map(str::trim).filter(move |line| !line.is_empty() && !is_comment(line))
}
