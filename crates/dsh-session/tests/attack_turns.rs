//! Attacks on the turn of a session: who waits for it, and on which thread.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::time::Duration;

use cordis::{App, Effect, testing::TestApp};
use dsh_session::{APPENDING, CREATED, CreateSession, EVENT, NewEvent, Session, SessionEvent, SessionStore};

fn note(text: &str) -> NewEvent {
    NewEvent::raw("todo/write", &format!(r#"{{"text":"{text}"}}"#)).unwrap()
}

fn named(id: &str) -> CreateSession {
    CreateSession { id: Some(id.into()), ..CreateSession::default() }
}

// the only thread of a runtime is not blocked by the end of a session
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
            tokio::spawn(async move { while let Some(reply) = asked.recv().await { tokio::time::sleep(Duration::from_millis(100)).await; let _ = reply.send(()); } });
            let (begun, has_begun) = tokio::sync::oneshot::channel();
            let begun = Mutex::new(Some(begun));
            app.on(EVENT).run(move |_: &SessionEvent| {
                let (reply, answer) = tokio::sync::oneshot::channel();
                if let Some(begun) = begun.lock().unwrap().take() { let _ = begun.send(()); }
                let _ = ask.blocking_send(reply);
                let _ = answer.blocking_recv();
            }).unwrap();
            let appender = session.clone();
            std::thread::spawn(move || { let _ = appender.append(note("x")); });
            has_begun.await.unwrap();
            effect.dispose().await;
            let _ = tell.send(());
        });
    });
    assert!(told.recv_timeout(Duration::from_secs(14)).is_ok(), "the runtime's thread waits for the turn, and its holder for the runtime");
}

// observers that end each other's sessions
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn observers_of_two_sessions_that_end_each_other_on_two_threads_do_not_deadlock() {
    let app = App::new().unwrap();
    let store = SessionStore::new();
    let (a, b) = (store.prepare(named("a")).unwrap(), store.prepare(named("b")).unwrap());
    let effects: [Effect; 2] = [store.enter(&app, &a).unwrap(), store.enter(&app, &b).unwrap()];
    let meet = Arc::new(Barrier::new(2));
    app.on(EVENT).run(move |told: &SessionEvent| {
        meet.wait();
        effects[usize::from(told.session.id() == "a")].cancel();
    }).unwrap();
    let (tell, told) = mpsc::channel();
    for session in [a, b] {
        let tell = tell.clone();
        std::thread::spawn(move || { let _ = session.append(note("x")); let _ = tell.send(()); });
    }
    let ended = (0..2).filter(|_| told.recv_timeout(Duration::from_secs(5)).is_ok()).count();
    assert_eq!(ended, 2);
}

// a task spawned by an observer, awaited by nobody, on a single thread
#[tokio::test]
async fn appends_of_tasks_that_observers_spawn_follow_in_order() {
    let app = TestApp::new();
    let session = SessionStore::new().create(&app, named("s")).unwrap();
    app.on(EVENT).run(move |told: &SessionEvent| {
        if told.event.seq() < 500 {
            let session = told.session.clone();
            tokio::spawn(async move { session.append(note("again")).unwrap(); });
        }
    }).unwrap();
    session.append(note("x")).unwrap();
    while session.len() < 501 { tokio::task::yield_now().await; }
    assert!(session.events().iter().enumerate().all(|(n, e)| e.seq() == n as u64));
    app.assert_no_errors();
}

#[tokio::test]
async fn panics_of_validators_observers_and_creation_leave_the_session_usable() {
    let app = TestApp::new();
    let store = SessionStore::new();
    let session = store.create(&app, named("s")).unwrap();
    let v = app.on(APPENDING).run(|_| -> Result<(), cordis::BoxError> { panic!("v") }).unwrap();
    assert!(session.append(note("x")).is_err());
    assert_eq!(session.len(), 0);
    v.dispose().await;
    let o = app.on(EVENT).run(|_| panic!("o")).unwrap();
    session.append(note("x")).unwrap();
    o.dispose().await;
    session.append(note("x")).unwrap();
    assert_eq!(session.len(), 2);
    app.take_errors();
    let c = app.on(CREATED).run(|_| -> Result<(), cordis::BoxError> { panic!("c") }).unwrap();
    assert!(store.create(&app, named("t")).is_err());
    assert!(store.get("t").is_none());
    c.dispose().await;
    store.create(&app, named("t")).unwrap();
}

#[test]
fn a_fork_while_another_thread_appends_is_a_prefix() {
    let rt = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let _in = rt.enter();
    let app = App::new().unwrap();
    let store = SessionStore::new();
    let session = store.create(&app, named("s")).unwrap();
    let s = session.clone();
    let t = std::thread::spawn(move || for n in 0..3000u64 {
        s.append(NewEvent::raw("turn/start", &format!(r#"{{"turn":{}}}"#, n + 1)).unwrap()).unwrap();
        s.append(NewEvent::raw("turn/end", &format!(r#"{{"turn":{},"reason":{{"kind":"completed"}}}}"#, n + 1)).unwrap()).unwrap();
    });
    let mut forks = 0;
    for n in 0..300 {
        if let Ok(child) = store.fork_of(&app, &session, None, Some(format!("c{n}"))) {
            let len = child.first_live_seq() as usize;
            assert_eq!(child.events().first_n(len), session.events().first_n(len));
            forks += 1;
        }
    }
    t.join().unwrap();
    println!("{forks} forks");
    assert!(forks > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_stores_do_not_take_the_same_session_and_one_refused_stays_out() {
    for _ in 0..300 {
        let app = App::new().unwrap();
        let (one, two) = (SessionStore::new(), SessionStore::new());
        let session = Session::new((**Session::detached("s").header()).clone(), None).unwrap();
        let (a, b) = std::thread::scope(|scope| {
            let x = scope.spawn(|| one.enter(&app, &session).is_ok());
            let y = scope.spawn(|| two.enter(&app, &session).is_ok());
            (x.join().unwrap(), y.join().unwrap())
        });
        assert!(a ^ b);
        assert!(one.is_live(&session) ^ two.is_live(&session));
    }
}
