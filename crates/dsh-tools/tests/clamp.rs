//! Timeouts that somebody asks for.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use std::time::Duration;

use dsh_tools::{MAX_DELAY, NotPositive, clamp_timeout};
use proptest::prelude::*;

const DEFAULT: Duration = Duration::from_secs(30);
const MAX: Duration = Duration::from_secs(600);

// spec: timeout-jobs-hooks/J8
#[test]
fn a_request_is_granted_up_to_the_maximum() {
    let granted = |ms| clamp_timeout("timeout_ms", ms, DEFAULT, MAX);
    assert_eq!(granted(None), Ok(DEFAULT));
    assert_eq!(granted(Some(1.0)), Ok(Duration::from_millis(1)));
    assert_eq!(granted(Some(0.5)), Ok(Duration::from_micros(500)));
    assert_eq!(granted(Some(600_000.0)), Ok(MAX));
    assert_eq!(granted(Some(600_001.0)), Ok(MAX));
    assert_eq!(granted(Some(f64::MAX)), Ok(MAX));
    assert_eq!(granted(Some(f64::MIN_POSITIVE)), Ok(Duration::from_nanos(1)));
    assert_eq!(clamp_timeout("timeout_ms", None, MAX, DEFAULT), Ok(DEFAULT));
}

// spec: timeout-jobs-hooks/J8
#[test]
fn what_is_no_length_of_time_is_refused_by_name() {
    for wrong in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let refused = clamp_timeout("timeout_ms", Some(wrong), DEFAULT, MAX).unwrap_err();
        assert_eq!(refused, NotPositive { name: "timeout_ms".to_owned() }, "{wrong}");
        assert_eq!(refused.to_string(), "timeout_ms must be a positive finite number");
    }
}

// spec: timeout-jobs-hooks/J8
#[test]
fn the_longest_delay_is_that_of_the_references_timers() {
    assert_eq!(MAX_DELAY.as_millis(), 2_147_483_647);
}

proptest! {
    #[test]
    fn whatever_is_granted_is_longer_than_nothing_and_no_longer_than_the_maximum(
        requested in proptest::option::of(any::<f64>()),
        default in 1_u64..1_000_000,
        max in 1_u64..1_000_000,
    ) {
        let (default, max) = (Duration::from_millis(default), Duration::from_millis(max));
        match clamp_timeout("t", requested, default, max) {
            Ok(granted) => prop_assert!(granted > Duration::ZERO && granted <= max),
            Err(_) => prop_assert!(requested.is_some_and(|ms| !(ms.is_finite() && ms > 0.0))),
        }
    }
}
