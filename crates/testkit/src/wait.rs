//! Waiting for something that happens elsewhere.

use std::time::{Duration, Instant};

/// Whether `condition` came true within `patience`. Asked at least once, and a last time at the end.
#[must_use = "a wait whose answer is ignored tests nothing"]
pub fn wait_until(patience: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + patience;
    loop {
        let late = Instant::now() >= end;
        if condition() {
            return true;
        }
        if late {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_at_the_first_yes_and_gives_up_at_the_end() {
        let mut asked = 0;
        assert!(wait_until(Duration::from_secs(60), || {
            asked += 1;
            asked == 3
        }));
        assert_eq!(asked, 3);
        assert!(!wait_until(Duration::from_millis(20), || false));
        assert!(wait_until(Duration::ZERO, || true));
    }
}
