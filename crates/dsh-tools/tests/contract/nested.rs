//! Calls that the body of another one makes.

use std::sync::Arc;
use std::time::Duration;

use cordis::{Context, Next};
use dsh_agent::testing::agent;
use dsh_session::{NewEvent, Session, TurnStart};
use dsh_tools::{
    CallRequest, CallToken, Config, Mode, POST_EXECUTE, PRE_EXECUTE, PreDecision, RESULT, Settled, TOOLS,
    ToolCall, ToolDefinition, ToolOutcome, ToolRun,
};
use parking_lot::Mutex;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Does, Fixture, Probe, contexts, message, tool};

/// Calls the tool `inner` under the id `n1`, and gives its text.
fn composite(ctx: Context, got: Arc<Mutex<Vec<ToolOutcome>>>) -> ToolDefinition {
    tool("composite", move |run| {
        let (ctx, got) = (ctx.clone(), Arc::clone(&got));
        async move {
            let tools = ctx.get(TOOLS).unwrap();
            let request = CallRequest::new("n1", "inner", "{}");
            let outcome = tools.get()?.execute_nested(&ctx, &run, request).await;
            let text = outcome.text();
            got.lock().push(outcome);
            Ok(json!(text))
        }
    })
}

fn inner() -> ToolDefinition {
    tool("inner", async |run: dsh_tools::ToolRun| {
        run.defer_context(message("of inner"));
        run.conclude_turn();
        Ok(json!("x"))
    })
    .presentation_meta(|_, value| Ok(value.clone()))
}

// spec: tools/T50, tools/T66, tools/T86
#[tokio::test]
async fn it_knows_its_parent_and_its_root_and_what_it_adds_is_its_callers_business() {
    let fixture = Fixture::with(inner()).await;
    let got = Arc::default();
    let definition = composite((**fixture.app).clone(), Arc::clone(&got));
    fixture.register(definition.presentation_meta(|_, value| Ok(value.clone())));
    type Seen = (CallToken, String, String, Option<CallToken>, Option<String>);
    let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
    let sink = Arc::clone(&seen);
    let hear = move |call: &ToolCall| {
        let ids = (call.id().to_owned(), call.root_id().to_owned());
        sink.lock().push((call.token(), ids.0, ids.1, call.parent(), call.parent_id().map(str::to_owned)));
    };
    fixture.app.on(RESULT).run(move |settled| hear(settled.call())).unwrap();
    let outer = fixture.call("composite").await;
    assert_eq!((outer.value(), outer.meta()), (Some(&json!("x")), Some(&json!("x"))));
    assert_eq!((contexts(&outer), outer.concludes_turn()), (Vec::new(), false));
    let nested = got.lock().remove(0);
    assert_eq!((nested.meta(), contexts(&nested)), (None, vec!["of inner".to_owned()]));
    assert!(nested.concludes_turn());
    let seen = seen.lock();
    let (inner, outer) = (&seen[0], &seen[1]);
    assert_eq!((&*inner.1, &*inner.2, inner.3, inner.4.as_deref()), ("n1", "c1", Some(outer.0), Some("c1")));
    assert_eq!((&*outer.1, &*outer.2, outer.3), ("c1", "c1", None));
}

// spec: cases/A1, design/P7
#[tokio::test]
async fn there_is_one_way_for_direct_nested_and_batched_calls_of_a_child() {
    let probe = Probe { name: "inner", ..Probe::new(Does::Echo) };
    let fixture = Fixture::with(&probe).await;
    let got = Arc::default();
    fixture.register(composite((**fixture.app).clone(), Arc::clone(&got)));
    let root = fixture.app.scope().unwrap();
    let child = fixture.app.scope_under(&root).unwrap();
    let no_inner = |call: &ToolCall| (call.name() == "inner").then(|| "no inner".to_owned());
    fixture.tools.get().unwrap().guard(root.context(), no_inner).unwrap();
    assert_eq!(fixture.call_as(child.key(), "inner").await, ToolOutcome::denied("no inner"));
    let outer = fixture.call_as(child.key(), "composite").await;
    assert_eq!(outer.value(), Some(&json!("Error: no inner")));
    assert!(got.lock().remove(0).is_denied());
    let (one, two) =
        tokio::join!(fixture.call_as(child.key(), "inner"), fixture.call_as(child.key(), "inner"));
    assert!(one.is_denied() && two.is_denied());
    assert_eq!(probe.runs(), 0);
    assert_eq!(fixture.call("composite").await.value(), Some(&json!("inner {}")), "of no agent");
}

// spec: tools/T53, tools/T123
#[tokio::test]
async fn in_code_mode_it_reaches_the_tool_that_a_direct_call_does_not() {
    let fixture = Fixture::configured(Config { mode: Mode::Code, ..Config::default() }).await;
    fixture.register(inner());
    // A run of a body is the proof of a parent, and in this mode only a program's body would have one: take it from another app.
    let outside = Fixture::new().await;
    let (ctx, tools) = ((**fixture.app).clone(), fixture.tools.clone());
    outside.register(tool("program", move |run| {
        let (ctx, tools) = (ctx.clone(), tools.clone());
        async move {
            let request = CallRequest::new("n1", "inner", "{}");
            Ok(json!(tools.get()?.execute_nested(&ctx, &run, request).await.text()))
        }
    }));
    assert_eq!(fixture.call("inner").await.code(), Some("UNKNOWN_TOOL"));
    assert_eq!(outside.call("program").await.value(), Some(&json!("x")));
}

/// What travels with calls: what the caller gave, and what a listener has seen and added.
#[derive(Clone, Debug, PartialEq)]
struct Given(&'static str);

#[derive(Clone, Debug, PartialEq)]
struct Added(String);

/// Names each call together with what travels with it, then adds the call's id to that.
fn notes_what_travels(fixture: &Fixture) -> Arc<Mutex<Vec<String>>> {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let listener = async |seen: &Arc<Mutex<Vec<String>>>, call: &mut ToolCall, next: Next<'_, _, _>| {
        let (given, added) = (call.context().get::<Given>(), call.context().get::<Added>());
        let given = given.map_or("nothing", |given| given.0);
        seen.lock().push(format!("{}: {given}, {:?}", call.id(), added.map(|added| added.0.clone())));
        call.context().insert(Added(call.id().to_owned()));
        next.run(call).await
    };
    fixture.app.on(PRE_EXECUTE).with(seen.clone()).run(listener).unwrap();
    seen
}

#[tokio::test]
async fn a_nested_call_starts_with_what_travels_with_the_outer_one_and_keeps_what_it_adds() {
    let fixture = Fixture::with(inner()).await;
    let seen = notes_what_travels(&fixture);
    let ctx = (**fixture.app).clone();
    fixture.register(tool("composite", move |run: ToolRun| {
        let ctx = ctx.clone();
        async move {
            let tools = ctx.get(TOOLS).unwrap();
            let tools = tools.get()?;
            tools.execute_nested(&ctx, &run, CallRequest::new("n1", "inner", "{}")).await;
            tools.execute_nested(&ctx, &run, CallRequest::new("n2", "inner", "{}").with(Given("own"))).await;
            tools.with_lane(&run, async |lane| lane.call("inner", json!({})).await).await.unwrap();
            Ok(json!(run.context().get::<Added>().unwrap().0))
        }
    }));
    let outer = fixture.execute(CallRequest::new("c1", "composite", "{}").with(Given("given"))).await;
    assert_eq!(outer.value(), Some(&json!("c1")));
    let seen = seen.lock();
    let expected = ["c1: given, None", "n1: given, Some(\"c1\")", "n2: own, Some(\"c1\")"];
    assert_eq!(seen[..3], expected);
    assert!(seen.len() == 4 && seen[3].ends_with(": given, Some(\"c1\")"), "{seen:?}");
}

#[tokio::test]
async fn what_travels_with_a_call_is_not_shared_with_calls_of_clones_of_its_request() {
    let fixture = Fixture::with(inner()).await;
    let seen = notes_what_travels(&fixture);
    let request = CallRequest::new("c1", "inner", "{}").with(Given("given"));
    fixture.execute(request.clone()).await;
    fixture.execute(request).await;
    assert_eq!(*seen.lock(), ["c1: given, None", "c1: given, None"]);
}

// spec: cases/A1, approval-permissions/A70, design/P7
#[tokio::test]
async fn a_nested_call_is_made_in_the_name_of_the_agent_that_made_the_outer_one_whatever_its_request_says() {
    let fixture = Fixture::with(&Probe { name: "inner", ..Probe::new(Does::Echo) }).await;
    fixture
        .app
        .plugin(dsh_approval::plugin(), dsh_approval::Config::default())
        .unwrap()
        .ready()
        .await
        .unwrap();
    let (stranger, elsewhere) = (fixture.app.scope().unwrap(), fixture.app.scope().unwrap());
    let ctx = (**fixture.app).clone();
    let key = stranger.key().clone();
    fixture.register(tool("composite", move |run: ToolRun| {
        let (ctx, key) = (ctx.clone(), key.clone());
        async move {
            let request = CallRequest::new("n1", "inner", "{}").scope(&key);
            Ok(json!(ctx.get(TOOLS).unwrap().get()?.execute_nested(&ctx, &run, request).await.text()))
        }
    }));
    let session = Session::detached("ada");
    session.append(NewEvent::new(&TurnStart { turn: 1 }).unwrap()).unwrap();
    let (agent, _) = agent(elsewhere.context(), session).unwrap();
    let asks = async |call: &mut ToolCall, next: Next<'_, ToolCall, PreDecision>| match call.name() {
        "inner" => PreDecision::Ask { reason: None },
        _ => next.run(call).await,
    };
    agent.context().on(PRE_EXECUTE).run(asks).unwrap();
    let outer = fixture.execute(CallRequest::new("c1", "composite", "{}").agent(&agent)).await;
    assert!(outer.text().contains("needs approval"), "{}", outer.text());
    let asked = agent.session().events().iter().find(|event| event.kind() == "approval/asked").unwrap();
    assert!(asked.data().get().contains(r#""callId":"n1""#), "{}", asked.data().get());
}

#[tokio::test]
async fn a_nested_call_ends_with_the_outer_one_and_by_its_own_token() {
    for own in [false, true] {
        let fixture = Fixture::with(&Probe { name: "inner", ..Probe::new(Does::Wait) }).await;
        let ctx = (**fixture.app).clone();
        let token = CancellationToken::new();
        let cancels = token.clone();
        fixture.register(tool("composite", move |run: ToolRun| {
            let (ctx, token) = (ctx.clone(), token.clone());
            async move {
                let mut request = CallRequest::new("n1", "inner", "{}");
                if own {
                    request = request.cancellation(&token);
                }
                let outcome = ctx.get(TOOLS).unwrap().get()?.execute_nested(&ctx, &run, request).await;
                Ok(json!(outcome.code()))
            }
        }));
        let outer = CancellationToken::new();
        let cancelled = if own { cancels } else { outer.clone() };
        let call = fixture.execute(CallRequest::new("c1", "composite", "{}").cancellation(&outer));
        let (outcome, ()) = tokio::join!(call, async { cancelled.cancel() });
        match own {
            true => assert_eq!(outcome.value(), Some(&json!("ABORTED"))),
            false => assert_eq!(outcome.code(), Some("ABORTED")),
        }
    }
}

// spec: tools/T55, tools/T60
#[tokio::test]
async fn a_nested_call_whose_own_token_is_cancelled_does_not_reach_its_body() {
    for by_a_listener in [false, true] {
        let probe = Probe { name: "inner", ..Probe::new(Does::Echo) };
        let fixture = Fixture::with(&probe).await;
        let (ctx, token) = ((**fixture.app).clone(), CancellationToken::new());
        let own = token.clone();
        fixture.register(tool("composite", move |run: ToolRun| {
            let (ctx, own) = (ctx.clone(), own.clone());
            async move {
                let request = CallRequest::new("n1", "inner", "{}").cancellation(&own);
                Ok(json!(ctx.get(TOOLS).unwrap().get()?.execute_nested(&ctx, &run, request).await.code()))
            }
        }));
        if by_a_listener {
            let cancels = async |token: &CancellationToken, call: &mut ToolCall, next: Next<'_, _, _>| {
                if call.name() == "inner" {
                    token.cancel();
                }
                next.run(call).await
            };
            fixture.app.on(PRE_EXECUTE).with(token.clone()).run(cancels).unwrap();
        } else {
            token.cancel();
        }
        let outcome = fixture.execute(CallRequest::new("c1", "composite", "{}")).await;
        assert_eq!((outcome.value(), probe.runs()), (Some(&json!("ABORTED_BEFORE_DISPATCH")), 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_nested_call_is_told_to_its_end_although_the_outer_one_is_cancelled() {
    let fixture = Fixture::with(&Probe { name: "inner", ..Probe::new(Does::Hang) }).await;
    let ctx = (**fixture.app).clone();
    fixture.register(tool("composite", move |run: ToolRun| {
        let ctx = ctx.clone();
        async move {
            let request = CallRequest::new("n1", "inner", "{}");
            Ok(json!(ctx.get(TOOLS).unwrap().get()?.execute_nested(&ctx, &run, request).await.code()))
        }
    }));
    let slow = async |settled: &mut Settled, next: Next<'_, _, _>| {
        tokio::time::sleep(Duration::from_millis(1)).await;
        next.run(settled).await
    };
    fixture.app.on(POST_EXECUTE).run(slow).unwrap();
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&told);
    fixture.app.on(RESULT).run(move |settled| seen.lock().push(settled.call().id().to_owned())).unwrap();
    let outer = CancellationToken::new();
    let call = fixture.execute(CallRequest::new("c1", "composite", "{}").cancellation(&outer));
    let (outcome, ()) = tokio::join!(call, async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        outer.cancel();
    });
    assert_eq!((outcome.code(), told.lock().join(" ")), (Some("ABORTED"), "n1 c1".to_owned()));
}
