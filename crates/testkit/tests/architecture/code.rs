//! Enough of Rust's grammar to tell code from what is only written in it.

/// `source` with the content of comments, strings and characters replaced by spaces. Line breaks,
/// quotes and every offset stay.
pub(crate) fn code_only(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let (from, to, next) = match hidden(bytes, at) {
            Some(Hidden { from, to, next }) => (from, to, next),
            None => (at, at, at + 1),
        };
        for byte in &mut out[from..to] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = next;
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A stretch that is not code, and where code goes on.
struct Hidden {
    from: usize,
    to: usize,
    next: usize,
}

fn hidden(bytes: &[u8], at: usize) -> Option<Hidden> {
    let rest = &bytes[at..];
    let whole = |length: usize| Hidden { from: at, to: at + length, next: at + length };
    let quoted = |open: usize, length: usize, close: usize| Hidden {
        from: at + open,
        to: at + open + length,
        next: (at + open + length + close).min(bytes.len()),
    };
    if rest.starts_with(b"//") {
        return Some(whole(rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len())));
    }
    if rest.starts_with(b"/*") {
        return Some(whole(block_comment(rest)));
    }
    let word_before = at > 0 && is_word(bytes[at - 1]);
    if rest[0] == b'r' && (!word_before || follows_prefix(bytes, at)) {
        let hashes = rest[1..].iter().take_while(|&&b| b == b'#').count();
        if rest.get(1 + hashes) == Some(&b'"') {
            let open = 2 + hashes;
            let close = [b"\"".as_slice(), &vec![b'#'; hashes]].concat();
            let found = rest[open..].windows(close.len()).position(|part| part == close);
            return Some(quoted(open, found.unwrap_or(rest.len() - open), close.len()));
        }
    }
    match rest[0] {
        b'"' => Some(quoted(1, until_quote(&rest[1..], b'"'), 1)),
        b'\'' if is_character(rest) => Some(quoted(1, until_quote(&rest[1..], b'\''), 1)),
        _ => None,
    }
}

/// `br"…"` and `cr"…"`: the letter before belongs to the string.
fn follows_prefix(bytes: &[u8], at: usize) -> bool {
    matches!(bytes[at - 1], b'b' | b'c') && (at < 2 || !is_word(bytes[at - 2]))
}

/// Length of the comment that `rest` begins with; they nest.
fn block_comment(rest: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// Bytes before the next `quote` that no backslash protects.
fn until_quote(text: &[u8], quote: u8) -> usize {
    let mut at = 0;
    while at < text.len() && text[at] != quote {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    at.min(text.len())
}

/// A character and not a lifetime: an escape, or a quote right after one character.
fn is_character(rest: &[u8]) -> bool {
    if rest.get(1) == Some(&b'\\') {
        return true;
    }
    let length = match rest.get(1) {
        Some(0xf0..) => 4,
        Some(0xe0..) => 3,
        Some(0xc0..) => 2,
        _ => 1,
    };
    rest.get(1 + length) == Some(&b'\'')
}

/// `code` with the items under `#[cfg(test)]` blanked.
pub(crate) fn without_tests(code: &str) -> String {
    let mut out = code.as_bytes().to_vec();
    for (start, _) in code.match_indices("#[cfg(test)]") {
        let body = code[start..].find(['{', ';']).map_or(code.len(), |at| start + at);
        let end = block_end(code, body);
        for byte in &mut out[start..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The end of the block whose `{` stands at `open`; right after it where there is none.
fn block_end(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in code.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    code.len()
}

/// Offsets at which `word` stands as a whole word.
pub(crate) fn words(code: &str, word: &str) -> Vec<usize> {
    let bytes = code.as_bytes();
    let free = |at: usize| bytes.get(at).is_none_or(|&byte| !is_word(byte));
    code.match_indices(word)
        .map(|(at, _)| at)
        .filter(|&at| (at == 0 || free(at - 1)) && free(at + word.len()))
        .collect()
}

/// What is taken from module or crate `root`: `root::a`, `root::{b, c::d}` give a, b and c.
pub(crate) fn taken_from<'a>(code: &'a str, root: &str) -> Vec<(usize, &'a str)> {
    let mut taken = Vec::new();
    for at in words(code, root) {
        let Some(rest) = code[at + root.len()..].strip_prefix("::") else { continue };
        if !rest.starts_with('{') {
            taken.push((at, first_word(rest)));
            continue;
        }
        let group = &rest[1..block_end(rest, 0).saturating_sub(1).max(1)];
        let mut depth = 0_usize;
        for part in group.split_inclusive([',', '{', '}']) {
            if depth == 0 && !first_word(part).is_empty() {
                taken.push((at, first_word(part)));
            }
            match part.as_bytes().last() {
                Some(b'{') => depth += 1,
                Some(b'}') => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
    }
    taken
}

fn first_word(text: &str) -> &str {
    let text = text.trim_start();
    let end = text.bytes().position(|byte| !is_word(byte)).unwrap_or(text.len());
    &text[..end]
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_is_left() {
        let source = r##"
            // x
            /* x /* x */ x */ let a = "x \" x"; let b = r#"x " x"#; let c = br"x";
            let d = 'x'; let e = '\''; fn f<'y>(g: &'y str) {} let h = '→'; y();
        "##;
        let code = code_only(source);
        assert_eq!(code.len(), source.len());
        assert!(!code.contains('x') && !code.contains('→'), "{code}");
        for kept in ["let a", "let b", "let c", "let d", "let e", "fn f<'y>(g: &'y str)", "y();"] {
            assert!(code.contains(kept), "{kept} in {code}");
        }
    }

    #[test]
    fn test_items_are_cut_out_and_code_after_them_stays() {
        let code = without_tests("a();\n#[cfg(test)]\nmod tests { fn t() { b(); } }\nc();");
        assert!(code.contains("a();") && code.contains("c();") && !code.contains("b();"), "{code}");
        assert!(without_tests("#[cfg(test)]\nuse b;\nc();").contains("c();"));
    }

    #[test]
    fn words_are_whole() {
        assert_eq!(words("unsafe_code unsafe { not_unsafe }", "unsafe"), [12]);
    }

    #[test]
    fn imports_are_seen_in_groups() {
        let names =
            |code| taken_from(code, "std").into_iter().map(|(_, name)| name).collect::<Vec<_>>();
        assert_eq!(names("use std::{fs, env::{self, var}, io};"), ["fs", "env", "io"]);
        assert_eq!(names("std::env::var(a)"), ["env"]);
        assert!(names("crate::env::var(nostd::env)").is_empty());
    }
}
