//! The one place that reads the wall clock and the random source.

use std::io;

use cofferdam_core::id::RunId;
use cofferdam_core::stamp::Stamp;
use rustix::rand::{GetRandomFlags, getrandom};

use crate::state::StateError;

pub(crate) fn now() -> Stamp {
    Stamp::new(jiff::Timestamp::now())
}

pub(crate) fn new_run_id(at: Stamp) -> Result<RunId, StateError> {
    let mut random = [0; 16];
    fill(&mut random).map_err(|source| StateError::Random { source })?;
    Ok(RunId::from_parts(at.unix_millis(), u128::from_le_bytes(random)))
}

/// Fills `bytes` with what nobody can foresee. Asks the kernel itself: a program without shared libraries has no other way
/// but to open a device, and waits for that at every start.
pub(crate) fn fill(bytes: &mut [u8]) -> io::Result<()> {
    let mut left = bytes;
    while !left.is_empty() {
        match getrandom(&mut *left, GetRandomFlags::empty()) {
            Ok(count) => left = &mut left[count..],
            Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_is_filled_and_never_the_same() {
        // More than the kernel gives in one go.
        let (mut one, mut two) = (vec![0; 33 << 20], vec![0; 64]);
        fill(&mut one).unwrap();
        fill(&mut two).unwrap();
        assert!(one[one.len() - 64..].iter().any(|byte| *byte != 0));
        assert_ne!(one[..64], two[..]);
    }
}
