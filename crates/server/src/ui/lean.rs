//! Files as browsers get them: without comments, indentation, and spaces and line ends that mean nothing. Names and
//! order stay, so what a browser shows is still the source. Not a minifier: comments are found by whole lines, and the
//! sources keep to what it can see (no comment behind code, no text over several lines), which a test holds.

/// Of a module. A line end is left out where a line cannot end there anyway, and a space beside a sign.
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
        close_up(line, &mut lean);
    }
    lean
}

/// A line without the spaces that stand beside signs. What is quoted, and patterns, stay as they are.
fn close_up(line: &str, lean: &mut String) {
    let mut rest = line;
    while let Some(next) = rest.chars().next() {
        let length = match next {
            '"' | '\'' | '`' => quoted(rest, next),
            '/' if begins_pattern(lean) => quoted(rest, next),
            _ => next.len_utf8(),
        };
        let (piece, after) = rest.split_at(length);
        let before = lean.chars().next_back();
        let is_idle = next == ' '
            && (before.is_some_and(is_sign) || after.chars().next().is_some_and(is_sign));
        if !is_idle {
            lean.push_str(piece);
        }
        rest = after;
    }
}

/// `+` and `-` are none: `a - -b` is not `a--b`. Nor is `/`, which would begin a pattern or a comment.
fn is_sign(c: char) -> bool {
    "{}()[],;:?=<>&|*!".contains(c)
}

/// Whether a `/` after this is no division.
fn begins_pattern(before: &str) -> bool {
    before.is_empty()
        || before.ends_with("return ")
        || before.ends_with(|c: char| is_sign(c) && !")]}".contains(c))
}

/// How long a text or a pattern is that begins here, its ends included. A text in backticks is taken whole, with what
/// is computed in it.
fn quoted(text: &str, sign: char) -> usize {
    let mut is_escaped = false;
    let mut depth = 0_u32;
    let mut in_class = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' if sign == '/' => in_class = true,
            ']' if sign == '/' => in_class = false,
            '{' if sign == '`' => depth += 1,
            '}' if sign == '`' => depth = depth.saturating_sub(1),
            _ if c == sign && !in_class && depth == 0 => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
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
