//! Copies the content of a file: without taking space where the file system can share it, and without
//! filling holes where it cannot.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom as From};

use rustix::fs::{SeekFrom, fstat, ioctl_ficlone, seek};
use rustix::io::Errno;

/// Makes `to`, an empty file, equal to `from`.
pub(crate) fn duplicate(mut from: &File, mut to: &File) -> io::Result<()> {
    if ioctl_ficlone(to, from).is_ok() {
        return Ok(());
    }
    let stat = fstat(from)?;
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    let is_sparse = u64::try_from(stat.st_blocks).unwrap_or(0) * 512 < size;
    if !is_sparse {
        from.seek(From::Start(0))?;
        return io::copy(&mut from, &mut to).map(|_| ());
    }
    to.set_len(size)?;
    let mut at = 0;
    while at < size {
        let data = match seek(from, SeekFrom::Data(at)) {
            // A hole to the end.
            Err(Errno::NXIO) => return Ok(()),
            answer => answer?,
        };
        let hole = seek(from, SeekFrom::Hole(data))?;
        from.seek(From::Start(data))?;
        to.seek(From::Start(data))?;
        io::copy(&mut from.take(hole - data), &mut to)?;
        at = hole;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    #[test]
    fn bytes_and_holes_are_the_same() {
        let (mut from, mut to) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        from.seek(From::Start(5 << 20)).unwrap();
        from.write_all(b"data").unwrap();
        from.set_len(40 << 20).unwrap();
        duplicate(&from, &to).unwrap();
        assert_eq!(to.metadata().unwrap().len(), 40 << 20);
        assert!(to.metadata().unwrap().blocks() < 1000);
        let mut bytes = Vec::new();
        to.seek(From::Start(0)).unwrap();
        to.read_to_end(&mut bytes).unwrap();
        assert_eq!(&bytes[5 << 20..(5 << 20) + 4], b"data");
        assert_eq!(bytes.iter().filter(|byte| **byte != 0).count(), 4);
    }
}
