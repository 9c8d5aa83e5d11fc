//! The tables, and the check that a database has these and nothing else.

use dsh_session::StorageError;
use rusqlite::{Connection, Error};
use uuid::Uuid;

use crate::place::refused;

/// The version of the tables, kept in `user_version`.
const VERSION: i64 = 17;

/// Marks a database as ours: `DSHP` in ASCII.
const APPLICATION_ID: i64 = 0x4453_4850;

const PERSISTENCE_STATE: &str = "\
CREATE TABLE persistence_state (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  store_id TEXT NOT NULL
) STRICT";

const SESSIONS: &str = "\
CREATE TABLE sessions (
  id TEXT NOT NULL PRIMARY KEY,
  version INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  cwd TEXT,
  parent_session TEXT,
  seed_length INTEGER,
  origin TEXT,
  delegation_depth INTEGER,
  agent_preset TEXT,
  incarnation TEXT NOT NULL,
  revision INTEGER NOT NULL
) STRICT";

const EVENTS: &str = "\
CREATE TABLE events (
  session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
  seq INTEGER NOT NULL,
  type TEXT NOT NULL,
  time INTEGER NOT NULL,
  data ANY NOT NULL,
  source_event_seqs BLOB,
  surface_op TEXT,
  ignorable INTEGER CHECK (ignorable IN (0, 1)),
  PRIMARY KEY (session_id, seq)
) STRICT";

/// What `sqlite_schema` holds, sorted: type, name, table and text.
const OBJECTS: [(&str, &str, &str, Option<&str>); 5] = [
    ("index", "sqlite_autoindex_events_1", "events", None),
    ("index", "sqlite_autoindex_sessions_1", "sessions", None),
    ("table", "events", "events", Some(EVENTS)),
    ("table", "persistence_state", "persistence_state", Some(PERSISTENCE_STATE)),
    ("table", "sessions", "sessions", Some(SESSIONS)),
];

type Object = (String, String, String, Option<String>);

/// Whose a database is, if it is nobody else's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nobody's yet: nothing is in it.
    Pristine,
    /// Ours, with exactly our tables.
    Ours,
}

/// Looks at whose a database is; changes nothing.
///
/// # Errors
/// It is another program's, of another version, or has other tables than ours.
pub(crate) fn look(connection: &Connection, name: &str) -> Result<State, StorageError> {
    let failed = |source: Error| StorageError::Place {
        what: format!("session database {name}: its tables cannot be read"),
        source: Some(source.into()),
    };
    let number =
        |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0)).map_err(failed);
    let (application, version) = (number("application_id")?, number("user_version")?);
    let objects = objects(connection).map_err(failed)?;
    let problem = match (application, version) {
        (0, 0) if objects.is_empty() => return Ok(State::Pristine),
        (0, 0) => "it has tables and no version: it is another program's, choose another `path`".to_owned(),
        (APPLICATION_ID, VERSION) => match difference(&objects) {
            None => return Ok(State::Ours),
            Some(object) => format!(
                "{object} is not as version {VERSION} has it: restore the database, or choose another `path`"
            ),
        },
        (APPLICATION_ID, newer) if newer > VERSION => {
            format!("it has version {newer}, newer than {VERSION}: upgrade to use it")
        }
        (APPLICATION_ID, older) => {
            format!(
                "it has version {older}, older than {VERSION}, and cannot be upgraded: choose another `path`"
            )
        }
        (other, _) => format!("it is another program's (application id {other:#x}): choose another `path`"),
    };
    Err(refused(format!("session database {name}: {problem}")))
}

/// Makes the tables of a pristine database.
pub(crate) fn make(connection: &Connection) -> Result<(), Error> {
    for table in [PERSISTENCE_STATE, SESSIONS, EVENTS] {
        connection.execute(table, ())?;
    }
    let store_id = Uuid::new_v4().to_string();
    connection.execute("INSERT INTO persistence_state (singleton, store_id) VALUES (1, ?1)", [store_id])?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    connection.pragma_update(None, "user_version", VERSION)
}

/// What tells this database's revisions from those of another.
pub(crate) fn store_id(connection: &Connection, name: &str) -> Result<String, StorageError> {
    let failed = |source: Error| StorageError::Place {
        what: format!("session database {name}: `persistence_state` has no store id"),
        source: Some(source.into()),
    };
    let id: String = connection
        .query_row("SELECT store_id FROM persistence_state WHERE singleton = 1", (), |row| row.get(0))
        .map_err(failed)?;
    match Uuid::try_parse(&id) {
        Ok(_) => Ok(id),
        Err(_) => Err(refused(format!("session database {name}: its store id is no UUID"))),
    }
}

fn objects(connection: &Connection) -> Result<Vec<Object>, Error> {
    let mut select = connection
        .prepare_cached("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name")?;
    let rows = select.query_map((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    rows.collect()
}

/// The first object that is missing, too many, or not as it should be.
fn difference(found: &[Object]) -> Option<String> {
    let same = |(kind, name, table, text): &Object, ours: &(&str, &str, &str, Option<&str>)| {
        (kind.as_str(), name.as_str(), table.as_str(), text.as_deref()) == *ours
    };
    let known = |object: &Object| OBJECTS.iter().any(|ours| same(object, ours));
    if let Some((kind, name, ..)) = found.iter().find(|object| !known(object)) {
        return Some(format!("the {kind} `{name}`"));
    }
    let missing = OBJECTS.iter().find(|ours| !found.iter().any(|object| same(object, ours)));
    missing.map(|(kind, name, ..)| format!("the {kind} `{name}`"))
}
