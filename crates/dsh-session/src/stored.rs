//! From the columns of a table to checked events, for stores that keep an event's fields apart.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::error::Problem;
use crate::event::Event;
use crate::header::SessionHeader;
use crate::json::reason;
use crate::line::{self, RawEvent};
use crate::lossless::on_one_line;
use crate::packed;
use crate::text::JsonText;

/// The fields of an event, as they were stored.
#[derive(Clone, Debug)]
pub struct EventParts<'a> {
    /// The type.
    pub kind: &'a str,
    /// The place in the log.
    pub seq: u64,
    /// The wall clock at append, in milliseconds since the epoch.
    pub time_ms: i64,
    /// The data as JSON text.
    pub data: &'a str,
    /// The mark as JSON text, if there is one.
    pub surface_op: Option<&'a str>,
    /// The events that this one was made from, if that was recorded.
    pub sources: Option<Vec<u64>>,
    /// Whether a reader may skip it.
    pub ignorable: bool,
}

/// Checks an event as far as it can be looked at alone, as the reader of files does.
///
/// # Errors
/// What is wrong with it.
pub fn event_from_parts(parts: EventParts<'_>) -> Result<Event, Problem> {
    let data = json(parts.data)?;
    line::event(RawEvent {
        kind: parts.kind,
        seq: parts.seq,
        time: parts.time_ms,
        data: JsonText::own(on_one_line(data.get()).as_ref()),
        surface_op: parts.surface_op.map(json).transpose()?,
        source_event_seqs: parts.sources,
        ignorable: parts.ignorable.then_some(true),
    })
}

/// The events that a packed row stands for, the first of which has the number `seq0`.
///
/// # Errors
/// What is wrong with it; `kind` may be no packed row's.
pub fn unpack_row(kind: &str, seq0: u64, time0: i64, data: &str) -> Result<Vec<Arc<Event>>, Problem> {
    let row = packed::row_kind(kind)
        .ok_or_else(|| Problem::BadRow { reason: format!("`{kind}` is no type of a packed row") })?;
    let run = packed::run(row, seq0, time0, data)?;
    Ok((0..run.len()).filter_map(|at| run.get(at)).collect())
}

impl SessionHeader {
    /// The header, if every field of it can be.
    ///
    /// # Errors
    /// The field and what is wrong with it.
    pub fn checked(self) -> Result<Self, Problem> {
        match self.check() {
            Ok(()) => Ok(self),
            Err(reason) => Err(Problem::BadHeader { reason }),
        }
    }
}

impl Problem {
    /// Whether a write that was cut can explain it: the log up to there is sound then, if no turn ends after it.
    #[must_use]
    pub fn may_be_a_cut(&self) -> bool {
        !self.is_unsupported() && !self.is_misplaced()
    }
}

fn json(text: &str) -> Result<&RawValue, Problem> {
    serde_json::from_str(text).map_err(|error| Problem::NotJson { reason: reason(&error) })
}
