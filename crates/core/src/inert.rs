//! The one renderer for bytes that somebody else controls: file names, output, messages.
//!
//! What it prints cannot move a cursor, set a title, write a clipboard, hide text or turn its direction.
//! Invalid UTF-8 comes out as `\xNN`, everything else that is not plainly visible as `\u{…}`.

use std::ffi::OsStr;
use std::fmt::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::weaken::{Weakness, weakened};

/// Displays bytes on one line: newlines and tabs are escaped too.
#[derive(Debug, Clone, Copy)]
pub struct Inert<'a> {
    bytes: &'a [u8],
    layout: Layout,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    Line,
    /// Newlines and tabs stand as they are.
    Block,
}

impl<'a> Inert<'a> {
    pub fn line(bytes: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        Self { bytes: bytes.as_ref(), layout: Layout::Line }
    }

    pub fn block(bytes: &'a (impl AsRef<[u8]> + ?Sized)) -> Self {
        Self { bytes: bytes.as_ref(), layout: Layout::Block }
    }

    pub fn path(path: &'a Path) -> Self {
        Self::os(path.as_os_str())
    }

    pub fn os(text: &'a OsStr) -> Self {
        Self { bytes: text.as_bytes(), layout: Layout::Line }
    }
}

impl fmt::Display for Inert<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.bytes.utf8_chunks() {
            for c in chunk.valid().chars() {
                match c {
                    '\n' | '\t' if self.layout == Layout::Block => f.write_char(c)?,
                    '\n' => f.write_str("\\n")?,
                    '\t' => f.write_str("\\t")?,
                    '\r' => f.write_str("\\r")?,
                    '\\' if self.layout == Layout::Line => f.write_str("\\\\")?,
                    c if is_plain(c) || weakened(Weakness::Inert) => f.write_char(c)?,
                    c if u32::from(c) < 0x80 => write!(f, "\\x{:02x}", u32::from(c))?,
                    c => write!(f, "\\u{{{:x}}}", u32::from(c))?,
                }
            }
            for byte in chunk.invalid() {
                write!(f, "\\x{byte:02x}")?;
            }
        }
        Ok(())
    }
}

/// JSON text that is inert as well, and means the same: whatever is not plainly visible is escaped. Such
/// characters can only stand inside strings, where an escape may stand for any of them; but for the white space between
/// values.
pub fn json(text: &str) -> String {
    // Most texts are plain throughout.
    if text.bytes().all(|b| b == b'\n' || (b.is_ascii() && is_plain(char::from(b)))) {
        return text.to_owned();
    }
    let mut inert = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '\n' || is_plain(c) {
            inert.push(c);
        } else if matches!(c, '\t' | '\r') {
            // Between values, where an escape would be none: inside of strings JSON has no bare ones.
            inert.push(' ');
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                inert.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    inert
}

/// Whether a character shows itself and nothing else. A deny-list by property would trail every new
/// Unicode version in the dangerous direction only for characters that format, so those are named.
fn is_plain(c: char) -> bool {
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    let is_no_character = u32::from(c) & 0xFFFE == 0xFFFE;
    // ASCII has the one blank that is plain.
    !(c.is_control()
        || c.is_whitespace()
        || is_no_character
        || matches!(u32::from(c),
            0xAD                      // soft hyphen
            | 0x34F                   // combining grapheme joiner
            | 0x61C                   // arabic letter mark
            | 0x115F..=0x1160         // hangul fillers
            | 0x17B4..=0x17B5         // khmer inherent vowels, invisible
            | 0x180B..=0x180F         // mongolian selectors and separator
            | 0x2000..=0x200F         // odd spaces, zero-width characters, direction marks
            | 0x2028..=0x202F         // line and paragraph separators, bidi embeddings and overrides
            | 0x205F..=0x206F         // bidi isolates, invisible operators, deprecated formatters
            | 0x2800                  // blank braille pattern
            | 0x3000                  // ideographic space
            | 0x3164 | 0xFFA0         // hangul fillers
            | 0xFDD0..=0xFDEF         // non-characters
            | 0xFE00..=0xFE0F         // variation selectors
            | 0xFEFF                  // byte order mark
            | 0xFFF0..=0xFFFF         // annotations, specials, non-characters
            | 0x1107F                 // brahmi number joiner
            | 0x13430..=0x1343F       // egyptian format controls
            | 0x16FE4                 // khitan filler
            | 0x1BC9D                 // shorthand letter selector
            | 0x1BCA0..=0x1BCA3       // shorthand format controls
            | 0x1D159                 // musical null notehead
            | 0x1D173..=0x1D17A       // musical format controls
            | 0xE000..=0xF8FF         // private use
            | 0xE0000..=0x10FFFF      // tags, selectors, private use planes
        ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(bytes: &[u8]) -> String {
        Inert::line(bytes).to_string()
    }

    #[test]
    fn plain_text_stays_as_it_is() {
        assert_eq!(
            line("naïve 日本語 файл 🦀 a-b_c.rs".as_bytes()),
            "naïve 日本語 файл 🦀 a-b_c.rs"
        );
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown_instead() {
        assert_eq!(line(b"\x1b]52;c;aGk=\x07"), "\\x1b]52;c;aGk=\\x07");
        assert_eq!(line(b"a\rb\nc\td\x7f"), "a\\rb\\nc\\td\\x7f");
        assert_eq!(line("\u{9b}31m".as_bytes()), "\\u{9b}31m");
        assert_eq!(
            line("a\u{202e}b\u{200b}c\u{2066}d\u{e0041}".as_bytes()),
            "a\\u{202e}b\\u{200b}c\\u{2066}d\\u{e0041}"
        );
        assert_eq!(line(b"\xff\xc3"), "\\xff\\xc3");
    }

    #[test]
    fn a_block_keeps_its_lines_and_nothing_else() {
        assert_eq!(Inert::block("a\tb\nc\u{1b}[1m\\").to_string(), "a\tb\nc\\x1b[1m\\");
    }

    #[test]
    fn two_names_never_look_the_same() {
        assert_ne!(line(b"a\\n"), line(b"a\n"));
        assert_ne!(line(b"\\xff"), line(b"\xff"));
    }

    /// A blank that is not the plain one looks like it, and what has no shape looks like nothing.
    #[test]
    fn only_the_plain_space_is_blank() {
        let odd = [
            0xA0, 0xAD, 0x1680, 0x180E, 0x2000, 0x200A, 0x202F, 0x205F, 0x3000, 0x2800, 0x3164,
            0xFFA0, 0x115F, 0x1160, 0x17B4, 0x34F, 0x13430, 0x1343F, 0x1D159, 0x1D173, 0x1BCA0,
            0x16FE4, 0x1107F, 0x1BC9D, 0x180F, 0xFE0F, 0xFDD0, 0x1FFFE,
        ];
        for code in odd {
            let c = char::from_u32(code).unwrap();
            assert!(!is_plain(c), "{code:x}");
        }
        let blank = |c: &char| c.is_whitespace() && *c != ' ';
        let all = (0..=0x10_FFFF).filter_map(char::from_u32);
        assert_eq!(all.filter(blank).find(|c| is_plain(*c)), None);
    }

    #[test]
    fn inert_json_means_the_same() {
        let value = serde_json::json!({ "a\u{202e}": ["\u{1b}[2J\u{7f}\u{9b}", "x\u{e0041}", "é 🦀 \n\t"] });
        for text in [value.to_string(), format!("{value:#}")] {
            let inert = json(&text);
            assert_eq!(serde_json::from_str::<serde_json::Value>(&inert).unwrap(), value);
            assert!(inert.chars().all(|c| c == '\n' || is_plain(c)), "{inert:?}");
        }
    }

    #[test]
    fn white_space_between_values_stays_white_space() {
        let inert = json("{\"a\\t\":\t[1,\r\n\"\u{202e}\"]}");
        assert_eq!(inert, "{\"a\\t\": [1, \n\"\\u202e\"]}");
        let value = serde_json::json!({ "a\t": [1, "\u{202e}"] });
        assert_eq!(serde_json::from_str::<serde_json::Value>(&inert).unwrap(), value);
    }

    #[test]
    fn no_control_byte_ever_comes_out() {
        for code in 0..=0x10_FFFFu32 {
            let Some(c) = char::from_u32(code) else { continue };
            let out = line(c.to_string().as_bytes());
            assert!(!out.chars().any(char::is_control), "{code:x}");
        }
    }
}
