//! Who hears of an append, when, and what an observer or a validator may do meanwhile.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::sync::{Arc, Mutex};

use cordis::{App, BoxError, Effect, keys};
use dsh_session::{APPENDING, CreateSession, DISPOSED, EVENT, Session, SessionHeader, SessionStore};
use support::{Said, raw, session, texts, user};

struct Hall {
    app: App,
    store: SessionStore,
    said: Said,
}

fn hall() -> Hall {
    Hall { app: App::new().unwrap(), store: SessionStore::new(), said: Said::default() }
}

impl Hall {
    fn session(&self) -> Arc<Session> {
        self.store.create(&self.app, CreateSession::default()).unwrap()
    }

    /// An observer that says its name and the event's number.
    fn watch(&self, name: &'static str) {
        let said = self.said.clone();
        self.app.on(EVENT).run(move |it| said.say(format!("{name} {}", it.event.seq()))).unwrap();
    }
}

// spec: session/S31
#[tokio::test]
async fn observers_are_told_after_the_event_is_in_the_log_in_order_of_registration() {
    let hall = hall();
    hall.watch("first");
    hall.watch("second");
    let said = hall.said.clone();
    hall.app.on(EVENT).prepend().run(move |it| said.say(format!("prepended {}", it.event.seq()))).unwrap();
    let session = hall.session();
    session.append(user("a")).unwrap();
    assert_eq!(hall.said.take(), ["prepended 0", "first 0", "second 0"]);
    session.append(raw("made/up", "{}")).unwrap();
    assert_eq!(hall.said.take(), ["prepended 1", "first 1", "second 1"]);
}

// spec: session/S31, design/P4
#[tokio::test]
async fn an_observer_that_panics_is_reported_and_changes_neither_the_append_nor_the_others() {
    let hall = hall();
    let reports = Said::default();
    let to = reports.clone();
    hall.app.on(keys::ERROR).run(move |report| to.say(&report.message)).unwrap();
    hall.watch("before");
    hall.app.on(EVENT).run(|_| panic!("broken observer")).unwrap();
    hall.watch("after");
    let session = hall.session();
    assert_eq!(session.append(user("a")).unwrap().seq(), 0);
    assert_eq!(hall.said.take(), ["before 0", "after 0"]);
    let reports = reports.take();
    assert!(reports.len() == 1 && reports[0].contains("broken observer"), "{reports:?}");
    session.append(user("b")).unwrap();
    assert_eq!(texts(&session), ["a", "b"]);
}

// spec: session/S31
#[tokio::test]
async fn an_observer_that_is_added_by_another_hears_of_the_next_event() {
    let hall = hall();
    let (ctx, said) = (hall.app.root(), hall.said.clone());
    hall.app
        .on(EVENT)
        .once()
        .run(move |_| {
            let said = said.clone();
            ctx.on(EVENT).run(move |it| said.say(it.event.seq())).unwrap();
        })
        .unwrap();
    let session = hall.session();
    session.append(user("a")).unwrap();
    assert_eq!(hall.said.take(), [""; 0]);
    session.append(user("b")).unwrap();
    assert_eq!(hall.said.take(), ["1"]);
}

// spec: session/S31
#[tokio::test]
async fn nobody_is_told_of_what_was_refused() {
    let hall = hall();
    hall.watch("told");
    let said = hall.said.clone();
    hall.app
        .on(APPENDING)
        .run(move |it| {
            said.say(format!("asked {}", it.event.seq()));
            if it.event.kind() == "made/up" { Err::<(), BoxError>("no".into()) } else { Ok(()) }
        })
        .unwrap();
    let said = hall.said.clone();
    hall.app
        .on(APPENDING)
        .run(move |_| {
            said.say("asked too");
            Ok(())
        })
        .unwrap();
    let session = hall.session();
    session.append(raw("made/up", "{}")).unwrap_err();
    assert_eq!(hall.said.take(), ["asked 0"], "the first refusal stands, and nobody hears of the event");
    session.append(user("a")).unwrap();
    assert_eq!(hall.said.take(), ["asked 0", "asked too", "told 0"]);
}

// spec: session/S32
#[tokio::test]
async fn an_observer_finds_the_event_in_the_log_and_a_validator_does_not() {
    let hall = hall();
    let said = hall.said.clone();
    hall.app
        .on(APPENDING)
        .run(move |it| {
            said.say(format!("asked at {} of {}", it.event.seq(), it.session.len()));
            Ok(())
        })
        .unwrap();
    let said = hall.said.clone();
    hall.app
        .on(EVENT)
        .run(move |it| {
            let last = it.session.events();
            said.say(format!("{} {:?}", Arc::ptr_eq(&it.event, &last.last().unwrap()), texts(&it.session)));
        })
        .unwrap();
    let session = hall.session();
    session.append(user("a")).unwrap();
    session.append(user("b")).unwrap();
    assert_eq!(
        hall.said.take(),
        ["asked at 0 of 0", r#"true ["a"]"#, "asked at 1 of 1", r#"true ["a", "b"]"#]
    );
}

// spec: session/S33, S15
#[tokio::test]
async fn an_observer_that_appends_to_the_session_is_refused_and_the_others_still_hear() {
    let hall = hall();
    let said = hall.said.clone();
    hall.app.on(EVENT).run(move |it| said.say(it.session.append(user("more")).unwrap_err())).unwrap();
    hall.watch("after");
    let session = hall.session();
    session.append(user("a")).unwrap();
    let heard = hall.said.take();
    assert!(heard[0].contains("observer") && heard[0].contains(session.id()), "{heard:?}");
    assert_eq!(heard[1..], ["after 0"]);
    assert_eq!(texts(&session), ["a"]);
    session.append(user("b")).unwrap();
    assert_eq!(texts(&session), ["a", "b"]);
}

// spec: session/S33
#[tokio::test]
async fn an_observer_may_append_to_another_session() {
    let hall = hall();
    let (one, two) = (hall.session(), hall.session());
    let (to, said) = (two.clone(), hall.said.clone());
    hall.app
        .on(EVENT)
        .run(move |it| {
            said.say(format!("{} {}", it.session.id(), it.event.seq()));
            if !Arc::ptr_eq(&it.session, &to) {
                to.append(user("copy")).unwrap();
            }
        })
        .unwrap();
    one.append(user("a")).unwrap();
    assert_eq!(hall.said.take(), ["session-1 0", "session-2 0"]);
    assert_eq!(texts(&two), ["copy"]);
}

// spec: session/S34
#[tokio::test]
async fn a_session_that_is_ended_by_an_observer_leaves_when_all_have_heard() {
    let hall = hall();
    let ending: Arc<Mutex<Option<Effect>>> = Arc::default();
    let (effect, said, store) = (ending.clone(), hall.said.clone(), Arc::new(SessionStore::new()));
    let at = store.clone();
    hall.app
        .on(EVENT)
        .run(move |it| {
            effect.lock().unwrap().take().into_iter().for_each(|effect| effect.cancel());
            said.say(format!("live {}", at.is_live(&it.session)));
        })
        .unwrap();
    hall.watch("after");
    let said = hall.said.clone();
    hall.app.on(DISPOSED).run(move |session| said.say(format!("gone {}", session.id()))).unwrap();
    let session = Session::new(SessionHeader::new("s", 1), None).unwrap();
    let effect = store.enter(&hall.app, &session).unwrap();
    *ending.lock().unwrap() = Some(effect.clone());
    session.append(user("a")).unwrap();
    effect.dispose().await;
    assert_eq!(hall.said.take(), ["live true", "after 0", "gone s"]);
    assert!(!store.is_live(&session));
    session.append(user("b")).unwrap();
    assert_eq!(hall.said.take(), [""; 0], "a session that has left tells nobody");
    assert_eq!(texts(&session), ["a", "b"]);
}

// spec: session/S34
#[tokio::test]
async fn a_session_that_is_ended_by_a_validator_still_takes_the_event_or_the_refusal() {
    for refuse in [false, true] {
        let hall = hall();
        let ending: Arc<Mutex<Option<Effect>>> = Arc::default();
        let effect = ending.clone();
        hall.app
            .on(APPENDING)
            .run(move |_| {
                effect.lock().unwrap().take().into_iter().for_each(|effect| effect.cancel());
                if refuse { Err::<(), BoxError>("no".into()) } else { Ok(()) }
            })
            .unwrap();
        hall.watch("told");
        let session = Session::detached("s");
        let effect = hall.store.enter(&hall.app, &session).unwrap();
        *ending.lock().unwrap() = Some(effect.clone());
        assert_eq!(session.append(user("a")).is_err(), refuse);
        effect.dispose().await;
        assert!(hall.store.get("s").is_none());
        assert_eq!(hall.said.take(), if refuse { vec![] } else { vec!["told 0"] });
    }
}

#[tokio::test]
async fn a_session_outside_of_a_store_tells_nobody() {
    let hall = hall();
    hall.watch("told");
    session().append(user("a")).unwrap();
    assert_eq!(hall.said.take(), [""; 0]);
}
