//! Packed rows: a run of streamed pieces on one line.
//!
//! Source: the rows `text-chunks`, `reasoning-chunks` and `tool-call-chunks` of the reference's files.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use crate::error::Problem;
use crate::event::{Event, kind_of};
use crate::json::{check_safe, object, reason};
use crate::line::check_time;
use crate::text::JsonText;

/// The type of the events that a row stands for.
pub(crate) const CHUNK: &str = "assistant/chunk";

/// Which pieces a row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowKind {
    Text,
    Reasoning,
    ToolCall,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row<'a> {
    #[serde(borrow, rename = "type")]
    _kind: Cow<'a, str>,
    seq0: u64,
    time0: i64,
    #[serde(borrow)]
    data: &'a RawValue,
}

/// Numbers are kept as they are written: the reference does not look at them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Texts {
    turn: serde_json::Number,
    step: serde_json::Number,
    index: serde_json::Number,
    dt: Vec<i64>,
    texts: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fragments {
    turn: serde_json::Number,
    step: serde_json::Number,
    index: serde_json::Number,
    id: Box<RawValue>,
    name: Option<Box<RawValue>>,
    dt: Vec<i64>,
    args: Vec<Box<RawValue>>,
}

fn bad(reason: impl Into<String>) -> Problem {
    Problem::BadRow { reason: reason.into() }
}

/// The kind of row that a `type` names, if it names one.
pub(crate) fn row_kind(kind: &str) -> Option<RowKind> {
    match kind {
        "text-chunks" => Some(RowKind::Text),
        "reasoning-chunks" => Some(RowKind::Reasoning),
        "tool-call-chunks" => Some(RowKind::ToolCall),
        _ => None,
    }
}

impl RowKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "text-chunks",
            Self::Reasoning => "reasoning-chunks",
            Self::ToolCall => "tool-call-chunks",
        }
    }
}

/// Unpacks a row into the `assistant/chunk` events that it stands for. Each piece is one event with its own number. A row
/// that is wrong anywhere gives none.
pub(crate) fn parse(
    kind: RowKind,
    line: &str,
    next: u64,
    events: &mut Vec<Arc<Event>>,
) -> Result<(), Problem> {
    let row: Row<'_> = serde_json::from_str(line).map_err(|error| bad(reason(&error)))?;
    if row.seq0 != next {
        return Err(Problem::SeqGap { expected: next, found: Some(row.seq0) });
    }
    unpack(kind, row.seq0, row.time0, row.data.get(), events)
}

/// As `parse`, for a row whose parts are stored apart.
pub(crate) fn unpack(
    kind: RowKind,
    seq0: u64,
    time0: i64,
    data: &str,
    events: &mut Vec<Arc<Event>>,
) -> Result<(), Problem> {
    let (head, gaps_ms, pieces) = match kind {
        RowKind::Text | RowKind::Reasoning => {
            let Texts { turn, step, index, dt, texts } = read(data)?;
            let delta = if kind == RowKind::Text { "text-delta" } else { "reasoning-delta" };
            let head = format!(
                r#"{{"turn":{turn},"step":{step},"chunk":{{"type":"{delta}","index":{index},"text":"#
            );
            (head, dt, texts)
        }
        RowKind::ToolCall => {
            let Fragments { turn, step, index, id, name, dt, args } = read(data)?;
            strings([&id].into_iter().chain(&name))?;
            let name = name.map_or_else(String::new, |name| format!(r#""name":{name},"#));
            let head = format!(
                r#"{{"turn":{turn},"step":{step},"chunk":{{"type":"tool-call-delta","index":{index},"id":{id},{name}"argumentsDelta":"#
            );
            (head, dt, args)
        }
    };
    strings(&pieces)?;
    let count = pieces.len();
    if count == 0 || gaps_ms.len() != count - 1 {
        return Err(bad(format!("a packed row of {count} pieces has {} time gaps", gaps_ms.len())));
    }
    check_safe("seq0", seq0.checked_add(count as u64)).map_err(bad)?;
    let times = times(time0, &gaps_ms)?;
    let kind = kind_of(CHUNK);
    events.reserve(count);
    for (position, (piece, time_ms)) in pieces.iter().zip(times).enumerate() {
        let mut data = String::with_capacity(head.len() + piece.get().len() + 2);
        data.push_str(&head);
        data.push_str(piece.get());
        data.push_str("}}");
        events.push(Arc::new(Event {
            seq: seq0 + position as u64,
            time_ms,
            kind: kind.clone(),
            data: JsonText::own(data),
            surface: None,
            sources: None,
            ignorable: false,
            message: None,
        }));
    }
    Ok(())
}

fn times(time0: i64, gaps_ms: &[i64]) -> Result<Vec<i64>, Problem> {
    let mut time_ms = time0;
    check_time(time_ms).map_err(bad)?;
    let mut times = vec![time_ms];
    for gap in gaps_ms {
        check_safe("dt", Some(gap.unsigned_abs())).map_err(bad)?;
        time_ms = time_ms.saturating_add(*gap);
        check_time(time_ms).map_err(bad)?;
        times.push(time_ms);
    }
    Ok(times)
}

fn strings<'a>(pieces: impl IntoIterator<Item = &'a Box<RawValue>>) -> Result<(), Problem> {
    match pieces.into_iter().all(|piece| piece.get().starts_with('"')) {
        true => Ok(()),
        false => Err(bad("the pieces of a packed row must be texts")),
    }
}

fn read<T: DeserializeOwned>(data: &str) -> Result<T, Problem> {
    object(data).map_err(|error| bad(format!("`data` of a packed row: {}", reason(&error))))
}
