//! Tape archives (POSIX.1-2001): no times and no owners, so that the same entries are the same bytes.
//!
//! [`Tar`] is a small one made in memory, of directories and links; [`head`] and [`padding`] are what a long one
//! is streamed with.

/// An archive under construction.
#[derive(Debug, Default)]
pub(crate) struct Tar(Vec<u8>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Link,
    Directory,
}

const BLOCK: usize = 512;
/// Two empty blocks.
pub(crate) const END: usize = 2 * BLOCK;
/// Longer names and targets go into a block of their own.
const MOST_NAME: usize = 99;
/// More does not fit into the field for it.
pub(crate) const MOST_SIZE: u64 = 0o77_777_777_777;

impl Tar {
    pub(crate) fn directory(&mut self, name: &str, mode: u32) {
        self.0.extend(head(format!("{name}/").as_bytes(), Kind::Directory, b"", mode, 0));
    }

    pub(crate) fn link(&mut self, name: &str, target: &str) {
        self.0.extend(head(name.as_bytes(), Kind::Link, target.as_bytes(), 0o777, 0));
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + END, 0);
        self.0
    }
}

/// What comes before the contents of an entry.
pub(crate) fn head(name: &[u8], kind: Kind, target: &[u8], mode: u32, size: u64) -> Vec<u8> {
    let mut extra = Vec::new();
    for (key, value) in [("path", name), ("linkpath", target)] {
        if value.len() > MOST_NAME {
            extra.extend(record(key, value));
        }
    }
    let mut out = Vec::new();
    if !extra.is_empty() {
        let length = extra.len() as u64;
        out.extend(block(b"././@PaxHeader", b'x', b"", 0o644, length));
        out.extend(&extra);
        out.resize(out.len() + padding(length), 0);
    }
    let kind = match kind {
        Kind::File => b'0',
        Kind::Link => b'2',
        Kind::Directory => b'5',
    };
    out.extend(block(name, kind, target, mode, size));
    out
}

/// Bytes after contents of that length.
pub(crate) fn padding(size: u64) -> usize {
    let over = usize::try_from(size % BLOCK as u64).unwrap_or(0);
    if over == 0 { 0 } else { BLOCK - over }
}

/// `LENGTH key=value\n`, where the length counts itself.
fn record(key: &str, value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    [format!("{length} {key}=").as_bytes(), value, b"\n"].concat()
}

fn block(name: &[u8], kind: u8, target: &[u8], mode: u32, size: u64) -> [u8; BLOCK] {
    let mut head = [0_u8; BLOCK];
    let mut put = |at: usize, text: &[u8]| {
        head[at..at + text.len()].copy_from_slice(text);
    };
    put(0, &name[..name.len().min(MOST_NAME)]);
    put(100, format!("{mode:07o}").as_bytes());
    put(108, b"0000000");
    put(116, b"0000000");
    put(124, format!("{:011o}", size.min(MOST_SIZE)).as_bytes());
    put(136, b"00000000000");
    put(148, b"        ");
    put(156, &[kind]);
    put(157, &target[..target.len().min(MOST_NAME)]);
    put(257, b"ustar\x0000");
    let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
    head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    head
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_system_reads_it_as_it_was_meant() {
        let mut tar = Tar::default();
        tar.directory("usr", 0o755);
        tar.link("bin", "usr/bin");
        let long = "n".repeat(150);
        tar.link(&long, "t");
        let mut child = Command::new("tar")
            .args(["-tvf", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&tar.finish()).unwrap();
        let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        let lines: Vec<_> = said.lines().collect();
        assert!(lines[0].starts_with("drwxr-xr-x") && lines[0].ends_with(" usr/"), "{said}");
        assert!(lines[1].starts_with("l") && lines[1].ends_with(" bin -> usr/bin"), "{said}");
        assert!(lines[2].ends_with(&format!(" {long} -> t")), "{said}");
        assert_eq!(lines.len(), 3);
    }
}
