//! How long a wait is.

use dsh_agent::Recovery;
use dsh_llm::{Backoff, RetryPolicy};

use crate::fixture::{Fixture, exact, hinted, transport, without_end};

// spec: agent-loop/S90, cases/S6
#[tokio::test(start_paused = true)]
async fn a_hint_is_a_floor_for_the_delay() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.timed(&exact(5), hinted(2_000.0)).await, (Recovery::Retry, 2_000));
    assert_eq!(fixture.timed(&exact(5), hinted(1.0)).await, (Recovery::Retry, 1_000));
    assert_eq!(fixture.timed(&exact(5), hinted(10_000.0)).await, (Recovery::Retry, 10_000));
}

// spec: cases/S6
#[tokio::test(start_paused = true)]
async fn a_hint_beyond_the_longest_delay_is_capped() {
    for policy in [exact(5), without_end()] {
        let fixture = Fixture::new().await;
        for hint in [10_001.0, 60_000.0, 999_999_000.0, 1e300] {
            assert_eq!(fixture.timed(&policy, hinted(hint)).await, (Recovery::Retry, 10_000), "{hint}");
        }
        let told: Vec<_> = fixture.retries().iter().map(|it| it.failure.provider_retry_after_ms).collect();
        assert_eq!(told, [10_001.0, 60_000.0, 999_999_000.0, 1e300].map(Some));
    }
}

// spec: cases/S6
#[tokio::test(start_paused = true)]
async fn a_hint_that_cannot_be_is_none() {
    for hint in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -1.0, 0.0, -0.0] {
        let fixture = Fixture::new().await;
        assert_eq!(fixture.timed(&exact(5), hinted(hint)).await, (Recovery::Retry, 500), "{hint}");
        assert_eq!(fixture.retries()[0].failure.provider_retry_after_ms, None);
    }
}

// spec: agent-loop/S90
#[tokio::test(start_paused = true)]
async fn a_part_of_the_delay_is_up_to_chance_and_the_log_says_what_was_waited() {
    let fixture = Fixture::new().await;
    let backoff = Backoff { initial_delay_ms: 4_000.0, max_delay_ms: 4_200.0, jitter_ratio: 0.5 };
    let policy = RetryPolicy::Always { backoff };
    let mut delays = Vec::new();
    for _ in 0..40 {
        let (_, waited) = fixture.timed(&policy, transport()).await;
        let logged = fixture.retries().last().unwrap().delay_ms;
        #[allow(clippy::cast_precision_loss, reason = "it is about 4000")]
        let off = (waited as f64 - logged).abs();
        assert!(off <= 1.5, "waited {waited}, logged {logged}");
        delays.push(logged);
    }
    assert!(delays.iter().all(|delay| (2_000.0..=4_200.0).contains(delay)), "{delays:?}");
    assert!(delays.iter().any(|delay| *delay < 3_500.0), "{delays:?}");
    assert!(delays.iter().any(|delay| *delay > 4_000.0), "{delays:?}");
}

// spec: agent-loop/S90
#[tokio::test(start_paused = true)]
async fn the_two_to_the_power_of_any_retry_stays_below_the_longest_delay() {
    let fixture = Fixture::new().await;
    for _ in 0..70 {
        fixture.timed(&without_end(), transport()).await;
    }
    assert_eq!(fixture.timed(&without_end(), transport()).await, (Recovery::Retry, 10_000));
}
