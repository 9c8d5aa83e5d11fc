//! Packed rows: a run of streamed pieces that the writer put on one line.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use serde_json::value::RawValue;

use crate::error::Problem;
use crate::event::{Event, EventData};
use crate::json::{object, reason};
use crate::line::{MAX_SAFE, bad, check_next, check_safe};

/// Which pieces a row holds.
#[derive(Clone, Copy)]
pub(crate) enum RowKind {
    Text,
    Reasoning,
    ToolCall,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row<'a> {
    #[serde(rename = "type")]
    _kind: &'a str,
    seq0: u64,
    time0: i64,
    #[serde(borrow)]
    data: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Texts {
    turn: u64,
    step: u64,
    index: u64,
    dt: Vec<i64>,
    texts: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fragments {
    turn: u64,
    step: u64,
    index: u64,
    id: String,
    name: Option<String>,
    dt: Vec<i64>,
    args: Vec<String>,
}

/// The kind of row that a `type` (as JSON text) names, if it names one.
pub(crate) fn row_kind(kind: &str) -> Option<RowKind> {
    match kind {
        "\"text-chunks\"" => Some(RowKind::Text),
        "\"reasoning-chunks\"" => Some(RowKind::Reasoning),
        "\"tool-call-chunks\"" => Some(RowKind::ToolCall),
        _ => None,
    }
}

/// Unpacks a row into the `assistant/chunk` events that it stands for. Each piece is one event with its own number.
pub(crate) fn parse(kind: RowKind, line: &str, next: u64) -> Result<Vec<Event>, Problem> {
    let row: Row<'_> = serde_json::from_str(line).map_err(|error| bad(reason(&error)))?;
    check_next(row.seq0, next)?;
    match kind {
        RowKind::Text => texts(&row, "text-delta"),
        RowKind::Reasoning => texts(&row, "reasoning-delta"),
        RowKind::ToolCall => fragments(&row),
    }
}

fn texts(row: &Row<'_>, kind: &str) -> Result<Vec<Event>, Problem> {
    let Texts { turn, step, index, dt, texts } = data(row)?;
    check_numbers(turn, step, index)?;
    let chunks = texts.into_iter().map(
        |text| json!({ "turn": turn, "step": step, "chunk": { "type": kind, "index": index, "text": text } }),
    );
    events(row, &dt, chunks)
}

fn fragments(row: &Row<'_>) -> Result<Vec<Event>, Problem> {
    let Fragments { turn, step, index, id, name, dt, args } = data(row)?;
    check_numbers(turn, step, index)?;
    let chunks = args.into_iter().map(|fragment| {
        let mut chunk =
            json!({ "type": "tool-call-delta", "index": index, "id": id, "argumentsDelta": fragment });
        if let Some(name) = &name {
            chunk["name"] = json!(name);
        }
        json!({ "turn": turn, "step": step, "chunk": chunk })
    });
    events(row, &dt, chunks)
}

fn data<T: DeserializeOwned>(row: &Row<'_>) -> Result<T, Problem> {
    object(row.data.get()).map_err(|error| bad(format!("`data` of a packed row: {}", reason(&error))))
}

fn check_numbers(turn: u64, step: u64, index: u64) -> Result<(), Problem> {
    check_safe("turn", Some(turn))
        .and(check_safe("step", Some(step)))
        .and(check_safe("index", Some(index)))
        .map_err(bad)
}

fn events(
    row: &Row<'_>,
    gaps_ms: &[i64],
    chunks: impl ExactSizeIterator<Item = serde_json::Value>,
) -> Result<Vec<Event>, Problem> {
    let count = chunks.len();
    if count == 0 || gaps_ms.len() != count - 1 {
        return Err(bad(format!("a packed row of {count} pieces has {} time gaps", gaps_ms.len())));
    }
    check_safe("seq0", Some(row.seq0 + count as u64)).map_err(bad)?;
    let mut time_ms = row.time0;
    let mut events = Vec::with_capacity(count);
    for (position, chunk) in chunks.enumerate() {
        if position > 0 {
            time_ms = time_ms.saturating_add(gaps_ms[position - 1]);
        }
        if time_ms.unsigned_abs() > MAX_SAFE {
            return Err(bad("a packed row leaves the range of time"));
        }
        let data = serde_json::value::to_raw_value(&chunk).map_err(|error| bad(reason(&error)))?;
        events.push(Event {
            seq: row.seq0 + position as u64,
            time_ms,
            data: EventData::Other { kind: "assistant/chunk".to_owned(), data },
            surface: None,
            source_seqs: None,
            ignorable: false,
        });
    }
    Ok(events)
}
