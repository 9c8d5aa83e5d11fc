//! A policy without end.

use dsh_agent::Recovery;
use dsh_llm::{LlmFailure, code};

use crate::fixture::{Answer, Fixture, transport, without_end};

// spec: agent-loop/S89
#[tokio::test(start_paused = true)]
async fn whatever_fails_is_retried_without_end() {
    let fixture = Fixture::new().await;
    for code in [code::AUTH, code::QUOTA, code::INVALID_REQUEST, "HTTP_404", code::CONTEXT_WINDOW_EXCEEDED] {
        for _ in 0..4 {
            let failure = LlmFailure::new(code, "failed");
            assert_eq!(fixture.timed(&without_end(), failure).await.0, Recovery::Retry);
        }
    }
    assert_eq!(fixture.retries().len(), 20);
}

// spec: agent-loop/S89
#[tokio::test(start_paused = true)]
async fn the_others_are_asked_first_and_their_retry_wins() {
    let fixture = Fixture::new().await;
    let asked = fixture.below(Answer::Retry);
    assert_eq!(fixture.timed(&without_end(), transport()).await, (Recovery::Retry, 0));
    assert_eq!(*asked.lock(), [code::TRANSPORT]);
    assert_eq!(fixture.retries(), []);
}

// spec: agent-loop/S89
#[tokio::test(start_paused = true)]
async fn a_failure_of_the_others_is_passed_over() {
    let fixture = Fixture::new().await;
    let asked = fixture.below(Answer::Fail("the compaction failed"));
    assert_eq!(fixture.timed(&without_end(), transport()).await, (Recovery::Retry, 500));
    assert_eq!(*asked.lock(), [code::TRANSPORT]);
    assert_eq!(fixture.started().len(), 1);
}

// spec: agent-loop/S89
#[tokio::test(start_paused = true)]
async fn cancellation_beats_a_retry_and_a_failure_of_the_others() {
    for answer in [Answer::Retry, Answer::Fail("no"), Answer::HandOn] {
        let fixture = Fixture::new().await;
        let asked = fixture.below(answer);
        fixture.cancellation.cancel();
        assert_eq!(fixture.timed(&without_end(), transport()).await, (Recovery::None, 0));
        assert_eq!(asked.lock().len(), 1);
        assert_eq!(fixture.retries(), []);
    }
}
