//! The plugin: what it refuses, what it keeps, and what is left of it.

use cordis::{BoxError, State};
use dsh_agent::testing::agent;
use dsh_approval::{ApprovalOutcome, ApprovalRequest, Approvals, REQUEST};
use dsh_approval_invariants::{Rule, Violation};
use dsh_session::{APPENDING, Appending, CreateError, CreateSession, SESSIONS, Seed};

use crate::fixture::{Fixture, asked, decided, log, policy, refused, turn_end, turn_start};

// spec: approval-permissions/A26
#[tokio::test]
async fn an_event_that_breaks_a_rule_is_not_added() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s-1");
    assert_eq!(refused(session.append(asked("a"))), Rule::AskedOutsideTurn);
    session.append(turn_start(1)).unwrap();
    session.append(asked("a")).unwrap();
    let unknown = Rule::UnknownOutcome { outcome: "maybe".to_owned() };
    assert_eq!(refused(session.append(decided("a", "maybe"))), unknown);
    assert_eq!(session.len(), 2);
    session.append(decided("a", "rejected")).unwrap();
}

// spec: approval-permissions/A26
#[tokio::test]
async fn live_sessions_are_replayed_when_the_plugin_loads() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s-1");
    for event in [turn_start(1), asked("a"), asked("b"), decided("b", "rejected")] {
        session.append(event).unwrap();
    }
    assert_eq!(fixture.checker.restart().await.unwrap(), State::Active);
    assert_eq!(refused(session.append(asked("a"))), Rule::RepeatedId { id: "a".to_owned() });
    session.append(decided("a", "cancelled")).unwrap();
}

// spec: approval-permissions/A26
#[tokio::test]
async fn a_seed_is_replayed_when_a_session_is_created() {
    let fixture = Fixture::new().await;
    let store = fixture.sessions.get().unwrap();
    let create = |id: &str, events| {
        let seed = Some(Seed::new(log(events)));
        store
            .create(&fixture.app, CreateSession { id: Some(id.to_owned()), seed, ..CreateSession::default() })
    };
    let resumed = create("crashed", vec![turn_start(1), asked("a")]).unwrap();
    resumed.append(decided("a", "cancelled")).unwrap();
    let refusal = create("wrong", vec![asked("a")]);
    let Err(CreateError::Refused { source, .. }) = refusal else { panic!("created: {refusal:?}") };
    assert_eq!(source.downcast_ref::<Violation>().unwrap().rule, Rule::AskedOutsideTurn);
    assert!(store.get("wrong").is_none());
}

// spec: approval-permissions/A26
#[tokio::test]
async fn the_plugin_does_not_load_next_to_a_log_that_is_wrong_already() {
    let fixture = Fixture::new().await;
    fixture.checker.dispose().await;
    fixture.session("s-1").append(asked("a")).unwrap();
    let checker = fixture.app.plugin(dsh_approval_invariants::plugin(), ()).unwrap();
    assert!(checker.ready().await.is_err());
    let cause = checker.error().unwrap();
    assert!(cause.to_string().contains("outside any open turn"), "{cause}");
}

// spec: approval-permissions/A26
#[tokio::test]
async fn a_session_that_is_first_seen_by_an_event_is_judged_by_its_whole_log() {
    let fixture = Fixture::new().await;
    fixture.checker.dispose().await;
    let scope = fixture.app.scope().unwrap();
    let sessions = fixture.app.get(SESSIONS).unwrap();
    let session = sessions.get().unwrap().create(scope.context(), CreateSession::default()).unwrap();
    session.append(turn_start(1)).unwrap();
    session.append(asked("a")).unwrap();
    // Of another scope at first: the replay at load passes the session over.
    let parent = fixture.app.scope().unwrap();
    parent.context().plugin(dsh_approval_invariants::plugin(), ()).unwrap().ready().await.unwrap();
    let _bound = scope.key().bind_parent(parent.key()).unwrap();
    assert_eq!(refused(session.append(asked("a"))), Rule::RepeatedId { id: "a".to_owned() });
    session.append(decided("a", "rejected")).unwrap();
}

// spec: approval-permissions/A26
#[tokio::test]
async fn an_event_that_a_later_validator_refuses_leaves_no_trace() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s-1");
    session.append(turn_start(1)).unwrap();
    let veto = fixture
        .app
        .on(APPENDING)
        .run(|_: &Appending| -> Result<(), BoxError> { Err("not now".into()) })
        .unwrap();
    assert!(session.append(asked("a")).is_err());
    veto.dispose().await;
    assert_eq!(refused(session.append(decided("a", "rejected"))), Rule::NotAsked { id: "a".to_owned() });
    session.append(asked("a")).unwrap();
}

// spec: approval-permissions/A12, A25, A27
#[tokio::test]
async fn a_yes_that_comes_after_the_turn_of_its_question_allows_nothing() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s-1");
    session.append(turn_start(1)).unwrap();
    let (ada, _) = agent(&fixture.app, session.clone()).unwrap();
    let late = fixture
        .app
        .on(REQUEST)
        .run(async |request: &mut ApprovalRequest, _| {
            request.agent.session().append(turn_end(1)).unwrap();
            ApprovalOutcome::AllowedOnce
        })
        .unwrap();
    let approvals = Approvals::default();
    let ask = || approvals.request(&fixture.app, ApprovalRequest::new(&ada, "bash"));
    assert_eq!(ask().await.unwrap(), ApprovalOutcome::Cancelled);
    assert_eq!(session.events().last().unwrap().kind(), "turn/end");
    late.dispose().await;
    session.append(turn_start(2)).unwrap();
    assert_eq!(ask().await.unwrap(), ApprovalOutcome::Unavailable);
}

#[tokio::test]
async fn the_next_session_of_an_id_starts_anew() {
    let fixture = Fixture::new().await;
    let scope = fixture.app.scope().unwrap();
    let options = || CreateSession { id: Some("s-1".to_owned()), ..CreateSession::default() };
    let first = fixture.sessions.get().unwrap().create(scope.context(), options()).unwrap();
    // What is judged is taken when the next one is.
    for event in [turn_start(1), asked("a")] {
        first.append(event).unwrap();
    }
    scope.close().await;
    let second = fixture.sessions.get().unwrap().create(&fixture.app, options()).unwrap();
    assert_eq!(refused(second.append(asked("a"))), Rule::AskedOutsideTurn);
}

#[tokio::test]
async fn unloaded_it_refuses_nothing_and_leaves_nothing() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s-1");
    session.append(turn_start(1)).unwrap();
    session.append(turn_end(1)).unwrap();
    assert!(session.append(policy("x")).is_err());
    assert!(fixture.checker.dispose().await.is_clean());
    assert_eq!(fixture.app.listeners(APPENDING), 0);
    session.append(policy("x")).unwrap();
}
