//! Sees that a disk keeps some space free, whatever a program writes to it.
//!
//! No quota is asked of the file system, because few give one: whoever watches over the program looks how much is
//! left, the more often the less it is. It bounds what one program does to the host; it is no exact limit.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::statvfs;

/// Nothing that is written to fills up faster, in bytes a second.
const FASTEST: u64 = 4 << 30;
/// Between two looks.
const SOONEST: Duration = Duration::from_millis(20);
const LATEST: Duration = Duration::from_secs(10);
/// Of a small disk only this part is kept free.
const PART: u64 = 20;

/// What is to stay free where `dir` is.
#[derive(Debug, Clone, Copy)]
pub struct Reserve<'a> {
    pub dir: &'a Path,
    pub bytes: u64,
}

impl Reserve<'_> {
    /// How many bytes may still be written; `None` where that cannot be learned, as of a directory that is gone.
    pub fn room(&self) -> Option<u64> {
        let disk = statvfs(self.dir).ok()?;
        let (free, all) = (disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize);
        Some(free.saturating_sub(self.bytes.min(all / PART)))
    }

    pub fn is_used_up(&self) -> bool {
        self.bytes > 0 && self.room() == Some(0)
    }
}

/// A reserve, and when to look at it next.
#[derive(Debug, Clone, Copy)]
pub struct Lookout<'a> {
    reserve: Reserve<'a>,
    next: Instant,
}

impl<'a> Lookout<'a> {
    /// None where nothing is to be kept free.
    pub fn over(reserve: Reserve<'a>) -> Option<Self> {
        (reserve.bytes > 0).then(|| Self { reserve, next: Instant::now() })
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
        let room = self.reserve.room().unwrap_or(u64::MAX);
        self.next = now + pause(room);
        room == 0
    }
}

/// Half of the time in which so much could be written.
fn pause(room: u64) -> Duration {
    Duration::from_millis(room.saturating_mul(500) / FASTEST).clamp(SOONEST, LATEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_less_is_left_the_sooner_it_is_looked_at() {
        assert_eq!(pause(0), SOONEST);
        assert_eq!(pause(1 << 30), Duration::from_millis(125));
        assert_eq!(pause(u64::MAX), LATEST);
    }

    #[test]
    fn of_a_small_disk_a_part_is_kept_and_nothing_of_one_that_is_gone() {
        let dir = std::env::temp_dir();
        let all = Reserve { dir: &dir, bytes: 0 }.room().unwrap();
        let some = Reserve { dir: &dir, bytes: u64::MAX }.room().unwrap();
        assert!(some < all, "{some} of {all}");
        let gone = Reserve { dir: Path::new("/nonexistent"), bytes: 1 };
        assert_eq!(gone.room(), None);
        assert!(!gone.is_used_up());
    }
}
