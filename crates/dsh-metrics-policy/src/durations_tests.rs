#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use super::*;

fn of(durations_ms: &[u64]) -> Durations {
    let mut all = durations_ms.iter().copied().map(Duration::from_millis);
    let mut durations = Durations::of(all.next().unwrap());
    all.for_each(|duration| durations.add(duration));
    durations
}

#[test]
fn the_figures_are_those_of_all_durations() {
    let durations = of(&[30, 10, 20]);
    let figures = [durations.total(), durations.min(), durations.max(), durations.mean()];
    assert_eq!(figures.map(|figure| figure.as_millis()), [60, 10, 30, 20]);
    assert_eq!(durations.count(), 3);
}

#[test]
fn a_bucket_has_its_bound_and_the_last_one_what_took_longer() {
    let bounds = BUCKETS_MS.map(|bound| bucket(Duration::from_millis(bound)));
    assert_eq!(bounds, std::array::from_fn(|place| place));
    let above = BUCKETS_MS.map(|bound| bucket(Duration::from_millis(bound) + Duration::from_nanos(1)));
    assert_eq!(above, std::array::from_fn(|place| place + 1));
    assert_eq!((bucket(Duration::ZERO), bucket(Duration::MAX)), (0, BUCKETS_MS.len()));
}

#[test]
fn a_quantile_is_the_bound_of_its_bucket_and_no_more_than_the_longest_duration() {
    let durations = of(&[1, 1, 1, 1, 40, 40, 40, 40, 150, 400_000]);
    let quantiles = [0.0, 0.4, 0.41, 0.8, 0.9, 0.91, 1.0].map(|part| durations.quantile(part).as_millis());
    assert_eq!(quantiles, [1, 1, 50, 50, 200, 400_000, 400_000]);
    assert_eq!(of(&[30]).quantile(0.5).as_millis(), 30);
    assert_eq!(of(&[30]).quantile(f64::NAN).as_millis(), 30);
}

#[test]
fn no_duration_is_too_long() {
    let mut durations = Durations::of(Duration::MAX);
    durations.add(Duration::MAX);
    assert_eq!((durations.total(), durations.quantile(1.0)), (Duration::MAX, Duration::MAX));
    assert_eq!(durations.mean(), Duration::MAX);
}
