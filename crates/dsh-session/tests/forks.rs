//! Forks: where a session may be forked, what the child has of its parent, and what not.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::sync::Arc;

use cordis::{App, BoxError};
use dsh_session::{
    CREATED, CreateError, CreateSession, EndSeed, ForkError, Origin, Payload, Seed, Session, SessionStore,
    closers, fork_prefix,
};
use support::{answer_of, kinds, raw, result, texts, user};

struct House {
    app: App,
    store: SessionStore,
}

fn house() -> House {
    House { app: App::new().unwrap(), store: SessionStore::new() }
}

impl House {
    /// A session `s` with these turns: one that is aborted after a call, and one that is open.
    fn parent(&self) -> Arc<Session> {
        let session = self.empty("s");
        let call = |id: &str| dsh_llm::ContentBlock::ToolCall {
            id: id.to_owned(),
            name: "bash".to_owned(),
            arguments: "{}".to_owned(),
        };
        let news = [
            raw("request/context", r#"{"provider":"p","model":"m"}"#),
            raw("turn/start", r#"{"turn":1}"#),
            user("a"),
            raw("step/start", r#"{"turn":1,"step":1}"#),
            dsh_session::NewEvent::answer(&answer_of(vec![call("c1"), call("c2")])).unwrap(),
            raw("tool/call", r#"{"turn":1,"step":1,"callId":"c1","name":"bash","arguments":"{}"}"#),
            result("c1", "r"),
            raw("turn/end", r#"{"turn":1,"reason":{"kind":"aborted","reason":{"kind":"user"}}}"#),
            raw("todo/write", r#"{"todos":[]}"#),
            raw("turn/start", r#"{"turn":2}"#),
            user("b"),
        ];
        for new in news {
            session.append(new).unwrap();
        }
        session
    }

    fn empty(&self, id: &str) -> Arc<Session> {
        self.store
            .create(&self.app, CreateSession { id: Some(id.to_owned()), ..CreateSession::default() })
            .unwrap()
    }

    fn fork(&self, boundary: Option<u64>, child: &str) -> Result<Arc<Session>, ForkError> {
        self.store.fork(&self.app, "s", boundary, Some(child.to_owned()))
    }
}

// spec: session/S62
#[tokio::test]
async fn a_fork_that_cannot_be_says_why_by_the_first_reason_in_order() {
    let house = house();
    let parent = house.parent();
    house.empty("taken");
    let stale = Session::detached("s");
    let (ctx, store) = (&house.app, &house.store);
    let taken = || Some("taken".to_owned());
    let code = |result: Result<Arc<Session>, ForkError>| result.unwrap_err().code();
    // Everything is wrong: the child's id comes first.
    assert_eq!(code(store.fork(ctx, "nobody", Some(99), taken())), "SESSION_ALREADY_EXISTS");
    assert_eq!(code(store.fork_of(ctx, &stale, Some(99), taken())), "SESSION_ALREADY_EXISTS");
    assert_eq!(code(store.fork(ctx, "nobody", Some(99), None)), "SESSION_NOT_FOUND");
    assert_eq!(code(store.fork_of(ctx, &stale, Some(99), None)), "SESSION_NOT_LIVE");
    assert_eq!(code(store.fork_of(ctx, &parent, Some(11), None)), "INVALID_BOUNDARY");
    assert_eq!(code(store.fork_of(ctx, &parent, Some(u64::MAX), None)), "INVALID_BOUNDARY");
    assert_eq!(code(store.fork_of(ctx, &parent, Some(10), None)), "OPEN_TURN");
    let error = house.fork(Some(11), "x").unwrap_err().to_string();
    assert!(error.contains("`s`") && error.contains("11"), "{error}");
    let error = house.fork(None, "x").unwrap_err().to_string();
    assert!(error.contains("since 9"), "{error}");
    assert_eq!(store.list().len(), 2, "nothing was created");
}

// spec: session/S62
#[tokio::test]
async fn a_fork_that_a_listener_refuses_leaves_no_child() {
    let house = house();
    house.parent();
    house.app.on(CREATED).run(|_| Err::<(), BoxError>("full".into())).unwrap();
    let error = house.fork(Some(8), "x").unwrap_err();
    assert!(matches!(&error, ForkError::Create(CreateError::Refused { .. })), "{error}");
    assert_eq!(error.code(), "SESSION_NOT_CREATED");
    assert!(house.store.get("x").is_none());
}

// spec: session/S63
#[tokio::test]
async fn the_boundary_is_the_last_event_of_the_child_and_the_end_by_default() {
    let house = house();
    let parent = house.parent();
    let child = house.fork(Some(0), "x").unwrap();
    assert_eq!(
        (kinds(&child), child.first_live_seq()),
        (vec!["request/context".to_owned(), EndSeed::TYPE.to_owned()], 1)
    );
    parent.append(raw("turn/end", r#"{"turn":2,"reason":{"kind":"completed"}}"#)).unwrap();
    let whole = house.fork(None, "y").unwrap();
    assert_eq!(whole.first_live_seq(), parent.len());
    assert_eq!(texts(&whole), texts(&parent));
}

// spec: session/S63, S65
#[tokio::test]
async fn the_fork_of_an_empty_session_has_an_empty_seed() {
    let house = house();
    house.empty("s");
    let child = house.fork(None, "x").unwrap();
    assert_eq!(kinds(&child), [EndSeed::TYPE]);
    assert_eq!(child.header().seed_length, Some(0));
    assert_eq!(house.fork(Some(0), "y").unwrap_err().code(), "INVALID_BOUNDARY");
}

// spec: session/S64, cases/G4
#[tokio::test]
async fn a_fork_at_any_number_is_a_closed_prefix_or_a_clear_error_and_leaves_the_parent_alone() {
    let house = house();
    let parent = house.parent();
    let before: Vec<_> = parent.events().iter().map(|event| event.to_line()).collect();
    for boundary in 0..parent.len() {
        match house.fork(Some(boundary), &format!("at-{boundary}")) {
            // Before the first turn, at the end of one whatever its reason, and after it.
            Ok(child) if [0, 7, 8].contains(&boundary) => {
                assert_eq!(child.len(), boundary + 2);
                assert!(closers(&child.events()).is_empty(), "{boundary}");
            }
            Err(error) if ![0, 7, 8].contains(&boundary) => {
                assert_eq!(error.code(), "OPEN_TURN", "{boundary}")
            }
            other => panic!("{boundary}: {other:?}"),
        }
    }
    let after: Vec<_> = parent.events().iter().map(|event| event.to_line()).collect();
    assert_eq!((before, house.store.list().len()), (after, 4));
}

// spec: session/S64
#[tokio::test]
async fn a_batch_that_was_read_is_forked_in_its_middle_like_any_other_log() {
    let lines = [
        r#"{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}"#,
        r#"{"type":"text-chunks","seq0":1,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[0,0],"texts":["a","b","c"]}}"#,
        r#"{"type":"turn/end","seq":4,"time":1,"data":{"turn":1,"reason":{"kind":"completed"}}}"#,
        r#"{"type":"text-chunks","seq0":5,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[0,0],"texts":["a","b","c"]}}"#,
    ];
    let events = support::events(&lines).into_iter().collect();
    let code =
        |boundary| fork_prefix("s", &events, Some(boundary)).map(|it| it.len()).map_err(|error| error.code());
    assert_eq!(code(2), Err("OPEN_TURN"));
    assert_eq!((4..8).map(code).collect::<Vec<_>>(), [Ok(5), Ok(6), Ok(7), Ok(8)]);
    assert_eq!(code(8), Err("INVALID_BOUNDARY"));
}

// spec: session/S65
#[tokio::test]
async fn the_child_takes_the_folder_and_names_its_parent_and_takes_nothing_else() {
    let house = house();
    let options = CreateSession {
        id: Some("s".to_owned()),
        created_at_ms: Some(7),
        cwd: Some("/w".to_owned()),
        origin: Some(Origin::Subagent),
        delegation_depth: 3,
        agent_preset: Some("p".to_owned()),
        seed: Some(Seed::default()),
        ..CreateSession::default()
    };
    let parent = house.store.create(&house.app, options).unwrap();
    parent.append(user("a")).unwrap();
    let child = house.fork(None, "x").unwrap();
    let header = child.header();
    assert_eq!(
        (header.cwd.as_deref(), header.parent_session.as_deref(), header.seed_length),
        (Some("/w"), Some("s"), Some(2))
    );
    assert_eq!((header.origin, header.delegation_depth, header.agent_preset.as_deref()), (None, 0, None));
    assert!(header.created_at_ms > 7);
    assert_eq!(kinds(&child), [EndSeed::TYPE, "user/message", EndSeed::TYPE]);
    for (one, two) in parent.events().iter().zip(child.events().iter()) {
        assert!(Arc::ptr_eq(&one, &two), "inherited events are those of the parent");
    }
    child.append(user("b")).unwrap();
    parent.append(user("c")).unwrap();
    assert_eq!(
        (texts(&parent), texts(&child)),
        (vec!["a".to_owned(), "c".to_owned()], vec!["a".to_owned(), "b".to_owned()])
    );
}

// spec: session/S65
#[tokio::test]
async fn a_prefix_that_ends_in_a_mark_is_not_marked_again() {
    let house = house();
    let options =
        CreateSession { id: Some("s".to_owned()), seed: Some(Seed::default()), ..CreateSession::default() };
    house.store.create(&house.app, options).unwrap();
    let child = house.fork(None, "x").unwrap();
    assert_eq!((kinds(&child), child.header().seed_length), (vec![EndSeed::TYPE.to_owned()], Some(1)));
    let unnamed = house.store.fork(&house.app, "s", None, None).unwrap();
    assert_eq!(unnamed.id(), "session-1");
}

// spec: session/S66
#[tokio::test]
async fn what_a_running_parent_had_begun_comes_before_the_last_mark_of_the_child() {
    let house = house();
    let parent = house.empty("s");
    parent.append(raw("compaction/start", r#"{"compactionId":"k","turn":null}"#)).unwrap();
    let child = house.fork(None, "x").unwrap();
    child.append(raw("compaction/start", r#"{"compactionId":"own","turn":null}"#)).unwrap();
    let events = child.events();
    let mark = events.iter().rfind(|event| event.kind() == EndSeed::TYPE).unwrap().seq();
    let begun: Vec<_> = events
        .iter()
        .filter(|event| event.kind() == "compaction/start")
        .map(|event| event.seq() > mark)
        .collect();
    assert_eq!(begun, [false, true], "the parent's is dead, the child's own is not");
    assert_eq!(child.first_live_seq(), mark);
}
