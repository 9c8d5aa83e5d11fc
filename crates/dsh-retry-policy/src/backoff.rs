//! How long a wait is: twice as long each time, with a random part, up to a bound.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::config::Config;

/// The waits of one mounted policy. Its calls draw from one sequence of random numbers, so that calls that failed together do
/// not come back together.
#[derive(Debug)]
pub(crate) struct Backoff {
    base: Duration,
    max: Duration,
    jitter: f64,
    random: AtomicU64,
}

impl Backoff {
    pub(crate) fn new(config: &Config) -> Self {
        // The standard library seeds its hashers from the system's source of random numbers.
        Self::seeded(config, RandomState::new().hash_one("retry-policy"))
    }

    fn seeded(config: &Config, seed: u64) -> Self {
        Self {
            base: Duration::from_millis(config.base_delay_ms),
            max: Duration::from_millis(config.max_delay_ms),
            jitter: config.jitter,
            random: AtomicU64::new(seed),
        }
    }

    /// The wait before the `retry`th further run, counted from 1.
    pub(crate) fn delay(&self, retry: u32) -> Duration {
        let doubled = self.base.saturating_mul(2_u32.saturating_pow(retry.saturating_sub(1))).min(self.max);
        let factor = 1.0 - self.jitter + 2.0 * self.jitter * self.random();
        doubled.mul_f64(factor).min(self.max)
    }

    /// A number from 0 to below 1: SplitMix64 (Steele, Lea and Flood, 2014), of which 53 bits make a float.
    fn random(&self) -> f64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut bits = self.random.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        #[allow(clippy::cast_precision_loss, reason = "53 bits fit into a float")]
        let bits = (bits >> 11) as f64;
        bits / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

    use super::*;

    fn backoff(base_delay_ms: u64, max_delay_ms: u64, jitter: f64, seed: u64) -> Backoff {
        Backoff::seeded(&Config { base_delay_ms, max_delay_ms, jitter, ..Config::default() }, seed)
    }

    fn delays(backoff: &Backoff, retries: std::ops::RangeInclusive<u32>) -> Vec<u128> {
        retries.map(|retry| backoff.delay(retry).as_millis()).collect()
    }

    #[test]
    fn waits_double_up_to_the_bound() {
        assert_eq!(
            delays(&backoff(200, 10_000, 0.0, 1), 1..=8),
            [200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000]
        );
        assert_eq!(delays(&backoff(7, 7, 0.0, 1), 1..=3), [7, 7, 7]);
    }

    #[test]
    fn no_number_of_retries_is_too_large() {
        let longest = u128::from(u32::MAX >> 1);
        let waits = backoff(1, 2_147_483_647, 1.0, 3);
        for retry in [31, 32, 33, 1_000, u32::MAX] {
            assert!(waits.delay(retry).as_millis() <= longest);
        }
        assert_eq!(backoff(1, 2_147_483_647, 0.0, 3).delay(u32::MAX).as_millis(), longest);
    }

    #[test]
    fn a_random_part_makes_waits_shorter_and_longer_within_its_bounds() {
        for seed in [0, 1, 42, u64::MAX] {
            let waits = backoff(1_000, 60_000, 0.25, seed);
            let drawn: Vec<_> = (0..1_000).map(|_| waits.delay(1)).collect();
            let (shortest, longest) = (drawn.iter().min().unwrap(), drawn.iter().max().unwrap());
            assert!(
                (Duration::from_millis(750)..Duration::from_millis(760)).contains(shortest),
                "{shortest:?}"
            );
            assert!(
                (Duration::from_millis(1_240)..=Duration::from_millis(1_250)).contains(longest),
                "{longest:?}"
            );
            let mean = drawn.iter().sum::<Duration>() / 1_000;
            assert!((Duration::from_millis(980)..Duration::from_millis(1_020)).contains(&mean), "{mean:?}");
        }
    }

    #[test]
    fn a_random_part_never_exceeds_the_bound() {
        let waits = backoff(900, 1_000, 1.0, 7);
        assert!((0..1_000).all(|_| waits.delay(3) <= Duration::from_millis(1_000)));
    }

    #[test]
    fn the_same_seed_gives_the_same_waits_and_another_seed_gives_others() {
        let of = |seed| delays(&backoff(1_000, 60_000, 0.5, seed), 1..=5);
        assert_eq!(of(42), of(42));
        assert_ne!(of(42), of(43));
    }
}
