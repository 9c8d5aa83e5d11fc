//! A run that is repeated leaves nothing behind.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use cordis::Next;
use cordis::testing::Recorder;
use dsh_llm::{ContentBlock, Message};
use dsh_tools::{EXECUTE, ErrorInfo, Failure, OUTPUT, ToolCall, ToolDefinition, ToolOutcome, ToolRun};
use parking_lot::Mutex;
use serde_json::json;

use crate::fixture::{Fixture, exact, reset, reset_error};

fn defer(run: &ToolRun, number: usize) {
    run.defer_context(Message::user(vec![ContentBlock::text(format!("noted in run {number}"))]));
}

fn noted(outcome: &ToolOutcome) -> Vec<String> {
    outcome.additional_contexts().iter().map(Message::text).collect()
}

// spec: tools/T65
#[tokio::test(start_paused = true)]
async fn messages_that_a_body_deferred_are_those_of_its_last_run() {
    let fixture = Fixture::new().await;
    let probe = fixture.probe(|number, run| async move {
        defer(&run, number);
        if number < 3 { Err(reset_error(number)) } else { Ok(json!("done")) }
    });
    fixture.offer(probe.idempotent());
    assert_eq!(noted(&fixture.call().await), ["noted in run 3"]);
}

// spec: tools/T65
#[tokio::test(start_paused = true)]
async fn so_they_are_when_the_last_run_fails_too() {
    let fixture = Fixture::new().await;
    let probe = fixture.probe(|number, run| async move {
        defer(&run, number);
        Err(reset_error(number))
    });
    fixture.offer(probe.idempotent());
    let outcome = fixture.call().await;
    assert_eq!(outcome.as_failure(), Some(&reset(4)));
    assert_eq!(noted(&outcome), ["noted in run 4"]);
}

// spec: tools/T65
#[tokio::test(start_paused = true)]
async fn messages_of_a_run_that_is_not_repeated_stay() {
    let fixture = Fixture::bare().await;
    fixture.mount(dsh_retry_policy::Config { base_delay_ms: 1_000, ..exact() }).await;
    let probe = fixture.probe(|number, run| async move {
        defer(&run, number);
        Err(reset_error(number))
    });
    fixture.offer(probe.idempotent());
    let call =
        crate::fixture::request().cancellation(&crate::fixture::cancelled_after(crate::fixture::ms(100)));
    assert_eq!(noted(&fixture.execute(call).await), ["noted in run 1"]);
}

#[tokio::test(start_paused = true)]
async fn output_that_is_kept_is_that_of_the_last_run_and_listeners_heard_all_of_it() {
    let fixture = Fixture::bare().await;
    fixture.mount(dsh_retry_policy::Config { max_retries: 1, ..exact() }).await;
    let heard = Recorder::of(&fixture.app, OUTPUT, |output| output.text().to_owned()).unwrap();
    let probe = fixture.probe(|number, run| async move {
        run.write(format!("written in run {number}"));
        Err(reset_error(number))
    });
    fixture.offer(probe.idempotent());
    let expected = ToolOutcome::failure(reset(2).with_output("written in run 2"));
    assert_eq!(fixture.call().await, expected);
    assert_eq!(heard.take(), ["written in run 1", "written in run 2"]);
}

// spec: tools/T67
#[tokio::test(start_paused = true)]
async fn the_turn_ends_only_if_the_last_run_asks_for_it() {
    for (asking, concludes) in [(1, false), (2, true)] {
        let fixture = Fixture::new().await;
        let probe = fixture.probe(move |number, run| async move {
            if number == asking {
                run.conclude_turn();
            }
            if number == 1 { Err(reset_error(number)) } else { Ok(json!("done")) }
        });
        fixture.offer(probe.idempotent());
        assert_eq!(fixture.call().await.concludes_turn(), concludes);
    }
}

// spec: tools/T63
#[tokio::test(start_paused = true)]
async fn a_blocking_body_that_was_let_go_has_no_second_one_beside_it() {
    let fixture = Fixture::bare().await;
    fixture.mount(dsh_retry_policy::Config { codes: vec!["LATE".to_owned()], ..exact() }).await;
    // A deadline of each run, as a policy for it sets one.
    let begun = Arc::new(AtomicUsize::new(0));
    let deadline =
        async |begun: &Arc<AtomicUsize>, call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
            begun.fetch_add(1, Ordering::SeqCst);
            let (mut limited, limit) = call.limited();
            let cancels = async {
                while !call.body_was_entered() {
                    std::thread::yield_now();
                    tokio::task::yield_now().await;
                }
                limit.cancel();
            };
            let (outcome, ()) = tokio::join!(next.run(&mut limited), cancels);
            outcome.into_failure(Failure::new("too late").coded(ErrorInfo::fixed("Late", "LATE")))
        };
    fixture.app.on(EXECUTE).with(Arc::clone(&begun)).run(deadline).unwrap();
    let (free, waits) = mpsc::channel::<()>();
    let (waits, entered) = (Mutex::new(waits), Arc::new(AtomicUsize::new(0)));
    let enters = Arc::clone(&entered);
    let stuck = ToolDefinition::raw("probe", "Does not stop.", json!({ "type": "object" }))
        .run_blocking(move |_, _| {
            enters.fetch_add(1, Ordering::SeqCst);
            let _ = waits.lock().recv();
            Ok(json!(null))
        })
        .idempotent();
    fixture.offer(stuck);
    let outcome = fixture.call().await;
    assert_eq!((outcome.code(), entered.load(Ordering::SeqCst)), (Some("LATE"), 1));
    assert_eq!(begun.load(Ordering::SeqCst), 1, "no second run was tried");
    drop(free);
}
