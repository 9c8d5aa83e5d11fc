//! The plugin: what it refuses, what it keeps, and what is left of it.

use cordis::State;
use dsh_hooks_invariants::{Rule, Violation};
use dsh_session::{APPENDING, CreateError, CreateSession, Seed};

use crate::fixture::{Fixture, ended, invoked, log, refused, turn_end, turn_start};

fn not_invoked(id: &str) -> Rule {
    Rule::NotInvoked { handler_id: id.to_owned() }
}

// spec: timeout-jobs-hooks/J64
#[tokio::test]
async fn an_event_that_breaks_a_rule_is_not_added() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s-1");
    let outside = Rule::OutsideTurn { kind: "hook/invoked".to_owned() };
    assert_eq!(refused(session.append(invoked(1, "a"))), outside);
    session.append(turn_start(1)).unwrap();
    session.append(invoked(1, "a")).unwrap();
    assert_eq!(refused(session.append(ended(1, "b"))), not_invoked("b"));
    session.append(ended(1, "a")).unwrap();
    assert_eq!(refused(session.append(ended(1, "a"))), not_invoked("a"));
    assert_eq!(session.len(), 3);
}

// spec: timeout-jobs-hooks/J64
#[tokio::test]
async fn live_sessions_are_replayed_when_the_plugin_loads() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s-1");
    for event in [turn_start(1), invoked(1, "a"), invoked(1, "b"), ended(1, "b")] {
        session.append(event).unwrap();
    }
    assert_eq!(fixture.checker.restart().await.unwrap(), State::Active);
    assert_eq!(refused(session.append(ended(1, "b"))), not_invoked("b"));
    session.append(ended(1, "a")).unwrap();
}

// spec: timeout-jobs-hooks/J64
#[tokio::test]
async fn a_seed_is_replayed_when_a_session_is_created() {
    let fixture = Fixture::new().await;
    let store = fixture.sessions.get().unwrap();
    let create = |id: &str, events| {
        let seed = Some(Seed::new(log(events)));
        store
            .create(&fixture.app, CreateSession { id: Some(id.to_owned()), seed, ..CreateSession::default() })
    };
    let resumed = create("crashed", vec![turn_start(1), invoked(1, "a")]).unwrap();
    resumed.append(ended(1, "a")).unwrap();
    let refusal = create("wrong", vec![turn_start(1), ended(1, "a")]);
    let Err(CreateError::Refused { source, .. }) = refusal else { panic!("created: {refusal:?}") };
    assert_eq!(source.downcast_ref::<Violation>().unwrap().rule, not_invoked("a"));
    assert!(store.get("wrong").is_none());
}

#[tokio::test]
async fn unloaded_it_refuses_nothing_and_leaves_nothing() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s-1");
    for event in [turn_start(1), turn_end(1)] {
        session.append(event).unwrap();
    }
    assert!(session.append(invoked(1, "a")).is_err());
    assert!(fixture.checker.dispose().await.is_clean());
    assert_eq!(fixture.app.listeners(APPENDING), 0);
    session.append(invoked(1, "a")).unwrap();
}

#[tokio::test]
async fn the_next_session_of_an_id_starts_anew() {
    let fixture = Fixture::new().await;
    let scope = fixture.app.scope().unwrap();
    let options = || CreateSession { id: Some("s-1".to_owned()), ..CreateSession::default() };
    let first = fixture.sessions.get().unwrap().create(scope.context(), options()).unwrap();
    for event in [turn_start(1), invoked(1, "a"), ended(1, "a")] {
        first.append(event).unwrap();
    }
    scope.close().await;
    let second = fixture.sessions.get().unwrap().create(&fixture.app, options()).unwrap();
    let outside = Rule::OutsideTurn { kind: "hook/invoked".to_owned() };
    assert_eq!(refused(second.append(invoked(1, "a"))), outside);
    for event in [turn_start(1), invoked(1, "a")] {
        second.append(event).unwrap();
    }
}
