//! The row of a session: its header, and what tells its revisions apart.

use dsh_session::{FORMAT_VERSION, Origin, Problem, SessionHeader, StorageError};
use rusqlite::{Connection, Error, OptionalExtension as _, Row};
use uuid::Uuid;

const COLUMNS: &str = "id, version, created_at, cwd, parent_session, seed_length, origin, delegation_depth, agent_preset, \
                       incarnation, revision";

/// Which state of which session a row shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// Made anew with every session, also one of an id that was used before.
    pub(crate) incarnation: String,
    /// Counts the writes.
    pub(crate) revision: i64,
}

/// A session's row.
#[derive(Clone, Debug)]
pub(crate) struct HeaderRow {
    pub(crate) header: SessionHeader,
    pub(crate) state: State,
}

impl State {
    /// As a text that no other store and no other state has.
    pub(crate) fn name(&self, store_id: &str) -> String {
        format!("sqlite:{store_id}:{}:{}", self.incarnation, self.revision)
    }
}

/// Whether there is a session of that id.
pub(crate) fn exists(connection: &Connection, id: &str) -> Result<bool, Error> {
    let mut select = connection.prepare_cached("SELECT 1 FROM sessions WHERE id = ?1")?;
    select.exists([id])
}

/// The state of a session, whatever its header is.
pub(crate) fn state(connection: &Connection, id: &str) -> Result<Option<State>, Error> {
    let mut select = connection.prepare_cached("SELECT incarnation, revision FROM sessions WHERE id = ?1")?;
    select.query_row([id], |row| Ok(State { incarnation: row.get(0)?, revision: row.get(1)? })).optional()
}

/// A session's row, if there is one.
pub(crate) fn read(connection: &Connection, id: &str) -> Result<Option<HeaderRow>, StorageError> {
    let failed = |error| failed(id, error);
    let mut select = connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM sessions WHERE id = ?1"))
        .map_err(failed)?;
    let mut rows = select.query([id]).map_err(failed)?;
    rows.next().map_err(failed)?.map(|row| decode(row, id)).transpose()
}

/// All that can be read, and what is wrong with each of the others.
pub(crate) fn all(connection: &Connection) -> Result<(Vec<HeaderRow>, Vec<StorageError>), StorageError> {
    let failed = |error: Error| StorageError::io("list the sessions of the database", error);
    let mut select = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM sessions")).map_err(failed)?;
    let mut rows = select.query(()).map_err(failed)?;
    let (mut sound, mut others) = (Vec::new(), Vec::new());
    while let Some(row) = rows.next().map_err(failed)? {
        let id = row.get::<_, String>(0).unwrap_or_default();
        match decode(row, &id) {
            Ok(found) => sound.push(found),
            Err(error) => others.push(error),
        }
    }
    Ok((sound, others))
}

/// Adds a session's row.
pub(crate) fn insert(connection: &Connection, header: &SessionHeader, state: &State) -> Result<(), Error> {
    let mut insert = connection.prepare_cached(&format!(
        "INSERT INTO sessions ({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
    ))?;
    let origin = header.origin.map(|origin| match origin {
        Origin::Subagent => "subagent",
    });
    insert.execute((
        &header.id,
        FORMAT_VERSION,
        header.created_at_ms.cast_signed(),
        &header.cwd,
        &header.parent_session,
        header.seed_length.map(u64::cast_signed),
        origin,
        header.delegation_depth.cast_signed(),
        &header.agent_preset,
        &state.incarnation,
        state.revision,
    ))?;
    Ok(())
}

/// Counts one more write. Gives whether the session was in the state `from`.
pub(crate) fn advance(connection: &Connection, id: &str, from: &State, to: i64) -> Result<bool, Error> {
    let mut update = connection.prepare_cached(
        "UPDATE sessions SET revision = ?4 WHERE id = ?1 AND incarnation = ?2 AND revision = ?3",
    )?;
    Ok(update.execute((id, &from.incarnation, from.revision, to))? == 1)
}

fn decode(row: &Row<'_>, id: &str) -> Result<HeaderRow, StorageError> {
    let wrong = |problem: &Problem| StorageError::of_problem(id, "its row in `sessions`", problem);
    let column = |error: Error| wrong(&bad(error.to_string()));
    // A foreign version is refused before anything else is looked at.
    let found: i64 = row.get("version").map_err(column)?;
    if found != FORMAT_VERSION {
        return Err(wrong(&Problem::UnsupportedVersion { found, supported: FORMAT_VERSION }));
    }
    let number = |name: &str| -> Result<Option<u64>, StorageError> {
        let number = row.get::<_, Option<i64>>(name).map_err(column)?;
        let whole = number.map(u64::try_from).transpose();
        whole.map_err(|_| wrong(&bad(format!("`{name}` must not be negative"))))
    };
    let text = |name: &str| row.get::<_, Option<String>>(name).map_err(column);
    let origin = match text("origin")?.as_deref() {
        None => None,
        Some("subagent") => Some(Origin::Subagent),
        Some(other) => return Err(wrong(&bad(format!("`origin` must be `subagent`, not `{other}`")))),
    };
    let header = SessionHeader {
        id: row.get("id").map_err(column)?,
        created_at_ms: number("created_at")?.unwrap_or_default(),
        cwd: text("cwd")?,
        parent_session: text("parent_session")?,
        seed_length: number("seed_length")?,
        origin,
        delegation_depth: number("delegation_depth")?.unwrap_or_default(),
        agent_preset: text("agent_preset")?,
    };
    let header = header.checked().map_err(|problem| wrong(&problem))?;
    let state = State {
        incarnation: row.get("incarnation").map_err(column)?,
        revision: row.get("revision").map_err(column)?,
    };
    match Uuid::try_parse(&state.incarnation) {
        Ok(_) if state.revision > 0 => Ok(HeaderRow { header, state }),
        Ok(_) => Err(wrong(&bad("`revision` must be positive"))),
        Err(_) => Err(wrong(&bad("`incarnation` is no UUID"))),
    }
}

fn bad(reason: impl Into<String>) -> Problem {
    Problem::BadHeader { reason: reason.into() }
}

/// The error for a session whose rows cannot be read or written.
pub(crate) fn failed(id: &str, error: Error) -> StorageError {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};

    match error.sqlite_error_code() {
        Some(DatabaseCorrupt | NotADatabase) => {
            StorageError::Corrupt { id: id.to_owned(), what: format!("the database: {error}") }
        }
        _ => StorageError::io(format!("read or write the rows of session `{id}`"), error),
    }
}
