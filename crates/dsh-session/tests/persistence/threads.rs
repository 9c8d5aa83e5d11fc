//! Many at once: what is left, and what must never be mixed or lost.

use std::sync::Arc;

use dsh_session::{CreateError, CreateSession, Seed};

use crate::host::{Host, say, text_of, texts, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_sessions_leave_no_tracks_and_no_effects() {
    let host = Host::new().await;
    let ctx = host.keeper.context();
    let (before, root) = (host.app.effects(&ctx), host.app.effects(&host.app));
    for number in 0..10_000 {
        let (session, effect) = host.live(&format!("s{number}"));
        if number % 2 == 0 {
            say(&session, "a");
        }
        effect.dispose().await;
    }
    let kept = host.kept();
    let kept = kept.get().unwrap();
    until("all are written", || format!("{kept:?}") == "SessionPersistence { tracks: 0, .. }").await;
    assert_eq!(host.disk.claims(), 0);
    assert_eq!(kept.list().await.unwrap().len(), 5_000);
    until("no task is left", || host.app.effects(&ctx) == before).await;
    assert_eq!(host.app.effects(&host.app), root);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn appends_flushes_and_the_end_of_a_session_race_and_nothing_told_is_lost() {
    let host = Arc::new(Host::new().await);
    for round in 0..300 {
        let id = format!("s{round}");
        let (session, effect) = host.live(&id);
        let appending = {
            let session = session.clone();
            std::thread::spawn(move || {
                for number in 0..20 {
                    say(&session, &number.to_string());
                    if number % 5 == 0 {
                        std::thread::yield_now();
                    }
                }
            })
        };
        let flushing = {
            let (host, session) = (host.clone(), session.clone());
            tokio::spawn(async move {
                while let Ok(heard) = host.flush(&session).await {
                    assert!(heard);
                    tokio::task::yield_now().await;
                }
            })
        };
        if round % 3 == 0 {
            tokio::task::yield_now().await;
        }
        // What is told before the session goes is what it has by now, or more.
        let told = session.len() as usize;
        effect.dispose().await;
        appending.join().unwrap();
        flushing.await.unwrap();
        let kept = host.kept();
        let kept = kept.get().unwrap();
        until("it is written", || format!("{kept:?}") == "SessionPersistence { tracks: 0, .. }").await;
        let stored = texts(host.disk.events(&id));
        assert!(stored.len() >= told, "{} of {told}", stored.len());
        assert_eq!(stored, (0..stored.len()).map(|number| number.to_string()).collect::<Vec<_>>());
    }
    host.app.assert_no_errors();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_that_is_used_again_and_again_at_once_keeps_one_log_without_a_gap() {
    let host = Host::new().await;
    let mut events = Vec::new();
    for round in 0..1_000 {
        let options = CreateSession {
            id: Some("s".to_owned()),
            seed: (round > 0).then(|| Seed::new(std::mem::take(&mut events))),
            ..CreateSession::default()
        };
        let (session, effect) = host.live_with(options);
        say(&session, &round.to_string());
        if round % 7 == 0 {
            host.flush(&session).await.unwrap();
        }
        if round % 5 == 0 {
            tokio::task::yield_now().await;
        }
        effect.dispose().await;
        events = session.events().to_vec();
    }
    let kept = host.kept();
    let kept = kept.get().unwrap();
    until("all is written", || format!("{kept:?}") == "SessionPersistence { tracks: 0, .. }").await;
    assert_eq!(host.disk.events("s"), events);
    host.app.assert_no_errors();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn resumes_of_one_id_race_and_each_goes_on_where_the_last_one_ended() {
    let host = Arc::new(Host::new().await);
    let (first, effect) = host.live("s");
    say(&first, "begin");
    effect.dispose().await;
    let resume = |host: &Arc<Host>, name: usize| {
        let host = host.clone();
        tokio::spawn(async move {
            let mut done = 0;
            while done < 40 {
                let kept = host.kept();
                let Ok(prepared) = kept.get().unwrap().prepare("s").await else {
                    tokio::task::yield_now().await;
                    continue;
                };
                if done % 4 == 3 {
                    // Given up.
                    done += 1;
                    continue;
                }
                let store = host.store();
                let entered = store.get().unwrap().enter(&host.app, prepared.session());
                let session = prepared.session().clone();
                drop(prepared);
                let effect = entered.unwrap();
                say(&session, &format!("{name}.{done}"));
                if done % 2 == 0 {
                    host.flush(&session).await.unwrap();
                }
                effect.dispose().await;
                done += 1;
            }
        })
    };
    let (one, two) = (resume(&host, 1), resume(&host, 2));
    one.await.unwrap();
    two.await.unwrap();
    let kept = host.kept();
    let kept = kept.get().unwrap();
    until("all is written", || format!("{kept:?}") == "SessionPersistence { tracks: 0, .. }").await;
    let stored = texts(host.disk.events("s"));
    for name in ["1.", "2."] {
        let of: Vec<_> = stored.iter().filter(|text| text.starts_with(name)).cloned().collect();
        let expected: Vec<_> =
            (0..40).filter(|done| done % 4 != 3).map(|done| format!("{name}{done}")).collect();
        assert_eq!(of, expected);
    }
    host.app.assert_no_errors();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_threads_that_use_one_id_in_turn_are_refused_by_the_store_of_sessions_only() {
    let host = Arc::new(Host::new().await);
    let work = |host: &Arc<Host>| {
        let host = host.clone();
        tokio::spawn(async move {
            let store = host.store();
            let mut entered = 0;
            while entered < 500 {
                let options = CreateSession { id: Some("s".to_owned()), ..CreateSession::default() };
                let store = store.get().unwrap();
                let made = store.prepare(options).and_then(|session| store.enter(&host.app, &session));
                match made {
                    Ok(effect) => {
                        effect.dispose().await;
                        entered += 1;
                    }
                    Err(CreateError::Exists { .. }) => tokio::task::yield_now().await,
                    Err(other) => panic!("{}", text_of(&other)),
                }
            }
        })
    };
    let (one, two) = (work(&host), work(&host));
    one.await.unwrap();
    two.await.unwrap();
    let kept = host.kept();
    let kept = kept.get().unwrap();
    until("no track is left", || format!("{kept:?}") == "SessionPersistence { tracks: 0, .. }").await;
    assert_eq!(host.disk.called(), 0);
    host.app.assert_no_errors();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_is_unloaded_and_mounted_under_a_session_that_goes_on() {
    let mut host = Host::new().await;
    let (session, _effect) = host.live("s");
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let appending = std::thread::spawn({
        let (session, stop) = (session.clone(), stop.clone());
        move || {
            let mut number = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                say(&session, &number.to_string());
                number += 1;
                std::thread::sleep(std::time::Duration::from_micros(50));
            }
        }
    });
    for _ in 0..50 {
        assert!(host.keeper.dispose().await.is_clean());
        host.keep_again().await;
        tokio::task::yield_now().await;
    }
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    appending.join().unwrap();
    host.flush(&session).await.unwrap();
    assert_eq!(host.disk.events("s"), session.events().to_vec());
    host.app.assert_no_errors();
}
