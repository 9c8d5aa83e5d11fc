//! The end of a program: what it left behind, and what became of it when its call was cancelled.

use std::sync::Arc;
use std::time::Duration;

use cordis::Next;
use dsh_tools::{Lane, POST_EXECUTE, PostDecision, Settled, SubCall, ToolError};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::world::{Told, World, raw};

/// Where a program leaves calls that it does not wait for.
#[derive(Clone, Default)]
struct Left(Arc<Mutex<Vec<SubCall>>>);

impl Left {
    fn leave(&self, call: SubCall) {
        self.0.lock().push(call);
    }

    async fn reasons(&self) -> Vec<String> {
        let left = std::mem::take(&mut *self.0.lock());
        let mut reasons = Vec::new();
        for call in left {
            reasons.push(call.await.unwrap_err().message);
        }
        reasons
    }
}

// spec: code-mode/C14, code-mode/C31, code-mode/C98
#[tokio::test(start_paused = true)]
async fn what_a_program_started_and_left_is_drained_and_what_waits_never_starts() {
    let world = World::new().await;
    world.patient("patient", false);
    world.watch();
    let left = Left::default();
    let keep = left.clone();
    world.program("run", move |lane: Lane, _| {
        let keep = keep.clone();
        async move {
            keep.leave(lane.call("patient", json!({})));
            keep.leave(lane.call("patient", json!({})));
            tokio::time::sleep(Duration::from_millis(10)).await;
            Ok(json!("done"))
        }
    });
    let outcome = world.call("run").await;
    assert_eq!(outcome.value(), Some(&json!("done")));
    let reasons = [
        "run run is over (run settled); patient result discarded",
        "run run is over (run settled); patient tool call abandoned",
    ];
    assert_eq!(left.reasons().await, reasons);
    let log = ["start c1:code:1", "end c1:code:1: Error: tool call aborted (failed)"];
    assert_eq!(world.log(), log);
    assert!(world.told.place("c1:code:1 leave") < world.told.place("c1 result"));
    assert!(world.told.place("c1:code:1 result") < world.told.place("c1 result"));
}

// spec: code-mode/C19, code-mode/C31, code-mode/C39
#[tokio::test(start_paused = true)]
async fn a_cancelled_program_is_told_of_each_call_what_became_of_it() {
    let world = World::new().await;
    world.patient("patient", false);
    let told = world.told.clone();
    world.program("run", move |lane: Lane, _| {
        let told = told.clone();
        async move {
            let (one, two) = tokio::join!(lane.call("patient", json!({})), lane.call("patient", json!({})));
            let three = lane.call("patient", json!({})).await;
            for answer in [one, two, three] {
                told.say(answer.unwrap_err().message);
            }
            Ok(json!("done"))
        }
    });
    world.cancel_after(50);
    let outcome = world.call("run").await;
    assert_eq!(outcome.code(), Some("ABORTED"));
    let told = [
        "c1:code:1 enter",
        "c1:code:1 leave",
        "run run is over (tool call aborted); patient result discarded",
        "run run is over (tool call aborted); patient tool call abandoned",
        "run run is over (tool call aborted); patient not dispatched",
    ];
    assert_eq!(world.told.all(), told);
    assert_eq!(world.log(), ["start c1:code:1", "end c1:code:1: Error: tool call aborted (failed)"]);
}

// spec: code-mode/C31
#[tokio::test(start_paused = true)]
async fn a_queued_call_is_abandoned_at_once_though_the_one_before_it_still_runs() {
    let world = World::new().await;
    world.timed("deaf", false);
    let told = world.told.clone();
    world.program("run", move |lane: Lane, _| {
        let told = told.clone();
        async move {
            let started = lane.call("deaf", json!({ "ms": 500 }));
            let _ = lane.call("deaf", json!({})).await;
            told.say("abandoned");
            let _ = started.await;
            Ok(Value::Null)
        }
    });
    world.cancel_after(50);
    world.call("run").await;
    assert_eq!(world.told.all(), ["c1:code:1 enter", "abandoned", "c1:code:1 leave"]);
}

// spec: code-mode/C39
#[tokio::test(start_paused = true)]
async fn the_outer_call_waits_for_bodies_that_do_not_listen() {
    let world = World::new().await;
    // The grace time is a second, and the outer body's own must not be over before the one of the nested body.
    world.offer(raw("deaf").run(async |_, _run| {
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        Ok(Value::Null)
    }));
    world.program("inner", async |lane, _| Ok(lane.call("deaf", json!({})).await?));
    world.program("outer", async |lane, _| Ok(lane.call("inner", json!({})).await?));
    world
        .app
        .on(POST_EXECUTE)
        .run(async |settled: &mut Settled, next: Next<'_, Settled, PostDecision>| {
            tokio::time::sleep(Duration::from_millis(300)).await;
            next.run(settled).await
        })
        .unwrap();
    world.watch();
    world.cancel_after(50);
    let outcome = world.call("outer").await;
    assert_eq!(outcome.code(), None, "the program ended by itself: {outcome:?}");
    assert_eq!(outcome.text(), "Error: outer run is over (tool call aborted); inner result discarded");
    let let_go = "Error: tool call aborted; the tool did not stop within 1s and was let go (failed)";
    let log = [
        "start c1:code:1".to_owned(),
        "start c1:code:1:code:1".to_owned(),
        format!("end c1:code:1:code:1: {let_go}"),
        "end c1:code:1: Error: inner run is over (tool call aborted); deaf result discarded (failed)"
            .to_owned(),
    ];
    assert_eq!(world.log(), log);
    let results = ["c1:code:1:code:1 result", "c1:code:1 result", "c1 result"];
    let places: Vec<usize> = results.iter().map(|what| world.told.place(what)).collect();
    assert!(places.is_sorted());
}

// spec: code-mode/C39
#[tokio::test(start_paused = true)]
async fn a_program_that_does_not_listen_is_let_go_when_its_calls_have_ended() {
    let world = World::new().await;
    world.patient("patient", true);
    world.program("outer", async |lane, _| {
        let _ = lane.call("patient", json!({})).await;
        std::future::pending::<Result<Value, ToolError>>().await
    });
    world.cancel_after(50);
    let outcome = world.call("outer").await;
    assert_eq!(outcome.text(), "Error: tool call aborted; the tool did not stop within 1s and was let go");
    assert_eq!(world.log(), ["start c1:code:1", "end c1:code:1: Error: tool call aborted (failed)"]);
}

// spec: code-mode/C40
#[tokio::test(start_paused = true)]
async fn a_program_that_fails_is_quiet_before_its_call_ends() {
    let world = World::new().await;
    world.patient("patient", true);
    world.watch();
    world.program("run", async |lane, _| {
        let _left = lane.call("patient", json!({}));
        tokio::time::sleep(Duration::from_millis(10)).await;
        Err::<Value, _>(ToolError::new("the runtime broke"))
    });
    assert_eq!(world.call("run").await.text(), "Error: the runtime broke");
    assert!(world.told.place("c1:code:1 leave") < world.told.place("c1 result"));
    assert_eq!(world.log()[1], "end c1:code:1: Error: tool call aborted (failed)");
}

// spec: code-mode/C41
#[tokio::test(start_paused = true)]
async fn a_result_that_is_being_reviewed_when_the_program_ends_is_logged_before_the_call_does() {
    let world = World::new().await;
    world.timed("quick", true);
    world
        .app
        .on(POST_EXECUTE)
        .with(world.told.clone())
        .run(async |told: &Told, settled: &mut Settled, next: Next<'_, Settled, PostDecision>| {
            if settled.call().parent().is_some() {
                told.say("review begins");
                tokio::time::sleep(Duration::from_millis(100)).await;
                told.say("review ends");
            }
            next.run(settled).await
        })
        .unwrap();
    let told = world.told.clone();
    world.program("run", move |lane: Lane, _| {
        let told = told.clone();
        async move {
            let _left = lane.call("quick", json!({}));
            tokio::time::sleep(Duration::from_millis(50)).await;
            told.say("program ends");
            Ok(Value::Null)
        }
    });
    let calls = [("c1", "run", "{}")];
    world.run(world.batch(&calls)).await.unwrap();
    let told = ["c1:code:1 enter", "c1:code:1 leave", "review begins", "program ends", "review ends"];
    assert_eq!(world.told.all(), told);
    let log = world.log();
    let shape: Vec<&str> = log.iter().map(|it| it.split(':').next().unwrap()).collect();
    assert_eq!(shape, ["call c1", "start c1", "end c1", "result c1"]);
}

// spec: code-mode/C31
#[tokio::test(start_paused = true)]
async fn a_run_can_be_declared_over_for_a_reason_and_the_first_one_stands() {
    let world = World::new().await;
    world.patient("patient", true);
    let told = world.told.clone();
    world.program("run", move |lane: Lane, _| {
        let told = told.clone();
        async move {
            let started = lane.call("patient", json!({}));
            tokio::time::sleep(Duration::from_millis(10)).await;
            lane.cancel("out of time");
            lane.cancel("bored");
            assert!(lane.cancellation().is_cancelled());
            told.say(lane.call("patient", json!({})).await.unwrap_err().message);
            told.say(started.await.unwrap_err().message);
            Ok(json!("done"))
        }
    });
    assert_eq!(world.call("run").await.value(), Some(&json!("done")));
    world.told.place("run run is over (out of time); patient not dispatched");
    world.told.place("run run is over (out of time); patient result discarded");
}

#[tokio::test(start_paused = true)]
async fn a_lane_that_outlives_its_program_takes_no_calls() {
    let world = World::new().await;
    world.timed("quick", true);
    let kept: Arc<Mutex<Option<Lane>>> = Arc::default();
    let keep = kept.clone();
    world.program("run", move |lane: Lane, _| {
        *keep.lock() = Some(lane);
        std::future::ready(Ok(Value::Null))
    });
    world.call("run").await;
    let lane = kept.lock().take().unwrap();
    let reason = lane.call("quick", json!({})).await.unwrap_err().message;
    assert_eq!(reason, "run run is over (run settled); quick not dispatched");
    // Not even dropping what it is given costs it the stack.
    let deep = (0..100_000).fold(json!({}), |deep, _| Value::Array(vec![deep]));
    assert!(lane.call("quick", deep).await.is_err());
    assert!(world.log().is_empty());
}

// spec: code-mode/C33
#[tokio::test(start_paused = true)]
async fn a_program_that_panics_or_is_dropped_leaves_an_end_for_every_start() {
    let world = World::new().await;
    world.patient("patient", true);
    world.program("panics", async |lane, _| {
        let _left = lane.call("patient", json!({}));
        tokio::time::sleep(Duration::from_millis(10)).await;
        panic!("the program burst")
    });
    world.program("waits", async |lane, _| Ok(lane.call("patient", json!({})).await?));
    assert_eq!(world.call("panics").await.text(), "Error: tool \"panics\" panicked: the program burst");
    let dropped = tokio::time::timeout(Duration::from_millis(10), world.call("waits")).await;
    assert!(dropped.is_err());
    let pair = ["start c1:code:1", "end c1:code:1: Error: tool call aborted (failed)"];
    assert_eq!(world.log(), [pair, pair].concat());
}

// spec: code-mode/C33
#[tokio::test(start_paused = true)]
async fn a_second_run_of_a_body_goes_on_counting() {
    let world = World::new().await;
    world.timed("quick", true);
    world.program("run", async |lane, _| Ok(lane.call("quick", json!({})).await?));
    world
        .app
        .on(dsh_tools::EXECUTE)
        .run(
            async |call: &mut dsh_tools::ToolCall,
                   next: Next<'_, dsh_tools::ToolCall, dsh_tools::ToolOutcome>| {
                let _first = next.clone().run(call).await;
                next.run(call).await
            },
        )
        .unwrap();
    world.call("run").await;
    let ids: Vec<String> = world.log().into_iter().filter(|it| it.starts_with("start")).collect();
    assert_eq!(ids, ["start c1:code:1", "start c1:code:2"]);
}
