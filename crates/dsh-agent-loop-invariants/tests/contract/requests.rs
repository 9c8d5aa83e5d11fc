//! Which requests go through, and which are refused.

use std::sync::Arc;

use cordis::Next;
use dsh_agent_loop_invariants::Violation;
use dsh_agent_loop_invariants::testing::watch;
use dsh_llm::{ContentBlock, Message, ModelCall, ModelRequest, Outcome, STREAM};
use dsh_session::{EpochHeader, NewEvent, Session};
use serde_json::Value;

use crate::fixture::{Fixture, begin, config, header, log_header, request, say, tool};

/// What comes of a request that a loop would make of the log, changed like this.
async fn changed(change: impl FnOnce(&mut ModelRequest)) -> Result<(), Violation> {
    let fixture = Fixture::new().await;
    let ada = fixture.agent("ada");
    begin(ada.session());
    log_header(ada.session(), header());
    let mut request = request(ada.session());
    change(&mut request);
    fixture.asked(request.built_by_loop()).await
}

fn differs(part: &'static str) -> Result<(), Violation> {
    Err(Violation::Header { session: "ada".to_owned(), part })
}

fn other_messages(place: usize, asked: usize, logged: usize) -> Result<(), Violation> {
    Err(Violation::Messages { session: "ada".to_owned(), place, asked, logged })
}

fn said(text: &str) -> Arc<Message> {
    Arc::new(Message::user(vec![ContentBlock::text(text)]))
}

// spec: agent-loop/S69
#[tokio::test]
async fn a_request_that_the_log_says_is_made() {
    assert_eq!(changed(|_| {}).await, Ok(()));
}

// spec: agent-loop/S69
#[tokio::test]
async fn messages_that_are_equal_to_those_of_the_log_are_as_good_as_the_same_ones() {
    let equal = |request: &mut ModelRequest| {
        request.messages = request.messages.iter().map(|message| Arc::new(Message::clone(message))).collect();
    };
    assert_eq!(changed(equal).await, Ok(()));
}

// spec: agent-loop/S69
#[tokio::test]
async fn a_request_without_a_session_or_of_one_that_is_not_live_is_refused() {
    assert_eq!(changed(|request| request.session_id = None).await, Err(Violation::NoSession));
    assert_eq!(
        changed(|request| request.session_id = Some("eve".to_owned())).await,
        Err(Violation::NotLive { session: "eve".to_owned() })
    );
    let fixture = Fixture::new().await;
    let ada = fixture.agent("ada");
    begin(ada.session());
    log_header(ada.session(), header());
    let request = request(ada.session()).built_by_loop();
    ada.context().fiber().dispose().await;
    assert_eq!(fixture.asked(request).await, Err(Violation::NotLive { session: "ada".to_owned() }));
}

// spec: agent-loop/S69
#[tokio::test]
async fn another_conversation_than_the_logs_is_refused_with_its_first_difference() {
    let keep = |count: usize| {
        move |request: &mut ModelRequest| {
            request.messages = request.messages.iter().take(count).cloned().collect();
        }
    };
    assert_eq!(changed(keep(1)).await, other_messages(1, 1, 2));
    assert_eq!(changed(keep(0)).await, other_messages(0, 0, 2));
    let more = |request: &mut ModelRequest| {
        request.messages = request.messages.iter().cloned().chain([said("three")]).collect();
    };
    assert_eq!(changed(more).await, other_messages(2, 3, 2));
    let turned = |request: &mut ModelRequest| {
        request.messages = request.messages.iter().rev().cloned().collect();
    };
    assert_eq!(changed(turned).await, other_messages(0, 2, 2));
    let said_again = |request: &mut ModelRequest| {
        request.messages = [request.messages[0].clone(), said("two")].into();
    };
    assert_eq!(changed(said_again).await, other_messages(1, 2, 2));
}

// spec: agent-loop/S69
#[tokio::test]
async fn what_was_said_after_the_messages_were_taken_has_the_request_refused() {
    let fixture = Fixture::new().await;
    let ada = fixture.agent("ada");
    begin(ada.session());
    log_header(ada.session(), header());
    let request = request(ada.session()).built_by_loop();
    say(ada.session(), "three");
    assert_eq!(fixture.asked(request).await, other_messages(2, 2, 3));
}

// spec: agent-loop/S69
#[tokio::test]
async fn other_settings_than_those_of_the_header_are_refused() {
    type Change = fn(&mut ModelRequest);
    let cases: [(&'static str, Change); 6] = [
        ("provider", |request| request.config.provider = "other".to_owned()),
        ("model", |request| request.config.model = "other".to_owned()),
        ("reasoningEffort", |request| request.config.reasoning_effort = Some("high".to_owned())),
        ("temperature", |request| request.config.temperature = Some(0.6)),
        ("maxTokens", |request| request.config.max_tokens = None),
        ("stop", |request| request.config.stop = Some(vec![])),
    ];
    for (part, change) in cases {
        assert_eq!(changed(change).await, differs(part));
    }
}

// spec: agent-loop/S69
#[tokio::test]
async fn other_instructions_or_tools_than_those_of_the_header_are_refused() {
    assert_eq!(changed(|request| request.system = None).await, differs("system"));
    assert_eq!(changed(|request| request.system = Some("Be long.".into())).await, differs("system"));
    assert_eq!(changed(|request| request.tools = [].into()).await, differs("tools"));
    let turned = |request: &mut ModelRequest| request.tools = [tool("read"), tool("look")].into();
    assert_eq!(changed(turned).await, differs("tools"));
}

/// What comes of the request with these instructions and no tools after that header.
async fn bare(session: &Arc<Session>, fixture: &Fixture, system: Option<&str>) -> Result<(), Violation> {
    let mut bare = request(session);
    (bare.system, bare.tools) = (system.map(Into::into), [].into());
    fixture.asked(bare.built_by_loop()).await
}

// spec: agent-loop/S69
#[tokio::test]
async fn empty_instructions_and_tools_are_none_in_both() {
    for (system, tools) in [(None, None), (Some(String::new()), Some(vec![]))] {
        let fixture = Fixture::new().await;
        let ada = fixture.agent("ada");
        begin(ada.session());
        log_header(ada.session(), EpochHeader { config: config(), adapter_defaults: None, system, tools });
        assert_eq!(bare(ada.session(), &fixture, None).await, Ok(()));
        assert_eq!(bare(ada.session(), &fixture, Some("")).await, Ok(()));
    }
}

// spec: agent-loop/S69
#[tokio::test]
async fn the_last_header_and_the_conversation_as_it_is_now_count() {
    let fixture = Fixture::new().await;
    let ada = fixture.agent("ada");
    begin(ada.session());
    log_header(ada.session(), EpochHeader { system: None, ..header() });
    assert_eq!(fixture.asked(request(ada.session()).built_by_loop()).await, differs("system"));
    log_header(ada.session(), header());
    let before = request(ada.session()).built_by_loop();
    let summed_up = NewEvent::user(said("one and two")).unwrap();
    let first = ada.session().surface().nodes()[0];
    let summed_up = summed_up.replacing(first, first + 1).made_from([first, first + 1].as_slice());
    ada.session().append(summed_up).unwrap();
    assert_eq!(fixture.asked(before).await, other_messages(0, 2, 1));
    assert_eq!(fixture.asked(request(ada.session()).built_by_loop()).await, Ok(()));
}

// spec: agent-loop/S69
#[tokio::test]
async fn calls_that_no_loop_made_are_not_looked_at() {
    let fixture = Fixture::new().await;
    let ada = fixture.agent("ada");
    assert_eq!(fixture.asked(ModelRequest::new(config(), [])).await, Ok(()));
    let like_it = request(ada.session()).built_by_loop().clone();
    assert_eq!(fixture.asked(like_it).await, Ok(()));
}

async fn rewrites((): &(), call: &mut ModelCall, next: Next<'_, ModelCall, Outcome>) -> Outcome {
    call.request.messages = [said("something else")].into();
    next.run(call).await
}

// spec: agent-loop/S69
#[tokio::test]
async fn what_other_listeners_make_of_a_request_is_not_looked_at() {
    let (app, model) = Fixture::unwatched().await;
    app.on(STREAM).with(()).run(rewrites).unwrap();
    let watched = watch(&app).await;
    app.on(STREAM).with(()).run(rewrites).unwrap();
    let fixture = Fixture { app, watched, model };
    let ada = fixture.agent("ada");
    begin(ada.session());
    log_header(ada.session(), header());
    assert_eq!(fixture.asked(request(ada.session()).built_by_loop()).await, Ok(()));
    assert_eq!(fixture.model.requests()[0].messages[0].text(), "something else");
}

#[tokio::test]
async fn the_error_says_what_is_wrong_and_where() {
    let error = changed(|request| request.messages = [].into()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "a request for session `ada` has another conversation than its log: 0 messages and 2, which differ from message 0 on"
    );
    let error = changed(|request| request.system = None).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "a request for session `ada` has another system than the last `request/header` of its log"
    );
    assert!(cordis::catalog::find("agent-loop-invariants").is_ok());
    assert_eq!(cordis::catalog::find("agent-loop-invariants").unwrap().schema()["type"], Value::from("null"));
}
