//! The names in one directory, sorted and packed: a million of them take a few tens of megabytes.

use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;

use rustix::fd::BorrowedFd;
use rustix::fs::RawDir;

#[derive(Debug, Default)]
pub(crate) struct Names {
    bytes: Vec<u8>,
    /// Where each begins, and how long it is.
    spans: Vec<(u32, u8)>,
}

impl Names {
    /// Reads a directory that was just opened.
    pub(crate) fn of(dir: BorrowedFd<'_>) -> io::Result<Self> {
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let mut entries = RawDir::new(dir, &mut buffer);
        let mut names = Self::default();
        while let Some(entry) = entries.next() {
            let entry = entry?;
            match entry.file_name().to_bytes() {
                b"." | b".." => {}
                name => names.add(name)?,
            }
        }
        names.sort();
        Ok(names)
    }

    pub(crate) fn add(&mut self, name: &[u8]) -> io::Result<()> {
        let too_many = |_| io::Error::new(io::ErrorKind::OutOfMemory, "too many names");
        let begin = u32::try_from(self.bytes.len()).map_err(too_many)?;
        let length = u8::try_from(name.len()).map_err(too_many)?;
        self.bytes.extend(name);
        self.spans.push((begin, length));
        Ok(())
    }

    pub(crate) fn sort(&mut self) {
        let bytes = &self.bytes;
        self.spans.sort_unstable_by(|a, b| slice(bytes, *a).cmp(slice(bytes, *b)));
    }

    pub(crate) fn get(&self, at: usize) -> Option<&OsStr> {
        self.spans.get(at).map(|span| OsStr::from_bytes(slice(&self.bytes, *span)))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &OsStr> {
        self.spans.iter().map(|span| OsStr::from_bytes(slice(&self.bytes, *span)))
    }
}

fn slice(bytes: &[u8], (begin, length): (u32, u8)) -> &[u8] {
    let begin = begin as usize;
    &bytes[begin..begin + usize::from(length)]
}
