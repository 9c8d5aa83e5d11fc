//! The plugin: what it refuses, what it keeps, and what is left of it.

use cordis::{BoxError, State};
use dsh_session::{APPENDING, Appending, CreateError, CreateSession, SESSIONS, Seed};
use dsh_session_invariants::{Rule, Violation};

use crate::fixture::{Fixture, call, log, refused, result, step_start, turn_end, turn_start};

// spec: session/S121
#[tokio::test]
async fn an_event_that_breaks_a_rule_is_not_added() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s-1");
    session.append(turn_start(1)).unwrap();
    let violation = refused(session.append(turn_start(2)));
    assert_eq!((violation.session.as_str(), violation.rule), ("s-1", Rule::TurnStart));
    assert_eq!(session.len(), 1);
    session.append(turn_end(1)).unwrap();
    session.append(turn_start(2)).unwrap();
}

// spec: session/S121
#[tokio::test]
async fn sessions_are_judged_each_by_itself() {
    let fixture = Fixture::new().await;
    let (one, two) = (fixture.session("s-1"), fixture.session("s-2"));
    one.append(turn_start(1)).unwrap();
    two.append(turn_start(1)).unwrap();
    one.append(turn_end(1)).unwrap();
    one.append(turn_start(2)).unwrap();
    assert_eq!(refused(two.append(turn_start(2))).session, "s-2");
}

// spec: session/S121
#[tokio::test]
async fn a_seed_is_replayed_when_a_session_is_created() {
    let fixture = Fixture::new().await;
    let store = fixture.sessions.get().unwrap();
    let seed = Seed::new(log([turn_start(1), turn_end(1)]));
    let seeded =
        store.create(&fixture.app, CreateSession { seed: Some(seed), ..CreateSession::default() }).unwrap();
    assert_eq!(refused(seeded.append(turn_start(1))).rule, Rule::TurnStart);
    seeded.append(turn_start(2)).unwrap();

    let wrong = Seed::new(log([turn_end(1)]));
    let id = Some("wrong".to_owned());
    let refusal =
        store.create(&fixture.app, CreateSession { id, seed: Some(wrong), ..CreateSession::default() });
    let Err(CreateError::Refused { source, .. }) = refusal else { panic!("created: {refusal:?}") };
    assert_eq!(source.downcast_ref::<Violation>().unwrap().rule, Rule::TurnEnd);
    assert!(store.get("wrong").is_none());
}

// spec: session/S121
#[tokio::test]
async fn live_sessions_are_replayed_when_the_plugin_loads_again() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s-1");
    for event in [turn_start(1), step_start(1, 1), call(1, 1, "c-1")] {
        session.append(event).unwrap();
    }
    assert_eq!(fixture.checker.restart().await.unwrap(), State::Active);
    assert_eq!(refused(session.append(result(1, 1, "c-2"))).rule, Rule::CallBeforeResult);
    session.append(result(1, 1, "c-1")).unwrap();
}

#[tokio::test]
async fn the_plugin_does_not_load_next_to_a_log_that_is_wrong_already() {
    let fixture = Fixture::new().await;
    fixture.checker.dispose().await;
    fixture.session("s-1").append(turn_end(1)).unwrap();
    let checker = fixture.app.plugin(dsh_session_invariants::plugin(), ()).unwrap();
    let error = checker.ready().await.unwrap_err().to_string();
    let cause = checker.error().unwrap().to_string();
    assert!(format!("{error}{cause}").contains("breaks the rule `turn-end`"), "{error} / {cause}");
}

// spec: session/S122
#[tokio::test]
async fn an_event_that_a_later_validator_refuses_leaves_no_trace() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s-1");
    let veto = fixture
        .app
        .on(APPENDING)
        .run(|_: &Appending| -> Result<(), BoxError> { Err("not now".into()) })
        .unwrap();
    assert!(session.append(turn_start(1)).is_err());
    veto.dispose().await;
    // Had the refused start counted, this one would be the second.
    session.append(turn_start(1)).unwrap();
    assert_eq!(refused(session.append(turn_start(2))).rule, Rule::TurnStart);
}

#[tokio::test]
async fn the_next_session_of_an_id_starts_anew() {
    let fixture = Fixture::new().await;
    let scope = fixture.app.scope().unwrap();
    let options = || CreateSession { id: Some("s-1".to_owned()), ..CreateSession::default() };
    let first = fixture.sessions.get().unwrap().create(scope.context(), options()).unwrap();
    // What is judged is taken when the next one is.
    for event in [turn_start(1), turn_end(1)] {
        first.append(event).unwrap();
    }
    scope.close().await;
    let second = fixture.sessions.get().unwrap().create(&fixture.app, options()).unwrap();
    second.append(turn_start(1)).unwrap();
}

#[tokio::test]
async fn mounted_on_an_agent_it_checks_that_agent_alone() {
    let fixture = Fixture::new().await;
    fixture.checker.dispose().await;
    let other = fixture.session("other");
    other.append(turn_end(1)).unwrap();
    let scope = fixture.app.scope().unwrap();
    let sessions = fixture.app.get(SESSIONS).unwrap();
    let own = sessions.get().unwrap().create(scope.context(), CreateSession::default()).unwrap();
    scope.context().plugin(dsh_session_invariants::plugin(), ()).unwrap().ready().await.unwrap();
    other.append(turn_end(7)).unwrap();
    assert_eq!(refused(own.append(turn_end(1))).rule, Rule::TurnEnd);
}

#[tokio::test]
async fn unloaded_it_refuses_nothing_and_leaves_nothing() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s-1");
    assert!(session.append(turn_start(2)).is_err());
    let before = fixture.app.fibers();
    let disposed = fixture.checker.dispose().await;
    assert!(disposed.still_running.is_empty(), "{disposed:?}");
    assert_eq!(fixture.app.listeners(APPENDING), 0);
    assert_eq!(fixture.app.fibers(), before - 1);
    session.append(turn_start(2)).unwrap();
}
