//! Sees that a disk keeps some space free, whatever a program writes to it.
//!
//! No quota is asked of the file system, because few give one: whoever watches over the program looks how much is
//! left, of bytes and of files, the more often the less it is. It bounds what one program does to the host; it is no
//! exact limit.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::statvfs;

/// Nothing that is written to fills up faster, in bytes a second and in files a second.
const FASTEST: u64 = 4 << 30;
const FASTEST_FILES: u64 = 200_000;
/// Between two looks.
const SOONEST: Duration = Duration::from_millis(20);
const LATEST: Duration = Duration::from_secs(10);
/// Of a small disk only this part is kept free.
const PART: u64 = 20;
/// This part of the files that a disk can have is left to others.
const PART_OF_FILES: u64 = 100;

/// What is to stay free where `dir` is.
#[derive(Debug, Clone, Copy)]
pub struct Reserve<'a> {
    pub dir: &'a Path,
    pub bytes: u64,
}

impl Reserve<'_> {
    /// Where it cannot be learned, as of a directory that is gone, nothing is known to be wrong.
    fn room(&self) -> Room {
        let Ok(disk) = statvfs(self.dir) else { return Room::UNKNOWN };
        let (free, all) = (disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize);
        Room {
            bytes: left(free, all, self.bytes.min(all / PART)),
            files: left(disk.f_favail, disk.f_files, disk.f_files / PART_OF_FILES),
        }
    }

    pub fn is_used_up(&self) -> bool {
        self.bytes > 0 && self.room().is_gone()
    }
}

/// Some file systems have no bound, and say that it is 0.
fn left(free: u64, all: u64, kept: u64) -> u64 {
    if all == 0 { u64::MAX } else { free.saturating_sub(kept) }
}

/// What may still be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Room {
    bytes: u64,
    files: u64,
}

impl Room {
    const UNKNOWN: Self = Self { bytes: u64::MAX, files: u64::MAX };

    fn is_gone(self) -> bool {
        self.bytes == 0 || self.files == 0
    }

    /// Half of the time in which it could be used up.
    fn pause(self) -> Duration {
        let half = |left: u64, a_second: u64| left.saturating_mul(500) / a_second;
        let millis = half(self.bytes, FASTEST).min(half(self.files, FASTEST_FILES));
        Duration::from_millis(millis).clamp(SOONEST, LATEST)
    }
}

/// A reserve, and when to look at it next.
#[derive(Debug, Clone, Copy)]
pub struct Lookout<'a> {
    reserve: Reserve<'a>,
    next: Instant,
}

impl<'a> Lookout<'a> {
    /// None where nothing is to be kept free. Whoever starts something has just looked: most commands are over before the
    /// first look.
    pub fn over(reserve: Reserve<'a>) -> Option<Self> {
        (reserve.bytes > 0).then(|| Self { reserve, next: Instant::now() + SOONEST })
    }

    pub fn next(&self) -> Instant {
        self.next
    }

    /// Looks, where it is time to: whether the reserve is used up.
    pub fn sees_the_end(&mut self) -> bool {
        let now = Instant::now();
        if now < self.next {
            return false;
        }
        let room = self.reserve.room();
        self.next = now + room.pause();
        room.is_gone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_less_is_left_the_sooner_it_is_looked_at() {
        assert_eq!(Room::UNKNOWN.pause(), LATEST);
        assert_eq!(Room { bytes: 0, ..Room::UNKNOWN }.pause(), SOONEST);
        assert_eq!(Room { bytes: 1 << 30, ..Room::UNKNOWN }.pause(), Duration::from_millis(125));
        assert_eq!(Room { files: 40_000, ..Room::UNKNOWN }.pause(), Duration::from_millis(100));
        assert!(!Room::UNKNOWN.is_gone() && Room { files: 0, ..Room::UNKNOWN }.is_gone());
    }

    #[test]
    fn of_a_small_disk_a_part_is_kept_and_nothing_of_one_that_is_gone() {
        let dir = std::env::temp_dir();
        let all = Reserve { dir: &dir, bytes: 0 }.room();
        let some = Reserve { dir: &dir, bytes: u64::MAX }.room();
        assert!(some.bytes < all.bytes, "{some:?} of {all:?}");
        let gone = Reserve { dir: Path::new("/nonexistent"), bytes: 1 };
        assert_eq!(gone.room(), Room::UNKNOWN);
        assert_eq!((left(7, 100, 5), left(5, 100, 5), left(0, 0, 0)), (2, 0, u64::MAX));
        assert!(!gone.is_used_up());
    }
}
