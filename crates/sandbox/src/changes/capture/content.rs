//! Bytes of files, and their hashes.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom as From};

use cofferdam_core::changes::ContentHash;
use rustix::fs::{SeekFrom, Stat, seek};
use rustix::io::Errno;

use super::size_of;
use crate::changes::halt::Halt;

/// What a file held before is kept up to this size, for merges and for a look at what was changed.
pub(crate) const LARGEST_KEPT: u64 = 4 * 1024 * 1024;
/// A file that claims to be larger is not read: it takes a program no time to make one.
const LARGEST_READ: u64 = 16 * 1024 * 1024 * 1024;

/// The hash of a file, or `None` where it is too large to be read.
pub(crate) fn hash(
    file: &mut File,
    stat: &Stat,
    halt: &Halt<'_>,
) -> io::Result<Option<ContentHash>> {
    let size = size_of(stat);
    if size > LARGEST_READ {
        return Ok(None);
    }
    let mut hasher = blake3::Hasher::new();
    let allocated = u64::try_from(stat.st_blocks).unwrap_or(0) * 512;
    if allocated + SPARSE < size {
        hash_sparse(file, size, &mut hasher, halt)?;
    } else if size > UNINTERRUPTED {
        read_all(halt.reader(file), &mut hasher)?;
    } else if size > 0 {
        read_all(file, &mut hasher)?;
    }
    Ok(Some(hasher.finalize().into()))
}

/// Apart from those who call it: it has a large buffer on its stack, which the kernel would have to provide for whoever has nothing
/// to read as well.
#[inline(never)]
pub(crate) fn read_all(from: impl io::Read, hasher: &mut blake3::Hasher) -> io::Result<()> {
    hasher.update_reader(from).map(|_| ())
}

/// A file of this size is read in no time.
const UNINTERRUPTED: u64 = 1024 * 1024;
/// Holes of less than this are read like anything else.
const SPARSE: u64 = 1024 * 1024;
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// Without reading what was never written.
fn hash_sparse(
    file: &mut File,
    size: u64,
    hasher: &mut blake3::Hasher,
    halt: &Halt<'_>,
) -> io::Result<()> {
    let mut at = 0;
    while at < size {
        let data = match seek(&*file, SeekFrom::Data(at)) {
            // A hole to the end.
            Err(Errno::NXIO) => size,
            answer => answer?.min(size),
        };
        zeros(hasher, data - at, halt)?;
        if data < size {
            let hole = seek(&*file, SeekFrom::Hole(data))?.min(size);
            file.seek(From::Start(data))?;
            read_all(halt.reader((&mut *file).take(hole - data)), hasher)?;
            at = hole;
        } else {
            at = size;
        }
    }
    Ok(())
}

fn zeros(hasher: &mut blake3::Hasher, mut count: u64, halt: &Halt<'_>) -> io::Result<()> {
    while count > 0 {
        halt.check().map_err(io::Error::other)?;
        let part = usize::try_from(count).unwrap_or(usize::MAX).min(ZEROS.len());
        hasher.update(&ZEROS[..part]);
        count -= part as u64;
    }
    Ok(())
}

/// All bytes of a file of at most [`LARGEST_KEPT`], as many as it says it has.
pub(crate) fn bytes_of(file: &mut File, stat: &Stat) -> io::Result<Option<Vec<u8>>> {
    let size = size_of(stat);
    if size > LARGEST_KEPT {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    file.take(size + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 == size).then_some(bytes))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use rustix::fs::fstat;

    use super::*;

    #[test]
    fn holes_are_zeros() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"begin").unwrap();
        file.seek(From::Start(3_000_000)).unwrap();
        file.write_all(b"middle").unwrap();
        file.set_len(9_000_001).unwrap();
        let stat = fstat(&file).unwrap();
        let mut whole = vec![0; 9_000_001];
        whole[..5].copy_from_slice(b"begin");
        whole[3_000_000..3_000_006].copy_from_slice(b"middle");
        file.seek(From::Start(0)).unwrap();
        assert_eq!(hash(&mut file, &stat, &Halt::never()).unwrap(), Some(ContentHash::of(&whole)));
    }

    #[test]
    fn what_claims_to_be_huge_is_not_read() {
        let mut file = tempfile::tempfile().unwrap();
        file.set_len(50 << 30).unwrap();
        let stat = fstat(&file).unwrap();
        assert_eq!(hash(&mut file, &stat, &Halt::never()).unwrap(), None);
        assert_eq!(bytes_of(&mut file, &stat).unwrap(), None);
    }
}
