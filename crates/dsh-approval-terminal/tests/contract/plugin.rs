//! The plugin at terminals of the system, and what is left of it.

use std::path::PathBuf;

use cordis::State;
use dsh_approval::{ApprovalOutcome, ApprovalRequest, Approvals, REQUEST};
use dsh_approval_terminal::Config;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::fixture::{Fixture, PROMPT, in_turn};
use crate::person::Person;

#[test]
fn a_configuration_may_say_nothing_and_nothing_else_than_the_path() {
    let read = |value| serde_json::from_value::<Config>(value);
    assert_eq!(read(json!({})).unwrap().path, PathBuf::from("/dev/tty"));
    assert_eq!(read(json!({"path": "/dev/pts/7"})).unwrap().path, PathBuf::from("/dev/pts/7"));
    assert!(read(json!({"device": "/dev/tty"})).is_err());
}

// spec: approval-permissions/A9, A11, cases/A2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn at_a_terminal_of_the_system_what_was_typed_before_a_question_does_not_answer_it() {
    let (mut person, path) = Person::new();
    let app = cordis::testing::TestApp::new();
    let plugin = app.plugin(dsh_approval_terminal::plugin(), Config { path }).unwrap();
    assert_eq!(plugin.ready().await.unwrap(), State::Active);
    assert_eq!(app.listeners(REQUEST), 1);
    let agent = in_turn(&app, "ada");
    let ask = async |request| Approvals::default().request(&app, request).await.unwrap();

    // A whole line and the beginning of one; the echo shows that the terminal has them.
    person.types("y\nye");
    person.sees("ye");
    let typing = tokio::task::spawn_blocking(move || {
        person.sees(PROMPT);
        person.types("n\n");
        person
    });
    assert_eq!(ask(ApprovalRequest::new(&agent, "one")).await, ApprovalOutcome::Rejected);

    let (mut person, token) = (typing.await.unwrap(), CancellationToken::new());
    let cancelling = token.clone();
    let typing = tokio::task::spawn_blocking(move || {
        person.sees(PROMPT);
        cancelling.cancel();
        person.sees("This question was withdrawn.");
        person.types("y\n");
        person
    });
    let outcome = ask(ApprovalRequest::new(&agent, "two").until(token)).await;
    assert_eq!(outcome, ApprovalOutcome::Cancelled);
    let mut person = typing.await.unwrap();
    let typing = tokio::task::spawn_blocking(move || {
        person.sees(PROMPT);
        person.types("y\n");
        person
    });
    assert_eq!(ask(ApprovalRequest::new(&agent, "three")).await, ApprovalOutcome::AllowedOnce);
    drop(typing.await.unwrap());
    assert!(plugin.dispose().await.is_clean());
}

// spec: approval-permissions/A9
#[tokio::test]
async fn without_a_terminal_the_plugin_loads_and_others_are_asked() {
    for path in ["/dev/null", "/dev/there-is-no-such-terminal"] {
        let fixture = Fixture::new();
        fixture.listener.dispose().await;
        let config = Config { path: path.into() };
        let plugin = fixture.app.plugin(dsh_approval_terminal::plugin(), config).unwrap();
        assert_eq!(plugin.ready().await.unwrap(), State::Active);
        assert_eq!(fixture.app.listeners(REQUEST), 0);
        assert_eq!(fixture.ask("bash").await, ApprovalOutcome::Unavailable);
    }
}

// spec: approval-permissions/A72
#[tokio::test]
async fn a_question_that_is_open_when_the_listener_goes_is_answered_and_the_threads_end() {
    let fixture = Fixture::new();
    let (outcome, ()) = tokio::join!(fixture.ask("bash"), async {
        fixture.screen.shows(PROMPT, 1).await;
        let mut gone = std::pin::pin!(fixture.listener.dispose());
        tokio::select! {
            biased;
            _ = &mut gone => panic!("it waits for the question that is open"),
            () = std::future::ready(()) => {}
        }
        fixture.keys.press("y\n");
        let _ = gone.await;
    });
    assert_eq!(outcome, ApprovalOutcome::AllowedOnce);
    fixture.screen.keyboard_is_gone().await;
    assert_eq!(fixture.ask("bash").await, ApprovalOutcome::Unavailable);
}
