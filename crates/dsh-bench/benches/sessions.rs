//! Sessions: appending, deriving the conversation, opening a long log, and durable appends.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "a benchmark that cannot be set up has nothing to report"
)]

use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;

use cordis_bench::host::{app_on, current_thread};
use cordis_bench::measure::{alone, pair, repeat, settings};
use criterion::{Criterion, criterion_group, criterion_main};
use dsh_bench::logs::{long_session, observed, piece, said};
use dsh_session::{EVENT, NewEvent, SessionEvent, SessionStore, Storage, rows};
use dsh_session_jsonl::{Compression, Config, JsonlStorage};

criterion_group! { name = benches; config = settings(); targets = append, derive, open, durable }
criterion_main!(benches);

/// One event is made and appended to a session of a store; one observer looks at it.
fn append(c: &mut Criterion) {
    let runtime = current_thread();
    let app = app_on(&runtime);
    let store = SessionStore::new();
    let seen = Arc::new(AtomicU64::new(0));
    let count = seen.clone();
    app.on(EVENT)
        .run(move |told: &SessionEvent| {
            count.fetch_add(told.event.seq(), Relaxed);
        })
        .unwrap();
    let mut session = observed(&app, &store);
    alone(
        c,
        "session-append",
        repeat(|| {
            if session.len() == 100_000 {
                session = observed(&app, &store);
            }
            black_box(session.append(piece()).unwrap());
        }),
    );
}

/// A message is appended to a conversation of 10,000 and the conversation is derived again, while the one before is still
/// held.
fn derive(c: &mut Criterion) {
    let runtime = current_thread();
    let app = app_on(&runtime);
    let store = SessionStore::new();
    let make = || {
        let session = observed(&app, &store);
        for number in 0..10_000 {
            session.append(NewEvent::user(said(number)).unwrap()).unwrap();
        }
        session
    };
    let mut session = make();
    let message = said(0);
    let mut held = session.messages();
    alone(c, "session-derive/10000", |times| {
        let mut took = Duration::ZERO;
        for _ in 0..times {
            if session.len() == 12_000 {
                session = make();
            }
            let start = ThreadTime::now();
            session.append(NewEvent::user(message.clone()).unwrap()).unwrap();
            held = black_box(session.messages());
            took += start.elapsed();
        }
        took
    });
    drop(held);
}

/// A stored session of 100,000 events is read, in each of the forms that a log has.
fn open(c: &mut Criterion) {
    let (header, events) = long_session(100_000);
    for (name, compression, pack) in [
        ("session-open/plain", Compression::None, false),
        ("session-open/packed", Compression::None, true),
        ("session-open/zstd", Compression::Zstd, true),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Config::new(folder.path());
        config.compression = compression;
        config.pack_chunks = pack;
        let storage = JsonlStorage::open(config).unwrap();
        let (first, rest) = events.split_at(500);
        let mut writer = storage.create(&header, first).unwrap();
        for batch in rest.chunks(500) {
            writer.append(batch).unwrap();
        }
        drop(writer);
        alone(c, name, repeat(|| drop(black_box(storage.read("bulk").unwrap().unwrap()))));
    }
}

/// A batch of ten streamed pieces is made durable; by hand it is one write of the same bytes and one `fdatasync`.
fn durable(c: &mut Criterion) {
    let (header, events) = long_session(50_000);
    let folder = tempfile::tempdir().unwrap();
    let mut config = Config::new(folder.path());
    config.compression = Compression::None;
    config.pack_chunks = false;
    let storage = JsonlStorage::open(config).unwrap();
    let mut writer = storage.create(&header, &events[..10]).unwrap();
    let mut next = 10;
    let mut by_hand = File::create(folder.path().join("by-hand")).unwrap();
    let text = |from: usize| {
        let mut text = String::new();
        rows(&events[from..from + 10], false).for_each(|row| row.write_line(&mut text));
        text
    };
    pair(
        c,
        "session-durable-append",
        8,
        |times| {
            let start = Instant::now();
            for _ in 0..times {
                writer.append(&events[next..next + 10]).unwrap();
                next += 10;
            }
            start.elapsed()
        },
        |times| {
            let mut took = Duration::ZERO;
            for _ in 0..times {
                let bytes = text(10);
                let start = Instant::now();
                by_hand.write_all(bytes.as_bytes()).unwrap();
                by_hand.sync_data().unwrap();
                took += start.elapsed();
            }
            took
        },
    );
}
