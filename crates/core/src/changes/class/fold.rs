//! A path as the laxest file system would read it.
//!
//! A tree is cloned to machines whose file systems ignore case (macOS, Windows), leave out characters that
//! do not show (HFS+), cut off trailing dots, spaces and streams, and take a backslash for a slash
//! (Windows). Git itself was broken by each. To Linux `.GIT` and `.git` are two names; to whoever decides
//! whether a name is dangerous they are one.

use std::borrow::Cow;

/// Only ever compared with the table; never opened.
pub(super) fn folded(path: &[u8]) -> Cow<'_, [u8]> {
    let plain = |byte: u8| byte.is_ascii() && !byte.is_ascii_uppercase() && !b"\\:".contains(&byte);
    let names_end_well = || path.split(|byte| *byte == b'/').all(|name| trimmed(name) == name);
    if path.iter().copied().all(plain) && names_end_well() {
        return Cow::Borrowed(path);
    }
    let shown = shown(path);
    let names = shown.split(|byte| b"/\\".contains(byte)).map(|name| {
        let name = name.split(|byte| *byte == b':').next().unwrap_or(name);
        trimmed(name)
    });
    Cow::Owned(names.filter(|name| !name.is_empty()).collect::<Vec<_>>().join(&b'/'))
}

/// In lower case and without what does not show. Bytes that are no text stay.
fn shown(path: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(path.len());
    for chunk in path.utf8_chunks() {
        for c in chunk.valid().chars().filter(|c| !is_ignored(*c)) {
            // Two letters beyond ASCII become ASCII when case is ignored: the long s and the Kelvin sign.
            let c = match c {
                '\u{17f}' => 's',
                '\u{212a}' => 'k',
                c => c.to_ascii_lowercase(),
            };
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
        out.extend_from_slice(chunk.invalid());
    }
    out
}

fn trimmed(name: &[u8]) -> &[u8] {
    let end = name.iter().rposition(|byte| !b" .\r".contains(byte)).map_or(0, |last| last + 1);
    &name[..end]
}

/// What HFS+ leaves out, and other characters of the kind.
fn is_ignored(c: char) -> bool {
    matches!(u32::from(c),
        0xAD | 0x34F | 0x61C | 0x180B..=0x180F | 0x200B..=0x200F | 0x202A..=0x202E | 0x2060..=0x206F
        | 0xFE00..=0xFE0F | 0xFEFF | 0xE0000..=0xE0FFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(path: &str) -> String {
        String::from_utf8_lossy(&folded(path.as_bytes())).into_owned()
    }

    #[test]
    fn what_some_file_system_takes_for_the_same_is_the_same() {
        for name in [
            ".git/config",
            ".GIT/Config",
            ".g\u{200c}it/config",
            ".git\u{feff}/config",
            ".git./config",
            ".git /config...",
            ".git::$INDEX_ALLOCATION/config",
            ".git\\config",
            ".git/config:stream",
            ".git\r/config",
        ] {
            assert_eq!(fold(name), ".git/config", "{name:?}");
        }
        assert_eq!(fold(".v\u{17f}code"), ".vscode");
        assert_eq!(fold("ma\u{212a}efile"), "makefile");
    }

    #[test]
    fn other_names_stay_apart() {
        assert_eq!(fold(".gitx"), ".gitx");
        assert_eq!(fold("git"), "git");
        assert_eq!(fold("naïve/Größe"), "naïve/größe");
        assert_eq!(&*folded(b"A\xff/b"), b"a\xff/b");
        assert!(matches!(folded(b"src/a.rs"), Cow::Borrowed(_)));
    }
}
