//! Code of tools and listeners that panics: one call fails, the next does not.

use cordis::{BoxFuture, Next};
use dsh_tools::{
    EXECUTE, POST_EXECUTE, PRE_EXECUTE, PostDecision, PreDecision, Settled, ToolCall, ToolDefinition,
    ToolOutcome,
};
use serde_json::json;

use crate::fixture::{Does, Fixture, Probe, tool};

// spec: design/P4, tools/T63, tools/T70
#[tokio::test]
async fn a_body_that_panics_is_an_error_result_each_time() {
    let fixture = Fixture::with(&Probe::new(Does::Panic)).await;
    let told = fixture.told();
    for _ in 0..2 {
        let outcome = fixture.call("probe").await;
        assert_eq!(outcome, ToolOutcome::failed("tool \"probe\" panicked: the probe burst"));
    }
    assert_eq!(told.lock().len(), 2);
}

// spec: design/P4
#[tokio::test]
async fn a_body_that_panics_before_its_first_await_is_an_error_result() {
    let starts =
        |_: dsh_tools::ToolRun| -> std::future::Ready<Result<serde_json::Value, dsh_tools::ToolError>> {
            panic!("at once")
        };
    let fixture = Fixture::with(tool("t", starts)).await;
    assert_eq!(fixture.call("t").await, ToolOutcome::failed("tool \"t\" panicked: at once"));
}

// spec: design/P4, tools/T66
#[tokio::test]
async fn a_renderer_a_meta_and_a_finalizer_that_panic_are_error_results() {
    let plain = || tool("t", async |_| Ok(json!(1)));
    let tools: [ToolDefinition; 3] = [
        plain().render(|_, _| panic!("cannot draw")),
        plain().presentation_meta(|_, _| panic!("cannot draw")),
        plain().finalize(|_, _| panic!("cannot draw")),
    ];
    for definition in tools {
        let fixture = Fixture::new().await;
        let told = fixture.told();
        let effect = fixture.register(definition);
        let outcome = fixture.call("t").await;
        assert!(outcome.is_error() && outcome.text().contains("cannot draw"), "{}", outcome.text());
        assert_eq!(*told.lock(), [("c1".to_owned(), outcome)]);
        effect.dispose().await;
        fixture.register(plain());
        assert!(!fixture.call("t").await.is_error());
    }
}

// spec: design/P4, tools/T61, tools/T65, tools/T69
#[tokio::test]
async fn a_listener_of_any_station_that_panics_fails_this_call_and_not_the_next() {
    async fn burst<A: Send, R: Send>(_: &mut A, _next: Next<'_, A, R>) -> R {
        panic!("burst")
    }
    fn late<'a, A: Send, R: Send>(args: &'a mut A, next: Next<'a, A, R>) -> BoxFuture<'a, R> {
        Box::pin(async move {
            let _ = next.run(args).await;
            panic!("burst")
        })
    }
    let fixture = Fixture::with(&Probe::new(Does::Echo)).await;
    let told = fixture.told();
    let ctx = &fixture.app;
    let mut calls = 0;
    macro_rules! panics {
        ($($effect:expr),*) => {$(
            let effect = $effect.unwrap();
            let outcome = fixture.call("probe").await;
            assert!(outcome.is_error() && outcome.text().contains("burst"), "{}", outcome.text());
            effect.dispose().await;
            assert!(!fixture.call("probe").await.is_error());
            calls += 2;
        )*};
    }
    panics!(
        ctx.on(PRE_EXECUTE).run(burst::<ToolCall, PreDecision>),
        ctx.on(EXECUTE).run(burst::<ToolCall, ToolOutcome>),
        ctx.on(POST_EXECUTE).run(burst::<Settled, PostDecision>),
        ctx.on(PRE_EXECUTE).run_boxed(late::<ToolCall, PreDecision>),
        ctx.on(EXECUTE).run_boxed(late::<ToolCall, ToolOutcome>),
        ctx.on(POST_EXECUTE).run_boxed(late::<Settled, PostDecision>)
    );
    assert_eq!(told.lock().len(), calls);
}
