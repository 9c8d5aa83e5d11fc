//! Attacks on live sessions that are kept in files: the whole stack.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]
#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use cordis::{Fiber, Handle, State, testing::TestApp};
use dsh_session::{
    CreateSession, NewEvent, PERSISTENCE, SESSIONS, Session, SessionPersistence, SessionStore, TurnStart,
};
use dsh_session_jsonl::{Compression, Config, Fsync};

fn config(folder: &Path) -> Config {
    let mut config = Config::new(folder);
    config.write_batch_max_delay_ms = 5;
    config
}

async fn started(app: &TestApp, config: Config) -> (Fiber, Handle<SessionStore>) {
    app.plugin(dsh_session::plugin(), ()).unwrap().ready().await.unwrap();
    let fiber = app.plugin(dsh_session_jsonl::plugin(), config).unwrap();
    fiber.ready().await.unwrap();
    assert_eq!(fiber.state(), State::Active, "{:?}", fiber.error());
    (fiber, app.get(SESSIONS).unwrap())
}

fn kept(app: &TestApp) -> Handle<SessionPersistence> {
    app.get(PERSISTENCE).unwrap()
}

fn live(app: &TestApp, store: &Handle<SessionStore>, id: &str) -> Arc<Session> {
    let options = CreateSession { id: Some(id.into()), cwd: Some("/srv/x".into()), ..CreateSession::default() };
    store.get().unwrap().create(app, options).unwrap()
}

fn note(n: u64) -> NewEvent {
    NewEvent::raw("todo/write", &format!(r#"{{"n":{n},"pad":"{}"}}"#, "x".repeat((n % 97) as usize))).unwrap()
}

fn text_of(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn again(name: &str, root: &Path, before: &str) -> Command {
    let me = std::env::current_exe().unwrap();
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", &format!("{before} exec \"$0\" --exact {name} --ignored --nocapture")]);
    command.arg(me).env("ATTACK_ROOT", root).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn root() -> Option<std::path::PathBuf> {
    std::env::var_os("ATTACK_ROOT").map(Into::into)
}

fn passes(mut command: Command) {
    let out = command.output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    println!("{text}");
    assert!(out.status.success(), "{}", text.chars().rev().take(3000).collect::<String>().chars().rev().collect::<String>());
}

async fn flushed_then_resumed(compression: Compression, event: NewEvent) -> Result<u64, String> {
    let home = tempfile::tempdir().unwrap();
    let config = Config { compression, ..config(home.path()) };
    let app = TestApp::new();
    let (_, store) = started(&app, config.clone()).await;
    let session = live(&app, &store, "s");
    session.append(note(0)).unwrap();
    session.append(event).unwrap();
    for n in 2..10 {
        session.append(note(n)).unwrap();
    }
    assert!(store.get().unwrap().flush(&session).await.unwrap());
    app.shutdown().await;
    let app = TestApp::new();
    let _started = started(&app, config).await;
    let prepared = kept(&app).get().unwrap().prepare("s").await.map_err(|error| text_of(&error))?;
    let left = prepared.session().first_live_seq();
    match prepared.torn() {
        None => Ok(left),
        Some(torn) => Err(format!("{left} of 10 are left: {torn}")),
    }
}

#[tokio::test]
async fn events_that_were_flushed_are_resumed_whatever_the_layout_of_their_json() {
    for compression in [Compression::Zstd, Compression::None] {
        let event = NewEvent::raw("todo/write", "{\n  \"todos\": []\n}").unwrap();
        assert_eq!(flushed_then_resumed(compression, event).await, Ok(10), "{compression:?}");
    }
}

#[tokio::test]
async fn an_event_that_was_taken_does_not_make_the_session_unreadable() {
    for event in [NewEvent::raw("request/header", "{}"), NewEvent::raw("", "{}"), NewEvent::raw("x/note", "{}")] {
        let Ok(event) = event else { continue };
        let shown = format!("{event:?}");
        assert_eq!(flushed_then_resumed(Compression::Zstd, event).await, Ok(10), "{shown}");
    }
}

/// Not a test by itself.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by another test"]
async fn child_many() {
    let Some(root) = root() else { return };
    let app = TestApp::new();
    let mut config = config(&root);
    config.fsync = Fsync::Never;
    let (fiber, store) = started(&app, config.clone()).await;
    let start = std::time::Instant::now();
    let sessions: Vec<_> = (0..1000).map(|n| live(&app, &store, &format!("s{n}"))).collect();
    for n in 0..3 {
        for session in &sessions {
            session.append(note(n)).unwrap();
        }
    }
    let mut failed = Vec::new();
    for session in &sessions {
        if let Err(error) = store.get().unwrap().flush(session).await {
            failed.push(text_of(&error));
        }
    }
    println!("flushed in {:?}, {} failed: {:?}", start.elapsed(), failed.len(), failed.first());
    let left = fiber.dispose().await;
    println!("{left} {:?}", start.elapsed());
    let errors = app.take_errors();
    println!("{} errors: {:.400}", errors.len(), format!("{errors:?}"));
    assert!(failed.is_empty(), "{} of 1000 sessions could not be written: {}", failed.len(), failed[0]);
}

#[test]
fn a_thousand_live_sessions_are_written_with_the_usual_limit_of_open_files() {
    let home = tempfile::tempdir().unwrap();
    passes(again("child_many", home.path(), "ulimit -n 1024;"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by another test"]
async fn child_appends() {
    let Some(root) = root() else { return };
    let app = TestApp::new();
    let (_fiber, store) = started(&app, config(&root)).await;
    let say = |line: String| std::io::stderr().write_all(format!("{line}\n").as_bytes()).unwrap();
    let kept = kept(&app);
    let session = match kept.get().unwrap().prepare("s").await {
        Ok(prepared) => {
            let session = prepared.session().clone();
            store.get().unwrap().enter(&app, &session).unwrap();
            session
        }
        Err(error) => {
            assert!(error.to_string().contains("no stored"), "{}", text_of(&error));
            live(&app, &store, "s")
        }
    };
    say("ready".into());
    for n in 0..2000u64 {
        session.append(note(n)).unwrap();
        if n % 3 == 0 {
            session.append(NewEvent::new(&TurnStart { turn: 1 + n }).unwrap()).unwrap();
            session.append(NewEvent::raw("turn/end", &format!(r#"{{"turn":{},"reason":{{"kind":"interrupted"}}}}"#, 1 + n)).unwrap()).unwrap();
        }
        if n % 2 == 0 {
            assert!(store.get().unwrap().flush(&session).await.unwrap());
            say(format!("flushed {}", session.len()));
        } else if n % 5 == 0 {
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_flushed_survives_kills() {
    for compression in [Compression::Zstd] {
        let home = tempfile::tempdir().unwrap();
        let mut before: Vec<String> = Vec::new();
        for round in 0..25u64 {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "child_appends", "--ignored", "--nocapture"])
                .env("ATTACK_ROOT", home.path())
                .stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
            let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
            let mut flushed = 0;
            let mut other = Vec::new();
            let mut see = |line: String| match line.strip_prefix("flushed ") {
                Some(count) => flushed = count.parse().unwrap(),
                None => other.push(line),
            };
            for _ in 0..(3 + round * 7 % 23) { if let Some(Ok(line)) = lines.next() { see(line); } }
            std::thread::sleep(Duration::from_micros(round * 397 % 5000));
            child.kill().unwrap();
            child.wait().unwrap();
            while let Some(Ok(line)) = lines.next() { see(line); }
            let app = TestApp::new();
            let mut config = config(home.path());
            config.compression = compression;
            let (_, _store) = started(&app, config).await;
            let stored = kept(&app).get().unwrap().read_from("s", 0).await;
            let stored = stored.map_err(|error| text_of(&error)).unwrap_or_else(|error| panic!("round {round}: {error} {other:?}"));
            let now: Vec<String> = stored.events.iter().map(|event| event.to_line()).collect();
            assert!(now.len() >= flushed, "round {round}: {} of {flushed}; {other:?}", now.len());
            assert!(now.starts_with(&before), "round {round}: the beginning changed");
            before = now;
            app.shutdown().await;
        }
        println!("{} events", before.len());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by another test"]
async fn child_full() {
    let Some(root) = root() else { return };
    let app = TestApp::new();
    let mut c = config(&root.join("sessions"));
    c.compression = Compression::None;
    let (fiber, store) = started(&app, c.clone()).await;
    let session = live(&app, &store, "s");
    let other = live(&app, &store, "late");
    let mut n = 0;
    let failed = loop {
        session.append(NewEvent::raw("todo/write", &format!(r#"{{"n":{n},"pad":"{}"}}"#, "x".repeat(3000))).unwrap()).unwrap();
        n += 1;
        if let Err(error) = store.get().unwrap().flush(&session).await { break text_of(&error); }
        assert!(n < 10_000);
    };
    println!("after {n}: {failed}");
    other.append(note(0)).unwrap();
    println!("{:?}", store.get().unwrap().flush(&other).await.map_err(|error| text_of(&error)));
    let on_disk = kept(&app).get().unwrap().inspect("s").await.map(|s| s.events.len());
    println!("inspect {on_disk:?}");
    std::fs::remove_file(root.join("ballast")).unwrap();
    assert!(store.get().unwrap().flush(&session).await.map_err(|error| text_of(&error)).unwrap());
    assert!(store.get().unwrap().flush(&other).await.map_err(|error| text_of(&error)).unwrap());
    session.append(note(1)).unwrap();
    let (want, want2) = (session.events(), other.events());
    println!("{}", fiber.dispose().await);
    println!("{:?}", app.take_errors());
    app.shutdown().await;
    let app = TestApp::new();
    let (_, _s) = started(&app, c).await;
    let got = kept(&app).get().unwrap().read_from("s", 0).await.unwrap();
    assert_eq!(got.events.len(), want.len());
    assert_eq!(got.torn, None);
    assert_eq!(kept(&app).get().unwrap().read_from("late", 0).await.unwrap().events, want2);
}

#[test]
fn a_full_disk_loses_nothing_when_there_is_space_again() {
    let home = tempfile::tempdir().unwrap();
    passes(again("child_full", home.path(),
        "mount -t tmpfs -o size=512k none \"$ATTACK_ROOT\" && dd if=/dev/zero of=\"$ATTACK_ROOT/ballast\" bs=1k count=300 2>/dev/null;"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by another test"]
async fn child_read_only() {
    let Some(root) = root() else { return };
    let app = TestApp::new();
    let (fiber, store) = started(&app, config(&root)).await;
    let session = live(&app, &store, "s");
    assert!(Command::new("mount").args(["-o", "remount,ro"]).arg(&root).status().unwrap().success() );
    session.append(note(1)).unwrap();
    let failed = store.get().unwrap().flush(&session).await.map_err(|error| text_of(&error));
    println!("{failed:?}");
    assert!(failed.is_err(), "flushed onto what cannot be written");
    let left = fiber.dispose().await;
    let errors = app.take_errors();
    println!("{left} {errors:?}");
    assert!(!errors.is_empty(), "the loss was not told");
}

#[test]
fn a_place_that_becomes_read_only_is_told() {
    let home = tempfile::tempdir().unwrap();
    passes(again("child_read_only", home.path(), "mount -t tmpfs -o size=512k none \"$ATTACK_ROOT\";"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_root_that_is_removed_while_sessions_live_is_made_again_or_told() {
    for removed in 0..3 {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("r");
        let app = TestApp::new();
        let (fiber, store) = started(&app, config(&root)).await;
        let session = live(&app, &store, "s");
        session.append(note(0)).unwrap();
        store.get().unwrap().flush(&session).await.unwrap();
        match removed {
            0 => std::fs::remove_dir_all(&root).unwrap(),
            1 => std::fs::rename(&root, home.path().join("moved")).unwrap(),
            _ => {
                std::fs::remove_dir_all(&root).unwrap();
                std::fs::write(&root, b"a file").unwrap();
            }
        }
        session.append(note(1)).unwrap();
        let flushed = store.get().unwrap().flush(&session).await.map_err(|error| text_of(&error));
        let read = kept(&app).get().unwrap().read_from("s", 0).await.map(|s| s.events.len()).map_err(|error| text_of(&error));
        let left = fiber.dispose().await;
        println!("{removed}: {flushed:?} {read:?} {left} {:?}", app.take_errors());
        if flushed.is_ok() {
            assert_eq!(read, Ok(2));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn unloading_while_it_writes_and_mounting_again_at_once_loses_nothing() {
    let home = tempfile::tempdir().unwrap();
    let app = TestApp::new();
    let (mut fiber, store) = started(&app, config(home.path())).await;
    let session = live(&app, &store, "s");
    let writer = {
        let session = session.clone();
        std::thread::spawn(move || for n in 0..3000 { session.append(note(n)).unwrap(); if n % 10 == 0 { std::thread::sleep(Duration::from_millis(1)); } })
    };
    for round in 0..20 {
        tokio::time::sleep(Duration::from_millis(7)).await;
        if round % 2 == 0 { fiber.cancel(); }
        assert!(fiber.dispose().await.is_clean());
        let next = app.plugin(dsh_session_jsonl::plugin(), config(home.path())).unwrap();
        next.ready().await.map_err(|error| text_of(&error)).unwrap();
        fiber = next;
    }
    writer.join().unwrap();
    let state = fiber.ready().await.unwrap();
    assert_eq!(state, State::Active);
    println!("{:?}", store.get().unwrap().flush(&session).await.map_err(|error| text_of(&error)));
    let errors = app.take_errors();
    assert!(errors.is_empty(), "{errors:?}");
    let got = kept(&app).get().unwrap().read_from("s", 0).await.map_err(|error| text_of(&error)).unwrap();
    assert_eq!(got.events.len(), 3000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_apps_on_one_root_never_mix_their_events() {
    let home = tempfile::tempdir().unwrap();
    let (one, two) = (TestApp::new(), TestApp::new());
    let (f1, s1) = started(&one, config(home.path())).await;
    let (f2, s2) = started(&two, config(home.path())).await;
    let (a, b) = (live(&one, &s1, "s"), live(&two, &s2, "s"));
    a.append(note(0)).unwrap();
    assert!(s1.get().unwrap().flush(&a).await.unwrap());
    b.append(note(1)).unwrap();
    let refused = s2.get().unwrap().flush(&b).await.map_err(|error| text_of(&error));
    println!("{refused:?}");
    assert!(refused.is_err());
    let resumed = kept(&two).get().unwrap().prepare("s").await.map(|_| ()).map_err(|error| text_of(&error));
    println!("{resumed:?}");
    f2.dispose().await;
    println!("{:?}", two.take_errors());
    f1.dispose().await;
    one.assert_no_errors();
}


#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_went_back_between_two_runs_is_no_damage() {
    for compression in [Compression::Zstd, Compression::None] {
        let home = tempfile::tempdir().unwrap();
        let config = Config { compression, ..config(home.path()) };
        let line = |seq: u64, time: i64| format!("{{\"type\":\"assistant/chunk\",\"seq\":{seq},\"time\":{time},\"data\":{{\"turn\":1,\"step\":1,\"chunk\":{{\"type\":\"text-delta\",\"index\":0,\"text\":\"a\"}}}}}}\n");
        let mut text = String::from("{\"type\":\"session\",\"version\":0,\"id\":\"s\",\"createdAt\":1,\"cwd\":\"/srv/x\",\"delegationDepth\":0}\n");
        for (seq, time) in [5_000, 4_000, -9_000_000_000_000, 9_000_000_000_000, 0, 0, -1].into_iter().enumerate() {
            text += &line(seq as u64, time);
        }
        let log = dsh_session::SessionLog::parse(text.as_bytes()).unwrap();
        assert_eq!(log.torn, None);
        let app = TestApp::new();
        let _started = started(&app, config.clone()).await;
        let kept = kept(&app);
        let kept = kept.get().unwrap();
        kept.create(log.header.clone()).await.unwrap();
        kept.append("s", log.events.to_vec()).await.unwrap();
        let got = kept.read_from("s", 0).await.map_err(|error| text_of(&error)).unwrap();
        assert_eq!(got.events, log.events);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_whose_files_were_moved_away_can_be_read_by_its_live_owner_afterwards() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().join("r");
    let app = TestApp::new();
    let (_fiber, store) = started(&app, config(&root)).await;
    let session = live(&app, &store, "s");
    session.append(note(0)).unwrap();
    store.get().unwrap().flush(&session).await.unwrap();
    std::fs::remove_dir_all(&root).unwrap();
    session.append(note(1)).unwrap();
    let first = store.get().unwrap().flush(&session).await.map_err(|error| text_of(&error));
    session.append(note(2)).unwrap();
    let second = store.get().unwrap().flush(&session).await.map_err(|error| text_of(&error));
    assert!(first.is_err());
    // A live session has all its events: what is gone from the disk can be written again.
    assert_eq!(second, Ok(true), "first {first:?}");
}

#[tokio::test]
async fn a_log_is_not_written_longer_than_it_may_be_read() {
    let home = tempfile::tempdir().unwrap();
    let config = Config { max_log_bytes: 2_000, ..config(home.path()) };
    let app = TestApp::new();
    let (_, store) = started(&app, config.clone()).await;
    let session = live(&app, &store, "s");
    let mut flushed = 0;
    for n in 0..50 {
        session.append(note(n)).unwrap();
        match store.get().unwrap().flush(&session).await {
            Ok(_) => flushed = session.len(),
            Err(_) => break,
        }
    }
    app.shutdown().await;
    let app = TestApp::new();
    let _started = started(&app, config).await;
    let read = kept(&app).get().unwrap().read_from("s", 0).await.map(|stored| stored.events.len() as u64).map_err(|error| text_of(&error));
    assert_eq!(read, Ok(flushed));
}
