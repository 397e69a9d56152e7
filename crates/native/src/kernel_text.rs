//! Small texts that the kernel makes up when they are asked for: in `/proc` and in control groups.
//!
//! Such a file has no size to ask for first, and is given whole with the first read that has room for it.
//! Reading one the usual way takes three to eight system calls more, and there are many of them on the way
//! of every start.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// More than any of them has.
const ROOM: usize = 4096;

pub(crate) fn read(path: impl AsRef<Path>) -> io::Result<String> {
    again(&File::open(path)?)
}

/// The text as it is now, of a file that is open already.
pub(crate) fn again(file: &File) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut room = [0; ROOM];
    loop {
        let length = file.read_at(&mut room, bytes.len() as u64)?;
        bytes.extend_from_slice(&room[..length]);
        if length < ROOM {
            break;
        }
    }
    String::from_utf8(bytes).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_read_whole() {
        for file in ["/proc/self/cgroup", "/proc/sys/kernel/ostype"] {
            assert_eq!(read(file).unwrap(), std::fs::read_to_string(file).unwrap(), "{file}");
        }
        let dir = tempfile::tempdir().unwrap();
        let long = dir.path().join("long");
        std::fs::write(&long, "x".repeat(3 * ROOM)).unwrap();
        assert_eq!(read(&long).unwrap().len(), 3 * ROOM);
        assert!(read("/proc/self/no-such-file").is_err());
    }
}
