//! What observers can do to the turn of a session, and what can be appended that cannot be read.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::time::Duration;

use cordis::{App, Effect};
use dsh_session::{CreateSession, EVENT, Events, NewEvent, Session, SessionEvent, SessionLog, SessionStore};

fn note(text: &str) -> NewEvent {
    NewEvent::raw("todo/write", &format!(r#"{{"text":"{text}"}}"#)).unwrap()
}

fn named(id: &str) -> CreateSession {
    CreateSession { id: Some(id.into()), ..CreateSession::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn observers_of_two_sessions_that_append_to_each_other_on_two_threads_do_not_deadlock() {
    let app = App::new().unwrap();
    let store = SessionStore::new();
    let (a, b) = (store.create(&app, named("a")).unwrap(), store.create(&app, named("b")).unwrap());
    let meet = Arc::new(Barrier::new(2));
    let pair = (a.clone(), b.clone());
    app.on(EVENT)
        .run(move |told: &SessionEvent| {
            if !told.event.data().get().contains("first") {
                return;
            }
            meet.wait();
            let other = if told.session.id() == "a" { &pair.1 } else { &pair.0 };
            let _ = other.append(note("mirrored"));
        })
        .unwrap();
    let (tell, told) = mpsc::channel();
    for session in [a, b] {
        let tell = tell.clone();
        std::thread::spawn(move || {
            session.append(note("first")).unwrap();
            let _ = tell.send(());
        });
    }
    let ended = (0..2).filter(|_| told.recv_timeout(Duration::from_secs(60)).is_ok()).count();
    assert_eq!(ended, 2, "both threads wait for ever");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn observers_of_two_sessions_that_end_each_other_on_two_threads_do_not_deadlock() {
    let app = App::new().unwrap();
    let store = SessionStore::new();
    let (a, b) = (store.prepare(named("a")).unwrap(), store.prepare(named("b")).unwrap());
    let effects: [Effect; 2] = [store.enter(&app, &a).unwrap(), store.enter(&app, &b).unwrap()];
    let meet = Arc::new(Barrier::new(2));
    app.on(EVENT)
        .run(move |told: &SessionEvent| {
            meet.wait();
            effects[usize::from(told.session.id() == "a")].cancel();
        })
        .unwrap();
    let (tell, told) = mpsc::channel();
    for session in [a, b] {
        let tell = tell.clone();
        std::thread::spawn(move || {
            let _ = session.append(note("x"));
            let _ = tell.send(());
        });
    }
    let ended = (0..2).filter(|_| told.recv_timeout(Duration::from_secs(60)).is_ok()).count();
    assert_eq!(ended, 2);
}

#[test]
fn the_end_of_a_session_does_not_block_the_runtime_while_an_observer_waits_for_a_task() {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let app = App::new().unwrap();
            let store = SessionStore::new();
            let session = store.prepare(named("s")).unwrap();
            let effect = store.enter(&app, &session).unwrap();
            let (ask, mut asked) = tokio::sync::mpsc::channel::<tokio::sync::oneshot::Sender<()>>(4);
            // A task that answers, as a database or a model would.
            tokio::spawn(async move {
                while let Some(reply) = asked.recv().await {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    let _ = reply.send(());
                }
            });
            let (begun, has_begun) = tokio::sync::oneshot::channel();
            let begun = Mutex::new(Some(begun));
            app.on(EVENT)
                .run(move |_: &SessionEvent| {
                    let (reply, answer) = tokio::sync::oneshot::channel();
                    if let Some(begun) = begun.lock().unwrap().take() {
                        let _ = begun.send(());
                    }
                    let _ = ask.blocking_send(reply);
                    let _ = answer.blocking_recv();
                })
                .unwrap();
            let appender = session.clone();
            std::thread::spawn(move || {
                let _ = appender.append(note("x"));
            });
            has_begun.await.unwrap();
            effect.dispose().await;
            let _ = tell.send(());
        });
    });
    assert!(
        told.recv_timeout(Duration::from_secs(60)).is_ok(),
        "the runtime's thread waits for the turn, and its holder for the runtime"
    );
}

#[test]
fn a_place_that_is_far_beyond_a_part_of_a_log_is_none() {
    let session = Session::detached("s");
    for _ in 0..5 {
        session.append(note("x")).unwrap();
    }
    let part: Events = session.events().from(2).collect();
    assert!(part.get(3).is_none());
    assert!(part.get(usize::MAX).is_none());
    assert_eq!(part.from(usize::MAX).count(), 0);
    assert_eq!(part.first_n(usize::MAX).len(), 3);
}

/// Why the lines of a session with this event cannot be read; none if they can, or if the event is refused.
fn unreadable(new: Result<NewEvent, dsh_session::NotLossless>) -> Option<String> {
    let session = Session::detached("s");
    session.append(new.ok()?).ok()?;
    let mut text = session.header().to_line().unwrap() + "\n";
    for event in &session.events() {
        text.push_str(&event.to_line());
        text.push('\n');
    }
    match SessionLog::parse(text.as_bytes()) {
        Ok(log) => log.torn.map(|torn| torn.problem.to_string()),
        Err(error) => Some(error.to_string()),
    }
}

#[test]
fn json_of_several_lines_is_one_line_in_a_log() {
    for data in ["{\n}", "{\"a\":\r\n1}"] {
        assert_eq!(unreadable(NewEvent::raw("todo/write", data)), None, "{data:?}");
    }
}

#[test]
fn what_no_reader_takes_cannot_be_appended() {
    let events = [("request/header", "{}"), ("request/header", "[]"), ("", "{}")];
    let wrong = events.map(|(kind, data)| unreadable(NewEvent::raw(kind, data)));
    assert_eq!(wrong, [None, None, None]);
}
