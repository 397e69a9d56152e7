//! A tape archive of directories and links, all that an empty image is made of. No times and no names of
//! owners, so that the same entries are the same bytes.

/// An archive under construction, in the format of POSIX.1-1988 (ustar).
#[derive(Debug, Default)]
pub(super) struct Tar(Vec<u8>);

const BLOCK: usize = 512;

impl Tar {
    pub(super) fn directory(&mut self, name: &str, mode: u32) {
        self.entry(&format!("{name}/"), b'5', "", mode);
    }

    pub(super) fn link(&mut self, name: &str, target: &str) {
        self.entry(name, b'2', target, 0o777);
    }

    /// Two empty blocks are the end.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 2 * BLOCK, 0);
        self.0
    }

    fn entry(&mut self, name: &str, kind: u8, target: &str, mode: u32) {
        let mut head = [0_u8; BLOCK];
        let mut put = |at: usize, text: &[u8]| {
            head[at..at + text.len()].copy_from_slice(text);
        };
        put(0, &name.as_bytes()[..name.len().min(99)]);
        put(100, format!("{mode:07o}").as_bytes());
        put(108, b"0000000");
        put(116, b"0000000");
        put(124, b"00000000000");
        put(136, b"00000000000");
        put(148, b"        ");
        put(156, &[kind]);
        put(157, &target.as_bytes()[..target.len().min(99)]);
        put(257, b"ustar\x0000");
        let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
        head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        self.0.extend_from_slice(&head);
    }
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
        assert_eq!(lines.len(), 2);
    }
}
