//! One line after the header: an event, or a packed row of events.

use std::ops::Range;
use std::sync::Arc;

use dsh_llm::open::present;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::Problem;
use crate::event::{Event, kind_of};
use crate::events::Events;
use crate::json::{MAX_SAFE, check_safe, object, reason, whole as whole_number};
use crate::packed;
use crate::run::Run;
use crate::seed;
use crate::surface::{ReplaceObject, Surface, SurfaceOp, is_surface_type};
use crate::text::JsonText;
use crate::vocabulary::is_known;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'a> {
    #[serde(borrow, rename = "type")]
    kind: std::borrow::Cow<'a, str>,
    #[serde(borrow)]
    seq: Option<&'a RawValue>,
    #[serde(borrow)]
    time: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    data: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "surfaceOp", deserialize_with = "present")]
    surface_op: Option<&'a RawValue>,
    #[serde(default, rename = "sourceEventSeqs", deserialize_with = "present")]
    source_event_seqs: Option<Vec<u64>>,
    #[serde(default, deserialize_with = "present")]
    ignorable: Option<bool>,
}

/// What a line holds.
pub(crate) enum Parsed {
    Event(Arc<Event>),
    Run(Run),
}

impl Parsed {
    /// How many events it holds.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Event(_) => 1,
            Self::Run(run) => run.len() as u64,
        }
    }

    /// Puts it behind `events` and has the surface follow; where it fails, both stay as they are.
    pub(crate) fn fold_into(self, surface: &mut Surface, events: &mut Events) -> Result<(), Problem> {
        match self {
            Self::Run(run) => {
                surface.pass(run.len() as u64);
                events.push_run(run);
            }
            Self::Event(event) => {
                let earlier = |seq: u64| events.get(usize::try_from(seq).ok()?);
                let plan = surface
                    .plan(&event, earlier)
                    .map_err(|error| Problem::Misplaced { reason: error.to_string() })?;
                surface.commit(event.seq(), plan);
                events.push(event);
            }
        }
        Ok(())
    }
}

/// Reads one line of a log: a part of `whole`. Its first event must have the number `next`.
pub(crate) fn parse(whole: &Arc<str>, range: Range<usize>, next: u64) -> Result<Parsed, Problem> {
    let line = &whole[range.clone()];
    let envelope = match serde_json::from_str::<Envelope<'_>>(line) {
        Ok(envelope) if packed::row_kind(&envelope.kind).is_none() => envelope,
        Ok(_) => return parse_other(line, next, None),
        Err(error) => return parse_other(line, next, Some(error)),
    };
    let number = |raw: Option<&RawValue>| raw.and_then(|raw| whole_number(raw.get()));
    let seq = number(envelope.seq).and_then(|seq| u64::try_from(seq).ok());
    let seq = seq.filter(|seq| *seq == next).ok_or(Problem::SeqGap { expected: next, found: seq })?;
    let (Some(time), Some(data)) = (number(envelope.time), envelope.data) else {
        return Err(bad("`time` must be a whole number, and `data` must be there"));
    };
    let start = range.start + offset_in(line, data.get());
    let raw = RawEvent {
        kind: &envelope.kind,
        seq,
        time,
        data: JsonText::part(whole, start..start + data.get().len()),
        surface_op: envelope.surface_op,
        source_event_seqs: envelope.source_event_seqs,
        ignorable: envelope.ignorable,
    };
    Ok(Parsed::Event(Arc::new(event(raw)?)))
}

/// A line that is no whole event: a packed row, or something wrong.
fn parse_other(line: &str, next: u64, error: Option<serde_json::Error>) -> Result<Parsed, Problem> {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(borrow, rename = "type")]
        kind: Option<&'a RawValue>,
        #[serde(borrow)]
        seq: Option<&'a RawValue>,
    }
    let Kind { kind, seq } = object(line).map_err(|error| Problem::NotJson { reason: reason(&error) })?;
    let name = kind.and_then(|kind| serde_json::from_str::<String>(kind.get()).ok());
    if let Some(row) = name.as_deref().and_then(packed::row_kind) {
        return packed::parse(row, line, next).map(Parsed::Run);
    }
    let seq = seq.and_then(|seq| whole_number(seq.get())).and_then(|seq| u64::try_from(seq).ok());
    if seq != Some(next) {
        return Err(Problem::SeqGap { expected: next, found: seq });
    }
    Err(bad(error.map_or_else(|| "it is no event".to_owned(), |error| reason(&error))))
}

/// Where a part begins, in bytes; both are slices of one text.
fn offset_in(line: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(line.as_ptr() as usize)
}

/// The fields of an event, wherever they were stored.
pub(crate) struct RawEvent<'a> {
    pub(crate) kind: &'a str,
    pub(crate) seq: u64,
    pub(crate) time: i64,
    pub(crate) data: JsonText,
    pub(crate) surface_op: Option<&'a RawValue>,
    pub(crate) source_event_seqs: Option<Vec<u64>>,
    pub(crate) ignorable: Option<bool>,
}

/// Checks an event as far as it can be looked at alone.
pub(crate) fn event(raw: RawEvent<'_>) -> Result<Event, Problem> {
    let RawEvent { kind, seq, time, data, surface_op, source_event_seqs, ignorable } = raw;
    if kind.is_empty() {
        return Err(bad("`type` must not be empty"));
    }
    check_safe("seq", Some(seq)).map_err(bad)?;
    check_time(time).map_err(bad)?;
    if ignorable == Some(false) {
        return Err(bad("`ignorable` is either absent or true"));
    }
    let wrong_data = |reason| Problem::BadData { kind: kind.to_owned(), reason };
    seed::refuse_legacy(kind, data.get()).map_err(wrong_data)?;
    if !is_known(kind) && ignorable.is_none() {
        return Err(Problem::UnknownEventType { kind: kind.to_owned(), seq });
    }
    let surface = surface_op.map(surface).transpose()?;
    match (is_surface_type(kind), surface) {
        (true, None) => return Err(bad(format!("`{kind}` needs a `surfaceOp`"))),
        (false, Some(_)) => return Err(bad(format!("`{kind}` cannot carry a `surfaceOp`"))),
        (true, Some(_)) | (false, None) => {}
    }
    seed::check_header(kind, data.get()).map_err(wrong_data)?;
    let message = seed::message_of(kind, data.get()).map_err(wrong_data)?;
    Ok(Event {
        seq,
        time_ms: time,
        kind: kind_of(kind),
        data,
        surface,
        sources: source_event_seqs.map(Into::into),
        ignorable: ignorable.is_some(),
        message,
    })
}

pub(crate) fn check_time(time: i64) -> Result<(), String> {
    if time.unsigned_abs() > MAX_SAFE { Err(format!("`time` is {time}, beyond 2^53 - 1")) } else { Ok(()) }
}

/// Reads a mark.
pub(crate) fn surface(op: &RawValue) -> Result<SurfaceOp, Problem> {
    if op.get() == "\"append\"" {
        return Ok(SurfaceOp::Append);
    }
    match object::<ReplaceObject>(op.get()) {
        Ok(ReplaceObject { op, start, end }) if op == "replace" => {
            check_safe("start", Some(start)).and(check_safe("end", Some(end))).map_err(bad)?;
            Ok(SurfaceOp::Replace { start, end })
        }
        _ => Err(bad("`surfaceOp` is either \"append\" or {\"op\": \"replace\", \"start\": n, \"end\": n}")),
    }
}

pub(crate) fn bad(reason: impl Into<String>) -> Problem {
    Problem::BadEvent { reason: reason.into() }
}
