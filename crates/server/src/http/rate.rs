//! How many requests a token may make. A bucket a token, filled at the rate, with two seconds' worth of room.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use cofferdam_core::control::id::TokenId;
use tokio::time::Instant;

/// So many tokens are remembered before the rested ones are forgotten.
const REMEMBERED: usize = 1024;

#[derive(Debug)]
pub(crate) struct Rates {
    /// A second; `None`: as many as they like.
    rate: Option<u32>,
    buckets: Mutex<HashMap<TokenId, Bucket>>,
}

#[derive(Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

impl Rates {
    pub(crate) fn new(rate: Option<u32>) -> Self {
        Self { rate, buckets: Mutex::default() }
    }

    /// Takes one request from what the token may make; how long it should wait where nothing is left.
    pub(crate) fn take(&self, token: TokenId, now: Instant) -> Result<(), Duration> {
        let Some(rate) = self.rate.map(f64::from) else { return Ok(()) };
        let room = rate * 2.0;
        let mut buckets = match self.buckets.lock() {
            Ok(buckets) => buckets,
            Err(poisoned) => poisoned.into_inner(),
        };
        if buckets.len() >= REMEMBERED && !buckets.contains_key(&token) {
            buckets.retain(|_, bucket| bucket.filled(rate, now) < room);
        }
        let bucket = buckets.entry(token).or_insert(Bucket { left: room, at: now });
        bucket.left = bucket.filled(rate, now).min(room);
        bucket.at = now;
        if bucket.left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - bucket.left) / rate));
        }
        bucket.left -= 1.0;
        Ok(())
    }
}

impl Bucket {
    fn filled(&self, rate: f64, now: Instant) -> f64 {
        self.left + now.saturating_duration_since(self.at).as_secs_f64() * rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_empties_and_fills_and_is_its_tokens_own() {
        let (rates, now) = (Rates::new(Some(5)), Instant::now());
        let (one, other) = (TokenId::from_parts(1, 1), TokenId::from_parts(1, 2));
        for _ in 0..10 {
            assert_eq!(rates.take(one, now), Ok(()));
        }
        let wait = rates.take(one, now).expect_err("it is empty");
        assert!(wait > Duration::ZERO && wait <= Duration::from_millis(200), "{wait:?}");
        assert_eq!(rates.take(other, now), Ok(()));
        assert_eq!(rates.take(one, now + wait), Ok(()));
        assert!(rates.take(one, now + wait).is_err());
    }

    #[test]
    fn no_limit_is_none_and_the_rested_are_forgotten() {
        let (none, now) = (Rates::new(None), Instant::now());
        assert!((0..100_000).all(|_| none.take(TokenId::from_parts(1, 1), now).is_ok()));
        let rates = Rates::new(Some(1));
        for n in 0..5000 {
            assert_eq!(
                rates.take(
                    TokenId::from_parts(1, n),
                    now + Duration::from_secs(10) * u32::try_from(n).expect("small")
                ),
                Ok(())
            );
        }
        assert!(rates.buckets.lock().expect("nobody panicked").len() <= REMEMBERED);
    }
}
