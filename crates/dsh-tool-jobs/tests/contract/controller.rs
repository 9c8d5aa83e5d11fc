//! Whose jobs there may be because of the plugin.

use dsh_jobs::StartError;
use dsh_tool_jobs::Config;

use crate::fixture::{Fixture, Start};

// spec: timeout-jobs-hooks/J26, timeout-jobs-hooks/J39, design/P1
#[tokio::test]
async fn there_are_jobs_while_the_plugin_is_mounted() {
    let fixture = Fixture::bare().await;
    let start = || fixture.try_start(Start::of(&fixture.ada));
    assert!(matches!(start(), Err(StartError::NoController)));
    let plugin = fixture.mount(&fixture.app, Config::default()).await;
    assert_eq!(start().unwrap().id(), "bash-1");
    let tool = || fixture.tools.get().unwrap().get("job_output", None);
    assert!(tool().is_some());
    assert!(plugin.dispose().await.is_clean());
    assert!(matches!(start(), Err(StartError::NoController)));
    assert!(tool().is_none());
    fixture.mount(&fixture.app, Config::default()).await;
    assert_eq!(start().unwrap().id(), "bash-2");
}

// spec: timeout-jobs-hooks/J26, timeout-jobs-hooks/J54
#[tokio::test]
async fn mounted_for_one_agent_it_serves_no_other() {
    let fixture = Fixture::bare().await;
    let (ben, _) = fixture.agent("ben");
    fixture.mount(fixture.ada.context(), Config::default()).await;
    assert!(fixture.try_start(Start::of(&fixture.ada)).is_ok());
    assert!(matches!(fixture.try_start(Start::of(&ben)), Err(StartError::NoController)));
    let unowned = Start { owner: None, ..Start::of(&ben) };
    assert!(matches!(fixture.try_start(unowned), Err(StartError::NoController)));
    let offered = |agent: &dsh_agent::Agent| fixture.tools.get().unwrap().list(Some(agent.scope())).len();
    assert_eq!((offered(&fixture.ada), offered(&ben)), (3, 0));
}
