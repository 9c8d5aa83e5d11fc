//! Flushing, and who hears of which session.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use cordis::{App, BoxError, Scope};
use dsh_session::{FLUSH, FlushError, Session, SessionStore};
use support::{Said, listen, named, user};

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
