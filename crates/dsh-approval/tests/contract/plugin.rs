//! The plugin.

use cordis::State;
use dsh_approval::{APPROVAL, ApprovalPolicy, Config};
use dsh_session::Session;
use serde_json::json;

use crate::fixture::Fixture;

// spec: approval-permissions/A2
#[test]
fn a_configuration_may_say_nothing_and_nothing_else_than_the_policy() {
    let read = |value| serde_json::from_value::<Config>(value);
    assert_eq!(read(json!({})).unwrap().policy, ApprovalPolicy::Ask);
    assert_eq!(read(json!({"policy": "never"})).unwrap().policy, ApprovalPolicy::Never);
    assert!(read(json!({"policy": "always"})).is_err());
    assert!(read(json!({"polici": "ask"})).is_err());
}

// spec: approval-permissions/A14
#[tokio::test]
async fn the_service_has_the_configured_policy_and_goes_with_the_plugin() {
    let fixture = Fixture::with(ApprovalPolicy::Ask);
    let config = Config { policy: ApprovalPolicy::Never };
    let fiber = fixture.app.plugin(dsh_approval::plugin(), config).unwrap();
    assert_eq!(fiber.ready().await.unwrap(), State::Active);
    let approvals = fixture.app.get(APPROVAL).unwrap();
    assert_eq!(approvals.get().unwrap().policy(&Session::detached("s-1")), ApprovalPolicy::Never);
    assert!(fiber.dispose().await.is_clean());
    assert!(fixture.app.get(APPROVAL).is_none() && approvals.get().is_err());
}
