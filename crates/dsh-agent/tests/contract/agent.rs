//! Identity and messages.

use std::collections::HashSet;
use std::sync::Arc;

use cordis::State;
use cordis::testing::TestApp;
use dsh_agent::testing::{Sent, agent};
use dsh_agent::{AgentId, InboxError, Target, Wakeup};
use dsh_llm::{ContentBlock, Message, Role, Source};
use dsh_session::Session;

fn said(text: &str) -> Arc<Message> {
    Arc::new(Message::user(vec![ContentBlock::text(text)]))
}

#[tokio::test]
async fn the_id_of_an_agent_is_its_sessions() {
    let app = TestApp::new();
    let (ada, _) = agent(&app, Session::detached("s-1")).unwrap();
    assert_eq!(ada.id(), &AgentId::from("s-1"));
    assert_eq!(ada.id().as_str(), ada.session().id());
    assert_eq!(format!("{}", ada.id()), "s-1");
}

#[tokio::test]
async fn agents_are_equal_only_as_instances() {
    let app = TestApp::new();
    let session = Session::detached("s-1");
    let (one, _) = agent(&app, session.clone()).unwrap();
    let (other, _) = agent(&app, session).unwrap();
    assert_eq!(one, one.clone());
    assert_ne!(one, other);
    assert_ne!(one.scope(), other.scope());
}

#[tokio::test]
async fn an_agent_that_is_held_weakly_ends_with_its_last_clone_and_stays_one_instance() {
    let app = TestApp::new();
    let session = Session::detached("s-1");
    let (one, _) = agent(&app, session.clone()).unwrap();
    let weak = one.downgrade();
    assert_eq!(weak.upgrade().as_ref(), Some(&one));
    let fiber = one.context().fiber();
    drop(one);
    assert_eq!(weak.upgrade(), None);
    app.quiet().await;
    assert_eq!(fiber.state(), State::Disposed);
    let (other, _) = agent(&app, session).unwrap();
    let instances = HashSet::from([weak.clone(), other.downgrade(), weak]);
    assert_eq!(instances.len(), 2);
}

#[tokio::test]
async fn the_ways_to_speak_differ_in_target_and_wakeup() {
    let app = TestApp::new();
    let (ada, inbox) = agent(&app, Session::detached("s-1")).unwrap();
    let messages = ["a", "b", "c"].map(said);
    ada.followup(messages[0].clone()).unwrap();
    ada.steer(messages[1].clone()).unwrap();
    ada.inject(messages[2].clone()).unwrap();
    let expected = [
        (Target::NextTurn, Wakeup::Wake),
        (Target::NextStep, Wakeup::Wake),
        (Target::NextStep, Wakeup::Wait),
    ];
    let expected: Vec<Sent> = expected
        .into_iter()
        .zip(messages)
        .map(|((target, wakeup), message)| Sent { message, target, wakeup })
        .collect();
    assert_eq!(inbox.take(), expected);
    assert_eq!(inbox.sent(), []);
}

#[tokio::test]
async fn a_recording_inbox_refuses_what_a_real_one_refuses() {
    let app = TestApp::new();
    let (ada, inbox) = agent(&app, Session::detached("s-1")).unwrap();
    let once = said("once");
    ada.inject(once.clone()).unwrap();
    assert!(matches!(ada.inject(once), Err(InboxError::Pending { .. })));
    let answer = Arc::new(Message::new(Role::Assistant, Vec::new(), Source::User {}));
    assert!(matches!(ada.inject(answer), Err(InboxError::NotUser { .. })));
    let nameless = Arc::new(Message { id: String::new(), ..Message::user(Vec::new()) });
    assert!(matches!(ada.inject(nameless), Err(InboxError::Invalid { .. })));
    assert_eq!(inbox.sent().len(), 1);
}

#[tokio::test]
async fn the_scope_closes_with_the_last_clone_of_the_agent() {
    let app = TestApp::new();
    let (ada, _) = agent(&app, Session::detached("s-1")).unwrap();
    let (context, clone) = (ada.context().clone(), ada.clone());
    drop(ada);
    assert!(context.effect("lives", async || ()).is_ok());
    drop(clone);
    app.quiet().await;
    assert!(context.effect("is over", async || ()).is_err());
}

// spec: system-prompt/S2
#[tokio::test]
async fn a_prompt_for_an_agent_is_for_its_scope() {
    let app = TestApp::new();
    let (ada, _) = agent(&app, Session::detached("s-1")).unwrap();
    let context = dsh_prompt::AssembleContext::of(Arc::new(ada.clone()));
    assert_eq!(context.scope(), Some(ada.scope()));
    assert_eq!(*context.subject::<dsh_agent::Agent>().unwrap(), ada);
}
