//! The plugin: what it is mounted with, and for whom.

use cordis::testing::TestApp;
use dsh_agent::Recovery;
use dsh_llm_retry::Config;
use dsh_session::Session;

use crate::fixture::{Fixture, exact, transport};

// spec: agent-loop/S87
#[test]
fn any_key_of_a_configuration_is_an_error() {
    assert_eq!(serde_json::from_str::<Config>("{}").unwrap(), Config {});
    let refused = serde_json::from_str::<Config>(r#"{"maxRetries":3}"#).unwrap_err().to_string();
    assert!(refused.contains("maxRetries"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn on_an_agents_context_it_is_for_that_agent_alone() {
    let fixture = Fixture::new().await;
    fixture.retry.dispose().await;
    let (other, _) = dsh_agent::testing::agent(&fixture.app, Session::detached("other")).unwrap();
    other.context().plugin(dsh_llm_retry::plugin(), Config {}).unwrap().ready().await.unwrap();
    assert_eq!(fixture.timed(&exact(5), transport()).await, (Recovery::None, 0));
    let own = fixture.agent.context().plugin(dsh_llm_retry::plugin(), Config {}).unwrap();
    own.ready().await.unwrap();
    assert_eq!(fixture.timed(&exact(5), transport()).await, (Recovery::Retry, 500));
}

// spec: design/P1
#[tokio::test]
async fn an_idle_plugin_owns_no_task_and_leaves_nothing() {
    let app = TestApp::new();
    let retry = app.plugin(dsh_llm_retry::plugin(), Config {}).unwrap();
    retry.ready().await.unwrap();
    let disposed = retry.dispose().await;
    assert!(disposed.still_running.is_empty() && disposed.leases.is_empty(), "{disposed:?}");
}
