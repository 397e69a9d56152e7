//! What nobody can foresee, asked of the kernel itself: a program without shared libraries has no other way but to open a
//! device, and waits for another one before that, at every start.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// Fills `bytes` with it.
pub fn fill(bytes: &mut [u8]) -> io::Result<()> {
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
