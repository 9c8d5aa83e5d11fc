//! Numbers of chance, from a seed.

use std::hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};

/// A sequence of numbers. The requests of all agents draw from one, so that those that failed together do not come back
/// together.
#[derive(Debug)]
pub(crate) struct Chance {
    seed: u64,
    drawn: AtomicU64,
}

impl Chance {
    /// One that nobody can tell in advance.
    pub(crate) fn new() -> Self {
        // The standard library seeds its hashers from the system's source of random numbers.
        Self::seeded(RandomState::new().hash_one("llm-retry"))
    }

    pub(crate) fn seeded(seed: u64) -> Self {
        Self { seed, drawn: AtomicU64::new(0) }
    }

    /// A number from 0 to below 1: the hash of its place, of which 53 bits make a float.
    pub(crate) fn draw(&self) -> f64 {
        let mut hasher = DefaultHasher::new();
        (self.seed, self.drawn.fetch_add(1, Ordering::Relaxed)).hash(&mut hasher);
        #[allow(clippy::cast_precision_loss, reason = "53 bits fit into a float")]
        let bits = (hasher.finish() >> 11) as f64;
        bits / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

    use super::Chance;

    fn drawn(seed: u64, count: usize) -> Vec<f64> {
        let chance = Chance::seeded(seed);
        (0..count).map(|_| chance.draw()).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_seed_gives_others() {
        assert_eq!(drawn(42, 5), drawn(42, 5));
        assert_ne!(drawn(42, 5), drawn(43, 5));
    }

    #[test]
    fn numbers_lie_everywhere_from_0_to_below_1() {
        for seed in [0, 1, u64::MAX] {
            let mut tenths = [0; 10];
            for number in drawn(seed, 10_000) {
                assert!((0.0..1.0).contains(&number), "{number}");
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is 0 to 9")]
                let tenth = (number * 10.0) as usize;
                tenths[tenth] += 1;
            }
            assert!(tenths.iter().all(|count| (850..1_150).contains(count)), "{tenths:?}");
        }
    }
}
