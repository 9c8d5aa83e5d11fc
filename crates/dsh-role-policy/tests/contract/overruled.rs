//! Nothing overrules a denial.

use cordis::Next;
use dsh_tools::{
    EXECUTE, POST_EXECUTE, PRE_EXECUTE, PostDecision, PreDecision, Settled, ToolCall, ToolOutcome,
};

use crate::fixture::{Fixture, call, caller, three_roles};

/// Listeners that let everything through, as best they can.
fn permissive(fixture: &Fixture) {
    let app = &fixture.app;
    app.on(PRE_EXECUTE)
        .prepend()
        .run(async |_: &mut ToolCall, _: Next<'_, ToolCall, PreDecision>| PreDecision::Allow)
        .unwrap();
    app.on(EXECUTE)
        .prepend()
        .run(async |call: &mut ToolCall, next: Next<'_, ToolCall, ToolOutcome>| {
            let _ = next.clone().run(call).await;
            next.run(call).await
        })
        .unwrap();
    app.on(POST_EXECUTE)
        .prepend()
        .run(async |_: &mut Settled, _: Next<'_, Settled, PostDecision>| PostDecision::replace_text("fine"))
        .unwrap();
}

// spec: design/P7
#[tokio::test]
async fn a_denied_call_never_runs_whatever_listeners_do_and_whenever_they_came() {
    for policy_first in [true, false] {
        let fixture = Fixture::bare().await;
        if policy_first {
            fixture.mount(three_roles()).await;
        }
        permissive(&fixture);
        if !policy_first {
            fixture.mount(three_roles()).await;
        }
        let outcome = fixture.execute(call("write").with(caller("reader"))).await;
        assert!(outcome.is_denied() && outcome.is_error());
        assert_eq!(fixture.runs(), 0);
    }
}

// spec: design/P7
#[tokio::test]
async fn a_policy_that_comes_while_a_call_waits_is_asked_about_it() {
    let fixture = Fixture::bare().await;
    let (app, entered) = (fixture.app.root(), std::sync::Arc::new(tokio::sync::Notify::new()));
    let released = std::sync::Arc::new(tokio::sync::Notify::new());
    app.on(EXECUTE)
        .with((entered.clone(), released.clone()))
        .run(
            async |(entered, released): &(
                std::sync::Arc<tokio::sync::Notify>,
                std::sync::Arc<tokio::sync::Notify>,
            ),
                   call: &mut ToolCall,
                   next: Next<'_, ToolCall, ToolOutcome>| {
                entered.notify_one();
                released.notified().await;
                next.run(call).await
            },
        )
        .unwrap();
    let request = call("write").with(caller("reader"));
    let mount = async {
        entered.notified().await;
        fixture.mount(three_roles()).await;
        released.notify_one();
    };
    let (outcome, ()) = tokio::join!(fixture.execute(request), mount);
    assert!(outcome.is_denied());
    assert_eq!(fixture.runs(), 0);
}
