//! The renderer for a terminal.

use cofferdam_core::inert::{self, Inert};
use serde_json::Value;

/// Nothing in what is shown can act on a terminal, a line stays one line, and JSON means what it meant.
pub fn inert(input: &[u8]) {
    let line = Inert::line(input).to_string();
    assert!(!line.contains(acts), "{line:?}");
    let block = Inert::block(input).to_string();
    assert!(!block.contains(|c| acts(c) && c != '\n' && c != '\t'), "{block:?}");
    let Some(text) = crate::text(input) else { return };
    let plain = !text.contains(|c: char| !(' '..='~').contains(&c) || c == '\\');
    assert!(!plain || line == text, "plain text is shown as it is: {line:?}");
    let json = inert::json(text);
    assert!(!json.contains(|c| acts(c) && c != '\n'), "{json:?}");
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        assert_eq!(serde_json::from_str::<Value>(&json).ok(), Some(value), "{json:?}");
    }
}

/// Controls of both halves, what turns or hides text, and what separates lines.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}')
        || matches!(c, '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}
