//! The rows of events: one event, or a run of streamed pieces that share one.
//!
//! `ignorable` tells them apart: 0 is a packed row, none or 1 one event.

use std::borrow::Cow;
use std::sync::Arc;

use dsh_session::{Event, EventParts, Problem, Row, event_from_parts, rows, unpack_row};
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Error};

use crate::data::{MAX_EVENT_BYTES, MAX_PACKED_BYTES, StoredData};
use crate::sources;

/// The columns of a row that is read, in their order.
pub(crate) const COLUMNS: &str = "seq, type, time, data, source_event_seqs, surface_op, ignorable";

/// The most events that share a row, so that a reader knows how far to look back for one.
pub(crate) const MAX_MEMBERS: usize = 1_024;

/// The fewest that do.
const MIN_MEMBERS: usize = 3;

/// A row as it is stored, its columns being of the types that they should be of.
#[derive(Debug)]
pub(crate) struct EventRow {
    pub(crate) seq: u64,
    kind: String,
    time_ms: i64,
    data: StoredData<'static>,
    sources: Option<Vec<u8>>,
    surface_op: Option<String>,
    marker: Marker,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marker {
    Needed,
    Ignorable,
    Packed,
}

/// A row that cannot be read, or cannot even be taken out of the table.
#[derive(Debug)]
pub(crate) struct BadRow {
    pub(crate) problem: Problem,
    pub(crate) ends_a_turn: bool,
}

impl EventRow {
    /// Takes a row out of the table without a look at what it says.
    pub(crate) fn take(row: &rusqlite::Row<'_>) -> Result<Self, BadRow> {
        let columns = || -> Result<Self, Problem> {
            let seq = u64::try_from(integer(row, "seq")?).map_err(|_| bad("`seq` is negative"))?;
            let data = match value(row, "data")? {
                ValueRef::Text(text) => StoredData::Text(Cow::Owned(utf8("data", text)?)),
                ValueRef::Blob(bytes) => StoredData::Frame(bytes.to_vec()),
                other => return Err(unexpected("data", other)),
            };
            let sources = match value(row, "source_event_seqs")? {
                ValueRef::Null => None,
                ValueRef::Blob(bytes) => Some(bytes.to_vec()),
                other => return Err(unexpected("source_event_seqs", other)),
            };
            let surface_op = match value(row, "surface_op")? {
                ValueRef::Null => None,
                ValueRef::Text(text) => Some(utf8("surface_op", text)?),
                other => return Err(unexpected("surface_op", other)),
            };
            let marker = match value(row, "ignorable")? {
                ValueRef::Null => Marker::Needed,
                ValueRef::Integer(0) => Marker::Packed,
                ValueRef::Integer(1) => Marker::Ignorable,
                other => return Err(unexpected("ignorable", other)),
            };
            let (kind, time_ms) = (text(row, "type")?, integer(row, "time")?);
            Ok(Self { seq, kind, time_ms, data, sources, surface_op, marker })
        };
        columns().map_err(|problem| BadRow {
            problem,
            ends_a_turn: text(row, "type").is_ok_and(|kind| kind == "turn/end"),
        })
    }

    pub(crate) fn ends_a_turn(&self) -> bool {
        self.kind == "turn/end"
    }

    /// The events of the row.
    pub(crate) fn events(&self) -> Result<Vec<Arc<Event>>, Problem> {
        if self.marker == Marker::Packed {
            return self.unpack();
        }
        let event = event_from_parts(EventParts {
            kind: &self.kind,
            seq: self.seq,
            time_ms: self.time_ms,
            data: &self.data.text(MAX_EVENT_BYTES)?,
            surface_op: self.surface_op.as_deref(),
            sources: self.sources.as_deref().map(sources::decode).transpose()?,
            ignorable: self.marker == Marker::Ignorable,
        })?;
        Ok(vec![Arc::new(event)])
    }

    fn unpack(&self) -> Result<Vec<Arc<Event>>, Problem> {
        if self.sources.is_some() || self.surface_op.is_some() {
            return Err(bad("a packed row has neither `source_event_seqs` nor `surface_op`"));
        }
        let events = unpack_row(&self.kind, self.seq, self.time_ms, &self.data.text(MAX_PACKED_BYTES)?)?;
        match events.len() {
            MIN_MEMBERS..=MAX_MEMBERS => Ok(events),
            other => {
                Err(bad(&format!("a packed row has {MIN_MEMBERS} to {MAX_MEMBERS} members, not {other}")))
            }
        }
    }
}

/// Adds events as rows.
pub(crate) fn insert(
    connection: &Connection,
    id: &str,
    events: &[Arc<Event>],
    pack: bool,
) -> Result<(), Error> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO events (session_id, seq, type, time, data, source_event_seqs, surface_op, ignorable) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    encode(events, pack, &mut |row| {
        let (seq, data) = (row.seq.cast_signed(), StoredData::of(row.data));
        insert.execute((id, seq, row.kind, row.time_ms, data, row.sources, row.surface_op, row.ignorable))?;
        Ok(())
    })
}

/// A row that is about to be written.
struct NewRow<'e> {
    seq: u64,
    kind: &'e str,
    time_ms: i64,
    data: Cow<'e, str>,
    sources: Option<Vec<u8>>,
    surface_op: Option<String>,
    ignorable: Option<i64>,
}

fn encode<'e>(
    events: &'e [Arc<Event>],
    pack: bool,
    write: &mut impl FnMut(NewRow<'e>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut rest = events;
    for row in rows(events, pack) {
        let run = match row {
            Row::Event(event) => {
                rest = &rest[1..];
                write(single(event)?)?;
                continue;
            }
            Row::Run(run) => run,
        };
        let (members, after) = rest.split_at(run.events().len());
        rest = after;
        if members.len() > MAX_MEMBERS {
            members.chunks(MAX_MEMBERS).try_for_each(|part| encode(part, pack, write))?;
            continue;
        }
        let data = run.data();
        if data.len() > MAX_PACKED_BYTES {
            members.chunks(members.len().div_ceil(2)).try_for_each(|half| encode(half, pack, write))?;
            continue;
        }
        let (seq, time_ms) = members.first().map_or((0, 0), |first| (first.seq(), first.time_ms()));
        let (data, ignorable) = (Cow::Owned(data), Some(0));
        write(NewRow { seq, kind: run.kind(), time_ms, data, sources: None, surface_op: None, ignorable })?;
    }
    Ok(())
}

fn single(event: &Event) -> Result<NewRow<'_>, Error> {
    let refused =
        |reason: String| Error::ToSqlConversionFailure(format!("seq {}: {reason}", event.seq()).into());
    let length = event.data().get().len();
    if length > MAX_EVENT_BYTES {
        return Err(refused(format!("the data is {length} bytes long, more than {MAX_EVENT_BYTES}")));
    }
    let sources = event
        .sources()
        .map(|list| sources::encode(list).ok_or_else(|| refused("a source is beyond 2^53 - 1".to_owned())))
        .transpose()?;
    let surface_op = event
        .surface()
        .map(|op| serde_json::to_string(&op).map_err(|error| refused(error.to_string())))
        .transpose()?;
    Ok(NewRow {
        seq: event.seq(),
        kind: event.kind(),
        time_ms: event.time_ms(),
        data: Cow::Borrowed(event.data().get()),
        sources,
        surface_op,
        ignorable: event.is_ignorable().then_some(1),
    })
}

impl ToSql for StoredData<'_> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>, Error> {
        Ok(match self {
            Self::Text(text) => ToSqlOutput::Borrowed(ValueRef::Text(text.as_bytes())),
            Self::Frame(frame) => ToSqlOutput::Borrowed(ValueRef::Blob(frame)),
        })
    }
}

fn value<'r>(row: &'r rusqlite::Row<'_>, name: &str) -> Result<ValueRef<'r>, Problem> {
    row.get_ref(name).map_err(|error| bad(&format!("`{name}`: {error}")))
}

fn integer(row: &rusqlite::Row<'_>, name: &str) -> Result<i64, Problem> {
    match value(row, name)? {
        ValueRef::Integer(number) => Ok(number),
        other => Err(unexpected(name, other)),
    }
}

fn text(row: &rusqlite::Row<'_>, name: &str) -> Result<String, Problem> {
    match value(row, name)? {
        ValueRef::Text(text) => utf8(name, text),
        other => Err(unexpected(name, other)),
    }
}

fn utf8(name: &str, bytes: &[u8]) -> Result<String, Problem> {
    String::from_utf8(bytes.to_vec()).map_err(|_| bad(&format!("`{name}` is not valid UTF-8")))
}

fn unexpected(name: &str, found: ValueRef<'_>) -> Problem {
    match found {
        ValueRef::Integer(number) => bad(&format!("`{name}` cannot be {number}")),
        other => bad(&format!("`{name}` cannot be a value of type {}", other.data_type())),
    }
}

fn bad(reason: &str) -> Problem {
    Problem::BadRow { reason: reason.to_owned() }
}
