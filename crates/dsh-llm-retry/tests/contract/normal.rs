//! A policy with a number of retries: which failures, and how many times.

use dsh_agent::Recovery;
use dsh_llm::{LlmFailure, RetryPolicy, code};
use dsh_session::StepEnd;

use crate::fixture::{Answer, Fixture, exact, steady, transport};

// spec: agent-loop/S88
#[tokio::test(start_paused = true)]
async fn a_failure_that_may_pass_is_retried_so_many_times_and_then_left_to_the_others() {
    let fixture = Fixture::new().await;
    let asked = fixture.below(Answer::HandOn);
    let mut taken = Vec::new();
    for _ in 0..6 {
        taken.push(fixture.timed(&exact(5), transport()).await);
    }
    let retry = |ms| (Recovery::Retry, ms);
    assert_eq!(
        taken,
        [retry(500), retry(1_000), retry(2_000), retry(4_000), retry(8_000), (Recovery::None, 0)]
    );
    assert_eq!(fixture.retries().iter().map(|it| it.retry).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!(*asked.lock(), [code::TRANSPORT]);
}

// spec: agent-loop/S88
#[tokio::test(start_paused = true)]
async fn the_usual_codes_are_retried_and_no_others() {
    let usual = [code::EMPTY_RESPONSE, code::RATE_LIMIT, code::SERVER, code::TIMEOUT, code::TRANSPORT];
    for code in usual {
        let fixture = Fixture::new().await;
        let failure = LlmFailure::new(code, "failed");
        assert_eq!(fixture.timed(&exact(5), failure).await.0, Recovery::Retry, "{code}");
    }
    let fixture = Fixture::new().await;
    let others =
        [code::AUTH, code::QUOTA, code::INVALID_REQUEST, code::STREAM_CLOSED, code::ABORTED, "HTTP_404"];
    for code in others {
        let failure = LlmFailure::new(code, "failed");
        assert_eq!(fixture.timed(&exact(5), failure).await, (Recovery::None, 0), "{code}");
    }
    assert_eq!(fixture.retries(), []);
}

// spec: agent-loop/S88
#[tokio::test(start_paused = true)]
async fn codes_that_a_policy_lists_take_the_place_of_the_usual_ones() {
    let fixture = Fixture::new().await;
    let policy = RetryPolicy::Normal {
        max_retries: 1,
        retryable_codes: vec![code::INVALID_REQUEST.to_owned()],
        backoff: steady(),
    };
    assert_eq!(fixture.timed(&policy, transport()).await.0, Recovery::None);
    let failure = LlmFailure::new(code::INVALID_REQUEST, "no");
    assert_eq!(fixture.timed(&policy, failure).await.0, Recovery::Retry);
}

// spec: agent-loop/S88
#[tokio::test(start_paused = true)]
async fn failures_of_all_codes_share_one_count_and_one_backoff() {
    let fixture = Fixture::new().await;
    let mut taken = Vec::new();
    for code in [code::SERVER, code::TIMEOUT, code::TRANSPORT, code::SERVER] {
        taken.push(fixture.timed(&exact(3), LlmFailure::new(code, "failed")).await.1);
    }
    assert_eq!(taken, [500, 1_000, 2_000, 0]);
}

// spec: agent-loop/S88
#[tokio::test(start_paused = true)]
async fn a_step_a_turn_a_provider_and_a_policy_have_counts_of_their_own() {
    let fixture = Fixture::new().await;
    assert_eq!(fixture.timed(&exact(1), transport()).await.0, Recovery::Retry);
    assert_eq!(fixture.timed(&exact(1), transport()).await.0, Recovery::None);
    let mut elsewhere = fixture.error(&exact(1), transport());
    elsewhere.provider = "other".to_owned();
    assert_eq!(fixture.fails(elsewhere).await.unwrap(), Recovery::Retry);
    assert_eq!(fixture.timed(&exact(2), transport()).await.0, Recovery::Retry);
    assert_eq!(fixture.timed(&exact(1), transport()).await.0, Recovery::None);
    fixture.next_step(1, 1);
    let mut error = fixture.error(&exact(1), transport());
    error.step = 2;
    assert_eq!(fixture.fails(error).await.unwrap(), Recovery::Retry);
    fixture.next_turn(1, 2);
    let mut error = fixture.error(&exact(1), transport());
    error.turn = 2;
    assert_eq!(fixture.fails(error).await.unwrap(), Recovery::Retry);
    assert!(fixture.retries().iter().all(|it| it.retry == 1));
}

// spec: agent-loop/S87
#[tokio::test(start_paused = true)]
async fn without_a_policy_the_others_are_asked() {
    let fixture = Fixture::new().await;
    let asked = fixture.below(Answer::Retry);
    let mut error = fixture.error(&exact(5), transport());
    error.retry_policy = None;
    assert_eq!(fixture.fails(error).await.unwrap(), Recovery::Retry);
    assert_eq!(*asked.lock(), [code::TRANSPORT]);
    assert_eq!(fixture.retries(), []);
}

// spec: agent-loop/S88
#[tokio::test(start_paused = true)]
async fn a_failure_of_a_step_that_is_not_open_is_left_to_the_others() {
    let fixture = Fixture::new().await;
    fixture.next_step(1, 1);
    assert_eq!(fixture.timed(&exact(5), transport()).await, (Recovery::None, 0));
    let mut error = fixture.error(&exact(5), transport());
    error.turn = 2;
    assert_eq!(fixture.fails(error).await.unwrap(), Recovery::None);
    fixture.log(&StepEnd { turn: 1, step: 2 });
    let mut error = fixture.error(&exact(5), transport());
    error.step = 2;
    assert_eq!(fixture.fails(error).await.unwrap(), Recovery::None);
    assert_eq!(fixture.retries(), []);
}
