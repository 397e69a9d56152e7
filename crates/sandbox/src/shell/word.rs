//! Words of a shell, unquoted as far as the text alone tells.

use std::cell::Cell;
use std::collections::HashMap;

use cofferdam_core::command::Word;
use tree_sitter::Node;

/// Longer values are not put in where their variable stands.
const LONGEST_VALUE: usize = 256;
/// All that is put in: a text must not become a thousand times as long.
const MOST_EXPANDED: usize = 1 << 20;

/// Values of variables that the text itself gives, where it gives each only one.
#[derive(Debug)]
pub(super) struct Variables {
    values: HashMap<String, Option<String>>,
    left: Cell<usize>,
}

impl Variables {
    pub(super) fn new() -> Self {
        Self { values: HashMap::new(), left: Cell::new(MOST_EXPANDED) }
    }

    /// Notes a value; of a variable that has several, none is known.
    pub(super) fn assign(&mut self, name: &str, value: Option<String>) {
        let value = value.filter(|value| value.len() <= LONGEST_VALUE);
        let is_new = !self.values.contains_key(name);
        self.values.insert(name.to_owned(), value.filter(|_| is_new));
    }

    fn is_assigned(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    fn value(&self, name: &str) -> Option<&str> {
        let value = self.values.get(name)?.as_deref()?;
        let left = self.left.get().checked_sub(value.len() + 1)?;
        self.left.set(left);
        Some(value)
    }
}

/// The words that a node becomes: one, or several where a variable with spaces stands bare.
pub(super) fn words(text: &str, node: Node<'_>, variables: &Variables) -> Vec<Word> {
    let mut building = Building { text, variables, done: Vec::new(), current: None };
    building.part(node, Quoting::Bare);
    building.finish()
}

/// A node as one word.
pub(super) fn word(text: &str, node: Node<'_>, variables: &Variables) -> Word {
    let mut words = words(text, node, variables).into_iter();
    match (words.next(), words.len()) {
        (Some(word), 0) => word,
        _ => Word::unknown(&text[node.byte_range()]),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quoting {
    Bare,
    Double,
}

struct Building<'t> {
    text: &'t str,
    variables: &'t Variables,
    done: Vec<Word>,
    current: Option<Word>,
}

impl<'t> Building<'t> {
    fn finish(mut self) -> Vec<Word> {
        self.done.extend(self.current);
        self.done
    }

    fn push(&mut self, text: &str, is_known: bool) {
        let word = self.current.get_or_insert_with(|| Word::known(""));
        word.text.push_str(text);
        word.is_known &= is_known;
    }

    fn part(&mut self, node: Node<'_>, quoting: Quoting) {
        let source: &'t str = self.text;
        let raw = &source[node.byte_range()];
        match node.kind() {
            "word" | "extglob_pattern" | "regex" => self.push(&unescaped(raw), true),
            "number" | "test_operator" | "special_variable_name" => self.push(raw, true),
            "raw_string" => self.push(raw.trim_start_matches('\'').trim_end_matches('\''), true),
            "ansi_c_string" => {
                let inner = raw.strip_prefix("$'").and_then(|rest| rest.strip_suffix('\''));
                match inner.and_then(ansi_c) {
                    Some(text) => self.push(&text, true),
                    None => self.push(raw, false),
                }
            }
            "string" | "translated_string" => self.string(node),
            "string_content" => self.push(&unescaped_in_quotes(raw), true),
            "simple_expansion" | "expansion" => self.expansion(node, quoting),
            "concatenation" | "command_name" => {
                let mut cursor = node.walk();
                let mut end = node.start_byte();
                for child in node.children(&mut cursor) {
                    // What the grammar left out between two parts is part of the word as well.
                    self.push(&source[end..child.start_byte().max(end)], true);
                    end = child.end_byte();
                    self.part(child, quoting);
                }
            }
            "command_substitution" | "process_substitution" | "arithmetic_expansion" => {
                self.push(raw, false)
            }
            "brace_expression" => self.push(raw, true),
            "\"" | "$" => {}
            _ if node.child_count() == 0 => self.push(&unescaped(raw), true),
            _ => self.push(raw, false),
        }
    }

    fn string(&mut self, node: Node<'_>) {
        self.push("", true);
        let mut cursor = node.walk();
        let mut end =
            node.start_byte() + usize::from(self.text[node.byte_range()].starts_with('$')) + 1;
        for child in node.children(&mut cursor) {
            if child.kind() == "\"" || child.end_byte() < end {
                continue;
            }
            // Blanks at the edges of a part belong to no node.
            if child.start_byte() > end {
                let between = unescaped_in_quotes(&self.text[end..child.start_byte()]);
                self.push(&between, true);
            }
            end = child.end_byte();
            self.part(child, Quoting::Double);
        }
        let last = node.end_byte().saturating_sub(1);
        if last > end {
            let rest = unescaped_in_quotes(&self.text[end..last]);
            self.push(&rest, true);
        }
    }

    fn expansion(&mut self, node: Node<'_>, quoting: Quoting) {
        let source: &'t str = self.text;
        let variables: &'t Variables = self.variables;
        let raw = &source[node.byte_range()];
        let name = raw.trim_start_matches('$').trim_start_matches('{').trim_end_matches('}');
        let is_name =
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !is_name {
            return self.push(raw, false);
        }
        if name == "IFS" && quoting == Quoting::Bare && !self.variables.is_assigned(name) {
            self.done.extend(self.current.take());
            return;
        }
        match variables.value(name) {
            Some(value) if quoting == Quoting::Bare => {
                let mut parts = value.split_ascii_whitespace();
                if value.starts_with(|c: char| c.is_ascii_whitespace()) {
                    self.done.extend(self.current.take());
                }
                if let Some(first) = parts.next() {
                    self.push(first, true);
                }
                for part in parts {
                    self.done.extend(self.current.take());
                    self.push(part, true);
                }
                if value.ends_with(|c: char| c.is_ascii_whitespace()) {
                    self.done.extend(self.current.take());
                }
            }
            Some(value) => self.push(value, true),
            // One spelling for both, so that rules know it.
            _ => self.push(&format!("${name}"), false),
        }
    }
}

/// Outside of quotes, a backslash makes the next character plain.
fn unescaped(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => match rest.next() {
                Some('\n') | None => {}
                Some(next) => text.push(next),
            },
            _ => text.push(c),
        }
    }
    text
}

fn unescaped_in_quotes(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('\\', Some('\n')) => {
                rest.next();
            }
            ('\\', Some(next @ ('$' | '`' | '"' | '\\'))) => {
                text.push(*next);
                rest.next();
            }
            _ => text.push(c),
        }
    }
    text
}

/// The inside of `$'…'`.
fn ansi_c(raw: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = raw;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let kind = rest.chars().next()?;
        rest = &rest[kind.len_utf8()..];
        let (most, radix) = match kind {
            'x' => (2, 16),
            'u' => (4, 16),
            'U' => (8, 16),
            '0'..='7' => (3, 8),
            _ => {
                text.push(match kind {
                    'n' => '\n',
                    't' => '\t',
                    'r' => '\r',
                    'a' => '\u{7}',
                    'b' => '\u{8}',
                    'e' | 'E' => '\u{1b}',
                    'f' => '\u{c}',
                    'v' => '\u{b}',
                    '\\' | '\'' | '"' | '?' => kind,
                    _ => return None,
                });
                continue;
            }
        };
        if radix == 8 {
            rest = &raw[raw.len() - rest.len() - 1..];
        }
        let digits = rest.bytes().take(most).take_while(|b| char::from(*b).is_digit(radix)).count();
        let code = u32::from_str_radix(&rest[..digits], radix).ok()?;
        text.push(char::from_u32(code)?);
        rest = &rest[digits..];
    }
    text.push_str(rest);
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read() {
        assert_eq!(ansi_c(r"\x72\155 \u0041\n\'").as_deref(), Some("rm A\n'"));
        assert_eq!(ansi_c("plain").as_deref(), Some("plain"));
        assert_eq!(ansi_c(r"\").as_deref(), None);
        assert_eq!(ansi_c(r"\xzz").as_deref(), None);
    }
}
