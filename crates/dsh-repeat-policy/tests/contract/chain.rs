//! When a call counts as a repetition.

use std::sync::Arc;

use cordis::Next;
use dsh_agent::testing::agent;
use dsh_session::CreateSession;
use dsh_tools::{CallRequest, POST_EXECUTE, PRE_EXECUTE, PostDecision, PreDecision, Settled, ToolCall};

use crate::fixture::{Fixture, is_reminder};

// spec: timeout-jobs-hooks/J13
#[tokio::test]
async fn a_call_is_the_same_if_tool_and_arguments_are_whatever_the_order_of_keys() {
    let fixture = Fixture::at(&[2]).await;
    let same = [r#"{"a": {"x": 1, "y": [1, 2]}, "b": 1.0}"#, r#"{ "b":1, "a":{"y":[1,2],"x":1} }"#];
    assert!(!fixture.reminds("look", same[0]).await);
    assert!(fixture.reminds("look", same[1]).await);
    // Another order of items, another type, a key more.
    for other in [
        r#"{"b": 1, "a": {"y": [2, 1], "x": 1}}"#,
        r#"{"b": "1", "a": {"y": [1, 2], "x": 1}}"#,
        r#"{"b": 1}"#,
    ] {
        assert!(!fixture.reminds("look", other).await);
    }
}

// spec: timeout-jobs-hooks/J13
#[tokio::test]
async fn another_call_begins_a_new_count() {
    let fixture = Fixture::at(&[3]).await;
    let mut reminds = Vec::new();
    for (tool, arguments) in [
        ("look", "{}"),
        ("look", "{}"),
        ("grep", "{}"),
        ("look", "{}"),
        ("look", "{}"),
        ("look", r#"{"at": 1}"#),
        ("look", r#"{"at": 1}"#),
        ("look", r#"{"at": 1}"#),
    ] {
        reminds.push(fixture.reminds(tool, arguments).await);
    }
    assert_eq!(reminds, [false, false, false, false, false, false, false, true]);
}

// spec: timeout-jobs-hooks/J13
#[tokio::test]
async fn each_agent_has_a_count_of_its_own() {
    let fixture = Fixture::at(&[2]).await;
    let ben = agent(&fixture.app, fixture.sessions.create(&fixture.app, CreateSession::default()).unwrap())
        .unwrap()
        .0;
    assert!(!fixture.reminds("look", "{}").await);
    assert!(!is_reminder(&fixture.call_of(&ben, "look", "{}").await));
    assert!(fixture.reminds("look", "{}").await);
    assert!(is_reminder(&fixture.call_of(&ben, "look", "{}").await));
}

// spec: timeout-jobs-hooks/J13
#[tokio::test]
async fn a_call_of_no_agent_is_ignored() {
    let fixture = Fixture::at(&[2]).await;
    assert!(!fixture.reminds("look", "{}").await);
    for _ in 0..3 {
        assert!(!is_reminder(&fixture.execute(CallRequest::new("call_1", "grep", "{}")).await));
    }
    assert!(fixture.reminds("look", "{}").await);
}

// spec: timeout-jobs-hooks/J19
#[tokio::test]
async fn a_count_goes_with_its_agent_and_keeps_nothing_of_it() {
    let fixture = Fixture::at(&[2]).await;
    let ben = async || {
        let owner = fixture.app.scope().unwrap();
        let options = CreateSession { id: Some("ben".to_owned()), ..CreateSession::default() };
        let session = fixture.sessions.create(owner.context(), options).unwrap();
        (owner, agent(&fixture.app, session).unwrap().0)
    };
    let (owner, first) = ben().await;
    assert!(!is_reminder(&fixture.call_of(&first, "look", "{}").await));
    let session = Arc::downgrade(first.session());
    owner.close().await;
    drop((owner, first));
    assert!(session.upgrade().is_none());
    // Another agent of the same id.
    let (_owner, second) = ben().await;
    assert!(!is_reminder(&fixture.call_of(&second, "look", "{}").await));
    assert!(is_reminder(&fixture.call_of(&second, "look", "{}").await));
}

// spec: timeout-jobs-hooks/J14
#[tokio::test]
async fn denied_calls_count() {
    let fixture = Fixture::at(&[2]).await;
    fixture
        .app
        .on(PRE_EXECUTE)
        .run(async |_: &mut ToolCall, _: Next<'_, ToolCall, PreDecision>| PreDecision::Deny {
            reason: "no".into(),
        })
        .unwrap();
    assert!(!fixture.reminds("look", "{}").await);
    let second = fixture.call("look", "{}").await;
    assert!(second.is_denied() && is_reminder(&second));
}

// spec: timeout-jobs-hooks/J14
#[tokio::test]
async fn failed_calls_and_calls_of_tools_that_there_are_not_count() {
    let fixture = Fixture::at(&[2]).await;
    assert!(!fixture.reminds("nothing", "{}").await);
    let second = fixture.call("nothing", "{}").await;
    assert_eq!((second.code(), is_reminder(&second)), (Some("UNKNOWN_TOOL"), true));
}

// spec: timeout-jobs-hooks/J14
#[tokio::test]
async fn a_call_is_counted_before_the_listeners_behind_and_whatever_they_do() {
    let fixture = Fixture::at(&[2]).await;
    let bursts = fixture
        .app
        .on(POST_EXECUTE)
        .run(async |_: &mut Settled, _: Next<'_, Settled, PostDecision>| panic!("the listener burst"))
        .unwrap();
    assert!(!fixture.reminds("look", "{}").await);
    bursts.dispose().await;
    assert!(fixture.reminds("look", "{}").await);
}

#[tokio::test]
async fn when_the_policy_is_gone_nobody_is_reminded_and_counts_begin_anew() {
    let fixture = Fixture::bare().await;
    let config = || dsh_repeat_policy::Config { thresholds: vec![2], ..Default::default() };
    let policy = fixture.mount(config()).await;
    assert!(!fixture.reminds("look", "{}").await);
    policy.dispose().await;
    assert!(!fixture.reminds("look", "{}").await);
    fixture.mount(config()).await;
    assert!(!fixture.reminds("look", "{}").await);
    assert!(fixture.reminds("look", "{}").await);
}
