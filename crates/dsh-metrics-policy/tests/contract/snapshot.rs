//! A snapshot as JSON and as text.

use dsh_tools::CallRequest;
use serde_json::json;

use crate::fixture::Fixture;

async fn some_calls() -> Fixture {
    let fixture = Fixture::new().await;
    fixture.call(json!({ "ms": 3 })).await;
    fixture.call(json!({ "ms": 400_000 })).await;
    fixture.call(json!({ "ms": 20, "code": "E_FULL" })).await;
    fixture.execute(CallRequest::new("call_1", "made_up", "{")).await;
    fixture
}

#[tokio::test(start_paused = true)]
async fn as_json_it_is_a_list_of_rows_with_the_buckets_that_are_not_empty() {
    let written = serde_json::to_string(&some_calls().await.snapshot()).unwrap();
    let written: serde_json::Value = serde_json::from_str(&written).unwrap();
    let success = json!({
        "count": 2, "totalMs": 400_003.0, "minMs": 3.0, "maxMs": 400_000.0,
        "buckets": [{ "upToMs": 5, "count": 1 }, { "upToMs": null, "count": 1 }],
    });
    let full = json!({
        "count": 1, "totalMs": 20.0, "minMs": 20.0, "maxMs": 20.0, "buckets": [{ "upToMs": 20, "count": 1 }],
    });
    assert_eq!(
        written,
        json!({ "series": [
            { "tool": { "named": "probe" }, "code": "success", "calls": 2, "durations": success },
            { "tool": { "named": "probe" }, "code": { "coded": "E_FULL" }, "calls": 1, "durations": full },
            { "tool": "unknown", "code": { "coded": "INVALID_ARGS" }, "calls": 1, "durations": null },
        ] })
    );
}

#[tokio::test(start_paused = true)]
async fn as_text_it_is_a_table() {
    let text = some_calls().await.snapshot().to_string();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "tool       code          calls    mean     p95     max",
            "probe      success           2  200.0s  400.0s  400.0s",
            "probe      E_FULL            1  20.0ms  20.0ms  20.0ms",
            "(unknown)  INVALID_ARGS      1       -       -       -",
        ]
    );
}
