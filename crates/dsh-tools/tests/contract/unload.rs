//! Unloading the plugin of a tool whose body runs.

use std::sync::Arc;

use cordis::{Context, Effect};
use dsh_tools::{ErrorInfo, Failure, TOOLS, ToolOutcome};
use parking_lot::Mutex;
use serde_json::json;

use crate::fixture::{Does, Fixture, Probe, request, tool};

fn unloaded(name: &str, output: &str) -> ToolOutcome {
    let message = format!("tool call aborted: tool \"{name}\" was unloaded while it ran");
    ToolOutcome::failure(Failure::new(message).coded(ErrorInfo::ABORTED).with_output(output))
}

// spec: design/P1
#[tokio::test(start_paused = true)]
async fn the_body_ends_before_the_unloading_does_and_the_call_is_told() {
    let fixture = Fixture::new().await;
    let told = fixture.told();
    let probe = Probe::new(Does::Hang);
    let (runs, held) = (Arc::clone(&probe.runs), Arc::downgrade(&probe.held));
    let plugin = fixture.offers("hanging", &probe).await;
    drop(probe);
    let mut execution = Box::pin(fixture.execute(request("probe")));
    while runs.load(std::sync::atomic::Ordering::SeqCst) == 0 {
        tokio::select! {
            _ = &mut execution => panic!("the body never ends by itself"),
            () = tokio::task::yield_now() => {}
        }
    }
    let (disposed, outcome) = tokio::join!(plugin.dispose(), execution);
    assert!(disposed.is_clean(), "{disposed}");
    assert!(held.upgrade().is_none(), "the body and the tool are dropped");
    assert_eq!(outcome, unloaded("probe", "hanging"));
    assert_eq!(*told.lock(), [("c1".to_owned(), outcome)]);
    assert_eq!(fixture.call("probe").await.code(), Some("UNKNOWN_TOOL"));
}

// spec: design/P3, tools/T106
#[tokio::test]
async fn a_body_may_take_its_own_tool_back() {
    let fixture = Fixture::new().await;
    let own: Arc<Mutex<Option<Effect>>> = Arc::default();
    let of_body = Arc::clone(&own);
    let effect = fixture.register(tool("once", move |run| {
        let effect = of_body.lock().take();
        async move {
            run.write("half");
            let requested = effect.unwrap().dispose().await;
            assert!(requested.requested);
            std::future::pending().await
        }
    }));
    *own.lock() = Some(effect.clone());
    assert_eq!(fixture.call("once").await, unloaded("once", "half"));
    assert!(effect.dispose().await.is_clean());
    assert_eq!(fixture.call("once").await.code(), Some("UNKNOWN_TOOL"));
}

// spec: tools/T106, tools/T51
#[tokio::test]
async fn the_value_of_a_body_that_took_its_tool_back_at_its_end_cannot_be_shown() {
    let fixture = Fixture::new().await;
    let own: Arc<Mutex<Option<Effect>>> = Arc::default();
    let of_body = Arc::clone(&own);
    let effect = fixture.register(tool("once", move |_| {
        let effect = of_body.lock().take();
        async move {
            effect.unwrap().cancel();
            Ok(json!(1))
        }
    }));
    *own.lock() = Some(effect);
    assert_eq!(fixture.call("once").await.code(), Some("UNKNOWN_TOOL"));
}

// spec: design/P3
#[tokio::test]
async fn a_body_may_register_tools_and_guards_and_call_them() {
    let fixture = Fixture::new().await;
    let ctx: Context = (**fixture.app).clone();
    fixture.register(tool("builds", move |run| {
        let ctx = ctx.clone();
        async move {
            let tools = ctx.get(TOOLS).unwrap();
            let tools = tools.get()?;
            tools.register(&ctx, tool("built", async |_| Ok(json!("built"))))?;
            let guard = tools.guard(&ctx, |call| (call.name() == "built").then(|| "not yet".to_owned()))?;
            let nested = || dsh_tools::CallRequest::new("n1", "built", "{}");
            let denied = tools.execute_nested(&ctx, &run, nested()).await;
            guard.dispose().await;
            let allowed = tools.execute_nested(&ctx, &run, nested()).await;
            Ok(json!([denied.text(), allowed.text()]))
        }
    }));
    assert_eq!(fixture.call("builds").await.value(), Some(&json!(["Error: not yet", "built"])));
}
