//! A writer that is killed at any moment has stored all that it was told is stored.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test ends by panicking")]

#[path = "store/fixture.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod fixture;

use std::env;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use dsh_session::{SessionHeader, Storage as _, StorageError};
use dsh_session_sqlite::{Config, JournalMode, SqliteStore};
use fixture::{Folder, chunk, events, line};

const PATH: &str = "CRASH_PATH";
const JOURNAL: &str = "CRASH_JOURNAL";

/// How many events a child has to write; more than it lives for.
const EVENTS: usize = 6_000;

fn lines(count: usize) -> Vec<String> {
    (0..count)
        .map(|seq| match seq % 10 {
            0 => line("goal/change", seq, &format!("[\"{}\"]", "long ".repeat(seq % 3_000))),
            _ => chunk(seq, &format!("piece {seq}")),
        })
        .collect()
}

fn store(path: String, journal_mode: JournalMode) -> SqliteStore {
    SqliteStore::new(&Config { journal_mode, ..Config::new(path) }).unwrap()
}

#[test]
#[ignore = "the child of the other test: it needs a database and is killed"]
fn a_child_writes_until_it_is_killed() {
    let (path, journal) = (env::var(PATH).expect("the path of a database"), env::var(JOURNAL).unwrap());
    let store = store(path, serde_json::from_str(&journal).unwrap());
    let all = events(&lines(EVENTS));
    let (mut writer, mut next) = match store.open("s").unwrap() {
        Some(mut opened) => {
            opened.writer.repair(&[]).unwrap();
            (opened.writer, opened.stored.events.len())
        }
        None => (store.create(&SessionHeader::new("s", 1), &[]).unwrap(), 0),
    };
    tell(next);
    while next < EVENTS {
        let batch = &all[next..(next + 1 + next * 7 % 13).min(EVENTS)];
        writer.append(batch).unwrap();
        next += batch.len();
        tell(next);
    }
}

/// In one write, which a death cannot cut.
fn tell(stored: usize) {
    std::io::stderr().write_all(format!("ack {stored}\n").as_bytes()).unwrap();
}

/// When a child is killed.
enum Death {
    /// While it starts, or opens the database.
    AfterStart(Duration),
    /// While it writes.
    AfterFirstBatch(Duration),
}

/// Lets a child write for a while, kills it, and gives how many events it was told are stored.
fn round(path: &str, journal: JournalMode, death: &Death) -> usize {
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "a_child_writes_until_it_is_killed"])
        .env(PATH, path)
        .env(JOURNAL, serde_json::to_string(&journal).unwrap())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap());
    let (first, begun) = std::sync::mpsc::channel();
    let reader = thread::spawn(move || {
        let mut told = None;
        for line in lines.lines() {
            let line = line.unwrap();
            match line.strip_prefix("ack ").and_then(|number| number.parse().ok()) {
                Some(number) => {
                    told = Some(number);
                    let _ = first.send(());
                }
                None => panic!("the child failed: {line}"),
            }
        }
        told
    });
    match death {
        Death::AfterStart(wait) => thread::sleep(*wait),
        Death::AfterFirstBatch(wait) => {
            begun.recv_timeout(Duration::from_secs(60)).expect("a child that writes");
            thread::sleep(*wait);
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    reader.join().unwrap().unwrap_or(0)
}

// spec: session/S106, session/S104, design/P8
#[test]
fn a_killed_writer_loses_no_event_that_it_was_told_is_stored() {
    let rounds = env::var("CRASH_ROUNDS").map_or(40, |rounds| rounds.parse().expect("a number"));
    let journals = [JournalMode::Wal, JournalMode::Delete, JournalMode::Truncate, JournalMode::Persist];
    let mut folder = Folder::new();
    let mut all = Vec::new();
    let (mut state, mut grown, mut before) = (std::process::id() as u64, 0, 0);
    for number in 0..rounds {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        if number % 10 == 0 {
            (folder, before) = (Folder::new(), 0);
        }
        let journal = journals[number / 10 % journals.len()];
        let wait = Duration::from_micros((state >> 33) % 90_000);
        let death = if number % 5 == 4 { Death::AfterStart(wait * 4) } else { Death::AfterFirstBatch(wait) };
        let told = round(&folder.path(), journal, &death);
        let store = store(folder.path(), journal);
        let found = match store.open("s") {
            Ok(found) => found.map(|opened| opened.stored),
            Err(StorageError::Busy { holder, .. }) => panic!("the claim of {holder} outlives it"),
            Err(error) => panic!("{error}"),
        };
        let stored = found.as_ref().map_or(&[][..], |found| &found.events);
        assert!(stored.len() >= told.max(before), "{} of {told} events", stored.len());
        if all.len() < stored.len() {
            all = events(&lines(stored.len() + 500));
        }
        assert_eq!(stored, &all[..stored.len()]);
        assert!(found.as_ref().is_none_or(|found| found.torn.is_none()));
        grown += usize::from(stored.len() > before);
        before = stored.len();
    }
    assert!(grown * 2 > rounds, "only {grown} of {rounds} children lived long enough to write");
}
