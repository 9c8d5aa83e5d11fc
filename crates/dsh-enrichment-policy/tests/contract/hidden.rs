//! A model sees nothing of it, and the log has nothing of it.

use dsh_approval::{APPROVAL, ApprovalOutcome, REQUEST};
use dsh_enrichment_policy::{CallerConfig, Config};
use dsh_session::{NewEvent, TurnStart};
use dsh_tools::{PRE_EXECUTE, PreDecision, ToolCall};
use serde_json::json;

use crate::fixture::{Fixture, call};

#[tokio::test]
async fn neither_arguments_nor_result_nor_log_have_any_of_it() {
    let caller = |field: &str| format!("secret {field}");
    let grace = CallerConfig { id: caller("id"), name: caller("name"), role: caller("role") };
    let config = Config { callers: [("ada".to_owned(), grace)].into(), agent_role: None };
    let fixture = Fixture::new(config).await;
    let ada = fixture.agent("ada");
    ada.session().append(NewEvent::new(&TurnStart { turn: 1 }).unwrap()).unwrap();
    fixture
        .app
        .plugin(dsh_approval::plugin(), dsh_approval::Config::default())
        .unwrap()
        .ready()
        .await
        .unwrap();
    assert!(fixture.app.get(APPROVAL).is_some());
    // Somebody is asked, so that the log has something of the call.
    fixture
        .app
        .on(PRE_EXECUTE)
        .run(async |_: &mut ToolCall, _: cordis::Next<'_, ToolCall, PreDecision>| PreDecision::Ask {
            reason: None,
        })
        .unwrap();
    fixture
        .app
        .on(REQUEST)
        .run(async |_: &mut _, _: cordis::Next<'_, _, _>| ApprovalOutcome::AllowedOnce)
        .unwrap();

    let outcome = fixture.execute(call().agent(&ada)).await;

    let [carried] = std::mem::take(&mut *fixture.seen.lock()).try_into().unwrap();
    assert_eq!(carried.arguments, json!({ "text": "hello" }));
    assert_eq!(carried.caller.map(|caller| caller.role), Some(caller("role")));
    let events = ada.session().events();
    let logged: Vec<_> =
        events.iter().map(|event| format!("{} {}", event.kind(), event.data().get())).collect();
    assert_eq!(events.iter().filter(|event| event.kind().starts_with("approval/")).count(), 2, "{logged:?}");
    let read = serde_json::to_string(&outcome).unwrap();
    assert!(read.contains("done"));
    for text in logged.iter().chain([&read]) {
        assert!(!text.contains("secret") && !text.contains(&carried.trace.unwrap().to_string()), "{text}");
    }
}
