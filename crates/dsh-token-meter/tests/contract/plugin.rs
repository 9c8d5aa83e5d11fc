//! The plugin: what it provides, and what is left of it.

use cordis::State;
use cordis::testing::TestApp;
use dsh_session::{CreateSession, NewEvent, SESSIONS};
use dsh_session_projection::PROJECTIONS;
use dsh_token_meter::{Config, TOKEN_METER};

use crate::fixture::said;

// spec: llm/S79
#[test]
fn any_key_of_a_configuration_is_an_error() {
    assert_eq!(serde_json::from_str::<Config>("{}").unwrap(), Config {});
    let refused = serde_json::from_str::<Config>(r#"{"ratio":4}"#).unwrap_err().to_string();
    assert!(refused.contains("ratio"), "{refused}");
}

// spec: llm/S80, design/P1
#[tokio::test]
async fn with_projections_clients_are_shown_three_values_until_it_unloads() {
    let app = TestApp::new();
    app.plugin(dsh_session::plugin(), ()).unwrap().ready().await.unwrap();
    app.plugin(dsh_session_projection::plugin(), ()).unwrap().ready().await.unwrap();
    let meter = app.plugin(dsh_token_meter::plugin(), Config {}).unwrap();
    assert_eq!(meter.ready().await.unwrap(), State::Active);
    let session = app.get(SESSIONS).unwrap().get().unwrap().create(&app, CreateSession::default()).unwrap();
    session.append(NewEvent::user(said("0123")).unwrap()).unwrap();
    let values = || app.get(PROJECTIONS).unwrap().get().unwrap().snapshot(&session).values;
    let shown = values();
    assert!(shown.contains_key("tokenUsage") && shown.contains_key("contextPressure"), "{shown:?}");
    assert_eq!(shown["contextBreakdown"]["messagesTokens"], 9);
    let measured = app.get(TOKEN_METER).unwrap().get().unwrap().measure(&session, None).unwrap();
    assert_eq!(measured.surface_tokens, 9);
    let disposed = meter.dispose().await;
    assert!(disposed.still_running.is_empty() && disposed.leases.is_empty(), "{disposed:?}");
    assert_eq!(values().keys().collect::<Vec<_>>(), ["sessionStats"]);
    assert!(app.get(TOKEN_METER).is_none());
}

#[tokio::test]
async fn without_projections_there_is_the_meter_alone() {
    let app = TestApp::new();
    app.plugin(dsh_token_meter::plugin(), Config {}).unwrap().ready().await.unwrap();
    assert!(app.get(TOKEN_METER).is_some());
}
