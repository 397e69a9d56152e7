//! Text made to fit a screen: cut into rows, of which none is left out, or shortened where everybody sees it.

use ratatui::text::Span;

/// The rows of a text, `width` cells wide. Together they are the text.
pub(in super::super) fn rows(text: &str, width: usize) -> Vec<&str> {
    let (first, mut rest) = start(text, width);
    let mut rows = vec![first];
    while !rest.is_empty() {
        let (row, more) = start(rest, width);
        rows.push(row);
        rest = more;
    }
    rows
}

/// The same for words, which stay whole where there is a blank to part them at.
pub(super) fn folded(text: &str, width: usize) -> Vec<&str> {
    let (mut rows, mut rest) = (Vec::new(), text);
    loop {
        let (row, more) = start(rest, width);
        match row.rfind(' ').filter(|blank| !more.is_empty() && *blank > row.len() / 2) {
            Some(blank) => {
                rows.push(&rest[..blank]);
                rest = &rest[blank + 1..];
            }
            None => {
                rows.push(row);
                rest = more;
            }
        }
        if rest.is_empty() {
            return rows;
        }
    }
}

/// The text, or its start and its end with a mark between them. The last part of a path is kept, as long
/// as it fits at all: it says what a file is.
pub(super) fn shortened(text: &str, width: usize) -> String {
    if cells(text) <= width {
        return text.to_owned();
    }
    let room = width.saturating_sub(1);
    let last = text.rfind('/').map_or(0, |at| cells(&text[at..]));
    let end = if last <= room { last.max(room / 2) } else { room / 2 };
    let head = prefix(text, room - end);
    let mut from = text.len();
    let mut used = 0;
    for (at, c) in text.char_indices().rev() {
        used += width_of(c);
        if used > end {
            break;
        }
        from = at;
    }
    format!("{head}…{}", &text[from..])
}

/// As much as fits, which is at least one character, and what follows.
fn start(text: &str, width: usize) -> (&str, &str) {
    let fits = prefix(text, width).len();
    let least = text.chars().next().map_or(0, char::len_utf8);
    text.split_at(fits.max(least))
}

fn prefix(text: &str, width: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += width_of(c);
        if used > width {
            return &text[..at];
        }
    }
    text
}

fn cells(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

/// In cells. What joins the character before it takes none.
fn width_of(c: char) -> usize {
    if c.is_ascii() { 1 } else { Span::raw(c.encode_utf8(&mut [0; 4]).to_owned()).width() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_the_whole_text() {
        assert_eq!(rows("", 3), [""]);
        assert_eq!(rows("abc", 3), ["abc"]);
        assert_eq!(rows("abcdefg", 3), ["abc", "def", "g"]);
        assert_eq!(rows("日本語", 5), ["日本", "語"]);
        // However small the screen is.
        assert_eq!(rows("日本", 0), ["日", "本"]);
    }

    #[test]
    fn words_stay_whole() {
        assert_eq!(folded("one two three", 8), ["one two", "three"]);
        assert_eq!(folded("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(folded("", 4), [""]);
    }

    #[test]
    fn what_is_left_out_is_marked() {
        assert_eq!(shortened("src/main.rs", 11), "src/main.rs");
        assert_eq!(shortened("a/very/long/way/main.rs", 12), "a/v…/main.rs");
        assert_eq!(shortened("abcdefghijklmnop", 7), "abc…nop");
        assert_eq!(shortened("abc", 0), "…");
    }
}
