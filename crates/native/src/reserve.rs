//! Sees that a disk keeps some space free, whatever a program writes to it.
//!
//! No quota is asked of the file system, because few give one: whoever watches over the program looks how much is
//! left, of bytes and of files, the more often the less it is, and often only while it becomes less. It bounds what one
//! program does to the host; it is no exact limit: what is taken between two looks is taken, as a whole file by one call.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::statvfs;

/// Nothing that is written to fills up faster, in bytes a second and in files a second.
const FASTEST: u64 = 4 << 30;
const FASTEST_FILES: u64 = 200_000;
/// Between two looks, while there is less at each.
const SOONEST: Duration = Duration::from_millis(1);
/// The same where nothing is written: whoever waits costs nothing.
const UNHURRIED: Duration = Duration::from_millis(20);
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
            bytes: left(free, all, self.of(all)),
            files: left(disk.f_favail, disk.f_files, disk.f_files / PART_OF_FILES),
        }
    }

    /// How much is kept of a disk of this size.
    fn of(&self, all: u64) -> u64 {
        self.bytes.min(all / PART)
    }

    /// How much is kept of this disk.
    pub fn kept(&self) -> u64 {
        statvfs(self.dir).map_or(self.bytes, |disk| self.of(disk.f_blocks * disk.f_frsize))
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

    fn is_less_than(self, before: Self) -> bool {
        self.bytes < before.bytes || self.files < before.files
    }

    /// Half of the time in which it could be used up, and no less than this.
    fn pause(self, least: Duration) -> Duration {
        let half = |left: u64, a_second: u64| left.saturating_mul(500_000) / a_second;
        let micros = half(self.bytes, FASTEST).min(half(self.files, FASTEST_FILES));
        Duration::from_micros(micros).clamp(least, LATEST)
    }
}

/// A reserve, and when to look at it next.
#[derive(Debug, Clone, Copy)]
pub struct Lookout<'a> {
    reserve: Reserve<'a>,
    next: Instant,
    /// What there was at the last look, and the least pause after it.
    last: Room,
    least: Duration,
}

impl<'a> Lookout<'a> {
    /// None where nothing is to be kept free. Most commands are over before there is a second look, unless there is hardly
    /// any room.
    pub fn over(reserve: Reserve<'a>) -> Option<Self> {
        (reserve.bytes > 0).then(|| {
            let last = reserve.room();
            let next = Instant::now() + last.pause(SOONEST).min(UNHURRIED);
            Self { reserve, next, last, least: SOONEST }
        })
    }

    pub fn next(&self) -> Instant {
        self.next
    }

    /// Looks, where it is time to: how much was to be kept, where it is used up.
    pub fn sees_the_end(&mut self) -> Option<u64> {
        let now = Instant::now();
        if now < self.next {
            return None;
        }
        let room = self.reserve.room();
        self.next = now + self.pause_after(room);
        room.is_gone().then(|| self.reserve.kept())
    }

    /// Short while there is less at each look, and then longer from look to look.
    fn pause_after(&mut self, room: Room) -> Duration {
        let is_written_to = room.is_less_than(self.last);
        self.least = if is_written_to { SOONEST } else { (self.least * 2).min(UNHURRIED) };
        self.last = room;
        room.pause(self.least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_less_is_left_the_sooner_it_is_looked_at() {
        let pause = |room: Room| room.pause(SOONEST);
        assert_eq!(pause(Room::UNKNOWN), LATEST);
        assert_eq!(pause(Room { bytes: 0, ..Room::UNKNOWN }), SOONEST);
        assert_eq!(pause(Room { bytes: 1 << 30, ..Room::UNKNOWN }), Duration::from_millis(125));
        assert_eq!(pause(Room { files: 40_000, ..Room::UNKNOWN }), Duration::from_millis(100));
        assert!(!Room::UNKNOWN.is_gone() && Room { files: 0, ..Room::UNKNOWN }.is_gone());
    }

    #[test]
    fn where_nothing_is_written_it_is_not_looked_at_often() {
        let dir = std::env::temp_dir();
        let mut lookout = Lookout::over(Reserve { dir: &dir, bytes: 1 }).unwrap();
        let room = |bytes| Room { bytes, ..Room::UNKNOWN };
        lookout.last = room(9 << 20);
        let millis = [8 << 20, 4 << 20, 4 << 20, 4 << 20].map(|bytes: u64| {
            let pause = lookout.pause_after(room(bytes));
            u64::try_from(pause.as_millis()).unwrap()
        });
        assert_eq!(millis, [1, 1, 2, 4]);
        let rest: Vec<_> = (0..4).map(|_| lookout.pause_after(room(4 << 20))).collect();
        assert_eq!(rest.last(), Some(&UNHURRIED));
        assert_eq!(lookout.pause_after(room(3 << 20)), SOONEST);
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
        assert_eq!((gone.kept(), gone.of(10), gone.of(100)), (1, 0, 1));
    }
}
