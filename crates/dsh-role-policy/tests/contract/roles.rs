//! What a role may call.

use serde_json::json;

use crate::fixture::{Fixture, call, caller, three_roles};

#[tokio::test]
async fn a_role_may_call_the_tools_that_it_lists_and_no_others() {
    let fixture = Fixture::new(three_roles()).await;
    let mut may = Vec::new();
    for role in ["owner", "reader", "guest"] {
        for tool in ["read", "write", "grep"] {
            may.push((role, tool, fixture.may(role, tool).await));
        }
    }
    assert_eq!(
        may,
        [
            ("owner", "read", true),
            ("owner", "write", true),
            ("owner", "grep", true),
            ("reader", "read", true),
            ("reader", "write", false),
            ("reader", "grep", true),
            ("guest", "read", false),
            ("guest", "write", false),
            ("guest", "grep", false),
        ]
    );
    fixture.app.assert_no_errors();
}

#[tokio::test]
async fn names_are_compared_as_they_are() {
    let fixture = Fixture::new(json!({ "roles": { "reader": ["rea", "READ", "reads"] } })).await;
    assert!(!fixture.may("reader", "read").await);
    assert!(!fixture.may("Reader", "read").await);
}

#[tokio::test]
async fn a_role_that_is_not_configured_and_a_call_of_nobody_are_denied() {
    let fixture = Fixture::new(three_roles()).await;
    assert!(!fixture.may("stranger", "read").await);
    assert!(!fixture.may("", "read").await);
    assert!(!fixture.runs_with(call("read")).await);
    assert!(!fixture.runs_with(call("read").agent(&fixture.agent("ada"))).await);
}

#[tokio::test]
async fn without_any_role_every_call_is_denied() {
    let fixture = Fixture::new(json!({})).await;
    assert!(!fixture.may("owner", "read").await);
}

#[tokio::test]
async fn an_agent_has_the_role_that_is_configured_for_it_unless_the_call_names_its_caller() {
    let mut config = three_roles();
    config["agents"] = json!({ "ada": "reader" });
    let fixture = Fixture::new(config).await;
    let (ada, ben) = (fixture.agent("ada"), fixture.agent("ben"));
    assert!(fixture.runs_with(call("read").agent(&ada)).await);
    assert!(!fixture.runs_with(call("write").agent(&ada)).await);
    assert!(!fixture.runs_with(call("read").agent(&ben)).await);
    assert!(fixture.runs_with(call("write").agent(&ada).with(caller("owner"))).await);
    assert!(!fixture.runs_with(call("read").agent(&ada).with(caller("stranger"))).await);
}

#[tokio::test]
async fn mounted_in_a_scope_it_checks_the_calls_of_that_scope() {
    let fixture = Fixture::bare().await;
    let (ada, ben) = (fixture.agent("ada"), fixture.agent("ben"));
    let config = serde_json::from_str(&three_roles().to_string()).unwrap();
    ada.context().plugin(dsh_role_policy::plugin(), config).unwrap().ready().await.unwrap();
    assert!(!fixture.runs_with(call("read").agent(&ada)).await);
    assert!(fixture.runs_with(call("read").agent(&ben)).await);
}

#[tokio::test]
async fn when_the_policy_is_gone_nobody_is_checked() {
    let fixture = Fixture::bare().await;
    let policy = fixture.mount(three_roles()).await;
    assert!(!fixture.may("guest", "read").await);
    policy.dispose().await;
    assert!(fixture.may("guest", "read").await);
}
