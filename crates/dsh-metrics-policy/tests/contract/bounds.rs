//! What a model or a tool makes up does not make the figures grow.

use cordis::{Effect, Next};
use dsh_metrics_policy::{CallCode, ToolLabel};
use dsh_tools::{CallRequest, POST_EXECUTE, PostDecision, Settled, ToolDefinition};
use serde_json::json;

use crate::fixture::{Fixture, expected, probe, work};

#[tokio::test(start_paused = true)]
async fn names_that_no_tool_has_are_one_row() {
    let fixture = Fixture::new().await;
    for number in 0..200 {
        fixture.execute(CallRequest::new("call_1", format!("made_up_{number}"), "{}")).await;
    }
    fixture.execute(CallRequest::new("call_1", "made_up", "{")).await;
    assert_eq!(
        fixture.rows(),
        [
            expected("(unknown)", "INVALID_ARGS", 1, None),
            expected("(unknown)", "UNKNOWN_TOOL", 200, Some((200, 0))),
        ]
    );
}

#[tokio::test]
async fn a_name_that_only_another_agent_is_offered_is_unknown() {
    let fixture = Fixture::new().await;
    let scope = fixture.app.scope().unwrap();
    let secret = ToolDefinition::raw("secret", "Is for one.", json!({ "type": "object" }));
    let tools = fixture.tools.get().unwrap();
    tools.register(scope.context(), secret.run(work)).unwrap();
    fixture.execute(CallRequest::new("call_1", "secret", "{}")).await;
    fixture.execute(CallRequest::new("call_2", "secret", "{}").scope(scope.key())).await;
    let snapshot = fixture.snapshot();
    let calls = |tool, code| snapshot.calls_of(&tool, &code);
    assert_eq!(calls(ToolLabel::Unknown, CallCode::Coded("UNKNOWN_TOOL".into())), 1);
    assert_eq!(calls(ToolLabel::Named("secret".into()), CallCode::Success), 1);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_gone_when_its_call_ends_is_counted_under_its_name() {
    let fixture = Fixture::new().await;
    let leaves = ToolDefinition::raw("leaves", "Is taken back.", json!({ "type": "object" }));
    let registered = fixture.offer(leaves.run(work));
    fixture
        .app
        .on(POST_EXECUTE)
        .with(registered)
        .run(async |registered: &Effect, settled: &mut Settled, next: Next<'_, Settled, PostDecision>| {
            registered.dispose().await;
            next.run(settled).await
        })
        .unwrap();
    fixture.execute(CallRequest::new("call_1", "leaves", "{}")).await;
    assert!(fixture.tools.get().unwrap().get("leaves", None).is_none());
    assert_eq!(fixture.rows(), [expected("leaves", "success", 1, Some((1, 0)))]);
}

#[tokio::test(start_paused = true)]
async fn what_has_no_row_of_its_own_is_counted_together() {
    let fixture = Fixture::with_rows(3).await;
    for number in 0..100 {
        fixture.call(json!({ "code": format!("E{number}"), "ms": 1 })).await;
    }
    fixture.call(json!({ "code": "E1", "ms": 1 })).await;
    assert_eq!(
        fixture.rows(),
        [
            expected("probe", "E0", 1, Some((1, 1))),
            expected("probe", "E1", 2, Some((2, 2))),
            expected("probe", "E2", 1, Some((1, 1))),
            expected("(other)", "(other)", 97, Some((97, 97))),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_reset_makes_room_for_as_many_rows_as_in_the_beginning() {
    let fixture = Fixture::with_rows(2).await;
    for round in 0..3 {
        for code in ["a", "b", "c"] {
            fixture.call(json!({ "code": format!("{code}{round}") })).await;
        }
        let codes: Vec<_> = fixture.rows().into_iter().map(|(_, code, calls, _)| (code, calls)).collect();
        let own = |code: &str| (format!("{code}{round}"), 1);
        assert_eq!(codes, [own("a"), own("b"), ("(other)".to_owned(), 1)]);
        fixture.metrics.get().unwrap().reset();
        assert_eq!(fixture.rows(), []);
    }
}

#[tokio::test]
async fn a_tool_that_is_offered_again_keeps_its_row() {
    let fixture = Fixture::new().await;
    fixture.call(json!({})).await;
    let second = fixture.app.scope().unwrap();
    fixture.tools.get().unwrap().register(second.context(), probe()).unwrap();
    fixture.execute(CallRequest::new("call_2", "probe", "{}").scope(second.key())).await;
    assert_eq!(fixture.snapshot().calls_of(&ToolLabel::Named("probe".into()), &CallCode::Success), 2);
}
