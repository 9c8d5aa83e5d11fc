//! How long executions took: a few figures and a histogram, of a fixed size.

use std::time::Duration;

use serde::Serialize;

/// The upper bounds of the histogram's buckets, in milliseconds and inclusive; a last bucket has what took longer.
pub const BUCKETS_MS: [u64; 16] =
    [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000];

/// How long executions took, at least one of them.
///
/// As JSON: `count`, then `totalMs`, `minMs` and `maxMs` with fractions, and `buckets`, those that are not empty, each with
/// `upToMs` (`null` for the last one) and `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "Written")]
pub struct Durations {
    total: Duration,
    min: Duration,
    max: Duration,
    buckets: [u64; BUCKETS_MS.len() + 1],
}

impl Durations {
    pub(crate) fn of(first: Duration) -> Self {
        let mut buckets = [0; BUCKETS_MS.len() + 1];
        buckets[bucket(first)] = 1;
        Self { total: first, min: first, max: first, buckets }
    }

    pub(crate) fn add(&mut self, duration: Duration) {
        self.total = self.total.saturating_add(duration);
        self.min = self.min.min(duration);
        self.max = self.max.max(duration);
        self.buckets[bucket(duration)] += 1;
    }

    /// How many there were; never 0.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// All of them together.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.total
    }

    /// The shortest one.
    #[must_use]
    pub fn min(&self) -> Duration {
        self.min
    }

    /// The longest one.
    #[must_use]
    pub fn max(&self) -> Duration {
        self.max
    }

    /// The average.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let nanos = self.total.as_nanos() / u128::from(self.count().max(1));
        u64::try_from(nanos).map_or(Duration::MAX, Duration::from_nanos)
    }

    /// A duration that at least the given part of them, from 0 to 1, did not exceed: the bound of the bucket in which the last of
    /// that part is, or the longest duration if that is shorter.
    #[must_use]
    pub fn quantile(&self, part: f64) -> Duration {
        #[allow(clippy::cast_precision_loss, reason = "a part of a count need not be exact")]
        let wanted = part.clamp(0.0, 1.0) * self.count() as f64;
        let mut seen = 0_u64;
        for (count, bound) in self.buckets.iter().zip(BUCKETS_MS) {
            seen += count;
            #[allow(clippy::cast_precision_loss, reason = "a part of a count need not be exact")]
            if seen > 0 && seen as f64 >= wanted {
                return Duration::from_millis(bound).min(self.max);
            }
        }
        self.max
    }
}

/// The bucket of a duration.
fn bucket(duration: Duration) -> usize {
    BUCKETS_MS.partition_point(|bound| Duration::from_millis(*bound) < duration)
}

/// How it is written as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    count: u64,
    total_ms: f64,
    min_ms: f64,
    max_ms: f64,
    buckets: Vec<Bucket>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Bucket {
    up_to_ms: Option<u64>,
    count: u64,
}

impl From<Durations> for Written {
    fn from(durations: Durations) -> Self {
        let bounds = BUCKETS_MS.into_iter().map(Some).chain([None]);
        let buckets = bounds.zip(durations.buckets).map(|(up_to_ms, count)| Bucket { up_to_ms, count });
        Self {
            count: durations.count(),
            total_ms: ms(durations.total),
            min_ms: ms(durations.min),
            max_ms: ms(durations.max),
            buckets: buckets.filter(|bucket| bucket.count > 0).collect(),
        }
    }
}

/// Milliseconds with fractions.
pub(crate) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

#[cfg(test)]
#[path = "durations_tests.rs"]
mod tests;
