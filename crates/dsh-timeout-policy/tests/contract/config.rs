//! The default for tools that say nothing, and what a configuration may hold.

use cordis::Plugin;
use dsh_timeout_policy::{Config, plugin};
use dsh_tools::ToolOutcome;
use serde_json::json;

use crate::fixture::{Fixture, ms, takes, timed_out, waits};

fn default_of(ms: u64) -> Config {
    serde_json::from_value(json!({ "defaultTimeoutMs": ms })).unwrap()
}

// spec: timeout-jobs-hooks/J2
#[test]
fn there_is_no_default_unless_one_is_given() {
    assert_eq!(serde_json::from_str::<Config>("{}").unwrap(), Config::default());
    assert_eq!(Config::default().default_timeout_ms, None);
}

#[tokio::test(start_paused = true)]
async fn a_default_is_for_tools_without_a_timeout_of_their_own() {
    let fixture = Fixture::bare().await;
    fixture.mount(default_of(50)).await;
    fixture.offer(waits("says nothing"));
    fixture.offer(takes("takes longer", ms(200)).timeout(ms(300)));
    assert_eq!(fixture.call("says nothing").await, ToolOutcome::failure(timed_out(50)));
    assert_eq!(fixture.call("takes longer").await, ToolOutcome::success("done"));
}

#[test]
fn a_default_of_nothing_and_an_unknown_field_are_refused() {
    for wrong in
        [json!({ "defaultTimeoutMs": 0 }), json!({ "defaultTimeoutMs": -1 }), json!({ "timeout": 1 })]
    {
        assert!(serde_json::from_value::<Config>(wrong.clone()).is_err(), "{wrong}");
    }
}

// spec: timeout-jobs-hooks/J1
#[tokio::test(start_paused = true)]
async fn it_is_found_by_the_references_name_and_configured_with_json() {
    assert_eq!(plugin().name(), "timeout-policy");
    let fixture = Fixture::bare().await;
    let found = cordis::catalog::find("timeout-policy").unwrap();
    found.mount(&fixture.app, json!({ "defaultTimeoutMs": 50 })).unwrap().ready().await.unwrap();
    fixture.offer(waits("probe"));
    assert_eq!(fixture.call("probe").await, ToolOutcome::failure(timed_out(50)));
}
