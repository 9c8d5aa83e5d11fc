//! One line after the header: an event, or a packed row of events.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::Problem;
use crate::event::{Event, EventData, SurfaceOp};
use crate::json::{object, present, reason};
use crate::packed;
use crate::tool::{ToolCall, ToolResult};
use crate::vocabulary::{is_known, is_surface};

/// The largest whole number that every reader of the format keeps exact.
pub(crate) const MAX_SAFE: u64 = (1 << 53) - 1;

#[derive(Deserialize)]
struct Kind<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'a> {
    #[serde(rename = "type")]
    kind: String,
    seq: u64,
    time: i64,
    #[serde(borrow)]
    data: &'a RawValue,
    #[serde(borrow, default, rename = "surfaceOp", deserialize_with = "present")]
    surface_op: Option<&'a RawValue>,
    #[serde(default, rename = "sourceEventSeqs", deserialize_with = "present")]
    source_event_seqs: Option<Vec<u64>>,
    #[serde(default, deserialize_with = "present")]
    ignorable: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Replace {
    op: String,
    start: u64,
    end: u64,
}

/// Reads one line and gives its events; `next` is the number that the first of them must have.
pub(crate) fn parse(line: &str, next: u64) -> Result<Vec<Event>, Problem> {
    let kind: Kind<'_> =
        serde_json::from_str(line).map_err(|error| Problem::NotJson { reason: reason(&error) })?;
    if let Some(row) = kind.kind.and_then(|kind| packed::row_kind(kind.get())) {
        return packed::parse(row, line, next);
    }
    let envelope: Envelope<'_> = serde_json::from_str(line).map_err(|error| bad(reason(&error)))?;
    event(envelope, next).map(|event| vec![event])
}

/// The error for a number that some reader of the format would round.
pub(crate) fn check_safe(name: &str, value: Option<u64>) -> Result<(), String> {
    match value {
        Some(value) if value > MAX_SAFE => Err(format!("`{name}` is {value}, more than 2^53 - 1")),
        _ => Ok(()),
    }
}

/// The error for a sequence number that is not the next one.
pub(crate) fn check_next(found: u64, expected: u64) -> Result<(), Problem> {
    if found == expected { Ok(()) } else { Err(Problem::SeqGap { expected, found }) }
}

fn event(envelope: Envelope<'_>, next: u64) -> Result<Event, Problem> {
    let Envelope { kind, seq, time, data, surface_op, source_event_seqs, ignorable } = envelope;
    if kind.is_empty() {
        return Err(bad("`type` must not be empty"));
    }
    check_safe("seq", Some(seq)).map_err(bad)?;
    check_safe("time", Some(time.unsigned_abs())).map_err(bad)?;
    check_next(seq, next)?;
    if ignorable == Some(false) {
        return Err(bad("`ignorable` is either absent or true"));
    }
    if !is_known(&kind) && ignorable.is_none() {
        return Err(Problem::UnknownEventType { kind, seq });
    }
    let surface = surface(&kind, surface_op)?;
    if let Some(seqs) = &source_event_seqs {
        check_sources(&kind, seq, seqs).map_err(bad)?;
    }
    let wrong_data = |reason| Problem::BadData { kind: kind.clone(), reason };
    let data = match kind.as_str() {
        "tool/call" => EventData::ToolCall(ToolCall::parse(data).map_err(wrong_data)?),
        "tool/result" => EventData::ToolResult(ToolResult::parse(data).map_err(wrong_data)?),
        _ => EventData::Other { kind, data: data.to_owned() },
    };
    Ok(Event {
        seq,
        time_ms: time,
        data,
        surface,
        source_seqs: source_event_seqs,
        ignorable: ignorable.is_some(),
    })
}

fn surface(kind: &str, op: Option<&RawValue>) -> Result<Option<SurfaceOp>, Problem> {
    let Some(op) = op else {
        return if is_surface(kind) { Err(bad(format!("`{kind}` needs a `surfaceOp`"))) } else { Ok(None) };
    };
    if !is_surface(kind) {
        return Err(bad(format!("`{kind}` cannot carry a `surfaceOp`")));
    }
    if op.get() == "\"append\"" {
        return Ok(Some(SurfaceOp::Append));
    }
    match object::<Replace>(op.get()) {
        Ok(Replace { op, start, end }) if op == "replace" => {
            check_safe("start", Some(start)).and(check_safe("end", Some(end))).map_err(bad)?;
            Ok(Some(SurfaceOp::Replace { start, end }))
        }
        _ => Err(bad("`surfaceOp` is either \"append\" or {\"op\": \"replace\", \"start\": n, \"end\": n}")),
    }
}

fn check_sources(kind: &str, seq: u64, seqs: &[u64]) -> Result<(), String> {
    if !is_surface(kind) {
        return Err(format!("`{kind}` cannot carry `sourceEventSeqs`"));
    }
    if seqs.is_empty() && kind != "assistant/message" {
        return Err("`sourceEventSeqs` must not be empty".to_owned());
    }
    if let Some(later) = seqs.iter().find(|source| **source >= seq) {
        return Err(format!("`sourceEventSeqs` names {later}, which is not before {seq}"));
    }
    let mut sorted = seqs.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("`sourceEventSeqs` names {} twice", pair[0])),
        None => Ok(()),
    }
}

pub(crate) fn bad(reason: impl Into<String>) -> Problem {
    Problem::BadEvent { reason: reason.into() }
}
