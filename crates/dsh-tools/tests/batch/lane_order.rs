//! When the calls of a program run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cordis::Next;
use dsh_tools::{POST_EXECUTE, PRE_EXECUTE, PostDecision, PreDecision, Settled, ToolCall};
use serde_json::{Value, json};

use crate::world::{Told, World, raw};

fn ms(ms: u64) -> Value {
    json!({ "ms": ms })
}

/// Says the value of each call in the order in which the calls are answered.
macro_rules! all {
    ($told:expr, $($call:expr),+ $(,)?) => {
        tokio::join!($(async {
            let value = $call.await;
            $told.say(format!("answer {}", value.unwrap_or_else(|error| json!(error.message))));
        }),+)
    };
}

// spec: code-mode/C21, code-mode/C22, code-mode/C23, code-mode/C27, code-mode/C38, code-mode/C95, tools/T99
#[tokio::test(start_paused = true)]
async fn safe_calls_overlap_up_to_the_limit_and_none_overtakes() {
    let world = World::new().await;
    for (name, parallel) in [("p1", true), ("p2", true), ("p3", true), ("x4", false), ("p5", true)] {
        world.timed(name, parallel);
    }
    let told = world.told.clone();
    world.program("program", move |lane, _| {
        let told = told.clone();
        async move {
            all!(
                told,
                lane.call("p1", ms(40)),
                lane.call("p2", ms(10)),
                lane.call("p3", ms(10)),
                lane.call("x4", ms(10)),
                lane.call("p5", ms(10)),
            );
            Ok(Value::Null)
        }
    });
    world.call("program").await;
    let (answers, bodies): (Vec<String>, Vec<String>) =
        world.told.all().into_iter().partition(|it| it.starts_with("answer"));
    let told = [
        "c1:code:1 enter",
        "c1:code:2 enter",
        "c1:code:2 leave",
        "c1:code:3 enter",
        "c1:code:3 leave",
        "c1:code:1 leave",
        "c1:code:4 enter",
        "c1:code:4 leave",
        "c1:code:5 enter",
        "c1:code:5 leave",
    ];
    assert_eq!(bodies, told);
    assert_eq!(answers, ["p1", "p2", "p3", "x4", "p5"].map(|name| format!("answer \"{name}\"")));
    // Whatever is logged when: the third call starts before the first has its end, and each has both.
    let log = world.log();
    let place = |what: &str| log.iter().position(|it| it.starts_with(what)).unwrap();
    assert!(place("start c1:code:3") < place("end c1:code:1"));
    let starts: Vec<&String> = log.iter().filter(|it| it.starts_with("start")).collect();
    assert_eq!(
        starts,
        ["start c1:code:1", "start c1:code:2", "start c1:code:3", "start c1:code:4", "start c1:code:5"]
    );
    assert_eq!(log.len(), 10);
}

// spec: code-mode/C26, code-mode/C90, code-mode/C96
#[tokio::test(start_paused = true)]
async fn a_slow_policy_delays_the_start_of_the_next_call() {
    let world = World::new().await;
    world.timed("quick", true);
    world
        .app
        .on(PRE_EXECUTE)
        .with((world.told.clone(), world.session.clone()))
        .run(
            async |(told, session): &(Told, Arc<dsh_session::Session>),
                   call: &mut ToolCall,
                   next: Next<'_, ToolCall, PreDecision>| {
                if call.parent().is_some() {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    told.say(format!(
                        "{} judged after {}",
                        call.id(),
                        crate::world::log_of(session).join(", ")
                    ));
                }
                next.run(call).await
            },
        )
        .unwrap();
    world.program("program", async |lane, _| {
        let (one, two) = tokio::join!(lane.call("quick", ms(500)), lane.call("quick", ms(1)));
        Ok(json!([one?, two?]))
    });
    assert_eq!(world.call("program").await.value(), Some(&json!(["quick", "quick"])));
    world.told.place("c1:code:1 judged after start c1:code:1");
    world.told.place("c1:code:2 judged after start c1:code:1, start c1:code:2");
}

// spec: code-mode/C25
#[tokio::test(start_paused = true)]
async fn an_exclusive_call_holds_its_place_until_it_is_answered() {
    let world = World::new().await;
    world.timed("alone", false);
    world.timed("quick", true);
    world.watch();
    world
        .app
        .on(POST_EXECUTE)
        .with(world.told.clone())
        .run(async |told: &Told, settled: &mut Settled, next: Next<'_, Settled, PostDecision>| {
            tokio::time::sleep(Duration::from_millis(100)).await;
            told.say(format!("{} reviewed", settled.call().id()));
            next.run(settled).await
        })
        .unwrap();
    world.program("program", async |lane, _| {
        let (one, two) = tokio::join!(lane.call("alone", ms(1)), lane.call("quick", ms(1)));
        Ok(json!([one?, two?]))
    });
    world.call("program").await;
    let order =
        ["c1:code:1 leave", "c1:code:1 reviewed", "c1:code:1 result", "c1:code:2 policy", "c1:code:2 enter"];
    let places: Vec<usize> = order.iter().map(|what| world.told.place(what)).collect();
    assert!(places.is_sorted(), "{:#?}", world.told.all());
}

// spec: code-mode/C24
#[tokio::test(start_paused = true)]
async fn a_call_is_classified_again_right_before_it_starts() {
    let world = World::new().await;
    let parallel = Arc::new(AtomicBool::new(true));
    let asked = parallel.clone();
    world.offer(world.timed_when("probe", move |_| asked.load(Ordering::SeqCst)));
    world.offer(
        raw("turns")
            .run(move |_, _run| {
                parallel.store(false, Ordering::SeqCst);
                std::future::ready(Ok(json!("turned")))
            })
            .parallel_when(|_| true),
    );
    world.program("program", async |lane, _| {
        let (one, two, three) = tokio::join!(
            lane.call("probe", ms(50)),
            lane.call("turns", json!({})),
            lane.call("probe", ms(1))
        );
        Ok(json!([one?, two?, three?]))
    });
    world.call("program").await;
    assert_eq!(
        world.told.all(),
        ["c1:code:1 enter", "c1:code:1 leave", "c1:code:3 enter", "c1:code:3 leave"]
    );
}

// spec: code-mode/C38
#[tokio::test(start_paused = true)]
async fn a_composite_that_runs_alone_may_call_another_that_runs_alone() {
    let world = World::new().await;
    world.timed("alone", false);
    world.program("inner", async |lane, _| Ok(lane.call("alone", ms(1)).await?));
    world.program("outer", async |lane, _| Ok(lane.call("inner", json!({})).await?));
    let outcomes = world.run(world.batch(&[("c1", "outer", "{}"), ("c2", "alone", "{}")])).await.unwrap();
    assert_eq!(outcomes[0].value(), Some(&json!("alone")));
    let ids = ["c1:code:1:code:1 enter", "c1:code:1:code:1 leave", "c2 enter", "c2 leave"];
    assert_eq!(world.told.all(), ids);
}
