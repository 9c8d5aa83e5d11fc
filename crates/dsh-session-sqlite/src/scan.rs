//! Reading the rows of a session: its events in order, and where they stop being sound.

use std::sync::Arc;

use dsh_session::{Event, Problem, StorageError, Surface};
use rusqlite::{Connection, Error};

use crate::event_row::{BadRow, COLUMNS, EventRow, MAX_MEMBERS};
use crate::header_row::failed;

/// What the rows of a session gave.
#[derive(Debug)]
pub(crate) struct Scan {
    pub(crate) events: Vec<Arc<Event>>,
    pub(crate) torn: Option<Torn>,
}

/// The end of a log that is not sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Torn {
    /// How many rows before it are sound.
    pub(crate) sound_rows: usize,
    /// How many are not part of the log any more.
    pub(crate) rows: usize,
    /// The number that the first of them should have.
    pub(crate) seq: u64,
    /// What is wrong with that one.
    pub(crate) problem: Problem,
}

type TakenRow = Result<EventRow, BadRow>;

impl Torn {
    /// For people.
    pub(crate) fn describe(&self) -> String {
        let Self { rows, seq, problem, .. } = self;
        format!("{rows} rows from seq {seq} on are no part of the log: {problem}")
    }
}

/// Takes the rows of a session out of their table, all or from the one on that holds `from`.
pub(crate) fn take(connection: &Connection, id: &str, from: u64) -> Result<Vec<TakenRow>, StorageError> {
    take_rows(connection, id, from).map_err(|error| failed(id, error))
}

fn take_rows(connection: &Connection, id: &str, from: u64) -> Result<Vec<TakenRow>, Error> {
    let start = if from == 0 { 0 } else { first_row(connection, id, from)? };
    // A whole log is compared with no number: a row whose number is none, or is negative, must be seen too.
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM events WHERE session_id = ?1 AND {} ORDER BY seq",
        if from == 0 { "?2 = 0" } else { "seq >= ?2" }
    ))?;
    let mut rows = select.query((id, start))?;
    let mut taken = Vec::new();
    while let Some(row) = rows.next()? {
        taken.push(EventRow::take(row));
    }
    Ok(taken)
}

/// The number of the row that `from` may be in: its own, or that of a packed row before it, which is never further away
/// than its members are many.
fn first_row(connection: &Connection, id: &str, from: u64) -> Result<i64, Error> {
    let from = i64::try_from(from).unwrap_or(i64::MAX);
    let mut select = connection.prepare_cached(
        "SELECT coalesce((SELECT iif(seq = ?2 OR ignorable = 0, seq, NULL) FROM events \
         WHERE session_id = ?1 AND seq <= ?2 AND seq >= ?3 ORDER BY seq DESC LIMIT 1), ?2)",
    )?;
    select.query_row((id, from, from.saturating_sub(MAX_MEMBERS as i64 - 1)), |row| row.get(0))
}

/// Reads a whole log.
///
/// # Errors
/// A row is wrong and a turn ends in it or after it; or it can be read and is not allowed where it stands, or is of a type that
/// this build does not know.
pub(crate) fn whole(id: &str, rows: &[TakenRow]) -> Result<Scan, StorageError> {
    let mut surface = Surface::default();
    let place_all = |events: &[Arc<Event>], from: usize| {
        for event in &events[from..] {
            let earlier = |seq: u64| events.get(usize::try_from(seq).ok()?).cloned();
            let plan = surface
                .plan(event, earlier)
                .map_err(|source| Problem::Misplaced { reason: source.to_string() })?;
            surface.commit(event.seq(), plan);
        }
        Ok(())
    };
    read(id, rows, 0, place_all)
}

/// Reads the end of a log, from the event `from` on. What it replaces is not looked at: that may be before it.
///
/// # Errors
/// As [`whole`], but for what stands where it is not allowed.
pub(crate) fn suffix(id: &str, rows: &[TakenRow], from: u64) -> Result<Scan, StorageError> {
    let start = match rows.first() {
        Some(Ok(row)) => row.seq.min(from),
        Some(Err(_)) | None => from,
    };
    let mut scan = read(id, rows, start, |_, _| Ok(()))?;
    scan.events.retain(|event| event.seq() >= from);
    Ok(scan)
}

fn read(
    id: &str,
    rows: &[TakenRow],
    start: u64,
    mut place_all: impl FnMut(&[Arc<Event>], usize) -> Result<(), Problem>,
) -> Result<Scan, StorageError> {
    let mut events: Vec<Arc<Event>> = Vec::new();
    for (index, row) in rows.iter().enumerate() {
        let (before, next) = (events.len(), start + events.len() as u64);
        let admitted = admit(row, next).and_then(|more| {
            events.extend(more);
            place_all(&events, before)
        });
        let Err(problem) = admitted else { continue };
        events.truncate(before);
        let rest = &rows[index..];
        if !problem.may_be_a_cut() || rest.iter().any(ends_a_turn) {
            return Err(StorageError::of_problem(id, &format!("the row of seq {next}"), &problem));
        }
        let torn = Torn { sound_rows: index, rows: rest.len(), seq: next, problem };
        return Ok(Scan { events, torn: Some(torn) });
    }
    Ok(Scan { events, torn: None })
}

/// The events of a row, the first of which must have the number `next`.
fn admit(row: &TakenRow, next: u64) -> Result<Vec<Arc<Event>>, Problem> {
    let row = row.as_ref().map_err(|bad| bad.problem.clone())?;
    match row.seq == next {
        true => row.events(),
        false => Err(Problem::SeqGap { expected: next, found: Some(row.seq) }),
    }
}

fn ends_a_turn(row: &TakenRow) -> bool {
    match row {
        Ok(row) => row.ends_a_turn(),
        Err(bad) => bad.ends_a_turn,
    }
}

/// The number after the last event, by the last row alone; none if that row cannot be read.
pub(crate) fn next_seq(connection: &Connection, id: &str) -> Result<Option<u64>, Error> {
    let mut select = connection.prepare_cached(&format!(
        "SELECT {COLUMNS} FROM events WHERE session_id = ?1 ORDER BY seq DESC LIMIT 1"
    ))?;
    let mut rows = select.query([id])?;
    let Some(row) = rows.next()? else { return Ok(Some(0)) };
    let events = EventRow::take(row).ok().and_then(|row| row.events().ok());
    Ok(events.and_then(|events| events.last().map(|last| last.seq() + 1)))
}

/// Takes away all rows but the first `sound_rows`.
pub(crate) fn cut(connection: &Connection, id: &str, sound_rows: usize) -> Result<(), Error> {
    let mut delete = connection.prepare_cached(
        "DELETE FROM events WHERE rowid IN \
         (SELECT rowid FROM events WHERE session_id = ?1 ORDER BY seq LIMIT -1 OFFSET ?2)",
    )?;
    delete.execute((id, i64::try_from(sound_rows).unwrap_or(i64::MAX)))?;
    Ok(())
}
