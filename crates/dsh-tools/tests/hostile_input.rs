//! Attacks on threads, sizes and schemas.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    dead_code,
    unused_imports,
    reason = "a test ends by panicking"
)]

#[path = "contract/fixture.rs"]
mod fixture;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::time::Duration;

use cordis::Next;
use dsh_tools::*;
use fixture::{Fixture, Probe, around, tool};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// What a retry policy does for a tool that is not idempotent: again, if the body was never entered.
#[tokio::test]
async fn a_body_that_was_not_entered_when_its_run_ended_is_not_entered_later() {
    let fixture =
        Fixture::configured(Config { body_grace_ms: 20, max_blocking_threads: 2, ..Config::default() }).await;
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = runs.clone();
    fixture.register(ToolDefinition::raw("pay", "b", json!({"type": "object"})).run_blocking(move |_, _| {
        counted.fetch_add(1, SeqCst);
        Ok(json!("paid"))
    }));
    // Both threads have something else to do at first.
    let (free, busy) = mpsc::channel::<()>();
    let busy = Mutex::new(busy);
    fixture.register(ToolDefinition::raw("busy", "b", json!({"type": "object"})).run_blocking(
        move |_, _| {
            let _ = busy.lock().recv();
            Ok(json!(1))
        },
    ));
    let (release, held) = mpsc::channel::<()>();
    let held = Mutex::new(held);
    let asked = Arc::new(AtomicUsize::new(0));
    let (a, counted) = (asked.clone(), asked.clone());
    let slow = move |call: &ToolCall| {
        let on_thread = std::thread::current().name() == Some("tool-body");
        if call.name() == "pay" && on_thread && a.fetch_add(1, SeqCst) == 0 {
            let _ = held.lock().recv();
        }
        None
    };
    let slow = Arc::new(Mutex::new(Some(slow)));
    let (tools, ctx) = (fixture.tools.clone(), (*fixture.app).clone());
    let free2 = free.clone();
    fixture
        .app
        .on(EXECUTE)
        .run_boxed(around::<ToolCall, ToolOutcome, _>(move |call, next| {
            let (tools, ctx, slow, asked, free) =
                (tools.clone(), ctx.clone(), slow.clone(), counted.clone(), free2.clone());
            if call.name() != "pay" {
                return Box::pin(next.run(call));
            }
            Box::pin(async move {
                let first = {
                    let (mut limited, token) = call.limited();
                    let again = next.clone();
                    let mut run = Box::pin(again.run(&mut limited));
                    let queued =
                        std::future::poll_fn(|cx| std::task::Poll::Ready(run.as_mut().poll(cx).is_pending()))
                            .await;
                    assert!(queued);
                    let slow = slow.lock().take().unwrap();
                    tools.get().unwrap().guard(&ctx, slow).unwrap();
                    free.send(()).unwrap();
                    while asked.load(SeqCst) == 0 {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                    token.cancel();
                    run.await
                };
                free.send(()).unwrap();
                if first.is_error() && !call.body_was_entered() { next.run(call).await } else { first }
            })
        }))
        .unwrap();
    let pay = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let outcome = fixture.call("pay").await;
        drop(release);
        outcome
    };
    let (_, _, outcome) = tokio::join!(fixture.call("busy"), fixture.call("busy"), pay);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(runs.load(SeqCst) <= 1, "paid {} times: {outcome:?}", runs.load(SeqCst));
}

#[tokio::test]
async fn what_a_model_reads_of_wrong_arguments_is_bounded() {
    let fixture = Fixture::new().await;
    let schema = json!({"type":"object","properties":{"list":{"type":"array","items":{"type":"string"}}}});
    fixture.register(ToolDefinition::raw("t", "x", schema).checked().run(async |_, _| Ok(json!(1))));
    let list: Vec<u8> = vec![1; 100_000];
    let text = json!({"list": list}).to_string();
    let o = fixture.call_with("t", &text).await;
    assert_eq!(o.code(), Some("INVALID_ARGS"));
    assert!(o.text().len() < 100_000, "{} bytes of arguments, {} bytes of error", text.len(), o.text().len());
}

#[tokio::test]
async fn what_a_model_reads_of_a_wrong_value_is_bounded() {
    let fixture = Fixture::new().await;
    let t = ToolDefinition::raw("t", "x", json!({"type":"object"}))
        .output(json!({"type":"array","items":{"type":"string"}}));
    fixture.register(t.run(async |_, _| Ok(json!(vec![1; 100_000]))));
    let o = fixture.call("t").await;
    assert_eq!(o.code(), Some("INVALID_TOOL_OUTPUT"));
    assert!(o.text().len() < 100_000, "{} bytes", o.text().len());
}

#[tokio::test]
async fn what_a_model_reads_of_an_unknown_name_is_bounded() {
    let fixture = Fixture::new().await;
    let o = fixture.call(&"n".repeat(5_000_000)).await;
    assert!(o.text().len() < 100_000, "{}", o.text().len());
}

#[tokio::test]
async fn hostile_schemas_are_refused_or_harmless() {
    let fixture = Fixture::new().await;
    let mut nested = json!({"type":"string"});
    for _ in 0..18 {
        nested = json!({"anyOf":[nested.clone(), nested]});
        if nested.to_string().len() > 2_000_000 {
            break;
        }
    }
    for schema in [
        json!({"type":"object","properties":{"a":{"$ref":"#"}}}),
        json!({"$ref":"#"}),
        json!({"type":"object","properties":{"a":{"type":"string","pattern":"((a{1,1000}){1,1000}){1,1000}"}}}),
        json!({"type":"object","properties":{"a":{"type":"string","pattern":"(a+)+$"}}}),
        json!({"type":"object","properties":{"a":{"type":"string","pattern":"["}}}),
        json!({"type":"object","properties":{"a":nested}}),
        json!({"type":"object","required":"a"}),
        json!({"type":"object","required":["a","a"]}),
        json!({"type":["object","null"]}),
        json!({"type":"object","properties":[]}),
        json!({"type":"object","properties":{"a":{"enum":[]}}}),
        json!({"type":"object","properties":{"a":{"minimum":"x"}}}),
        json!({"type":"object","properties":{"a":{"minLength":-1}}}),
        json!({"type":"object","properties":{"a":{"minLength":1e300}}}),
        json!({"type":"object","properties":{"a":{"multipleOf":0}}}),
        json!([]),
        json!(true),
        json!(null),
        json!("x"),
    ] {
        let start = std::time::Instant::now();
        let made = fixture.tools.get().unwrap().register(
            &fixture.app,
            ToolDefinition::raw("h", "x", schema.clone()).checked().run(async |_, _| Ok(json!(1))),
        );
        let shown: String = schema.to_string().chars().take(60).collect();
        match made {
            Ok(e) => {
                for args in [
                    "{}",
                    r#"{"a":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"}"#,
                    r#"{"a":{"a":{"a":1}}}"#,
                    r#"{"a":1}"#,
                    "[]",
                ] {
                    let _ = fixture.call_with("h", args).await;
                }
                eprintln!("ok      {shown} {:?}", start.elapsed());
                e.dispose().await;
            }
            Err(error) => eprintln!(
                "refused {shown}: {} {:?}",
                error.to_string().chars().take(160).collect::<String>(),
                start.elapsed()
            ),
        }
        assert!(start.elapsed() < Duration::from_secs(5), "{shown}");
    }
}

/// A gigabyte of output.
#[tokio::test]
async fn output_without_end_is_bounded() {
    let fixture = Fixture::with(tool("t", |run| async move {
        let piece = "ä".repeat(500_000);
        for _ in 0..1_000 {
            run.write(piece.clone());
        }
        Err(ToolError::new("no"))
    }))
    .await;
    let o = fixture.call("t").await;
    assert!(o.text().len() < 70_000, "{}", o.text().len());
    assert!(!o.text().contains('\u{fffd}'));
}
