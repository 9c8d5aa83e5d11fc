//! `dsh session`: what is stored is looked at, and never changed by that.

#![cfg(feature = "sqlite")]

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use dsh_session::{SessionLog, Storage};
use dsh_session_jsonl::{Compression, JsonlStorage};
use dsh_session_sqlite::SqliteStore;
use serde_json::{Value, json};

use crate::fixture::{Fixture, Log, Ran};

/// How a store keeps its sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    Zstd,
    Database,
}

pub(crate) const KINDS: [Kind; 3] = [Kind::Plain, Kind::Zstd, Kind::Database];

/// A store with sessions in it.
pub(crate) struct Store {
    pub(crate) fixture: Fixture,
    kind: Kind,
}

impl Store {
    pub(crate) fn new(kind: Kind) -> Self {
        let store = Self { fixture: Fixture::new(), kind };
        if kind == Kind::Database {
            // Made by the first session; private as the store wants it.
            drop(store.storage());
        } else {
            fs::create_dir(store.path()).unwrap();
        }
        store
    }

    /// A store of one whole session.
    pub(crate) fn with(kind: Kind, id: &str) -> Self {
        let store = Self::new(kind);
        store.add(id, &whole());
        store
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.fixture.path(if self.kind == Kind::Database { "sessions.db" } else { "store" })
    }

    fn storage(&self) -> Box<dyn Storage> {
        let path = self.path();
        let jsonl = |compression| {
            let mut config = dsh_session_jsonl::Config::new(&path);
            config.compression = compression;
            Box::new(JsonlStorage::open(config).unwrap())
        };
        match self.kind {
            Kind::Plain => jsonl(Compression::None),
            Kind::Zstd => jsonl(Compression::Zstd),
            Kind::Database => {
                Box::new(SqliteStore::new(&dsh_session_sqlite::Config::new(path.to_str().unwrap())).unwrap())
            }
        }
    }

    pub(crate) fn add(&self, id: &str, log: &Log) {
        let SessionLog { mut header, events, .. } = SessionLog::parse(log.text().as_bytes()).unwrap();
        header.id = id.to_owned();
        let events: Vec<_> = events.iter().collect();
        drop(self.storage().create(&header, &events).unwrap());
    }

    /// The file of a session.
    pub(crate) fn log(&self, id: &str) -> PathBuf {
        let name = if self.kind == Kind::Plain { "session.jsonl" } else { "session.jsonl.zstd" };
        self.path().join("--home-user-project--").join(id).join(name)
    }

    /// Takes bytes away from the end of a log.
    pub(crate) fn cut(&self, id: &str, bytes: usize) {
        let mut log = fs::read(self.log(id)).unwrap();
        log.truncate(log.len() - bytes);
        fs::write(self.log(id), log).unwrap();
    }

    /// Damages a log before its end: in its text, or in the frame that holds its events.
    pub(crate) fn damage(&self, id: &str) {
        let mut log = fs::read(self.log(id)).unwrap();
        let at = match self.kind {
            Kind::Plain => log.iter().position(|byte| *byte == b'\n').unwrap() + 1,
            _ => log.len() - 6,
        };
        log[at] ^= 0x55;
        fs::write(self.log(id), log).unwrap();
    }

    /// `dsh session --store STORE ARGUMENTS`
    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        let path = self.path().display().to_string();
        self.fixture.run(&[&["session", "--store", &path], arguments].concat())
    }

    /// The same, and every line of its output as JSON.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str], code: i32) -> Vec<Value> {
        let ran = self.run(arguments);
        assert_eq!(ran.code, Some(code), "{}{}", ran.stdout, ran.stderr);
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// A turn with one call; the events 0 to 3.
pub(crate) fn whole() -> Log {
    ended(Log::new().bash("ls").result("a file\n"))
}

/// Ends the turn.
pub(crate) fn ended(log: Log) -> Log {
    log.event("turn/end", json!({ "turn": 1, "reason": { "kind": "completed" } }), json!({}))
}

#[track_caller]
pub(crate) fn assert_refused(ran: &Ran, says: &[&str]) {
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
    for says in says {
        assert!(ran.stderr.contains(says), "`{says}` is missing: {}", ran.stderr);
    }
}

#[test]
fn every_command_has_examples_and_exit_codes_in_its_help() {
    for command in ["ls", "show", "export", "check", "fork", "import"] {
        let help = Fixture::new().run(&["session", command, "--help"]);
        assert_eq!(help.code, Some(0));
        assert!(help.stdout.contains(&format!("Examples:\n  dsh session {command}")), "{}", help.stdout);
        assert!(help.stdout.contains("Exit codes:\n    0  "), "{}", help.stdout);
        assert!(help.stdout.contains("\n  130  Ctrl-C"), "{}", help.stdout);
    }
}

#[test]
fn sessions_are_listed_newest_first_whatever_keeps_them() {
    for kind in KINDS {
        let store = Store::with(kind, "one");
        store.add("two", &Log::new());
        let ran = store.run(&["ls"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{kind:?}");
        let names: Vec<&str> = ran.stdout.lines().map(|line| line.split(' ').next().unwrap()).collect();
        assert_eq!(names[..3], ["SESSION", "one", "two"], "{kind:?}");
    }
}

#[test]
fn a_session_is_found_by_the_beginning_of_its_id() {
    for kind in KINDS {
        let store = Store::with(kind, "morning-1");
        store.add("evening", &whole());
        let shown = store.run(&["show", "mor"]);
        assert_eq!(shown.code, Some(0), "{}", shown.stderr);
        assert!(shown.stdout.starts_with("morning-1\n"), "{}", shown.stdout);
        for command in ["export", "fork"] {
            assert_eq!(store.run(&[command, "even"]).code, Some(0), "{command}");
        }
        for number in 2..9 {
            store.add(&format!("morning-{number}"), &whole());
        }
        let ambiguous = store.run(&["show", "mor"]);
        assert_refused(
            &ambiguous,
            &["`mor` may be `morning-1`, ", "`morning-5` and 3 more: give more of the id"],
        );
        assert!(!ambiguous.stderr.contains("morning-6"));
        // A whole id is meant, whatever begins with it.
        store.add("morning", &whole());
        assert_eq!(store.run(&["show", "morning"]).code, Some(0));
        assert_refused(
            &store.run(&["show", "noon"]),
            &["there is no session `noon` in ", "`dsh session ls`"],
        );
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let store = Store::new(Kind::Plain);
    let mut log = Log::new();
    for _ in 0..2_000 {
        log = log.bash("ls").result(&"a file\n".repeat(10));
    }
    store.add("long", &ended(log));
    store.add("damaged", &whole());
    store.damage("damaged");
    let path = store.path().display().to_string();
    for (arguments, code) in [
        (&["show", "long"][..], 0),
        (&["export", "long"], 0),
        (&["ls"], 0),
        // Nobody reads what a check says, and its exit code says it all the same.
        (&["check"], 1),
    ] {
        let mut command = store.fixture.command();
        command.args(["session", "--store", &path]).args(arguments).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), stderr.as_str()), (Some(code), ""), "{arguments:?}");
    }
}

#[test]
fn no_text_speaks_of_a_command_that_there_is_not() {
    for kind in [Kind::Plain, Kind::Zstd] {
        let store = Store::new(kind);
        store.add("open", &Log::new().bash("ls"));
        store.add("cut", &Log::new().bash("ls"));
        store.cut("cut", 3);
        for arguments in
            [&["check"][..], &["show", "open"], &["show", "cut"], &["fork", "open", "--as", "open"]]
        {
            let ran = store.run(arguments);
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert!(!said.contains("resume"), "{arguments:?}: {said}");
        }
    }
}
