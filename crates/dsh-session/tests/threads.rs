//! Appends of several threads, and of tasks that move between them.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::sync::{Arc, Barrier, Mutex};

use cordis::App;
use dsh_session::{APPENDING, CreateSession, EVENT, Session, SessionStore, derive_messages};
use support::{Said, user};

const EACH: usize = 1000;

/// Two threads append at once; gives what each was told of its own events.
fn race(session: &Arc<Session>) -> Vec<Vec<u64>> {
    let start = Barrier::new(2);
    std::thread::scope(|scope| {
        let append = |name: &'static str| {
            let start = &start;
            move || {
                start.wait();
                let mine = |at| session.append(user(&format!("{name}{at}"))).unwrap().seq();
                (0..EACH).map(mine).collect::<Vec<_>>()
            }
        };
        let threads = [scope.spawn(append("a")), scope.spawn(append("b"))];
        threads.map(|thread| thread.join().unwrap()).to_vec()
    })
}

fn check(session: &Arc<Session>, told: &[Vec<u64>]) {
    let numbers: Vec<_> = session.events().iter().map(|event| event.seq()).collect();
    assert_eq!(numbers, (0..2 * EACH as u64).collect::<Vec<_>>());
    let mut all = told.concat();
    assert!(told.iter().all(|mine| mine.is_sorted()));
    all.sort_unstable();
    assert_eq!(all, numbers, "no number was given twice");
    let events: Vec<_> = session.events().iter().collect();
    assert_eq!(
        derive_messages(&events.iter().cloned().collect()).unwrap(),
        session.messages().iter().cloned().collect::<Vec<_>>()
    );
}

// spec: session/S19
#[test]
fn two_threads_that_append_at_once_get_contiguous_numbers() {
    let session = Session::detached("s");
    let told = race(&session);
    check(&session, &told);
}

// spec: session/S19, S31
#[tokio::test]
async fn observers_and_validators_see_the_events_of_two_threads_one_at_a_time_and_in_order() {
    let app = App::new().unwrap();
    let session = SessionStore::new().create(&app, CreateSession::default()).unwrap();
    let seen: Arc<Mutex<Vec<(&str, u64)>>> = Arc::default();
    let to = seen.clone();
    app.on(APPENDING)
        .run(move |it| {
            assert_eq!(it.session.len(), it.event.seq());
            to.lock().unwrap().push(("asked", it.event.seq()));
            // The other thread has its chance.
            std::thread::yield_now();
            Ok(())
        })
        .unwrap();
    let to = seen.clone();
    app.on(EVENT)
        .run(move |it| {
            // The next one of the other thread is not in the log before all have heard of this one.
            assert_eq!(it.session.len(), it.event.seq() + 1);
            to.lock().unwrap().push(("told", it.event.seq()));
        })
        .unwrap();
    let told = race(&session);
    check(&session, &told);
    let expected: Vec<_> = (0..2 * EACH as u64).flat_map(|seq| [("asked", seq), ("told", seq)]).collect();
    assert_eq!(*seen.lock().unwrap(), expected);
}

// spec: session/S35
#[test]
fn a_reader_on_another_thread_sees_whole_logs_that_only_grow() {
    let session = Session::detached("s");
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| race(&session));
        let mut length = 0;
        while !writer.is_finished() {
            let (events, messages) = (session.events(), session.messages());
            assert!(events.len() >= length && messages.len() >= events.len());
            length = events.len();
            assert_eq!(events.last().map(|event| event.seq() + 1).unwrap_or_default(), length as u64);
        }
    });
    assert_eq!(session.len(), 2 * EACH as u64);
}

// spec: session/S53
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_that_enter_one_id_at_once_one_is_live() {
    let app = App::new().unwrap();
    let store = Arc::new(SessionStore::new());
    let said = Said::default();
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let (ctx, store, said) = (app.root(), store.clone(), said.clone());
            tokio::spawn(async move {
                let named = CreateSession { id: Some("a".to_owned()), ..CreateSession::default() };
                if store.create(&ctx, named).is_ok() {
                    said.say("live");
                }
                store.create(&ctx, CreateSession::default()).unwrap().id().to_owned()
            })
        })
        .collect();
    let mut names = Vec::new();
    for task in tasks {
        names.push(task.await.unwrap());
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!((said.take().len(), names.len(), store.list().len()), (1, 16, 17));
}

// spec: design/P3
#[test]
fn observers_of_two_sessions_that_append_to_each_others_do_not_wait_for_each_other_for_ever() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let _inside = runtime.enter();
    let app = cordis::App::new().unwrap();
    let store = SessionStore::new();
    let make = |id: &str| {
        store.create(&app, CreateSession { id: Some(id.into()), ..CreateSession::default() }).unwrap()
    };
    let (one, two) = (make("one"), make("two"));
    let pair = (one.clone(), two.clone());
    app.on(EVENT)
        .run(move |told: &dsh_session::SessionEvent| {
            let other = if told.session.id() == "one" { &pair.1 } else { &pair.0 };
            std::thread::yield_now();
            // Refused, or done: but not waited for.
            let _ = other.append(support::event(&dsh_session::StepStart { turn: 1, step: 1 }));
        })
        .unwrap();
    let append = |session: Arc<Session>| {
        std::thread::spawn(move || {
            for _ in 0..2_000 {
                let _ = session.append(support::event(&dsh_session::TurnStart { turn: 1 }));
            }
        })
    };
    let threads = [append(one.clone()), append(two.clone())];
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    for session in [one, two] {
        let events = session.events();
        assert!(
            events.len() >= 2_000 && events.iter().enumerate().all(|(at, event)| event.seq() == at as u64)
        );
    }
}
