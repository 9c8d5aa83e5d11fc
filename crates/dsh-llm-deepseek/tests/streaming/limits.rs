//! Servers that are silent, slow, or want to be left alone.

use std::collections::BTreeMap;

use dsh_llm::{FinishReason, StreamChunk};
use dsh_testkit::{Cut, Drip, For, How, Step};
use serde_json::json;

use crate::fixture::{Fixture, full, said, until};

// spec: llm/S68
#[tokio::test]
async fn a_server_that_goes_silent_ends_the_answer_wherever_it_does() {
    for step in [
        Step { cut_head: Some(Cut { at: 0, how: How::Stall }), ..full() },
        Step { cut_head: Some(Cut { at: 30, how: How::Stall }), ..full() },
        Step { cut: Some(Cut { at: 0, how: How::Stall }), ..full() },
        Step { cut: Some(Cut { at: 400, how: How::Stall }), ..full() },
    ] {
        let fixture = Fixture::with([step.clone()], json!({ "streamIdleTimeoutMs": 150 })).await;
        assert_eq!(fixture.ask().await.failure().code, "TIMEOUT", "{step:?}");
    }
}

// spec: llm/S68
#[tokio::test]
async fn a_server_that_is_slow_and_not_silent_is_heard_to_the_end() {
    let drip = Some(Drip { bytes: 64, every_ms: 5 });
    let fixture = Fixture::with([Step { drip, ..full() }], json!({ "streamIdleTimeoutMs": 20_000 })).await;
    assert_eq!(fixture.ask().await.finish(), FinishReason::ToolCalls {});
}

// spec: llm/S39, llm/S68
#[tokio::test]
async fn a_caller_who_cancels_or_goes_leaves_no_connection_behind() {
    let stalled = Step { cut: Some(Cut { at: 400, how: How::Stall }), ..full() };
    let fixture = Fixture::new([stalled.clone()]).await;
    let request = Fixture::request();
    let cancellation = request.cancellation.clone();
    let cancel = async {
        until(|| !fixture.server.requests().is_empty()).await;
        cancellation.cancel();
    };
    let (came, ()) = tokio::join!(fixture.ask_for(request), cancel);
    assert!(matches!(came.finish(), FinishReason::Aborted { failure } if failure.code == "ABORTED"));
    until(|| fixture.server.open_connections() == 0).await;

    let fixture = Fixture::new([stalled]).await;
    let mut stream = fixture.stream(Fixture::request());
    while !matches!(stream.next().await, Some(Ok(StreamChunk::ReasoningDelta { .. }))) {}
    assert_eq!(fixture.server.open_connections(), 1);
    drop(stream);
    until(|| fixture.server.open_connections() == 0).await;
}

// spec: llm/S61, cases/S6
#[tokio::test]
async fn no_retry_after_does_any_harm() {
    for (value, expected) in [
        ("60", Some(60_000.0)),
        ("999999", Some(999_999_000.0)),
        ("-1", None),
        ("1e300", None),
        ("NaN", None),
        ("0", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", None),
        ("", None),
    ] {
        let step = Step {
            kind: For::Any,
            status: Some(429),
            body: Some(json!({ "error": { "message": "slow down" } })),
            headers: BTreeMap::from([("retry-after".to_owned(), value.to_owned())]),
            ..Step::default()
        };
        let failure = Fixture::new([step]).await.ask().await.failure();
        assert_eq!(
            (failure.code.as_str(), failure.provider_retry_after_ms),
            ("RATE_LIMIT", expected),
            "{value:?}"
        );
    }
    let date = Step {
        status: Some(503),
        headers: BTreeMap::from([("retry-after".to_owned(), "Tue, 31 Dec 2999 23:59:59 GMT".to_owned())]),
        ..said("", "")
    };
    let failure = Fixture::new([date]).await.ask().await.failure();
    assert!(
        failure.provider_retry_after_ms.is_some_and(|delay| delay.is_finite() && delay > 1e12),
        "{failure:?}"
    );
}
