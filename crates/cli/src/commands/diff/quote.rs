//! Names as git writes them in patches.

/// `name` as it is, or in quotes with C's escapes where a byte of it would not be read back otherwise.
pub(crate) fn quoted(name: &[u8]) -> Vec<u8> {
    let plain = |byte: &u8| matches!(byte, b' '..=b'~') && !b"\"\\".contains(byte);
    if name.iter().all(plain) {
        return name.to_vec();
    }
    let mut quoted = vec![b'"'];
    for byte in name {
        let letter = match byte {
            0x07 => b'a',
            0x08 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            0x0b => b'v',
            0x0c => b'f',
            b'\r' => b'r',
            b'"' => b'"',
            b'\\' => b'\\',
            byte if plain(byte) => {
                quoted.push(*byte);
                continue;
            }
            byte => {
                quoted.extend(format!("\\{byte:03o}").into_bytes());
                continue;
            }
        };
        quoted.extend([b'\\', letter]);
    }
    quoted.push(b'"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_as_git_does() {
        for (name, wanted) in [
            (&b"a b"[..], &b"a b"[..]),
            (b"a\tb", br#""a\tb""#),
            (b"a\"\\", br#""a\"\\""#),
            ("ä".as_bytes(), br#""\303\244""#),
            (b"\x1b\x7f\xff", br#""\033\177\377""#),
        ] {
            assert_eq!(quoted(name), wanted);
        }
    }
}
