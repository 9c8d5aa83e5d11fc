//! The store: who is live, for how long, who is told, and what is left when that fails.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cordis::{App, BoxError, Context, Scope, State, define, keys};
use dsh_session::{
    APPENDING, CREATED, CreateError, CreateSession, DISPOSED, EVENT, FLUSH, FlushError, Origin, SESSIONS,
    Seed, SeedError, Session, SessionHeader, SessionStore,
};
use support::{Said, events, kinds, user};

fn named(id: &str) -> CreateSession {
    CreateSession { id: Some(id.to_owned()), ..CreateSession::default() }
}

/// Says what the store tells.
fn listen(ctx: &Context, name: &'static str, said: &Said) {
    let to = said.clone();
    ctx.on(CREATED)
        .run(move |it| {
            to.say(format!("{name} created {}", it.id()));
            Ok(())
        })
        .unwrap();
    let to = said.clone();
    ctx.on(APPENDING)
        .run(move |it| {
            to.say(format!("{name} asked {}", it.session.id()));
            Ok(())
        })
        .unwrap();
    let to = said.clone();
    ctx.on(EVENT).run(move |it| to.say(format!("{name} event {}", it.session.id()))).unwrap();
    let to = said.clone();
    ctx.on(DISPOSED).run(move |it| to.say(format!("{name} disposed {}", it.id()))).unwrap();
    ctx.on(FLUSH)
        .with((name, said.clone()))
        .run(async |(name, said), it| {
            said.say(format!("{name} flush {}", it.id()));
            Ok(())
        })
        .unwrap();
}

fn ids(store: &SessionStore) -> Vec<String> {
    store.list().iter().map(|session| session.id().to_owned()).collect()
}

// spec: session/S51
#[tokio::test]
async fn the_plugin_provides_a_store_that_finds_lists_flushes_and_forks() {
    let app = App::new().unwrap();
    app.plugin(dsh_session::plugin(), ()).unwrap();
    app.quiet().await;
    let handle = app.get(SESSIONS).unwrap();
    let store = handle.get().unwrap();
    for id in ["b", "a", "c"] {
        store.create(&app, named(id)).unwrap();
    }
    let list = store.list();
    store.create(&app, named("d")).unwrap();
    assert_eq!(list.len(), 3, "a list at hand does not grow");
    assert_eq!(ids(&store), ["b", "a", "c", "d"], "in the order in which they entered");
    assert!(Arc::ptr_eq(&store.get("a").unwrap(), &list[1]));
    assert!(store.get("e").is_none());
    assert!(!store.flush(&list[0]).await.unwrap());
    assert_eq!(store.fork(&app, "a", None, Some("e".to_owned())).unwrap().id(), "e");
    assert_eq!(ids(&store), ["b", "a", "c", "d", "e"]);
}

// spec: session/S52, design/P1
#[tokio::test]
async fn a_session_leaves_the_store_with_the_plugin_that_created_it() {
    let app = App::new().unwrap();
    let said = Said::default();
    app.plugin(dsh_session::plugin(), ()).unwrap();
    listen(&app, "root", &said);
    let plugin = define("owner").needs(SESSIONS).run(
        async |ctx: &Context, sessions: cordis::Handle<SessionStore>, _: &()| -> Result<(), BoxError> {
            sessions.get()?.create(ctx, named("mine"))?;
            Ok(())
        },
    );
    let fiber = app.plugin(plugin, ()).unwrap();
    app.quiet().await;
    assert_eq!(fiber.state(), State::Active);
    let handle = app.get(SESSIONS).unwrap();
    let held = handle.get().unwrap().get("mine").unwrap();
    fiber.dispose().await;
    assert!(handle.get().unwrap().get("mine").is_none());
    assert_eq!(said.take(), ["root created mine", "root disposed mine"]);
    held.append(user("a")).unwrap();
    assert_eq!((held.len(), said.take()), (1, vec![]), "who holds it may go on, and nobody is told");
}

// spec: session/S52
#[tokio::test]
async fn a_session_leaves_the_store_when_its_scope_closes() {
    let app = App::new().unwrap();
    let store = SessionStore::new();
    let scope = app.scope().unwrap();
    store.create(scope.context(), named("mine")).unwrap();
    store.create(&app, named("other")).unwrap();
    scope.close().await;
    assert_eq!(ids(&store), ["other"]);
    let error = store.create(scope.context(), named("late")).unwrap_err();
    assert!(matches!(error, CreateError::Inactive(_)), "{error}");
    assert_eq!(ids(&store), ["other"]);
}

// spec: session/S53
#[tokio::test]
async fn a_session_without_an_id_takes_the_next_free_name() {
    let app = App::new().unwrap();
    let store = SessionStore::new();
    store.create(&app, named("session-2")).unwrap();
    for expected in ["session-1", "session-3", "session-4"] {
        assert_eq!(store.create(&app, CreateSession::default()).unwrap().id(), expected);
    }
}

// spec: session/S53
#[tokio::test]
async fn an_id_that_is_live_is_refused_and_the_first_stays() {
    let app = App::new().unwrap();
    let said = Said::default();
    let store = SessionStore::new();
    let first = store.create(&app, named("a")).unwrap();
    listen(&app, "root", &said);
    assert!(matches!(store.create(&app, named("a")), Err(CreateError::Exists { id }) if id == "a"));
    assert!(matches!(store.prepare(named("a")), Err(CreateError::Exists { .. })));
    let other = Session::detached("a");
    assert!(matches!(store.enter(&app, &other), Err(CreateError::Exists { .. })));
    assert!(store.is_live(&first) && !store.is_live(&other));
    assert_eq!(said.take(), [""; 0]);
}

// spec: session/S53
#[tokio::test]
async fn two_sessions_of_one_id_may_be_prepared_and_only_one_enters() {
    let app = App::new().unwrap();
    let store = SessionStore::new();
    let (one, two) = (store.prepare(named("a")).unwrap(), store.prepare(named("a")).unwrap());
    assert!(store.list().is_empty(), "what is prepared is not live");
    let effect = store.enter(&app, &two).unwrap();
    assert!(matches!(store.enter(&app, &one), Err(CreateError::Exists { .. })));
    effect.dispose().await;
    store.enter(&app, &one).unwrap();
    assert!(store.is_live(&one));
}

// spec: session/S54
#[tokio::test]
async fn the_store_fills_in_what_the_creator_leaves_out() {
    let app = App::new().unwrap();
    let store = SessionStore::new();
    let now = || u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap();
    let before = now();
    let bare = store.create(&app, named("a")).unwrap();
    assert!((before..=now()).contains(&bare.header().created_at_ms));
    assert_eq!(**bare.header(), SessionHeader::new("a", bare.header().created_at_ms));
    assert!(bare.is_empty());
    let full = store
        .create(
            &app,
            CreateSession {
                seed: Some(Seed::new(events(&[
                    r#"{"type":"turn/start","seq":0,"time":5,"data":{"turn":1}}"#,
                ]))),
                created_at_ms: Some(7),
                cwd: Some("/w".to_owned()),
                parent_session: Some("p".to_owned()),
                seed_length: Some(1),
                origin: Some(Origin::Subagent),
                delegation_depth: 2,
                agent_preset: Some("x".to_owned()),
                ..named("b")
            },
        )
        .unwrap();
    assert_eq!(
        full.header().to_line().unwrap(),
        r#"{"type":"session","version":0,"id":"b","createdAt":7,"cwd":"/w","parentSession":"p","seedLength":1,"origin":"subagent","delegationDepth":2,"agentPreset":"x"}"#
    );
    assert_eq!(kinds(&full), ["turn/start", "session/end-seed"]);
    let wrong = CreateSession { cwd: Some("rel".to_owned()), ..named("c") };
    assert!(matches!(store.create(&app, wrong), Err(CreateError::Seed(SeedError::Header(_)))));
    assert_eq!(ids(&store), ["a", "b"]);
}

// spec: session/S55
#[tokio::test]
async fn entering_takes_the_scope_of_the_context_and_a_session_is_in_one_store_in_its_life() {
    let app = App::new().unwrap();
    let (one, two) = (SessionStore::new(), SessionStore::new());
    let scope = app.scope().unwrap();
    let session = one.prepare(named("a")).unwrap();
    assert!(session.owner().is_none());
    let effect = one.enter(scope.context(), &session).unwrap();
    assert_eq!(session.owner(), Some(scope.key()));
    assert!(matches!(two.enter(&app, &session), Err(CreateError::Attached { id }) if id == "a"));
    assert!(two.list().is_empty());
    effect.dispose().await;
    assert!(matches!(one.enter(&app, &session), Err(CreateError::Attached { .. })));
    assert!(one.list().is_empty());
}

// spec: session/S55
#[tokio::test]
async fn the_owner_is_the_nearest_scope_of_the_context() {
    let app = App::new().unwrap();
    let store = SessionStore::new();
    let outer = app.scope().unwrap();
    let inner = app.scope_under(outer.key()).unwrap();
    let session = store.create(inner.context(), named("a")).unwrap();
    assert_eq!(session.owner(), Some(inner.key()));
    assert_eq!(store.create(&app, named("b")).unwrap().owner(), None);
}

// spec: session/S56
#[tokio::test]
async fn creation_is_told_once_in_order_when_the_session_can_be_found() {
    let app = App::new().unwrap();
    let said = Said::default();
    let store = Arc::new(SessionStore::new());
    for name in ["first", "second"] {
        let (to, at, ctx) = (said.clone(), store.clone(), app.root());
        app.on(CREATED)
            .run(move |session| {
                to.say(format!("{name} {} {}", session.id(), at.is_live(session)));
                // It is open for events by now.
                session.append(user(name)).unwrap();
                to.say(format!("again {}", at.enter(&ctx, session).is_err()));
                Ok(())
            })
            .unwrap();
    }
    let session = store.create(&app, named("a")).unwrap();
    assert_eq!(said.take(), ["first a true", "again true", "second a true", "again true"]);
    assert_eq!(session.len(), 2);
}

// spec: session/S56, S57
#[tokio::test]
async fn a_session_that_a_listener_refuses_is_gone_when_the_creator_learns_of_it() {
    for panics in [false, true] {
        let app = App::new().unwrap();
        let said = Said::default();
        let store = SessionStore::new();
        let sound = Arc::new(AtomicBool::new(false));
        let to = said.clone();
        app.on(CREATED)
            .run(move |it| {
                to.say(format!("first {}", it.id()));
                Ok(())
            })
            .unwrap();
        let now = sound.clone();
        app.on(CREATED)
            .run(move |_| match now.load(SeqCst) {
                true => Ok(()),
                false if panics => panic!("broken"),
                false => Err::<(), BoxError>("too many".into()),
            })
            .unwrap();
        listen(&app, "last", &said);
        let session = store.prepare(named("a")).unwrap();
        let error = store.enter(&app, &session).unwrap_err();
        let CreateError::Refused { id, source } = error else { panic!("another error: {error}") };
        assert_eq!(id, "a");
        assert!(source.to_string().contains(if panics { "broken" } else { "too many" }), "{source}");
        assert!(store.get("a").is_none() && store.list().is_empty());
        assert_eq!(said.take(), ["first a", "last disposed a"], "part of the listeners had heard");
        session.append(user("x")).unwrap();
        assert_eq!(said.take(), [""; 0], "it is attached no more");
        sound.store(true, SeqCst);
        store.create(&app, named("a")).unwrap();
        assert_eq!(said.take(), ["first a", "last created a"], "and its id is free");
    }
}

// spec: session/S57
#[tokio::test]
async fn the_end_of_a_session_does_not_remove_a_later_one_of_the_same_id() {
    let app = App::new().unwrap();
    let said = Said::default();
    let store = SessionStore::new();
    listen(&app, "root", &said);
    let first = Session::detached("a");
    let effect = store.enter(&app, &first).unwrap();
    effect.dispose().await;
    let second = Session::detached("a");
    store.enter(&app, &second).unwrap();
    effect.dispose().await;
    effect.cancel();
    assert!(store.is_live(&second) && !store.is_live(&first));
    assert_eq!(said.take(), ["root created a", "root disposed a", "root created a"]);
}

// spec: session/S57
#[tokio::test]
async fn a_session_that_is_ended_while_it_is_announced_leaves_when_all_have_heard() {
    let app = App::new().unwrap();
    let said = Said::default();
    let store = Arc::new(SessionStore::new());
    let scope = app.scope().unwrap();
    let fiber = scope.fiber();
    let ending = fiber.clone();
    app.on(CREATED)
        .run(move |_| {
            ending.cancel();
            Ok(())
        })
        .unwrap();
    let (at, to) = (store.clone(), said.clone());
    app.on(CREATED)
        .run(move |it| {
            to.say(format!("live {}", at.is_live(it)));
            Ok(())
        })
        .unwrap();
    listen(&app, "root", &said);
    let created = store.create(scope.context(), named("a"));
    fiber.dispose().await;
    assert_eq!(said.take(), ["live true", "root created a", "root disposed a"]);
    assert_eq!(created.unwrap().id(), "a");
    assert!(store.list().is_empty());
}

// spec: session/S57
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_is_ended_on_another_thread_while_it_is_announced_leaves_when_all_have_heard() {
    let app = App::new().unwrap();
    let said = Said::default();
    let store = Arc::new(SessionStore::new());
    let scope = app.scope().unwrap();
    let (fiber, at) = (scope.fiber(), store.clone());
    let (closed, closing) = std::sync::mpsc::channel();
    let closing = std::sync::Mutex::new(closing);
    app.on(CREATED)
        .run(move |session| {
            let (fiber, closed) = (fiber.clone(), closed.clone());
            tokio::spawn(async move {
                fiber.dispose().await;
                let _ = closed.send(());
            });
            let early = closing.lock().unwrap().recv_timeout(Duration::from_millis(100)).is_ok();
            // It takes events meanwhile.
            session.append(user("a")).unwrap();
            assert!(!early && at.is_live(session), "still live");
            Ok(())
        })
        .unwrap();
    listen(&app, "root", &said);
    store.create(scope.context(), named("a")).unwrap();
    scope.close().await;
    assert_eq!(said.take(), ["root asked a", "root event a", "root created a", "root disposed a"]);
    assert!(store.list().is_empty());
}

// spec: session/S57
#[tokio::test]
async fn the_end_of_a_session_that_was_never_announced_is_not_told() {
    let app = App::new().unwrap();
    let said = Said::default();
    let store = SessionStore::new();
    listen(&app, "root", &said);
    let scope = app.scope().unwrap();
    scope.close().await;
    store.create(scope.context(), named("a")).unwrap_err();
    drop(store.prepare(named("b")).unwrap());
    assert!(store.list().is_empty());
    assert_eq!(said.take(), [""; 0]);
}

// spec: session/S58, design/P4
#[tokio::test]
async fn the_end_of_a_session_is_told_to_all_with_the_session_itself() {
    let app = App::new().unwrap();
    let said = Said::default();
    let store = Arc::new(SessionStore::new());
    let to = said.clone();
    app.on(keys::ERROR)
        .run(move |report| to.say(format!("report {}", report.message.contains("broken"))))
        .unwrap();
    app.on(DISPOSED).run(|_| panic!("broken")).unwrap();
    let session = Session::detached("a");
    let (same, at, to) = (session.clone(), store.clone(), said.clone());
    app.on(DISPOSED)
        .run(move |it| to.say(format!("same {} live {}", Arc::ptr_eq(it, &same), at.is_live(it))))
        .unwrap();
    let effect = store.enter(&app, &session).unwrap();
    effect.dispose().await;
    assert_eq!(said.take(), ["report true", "same true live false"]);
}

// spec: session/S59
#[tokio::test]
async fn a_flush_waits_for_all_and_tells_whether_anybody_was_asked() {
    let app = App::new().unwrap();
    let said = Said::default();
    let store = SessionStore::new();
    let session = store.create(&app, named("a")).unwrap();
    assert!(!store.flush(&session).await.unwrap());
    for name in ["slow", "quick"] {
        app.on(FLUSH)
            .with((name, said.clone()))
            .run(async |(name, said), _| {
                said.say(format!("{name} starts"));
                let turns = if *name == "slow" { 5 } else { 1 };
                for _ in 0..turns {
                    tokio::task::yield_now().await;
                }
                said.say(format!("{name} ends"));
                Ok(())
            })
            .unwrap();
    }
    assert!(store.flush(&session).await.unwrap());
    assert_eq!(said.take(), ["slow starts", "quick starts", "quick ends", "slow ends"]);
}

// spec: session/S59
#[tokio::test]
async fn the_first_failure_in_order_of_registration_is_the_failure_of_a_flush() {
    let app = App::new().unwrap();
    let said = Said::default();
    let store = SessionStore::new();
    let session = store.create(&app, named("a")).unwrap();
    for (name, turns) in [("slow", 5), ("quick", 0)] {
        app.on(FLUSH)
            .with((name, turns))
            .run(async |(name, turns), _| {
                for _ in 0..*turns {
                    tokio::task::yield_now().await;
                }
                Err(BoxError::from(*name))
            })
            .unwrap();
    }
    listen(&app, "last", &said);
    let error = store.flush(&session).await.unwrap_err();
    assert!(
        matches!(&error, FlushError::Failed { id, source } if id == "a" && source.to_string() == "slow"),
        "{error}"
    );
    assert_eq!(said.take(), ["last flush a"], "nobody is left out");
}

// spec: session/S59
#[tokio::test]
async fn a_session_that_is_not_live_here_cannot_be_flushed() {
    let app = App::new().unwrap();
    let said = Said::default();
    let (store, other) = (SessionStore::new(), SessionStore::new());
    listen(&app, "root", &said);
    let (gone, live) = (Session::detached("a"), Session::detached("a"));
    store.enter(&app, &gone).unwrap().dispose().await;
    store.enter(&app, &live).unwrap();
    said.take();
    for stale in [&gone, &Session::detached("a"), &Session::detached("b")] {
        assert!(matches!(store.flush(stale).await, Err(FlushError::NotLive { .. })));
    }
    assert!(matches!(other.flush(&live).await, Err(FlushError::NotLive { .. })));
    assert_eq!(said.take(), [""; 0]);
    assert!(store.flush(&live).await.unwrap());
}

// spec: session/S59, S60
#[tokio::test]
async fn whether_anybody_was_asked_to_flush_is_told_for_the_scope_of_the_session() {
    let app = App::new().unwrap();
    let said = Said::default();
    let store = SessionStore::new();
    let scopes: Vec<Scope> = (0..2).map(|_| app.scope().unwrap()).collect();
    let below = app.scope_under(scopes[0].key()).unwrap();
    let mine = store.create(scopes[0].context(), named("mine")).unwrap();
    let other = store.create(scopes[1].context(), named("other")).unwrap();
    let inner = store.create(below.context(), named("inner")).unwrap();
    let unscoped = store.create(&app, named("unscoped")).unwrap();
    listen(scopes[0].context(), "scope", &said);
    assert!(store.flush(&mine).await.unwrap());
    assert!(store.flush(&inner).await.unwrap(), "the listeners of a scope hear of those below it");
    assert!(!store.flush(&other).await.unwrap());
    assert!(!store.flush(&unscoped).await.unwrap());
    assert_eq!(said.take(), ["scope flush mine", "scope flush inner"]);
}

// spec: session/S60
#[tokio::test]
async fn an_agents_listeners_hear_its_own_sessions_and_unscoped_ones_hear_all() {
    let app = App::new().unwrap();
    let said = Said::default();
    let store = SessionStore::new();
    let scopes: Vec<Scope> = (0..2).map(|_| app.scope().unwrap()).collect();
    listen(scopes[0].context(), "zero", &said);
    listen(scopes[1].context(), "one", &said);
    let everything = |name: &str| {
        ["created", "asked", "event", "flush", "disposed"].map(|what| format!("{name} {what} s")).to_vec()
    };
    for (ctx, hears) in
        [(scopes[0].context(), vec!["zero"]), (scopes[1].context(), vec!["one"]), (&app.root(), vec![])]
    {
        let session = Session::detached("s");
        let effect = store.enter(ctx, &session).unwrap();
        session.append(user("a")).unwrap();
        store.flush(&session).await.unwrap();
        effect.dispose().await;
        assert_eq!(said.take(), hears.iter().flat_map(|name| everything(name)).collect::<Vec<_>>());
    }
    listen(&app, "all", &said);
    for ctx in [scopes[0].context(), scopes[1].context(), &app.root()] {
        let session = Session::detached("s");
        let effect = store.enter(ctx, &session).unwrap();
        session.append(user("a")).unwrap();
        store.flush(&session).await.unwrap();
        effect.dispose().await;
        let heard: Vec<_> = said.take().into_iter().filter(|line| line.starts_with("all")).collect();
        assert_eq!(heard, everything("all"));
    }
}

// spec: session/S61
#[tokio::test]
async fn a_prepared_session_that_is_dropped_leaves_nothing() {
    let app = App::new().unwrap();
    let store = SessionStore::new();
    let weak = Arc::downgrade(&store.prepare(named("a")).unwrap());
    assert!(weak.upgrade().is_none());
    let next = store.prepare(named("a")).unwrap();
    store.enter(&app, &next).unwrap();
    assert_eq!(ids(&store), ["a"]);
}

// spec: design/P1
#[tokio::test]
async fn nothing_holds_a_session_that_has_left() {
    let app = App::new().unwrap();
    let store = SessionStore::new();
    let scope = app.scope().unwrap();
    let session = store.create(scope.context(), named("a")).unwrap();
    session.append(user("a")).unwrap();
    let weak = Arc::downgrade(&session);
    drop(session);
    assert!(weak.upgrade().is_some(), "the store holds it while it is live");
    scope.close().await;
    assert!(weak.upgrade().is_none());
}
