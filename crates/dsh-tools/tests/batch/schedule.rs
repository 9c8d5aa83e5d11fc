//! Which calls of a batch run at once, and when.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cordis::Next;
use dsh_tools::{
    Config, ExecutionMode, Mode, PRE_EXECUTE, PreDecision, ToolCall, ToolDefinition, ToolError, ToolRun, tool,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::world::{Told, World, raw, texts};

// spec: tools/T88, agent-loop/S78, agent-loop/S80
#[tokio::test(start_paused = true)]
async fn neighbours_overlap_up_to_the_limit_and_an_exclusive_call_runs_alone() {
    let world = World::new().await;
    world.timed("slow", true);
    world.timed("quick", true);
    world.timed("alone", false);
    world.watch();
    let batch = world.batch(&[
        ("c1", "slow", r#"{"ms": 40}"#),
        ("c2", "quick", "{}"),
        ("c3", "quick", "{}"),
        ("c4", "alone", "{}"),
        ("c5", "quick", "{}"),
    ]);
    let outcomes = world.run(batch).await.unwrap();
    assert_eq!(texts(&outcomes), ["slow", "quick", "quick", "alone", "quick"]);
    let told = [
        "c1 policy",
        "c1 judged",
        "c1 enter",
        "c2 policy",
        "c2 judged",
        "c2 enter",
        "c2 leave",
        "c3 policy",
        "c3 judged",
        "c3 enter",
        "c3 leave",
        "c1 leave",
        "c1 result",
        "c2 result",
        "c3 result",
        "c4 policy",
        "c4 judged",
        "c4 enter",
        "c4 leave",
        "c4 result",
        "c5 policy",
        "c5 judged",
        "c5 enter",
        "c5 leave",
        "c5 result",
    ];
    assert_eq!(world.told.all(), told);
    let log = [
        "call c1",
        "call c2",
        "call c3",
        "result c1: slow",
        "result c2: quick",
        "result c3: quick",
        "call c4",
        "result c4: alone",
        "call c5",
        "result c5: quick",
    ];
    assert_eq!(world.log(), log);
}

// spec: tools/T88
#[tokio::test(start_paused = true)]
async fn bodies_go_on_while_a_later_call_is_being_judged() {
    let world = World::new().await;
    world.timed("quick", true);
    world
        .app
        .on(PRE_EXECUTE)
        .with(world.told.clone())
        .run(async |told: &Told, call: &mut ToolCall, next: Next<'_, ToolCall, PreDecision>| {
            if call.id() == "c2" {
                tokio::time::sleep(Duration::from_millis(500)).await;
                told.say("c2 judged");
            }
            next.run(call).await
        })
        .unwrap();
    world.run(world.batch(&[("c1", "quick", r#"{"ms": 100}"#), ("c2", "quick", "{}")])).await.unwrap();
    assert_eq!(world.told.all(), ["c1 enter", "c1 leave", "c2 judged", "c2 enter", "c2 leave"]);
}

// spec: tools/T89, agent-loop/S79
#[tokio::test(start_paused = true)]
async fn the_log_has_a_call_before_its_policies_are_asked() {
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
                told.say(format!("{} judged after {}", call.id(), crate::world::log_of(session).join(", ")));
                next.run(call).await
            },
        )
        .unwrap();
    world.run(world.batch(&[("c1", "quick", "{}"), ("c2", "quick", "{}")])).await.unwrap();
    world.told.place("c1 judged after call c1");
    world.told.place("c2 judged after call c1, call c2");
}

// spec: tools/T88, agent-loop/S78
#[tokio::test(start_paused = true)]
async fn a_call_is_classified_again_right_before_it_starts() {
    let world = World::new().await;
    let parallel = Arc::new(AtomicBool::new(true));
    let asked = parallel.clone();
    world.offer(world.timed_when("probe", move |_| asked.load(Ordering::SeqCst)));
    let turns = raw("turns").run(move |_, _run| {
        parallel.store(false, Ordering::SeqCst);
        std::future::ready(Ok(json!("turned")))
    });
    world.offer(turns.parallel_when(|_| true));
    world.watch();
    let batch = world.batch(&[
        ("c1", "probe", r#"{"ms": 50}"#),
        ("c2", "turns", "{}"),
        ("c3", "probe", "{}"),
        ("c4", "probe", "{}"),
    ]);
    world.run(batch).await.unwrap();
    // The place of `c2` is free long before `c1` ends, but by then the probe runs alone.
    let order = ["c1 enter", "c1 leave", "c2 result", "c3 policy", "c3 result", "c4 policy", "c4 result"];
    let places: Vec<usize> = order.iter().map(|what| world.told.place(what)).collect();
    assert!(places.is_sorted(), "{:#?}", world.told.all());
}

#[derive(Deserialize, JsonSchema)]
struct Read {
    #[allow(dead_code, reason = "only its presence is looked at")]
    path: String,
}

// spec: tools/T87, code-mode/C84
#[tokio::test]
async fn a_call_is_parallel_only_if_its_tool_is_there_takes_the_arguments_and_says_so() {
    let world = World::new().await;
    let read = async |_: Read, _run: ToolRun| Ok::<_, ToolError>("text".to_owned());
    world.offer(tool("read", "Reads.").run(read).parallel().into());
    world.timed("silent", false);
    world.offer(
        raw("burst").run(async |_, _run| Ok(Value::Null)).parallel_when(|_| panic!("the probe burst")),
    );
    world.offer(
        raw("picky")
            .run(async |_, _run| Ok(Value::Null))
            .parallel_when(|arguments| arguments["safe"] == true),
    );
    let tools = world.tools.get().unwrap();
    let mode = |name: &str, arguments: Value| tools.execution_mode(name, &arguments, None);
    let table = [
        mode("read", json!({ "path": "a" })),
        mode("read", json!({})),
        mode("read", json!("not an object")),
        mode("silent", json!({})),
        mode("burst", json!({})),
        mode("picky", json!({ "safe": true })),
        mode("picky", json!({ "safe": "true" })),
        mode("nobody", json!({})),
    ];
    use ExecutionMode::{Exclusive, Parallel};
    assert_eq!(table, [Parallel, Exclusive, Exclusive, Exclusive, Exclusive, Parallel, Exclusive, Exclusive]);
    assert_eq!(serde_json::to_value(table[0]).unwrap(), json!({ "kind": "parallel" }));
    assert_eq!(serde_json::to_value(table[1]).unwrap(), json!({ "kind": "exclusive" }));

    let code = World::with(Config { mode: Mode::Code, ..Config::default() }).await;
    code.timed("quick", true);
    let mode = code.tools.get().unwrap().execution_mode("quick", &json!({}), None);
    assert_eq!(mode, Exclusive, "a tool that cannot be called directly");
}

// spec: tools/T87, tools/T89
#[tokio::test(start_paused = true)]
async fn a_call_whose_arguments_cannot_be_read_runs_alone_and_is_refused() {
    let world = World::new().await;
    world.timed("quick", true);
    let batch = world.batch(&[
        ("c1", "quick", r#"{"ms": 20}"#),
        ("c2", "quick", r#"{"ms": "#),
        ("c3", "quick", "{}"),
    ]);
    let outcomes = world.run(batch).await.unwrap();
    let codes: Vec<Option<&str>> = outcomes.iter().map(|outcome| outcome.code()).collect();
    assert_eq!(codes, [None, Some("INVALID_ARGS"), None]);
    let told = ["c1 enter", "c1 leave", "c3 enter", "c3 leave"];
    assert_eq!(world.told.all(), told);
    assert_eq!(world.log()[..3], ["call c1", "result c1: quick", "call c2"]);
}

// spec: agent-loop/S85
#[tokio::test(start_paused = true)]
async fn calls_behind_one_that_ends_the_turn_run_all_the_same() {
    let world = World::new().await;
    world.timed("quick", true);
    let finish: ToolDefinition = raw("finish").run(|_, run: ToolRun| {
        run.conclude_turn();
        std::future::ready(Ok(json!("done")))
    });
    world.offer(finish);
    let outcomes = world.run(world.batch(&[("c1", "finish", "{}"), ("c2", "quick", "{}")])).await.unwrap();
    let ends: Vec<bool> = outcomes.iter().map(|outcome| outcome.concludes_turn()).collect();
    assert_eq!(ends, [true, false]);
    assert_eq!(texts(&outcomes), ["done", "quick"]);
}
