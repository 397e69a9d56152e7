//! Contents that are no text, in patches: git's "binary patch", a whole content as base 85 of its
//! compressed bytes. See `diff.c` and `base85.c` of git for the form.

use std::io::{self, Write};

use cofferdam_sandbox::changes::ObjectFormat;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use sha1::{Digest as _, Sha1};
use sha2::Sha256;

const ALPHABET: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
/// Bytes on one line.
const LINE: usize = 52;

/// The name that git has for a content.
pub(super) fn object_name(format: ObjectFormat, content: &[u8]) -> String {
    let head = format!("blob {}\0", content.len());
    match format {
        ObjectFormat::Sha1 => hex(&Sha1::new().chain_update(head).chain_update(content).finalize()),
        ObjectFormat::Sha256 => {
            hex(&Sha256::new().chain_update(head).chain_update(content).finalize())
        }
    }
}

/// The name that no content has.
pub(super) fn no_object(format: ObjectFormat) -> String {
    match format {
        ObjectFormat::Sha1 => "0".repeat(40),
        ObjectFormat::Sha256 => "0".repeat(64),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Both contents, so that the patch can be applied and taken back.
pub(super) fn write(old: &[u8], new: &[u8], out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"GIT binary patch\n")?;
    literal(new, out)?;
    literal(old, out)
}

fn literal(content: &[u8], out: &mut dyn Write) -> io::Result<()> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(content)?;
    writeln!(out, "literal {}", content.len())?;
    for line in encoder.finish()?.chunks(LINE) {
        out.write_all(&encoded(line))?;
    }
    out.write_all(b"\n")
}

/// A letter for the number of bytes, then five characters for every four.
fn encoded(bytes: &[u8]) -> Vec<u8> {
    let letters = (b'A'..=b'Z').chain(b'a'..=b'z');
    let mut line: Vec<u8> = letters.skip(bytes.len() - 1).take(1).collect();
    for group in bytes.chunks(4) {
        let mut word = [0; 4];
        word[..group.len()].copy_from_slice(group);
        let mut rest = u32::from_be_bytes(word);
        let mut digits = [0; 5];
        for digit in digits.iter_mut().rev() {
            *digit = ALPHABET[(rest % 85) as usize];
            rest /= 85;
        }
        line.extend(digits);
    }
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_named_and_written_as_git_does() {
        let name = |format| object_name(format, b"");
        assert_eq!(name(ObjectFormat::Sha1), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(
            name(ObjectFormat::Sha256),
            "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
        );
        // The compressed empty content, as zlib has it.
        let empty = [0x78, 0x01, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01];
        assert_eq!(encoded(&empty), b"HcmV?d00001\n");
        assert_eq!(encoded(&[0; 52])[0], b'z');
    }
}
