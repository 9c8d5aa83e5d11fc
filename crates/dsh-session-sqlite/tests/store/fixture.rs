//! Logs by their lines, stores in folders of their own, and the database behind a store's back.

use std::sync::Arc;

use dsh_session::{Event, SessionHeader, SessionLog, Storage as _, Stored};
use dsh_session_sqlite::{Config, SqliteStore};
use rusqlite::Connection;
use tempfile::TempDir;

pub(crate) const HEADER: &str =
    r#"{"type":"session","version":0,"id":"s","createdAt":7,"cwd":"/w","delegationDepth":0}"#;

/// A database of its own, open to nobody else.
pub(crate) struct Folder {
    folder: TempDir,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self) -> String {
        self.folder.path().join("sessions.db").to_str().unwrap().to_owned()
    }

    pub(crate) fn config(&self) -> Config {
        Config::new(self.path())
    }

    pub(crate) fn store(&self) -> SqliteStore {
        SqliteStore::new(&self.config()).unwrap()
    }

    /// The database without the store.
    pub(crate) fn database(&self) -> Connection {
        Connection::open(self.path()).unwrap()
    }

    /// One statement behind the store's back; gives how many rows it changed.
    pub(crate) fn run(&self, statement: &str) -> usize {
        self.database().execute(statement, ()).unwrap()
    }

    /// The first column of a query's rows, as SQL literals.
    pub(crate) fn column(&self, query: &str) -> Vec<String> {
        let database = self.database();
        let mut select = database.prepare(query).unwrap();
        select.query_map((), |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    }
}

pub(crate) fn header() -> SessionHeader {
    SessionHeader::parse(HEADER).unwrap()
}

/// The log of these lines, after [`HEADER`].
pub(crate) fn log(lines: &[String]) -> SessionLog {
    let text = format!("{HEADER}\n{}", lines.iter().map(|line| format!("{line}\n")).collect::<String>());
    SessionLog::parse(text.as_bytes()).unwrap()
}

pub(crate) fn events(lines: &[String]) -> Vec<Arc<Event>> {
    log(lines).events
}

/// A log of `turns` whole turns with three events each.
pub(crate) fn turns(turns: usize) -> Vec<String> {
    (0..turns)
        .flat_map(|turn| {
            let (seq, number) = (turn * 3, turn + 1);
            [
                line("turn/start", seq, &format!(r#"{{"turn":{number}}}"#)),
                line("goal/change", seq + 1, r#"{"goal":"x"}"#),
                line("turn/end", seq + 2, &format!(r#"{{"turn":{number},"reason":{{"kind":"completed"}}}}"#)),
            ]
        })
        .collect()
}

pub(crate) fn line(kind: &str, seq: usize, data: &str) -> String {
    format!(r#"{{"type":"{kind}","seq":{seq},"time":{},"data":{data}}}"#, 1_000 + seq)
}

pub(crate) fn chunk(seq: usize, text: &str) -> String {
    let data = format!(r#"{{"turn":1,"step":1,"chunk":{{"type":"text-delta","index":0,"text":"{text}"}}}}"#);
    line("assistant/chunk", seq, &data)
}

/// A store with one session of these lines that nobody has claimed.
pub(crate) fn stored(folder: &Folder, lines: &[String]) -> SqliteStore {
    let store = folder.store();
    drop(store.create(&header(), &events(lines)).unwrap());
    store
}

pub(crate) fn read(store: &SqliteStore) -> Stored {
    store.read("s").unwrap().unwrap()
}

pub(crate) fn seqs(stored: &Stored) -> Vec<u64> {
    stored.events.iter().map(|event| event.seq()).collect()
}
