//! Attacks on sessions and their lists of events.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

mod support;

use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use cordis::App;
use dsh_session::{CreateSession, EVENT, Events, NewEvent, Session, SessionEvent, SessionLog, SessionStore};
use proptest::prelude::*;

fn note(text: &str) -> NewEvent {
    NewEvent::raw("x/note", &format!(r#"{{"text":"{text}"}}"#)).unwrap()
}

fn named(id: &str) -> CreateSession {
    CreateSession { id: Some(id.into()), ..CreateSession::default() }
}

// ABBA
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
    let ended = (0..2).filter(|_| told.recv_timeout(Duration::from_secs(5)).is_ok()).count();
    assert_eq!(ended, 2, "both threads wait for ever");
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

fn line_of(session: &Arc<Session>) -> String {
    let mut text = session.header().to_line().unwrap();
    text.push('\n');
    for event in &session.events() {
        text.push_str(&event.to_line());
        text.push('\n');
    }
    text
}

/// What is taken into the log can be read back from its lines.
fn reads_back(new: Result<NewEvent, dsh_session::NotLossless>, what: &str, bad: &mut Vec<String>) {
    let Ok(new) = new else { println!("{what}: refused when made"); return };
    let session = Session::detached("s");
    if let Err(error) = session.append(new) {
        println!("{what}: refused: {error}");
        return;
    }
    let text = line_of(&session);
    let log = SessionLog::parse(text.as_bytes());
    match log {
        Ok(log) => {
            if log.torn.is_some() || log.events != session.events() {
                bad.push(format!("{what}: torn {:?}", log.torn));
            }
        }
        Err(error) => bad.push(format!("{what}: appended, and cannot be read: {error}")),
    }
}

#[test]
fn what_can_be_appended_can_be_read_back() {
    let mut bad = Vec::new();
    let kinds = ["turn/start", "assistant/chunk", "todo/write", "user/message", "request/header", "session/end-seed", "tool/call"];
    for depth in [100, 125, 126, 127, 128, 129, 200, 1000, 100_000] {
        let data = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let data = format!(r#"{{"x":{data}}}"#);
        reads_back(NewEvent::raw("turn/start", &data), &format!("depth {depth}"), &mut bad);
        reads_back(NewEvent::raw("assistant/chunk", &data), &format!("chunk depth {depth}"), &mut bad);
    }
    for data in [
        "{\"a\":\n1}", "{\"a\":\r1}", "\u{feff}{}", r#"{"a":"\ud800"}"#, r#"{"\udfff":1}"#, r#"{"a":1,"a":2}"#, "null", "1", "\"x\"",
        r#"{"a":1e400}"#, r#"{"a":-0}"#, r#"{"a":-0.0}"#, r#"{"a":1E5}"#, r#"{"a":9007199254740993}"#, r#"{"a":1e21}"#,
        "{\"a\":\"\u{2028}\u{2029}\u{85}\"}", " {} ", "{\"a\":\"\u{7f}\\u0000\"}", "[]", "",
    ] {
        for kind in kinds {
            reads_back(NewEvent::raw(kind, data), &format!("{kind} {data:?}"), &mut bad);
        }
    }
    for kind in ["turn/end", "", " ", "a\nb", "x\"y", "\u{0}", "session", "assistant/chunks", "\u{2028}"] {
        reads_back(NewEvent::raw(kind, "{}"), &format!("kind {kind:?}"), &mut bad);
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

/// Rows of a log: single events and packed runs, with borders where chunks of the list are.
fn log_of(parts: &[(bool, usize, i64)]) -> (String, u64) {
    let mut text = String::from("{\"type\":\"session\",\"version\":0,\"id\":\"s-1\",\"createdAt\":1,\"cwd\":\"/w\",\"delegationDepth\":0}\n");
    let mut seq = 0u64;
    for (run, len, dt) in parts {
        if *run {
            let len = (*len).max(1);
            let dts: Vec<_> = (1..len).map(|_| dt.to_string()).collect();
            let texts: Vec<_> = (0..len).map(|n| format!("\"é{}\"", n + seq as usize)).collect();
            text.push_str(&format!(
                "{{\"type\":\"text-chunks\",\"seq0\":{seq},\"time0\":{},\"data\":{{\"turn\":1,\"step\":1,\"index\":0,\"dt\":[{}],\"texts\":[{}]}}}}\n",
                1000, dts.join(","), texts.join(",")
            ));
            seq += len as u64;
        } else {
            for _ in 0..*len {
                text.push_str(&format!("{{\"type\":\"x/note\",\"seq\":{seq},\"time\":{dt},\"data\":{{\"n\":{seq}}},\"ignorable\":true}}\n"));
                seq += 1;
            }
        }
    }
    (text, seq)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn a_list_of_events_and_runs_is_as_a_plain_list(
        parts in prop::collection::vec((any::<bool>(), 0usize..140, -3_000_000_000i64..3_000_000_000), 0..12),
        start in 0usize..400, cut in 0usize..400, steps in prop::collection::vec(any::<bool>(), 0..300),
    ) {
        let (text, total) = log_of(&parts);
        let log = match SessionLog::parse(text.as_bytes()) { Ok(log) => log, Err(error) => panic!("{error:?}\n{}", &text[..300.min(text.len())]) };
        prop_assert_eq!(&log.torn, &None);
        let whole = log.events;
        prop_assert_eq!(whole.len() as u64, total);
        let plain: Vec<_> = (0..whole.len()).map(|n| whole.get(n).unwrap()).collect();
        for (n, event) in plain.iter().enumerate() { prop_assert_eq!(event.seq(), n as u64); }
        prop_assert!(whole == plain);
        prop_assert_eq!(whole.iter().rev().collect::<Vec<_>>(), plain.iter().rev().cloned().collect::<Vec<_>>());
        prop_assert_eq!(whole.from(start).collect::<Vec<_>>(), plain.iter().skip(start).cloned().collect::<Vec<_>>());
        let part: Events = whole.from(start).collect();
        let first = part.first_n(cut);
        let want: Vec<_> = plain.iter().skip(start).take(cut).cloned().collect();
        prop_assert!(first == want);
        prop_assert_eq!(first.first(), want.first().cloned());
        prop_assert_eq!(first.last(), want.last().cloned());
        let cutted = whole.first_n(cut);
        let w2: Vec<_> = plain.iter().take(cut).cloned().collect();
        prop_assert!(cutted == w2);
        prop_assert!(cutted.get(cut).is_none());
        let (mut one, mut two) = (whole.from(start), plain[start.min(plain.len())..].iter().cloned());
        for back in steps {
            let (x, y) = if back { (one.next_back(), two.next_back()) } else { (one.next(), two.next()) };
            prop_assert_eq!(x, y);
            prop_assert_eq!(one.len(), two.len());
        }
    }
}

#[test]
fn a_clock_that_goes_back_leaves_a_log_that_packs_and_reads() {
    let (text, _) = log_of(&[(true, 5, -1000), (false, 3, -5), (true, 200, 1)]);
    let log = SessionLog::parse(text.as_bytes()).unwrap();
    let mut again = text.lines().next().unwrap().to_owned() + "\n";
    for row in dsh_session::rows(&log.events.to_vec(), true) {
        row.write_line(&mut again);
    }
    let log2 = SessionLog::parse(again.as_bytes()).unwrap();
    assert_eq!(log.events, log2.events);
}

// detach x append x dispose, across threads
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn appends_race_with_the_end_of_the_session_and_nobody_hangs_or_is_told_after_it() {
    for _ in 0..200 {
        let app = App::new().unwrap();
        let store = Arc::new(SessionStore::new());
        let session = store.prepare(named("a")).unwrap();
        let effect = store.enter(&app, &session).unwrap();
        let gone = Arc::new(std::sync::atomic::AtomicBool::new(false));
        let (g, late) = (gone.clone(), Arc::new(std::sync::atomic::AtomicUsize::new(0)));
        let l = late.clone();
        app.on(dsh_session::DISPOSED).global().run(move |_| g.store(true, std::sync::atomic::Ordering::SeqCst)).unwrap();
        let g = gone.clone();
        app.on(EVENT).global().run(move |_: &SessionEvent| {
            if g.load(std::sync::atomic::Ordering::SeqCst) { l.fetch_add(1, std::sync::atomic::Ordering::SeqCst); }
        }).unwrap();
        let s = session.clone();
        let t = std::thread::spawn(move || for _ in 0..200 { s.append(note("x")).unwrap(); });
        let e2 = effect.clone();
        let t2 = std::thread::spawn(move || e2.cancel());
        let left = effect.dispose().await;
        assert!(left.is_clean(), "{left}");
        t.join().unwrap();
        t2.join().unwrap();
        assert_eq!(session.len(), 200);
        assert_eq!(late.load(std::sync::atomic::Ordering::SeqCst), 0, "told of an event after the end");
        assert!(store.get("a").is_none());
    }
}
