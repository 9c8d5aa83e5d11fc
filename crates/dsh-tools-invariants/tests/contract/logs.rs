//! Logs of nested calls: each rule, kept and broken, and what is left of the plugin.

use cordis::{BoxError, State};
use dsh_session::{APPENDING, Appending, CreateError, CreateSession, NewEvent, Seed, Session};
use dsh_tools_invariants::{Rule, Subject, Violation, check};

use crate::fixture::{END, Fixture, START, event, nested, refused, turn_end, turn_start};

/// A log without a checker.
fn log(events: impl IntoIterator<Item = NewEvent>) -> Vec<std::sync::Arc<dsh_session::Event>> {
    let session = Session::detached("s-1");
    for event in events {
        session.append(event).unwrap();
    }
    session.events().to_vec()
}

/// What the last event breaks; all before it must be fine.
fn broken(events: Vec<NewEvent>) -> Option<Rule> {
    let last = events.len() as u64 - 1;
    let violation = check("s-1", log(events)).err()?;
    assert_eq!(violation.subject, Subject::Event { session: "s-1".to_owned(), seq: last });
    Some(violation.rule)
}

// spec: tools/T104
#[test]
fn nested_calls_of_any_depth_in_turns_are_fine() {
    let kept = vec![
        turn_start(1),
        nested(START, "c", "c", "c:code:1"),
        nested(START, "c", "c:code:1", "c:code:1:code:1"),
        nested(END, "c", "c:code:1", "c:code:1:code:1"),
        nested(END, "c", "c", "c:code:1"),
        turn_end(1),
        event("hook/invoked", r#"{"rootCallId":""}"#),
        turn_start(2),
        nested(START, "d", "d", "d:code:1"),
    ];
    assert_eq!(broken(kept), None);
}

// spec: tools/T104
#[test]
fn ids_must_be_there() {
    for kind in [START, END] {
        let missing = |event| broken(vec![turn_start(1), event]);
        let no_ids = Rule::NoIds { kind: kind.to_owned() };
        let text = format!("{kind} must carry non-empty rootCallId, parentCallId, and subCallId");
        assert_eq!(no_ids.to_string(), text);
        let rule = Some(no_ids);
        assert_eq!(missing(nested(kind, "", "c", "c:code:1")), rule);
        assert_eq!(missing(nested(kind, "c", "", "c:code:1")), rule);
        assert_eq!(missing(nested(kind, "c", "c", "")), rule);
        assert_eq!(missing(event(kind, r#"{"rootCallId":"c","parentCallId":"c"}"#)), rule);
        let unreadable = missing(event(kind, r#"{"rootCallId":1}"#)).unwrap();
        assert!(matches!(unreadable, Rule::Readable { .. }), "{unreadable}");
    }
}

// spec: tools/T104
#[test]
fn a_nested_call_keeps_its_root() {
    for kind in [START, END] {
        let rule = broken(vec![turn_start(1), nested(START, "c", "c", "s"), nested(kind, "d", "d", "s")]);
        let expected = Rule::RootChanged { kind: kind.to_owned(), sub: "s".to_owned() };
        assert_eq!(rule, Some(expected.clone()));
        assert_eq!(expected.to_string(), format!("{kind} changed rootCallId for subCallId s"));
    }
}

// spec: tools/T104
#[test]
fn a_parent_is_the_root_or_was_begun_below_it() {
    for kind in [START, END] {
        let expected =
            Rule::StrangeParent { kind: kind.to_owned(), parent: "s".to_owned(), root: "d".to_owned() };
        let unknown = broken(vec![turn_start(1), nested(kind, "d", "s", "t")]);
        assert_eq!(unknown, Some(expected.clone()));
        let of_other_root =
            broken(vec![turn_start(1), nested(START, "c", "c", "s"), nested(kind, "d", "s", "t")]);
        assert_eq!(of_other_root, Some(expected.clone()));
        assert_eq!(expected.to_string(), format!("{kind} parentCallId s does not belong to rootCallId d"));
    }
}

// spec: tools/T104
#[test]
fn nested_calls_are_logged_in_turns() {
    for kind in [START, END] {
        let expected = Rule::OutsideTurn { kind: kind.to_owned() };
        assert_eq!(broken(vec![nested(kind, "c", "c", "s")]), Some(expected.clone()));
        let after = vec![turn_start(1), turn_end(1), nested(kind, "c", "c", "s")];
        assert_eq!(broken(after), Some(expected.clone()));
        assert_eq!(expected.to_string(), format!("{kind} appended outside any open turn"));
    }
}

// spec: tools/T102, tools/T104
#[tokio::test]
async fn an_event_that_breaks_a_rule_is_not_added_and_leaves_no_trace() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s-1");
    let outside = refused(session.append(nested(START, "c", "c", "s")));
    assert_eq!(
        outside.to_string(),
        "invariant violated by \"@deepseek-ai/dsh-tools\": tool/code-dispatch-start appended outside any open turn"
    );
    assert_eq!(session.len(), 0);
    session.append(turn_start(1)).unwrap();
    // Had the refused one been remembered, it would have another root now, and could be a parent.
    let strange = refused(session.append(nested(START, "c", "s", "t")));
    assert!(matches!(strange.rule, Rule::StrangeParent { .. }), "{strange}");
    session.append(nested(START, "d", "d", "s")).unwrap();
    assert_eq!(fixture.watched.take(), [outside, strange]);
}

// spec: tools/T104
#[tokio::test]
async fn an_event_that_a_later_validator_refuses_leaves_no_trace() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s-1");
    session.append(turn_start(1)).unwrap();
    let refuse = |_: &Appending| -> Result<(), BoxError> { Err("not now".into()) };
    let veto = fixture.app.on(APPENDING).run(refuse).unwrap();
    assert!(session.append(nested(START, "c", "c", "s")).is_err());
    veto.dispose().await;
    session.append(nested(START, "d", "d", "s")).unwrap();
    assert_eq!(fixture.watched.take(), []);
}

// spec: tools/T105
#[tokio::test]
async fn live_sessions_are_replayed_when_the_plugin_loads() {
    let fixture = Fixture::new().await;
    let session = fixture.session("s-1");
    session.append(turn_start(1)).unwrap();
    session.append(nested(START, "c", "c", "s")).unwrap();
    let late = fixture.app.plugin(dsh_tools_invariants::plugin(), ()).unwrap();
    assert_eq!(late.ready().await.unwrap(), State::Active);
    let Violation { rule, .. } = refused(session.append(nested(END, "d", "d", "s")));
    assert_eq!(rule, Rule::RootChanged { kind: END.to_owned(), sub: "s".to_owned() });
    session.append(nested(END, "c", "c", "s")).unwrap();
    assert_eq!(fixture.watched.take().len(), 1);
}

// spec: tools/T105
#[tokio::test]
async fn the_plugin_does_not_load_next_to_a_log_that_is_wrong_already() {
    let app = cordis::testing::TestApp::new();
    app.plugin(dsh_session::plugin(), ()).unwrap().ready().await.unwrap();
    let sessions = app.get(dsh_session::SESSIONS).unwrap();
    let session = sessions.get().unwrap().create(&app, CreateSession::default()).unwrap();
    session.append(nested(END, "c", "c", "s")).unwrap();
    let checker = app.plugin(dsh_tools_invariants::plugin(), ()).unwrap();
    let error = checker.ready().await.unwrap_err().to_string();
    let cause = checker.error().unwrap().to_string();
    assert!(format!("{error}{cause}").contains("appended outside any open turn"), "{error} / {cause}");
}

// spec: tools/T105
#[tokio::test]
async fn a_seed_that_breaks_a_rule_makes_no_session() {
    let fixture = Fixture::new().await;
    let store = fixture.store();
    let store = store.get().unwrap();
    let seed = Seed::new(log([nested(START, "c", "c", "s")]));
    let id = Some("wrong".to_owned());
    let refusal =
        store.create(&fixture.app, CreateSession { id, seed: Some(seed), ..CreateSession::default() });
    let Err(CreateError::Refused { source, .. }) = refusal else { panic!("created: {refusal:?}") };
    let rule = Rule::OutsideTurn { kind: START.to_owned() };
    assert_eq!(source.downcast_ref::<Violation>().unwrap().rule, rule);
    assert_eq!(fixture.broken(), [rule]);
    assert!(store.get("wrong").is_none());
}

#[tokio::test]
async fn calls_are_watched_where_there_are_no_sessions() {
    let app = cordis::testing::TestApp::new();
    app.plugin(dsh_tools::plugin(), dsh_tools::Config::default()).unwrap().ready().await.unwrap();
    let watched = dsh_tools_invariants::testing::watch(&app).await;
    let tools = app.get(dsh_tools::TOOLS).unwrap();
    tools.get().unwrap().execute(&app, dsh_tools::CallRequest::new("", "x", "{}")).await;
    assert_eq!(watched.take().len(), 1);
}
