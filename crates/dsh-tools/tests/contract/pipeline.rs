//! What a call is on its way.

use std::sync::Arc;

use dsh_tools::{CallRequest, CallToken, RESULT, ToolOutcome};
use parking_lot::Mutex;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Does, Fixture, Probe, tool};

// spec: cases/T3, tools/T52
#[tokio::test]
async fn arguments_reach_the_body_exactly() {
    let fixture = Fixture::with(&Probe::new(Does::Echo)).await;
    let exact = r#"{"a":2512292042121000001,"b":9007199254740993}"#;
    assert_eq!(fixture.call_with("probe", exact).await, ToolOutcome::success(format!("probe {exact}")));
}

// spec: tools/T39, tools/T76
#[tokio::test]
async fn arguments_are_checked_against_the_parameters() {
    let probe = Probe::new(Does::Echo);
    let fixture = Fixture::with(&probe).await;
    for (arguments, expected) in [
        ("[1]", "\"arguments\" must be an object"),
        (r#"{"text":1}"#, "\"text\" must be a string"),
        (r#"{"mode":"c"}"#, "\"mode\" must be one of [\"a\",\"b\"]"),
        (r#"{"text":null,"count":1.5}"#, "\"text\" must be a string; \"count\" must be an integer"),
    ] {
        let outcome = fixture.call_with("probe", arguments).await;
        assert_eq!(outcome.text(), format!("Error: invalid arguments: {expected}"));
        assert_eq!(outcome.code(), Some("INVALID_ARGS"));
    }
    assert_eq!(probe.runs(), 0);
    assert!(!fixture.call_with("probe", r#"{"count":2.0,"more":[]}"#).await.is_error());
}

// spec: tools/T50
#[tokio::test]
async fn each_execution_has_an_identity_of_its_own() {
    let fixture = Fixture::with(&Probe::new(Does::Echo)).await;
    let tokens: Arc<Mutex<Vec<CallToken>>> = Arc::default();
    let seen = Arc::clone(&tokens);
    fixture.app.on(RESULT).run(move |settled| seen.lock().push(settled.call().token())).unwrap();
    let ids = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&ids);
    fixture.guard(move |call| {
        seen.lock().push((call.id().to_owned(), call.root_id().to_owned(), call.parent()));
        None
    });
    fixture.call("probe").await;
    fixture.call("probe").await;
    let tokens = tokens.lock();
    assert_ne!(tokens[0], tokens[1], "although their ids are the same");
    assert_eq!(*ids.lock(), vec![("c1".to_owned(), "c1".to_owned(), None); 2]);
}

// spec: cases/D6
#[tokio::test(start_paused = true)]
async fn of_four_calls_at_once_each_gets_what_is_its_own() {
    let fixture = Fixture::with(tool("fine", async |_| Ok(json!("fine")))).await;
    fixture.register(tool("fails", async |_| Err(dsh_tools::ToolError::new("it fails"))));
    fixture.register(tool("panics", async |_| panic!("it panics")));
    fixture.register(&Probe::new(Does::Wait));
    let told = fixture.told();
    let token = CancellationToken::new();
    let call = |id: &str, name: &str| fixture.execute(CallRequest::new(id, name, "{}").cancellation(&token));
    let cancel = async {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        token.cancel();
    };
    let (fine, fails, panics, cancelled, ()) =
        tokio::join!(call("1", "fine"), call("2", "fails"), call("3", "panics"), call("4", "probe"), cancel);
    assert_eq!(fine, ToolOutcome::success("fine"));
    assert_eq!(fails, ToolOutcome::failed("it fails"));
    assert_eq!(panics, ToolOutcome::failed("tool \"panics\" panicked: it panics"));
    assert_eq!(cancelled.code(), Some("ABORTED"));
    let mut told = told.lock().clone();
    told.sort_by(|one, other| one.0.cmp(&other.0));
    let ids = ["1", "2", "3", "4"].map(str::to_owned);
    assert_eq!(told, ids.into_iter().zip([fine, fails, panics, cancelled]).collect::<Vec<_>>());
}
