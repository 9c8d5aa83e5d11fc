//! Packed rows: a run of streamed pieces on one line.
//!
//! Source: the rows `text-chunks`, `reasoning-chunks` and `tool-call-chunks` of the reference's files.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::error::Problem;
use crate::json::{check_safe, object, reason};
use crate::line::check_time;
use crate::run::Run;

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
struct Texts<'a> {
    turn: serde_json::Number,
    step: serde_json::Number,
    index: serde_json::Number,
    dt: Vec<i64>,
    #[serde(borrow)]
    texts: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fragments<'a> {
    turn: serde_json::Number,
    step: serde_json::Number,
    index: serde_json::Number,
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    dt: Vec<i64>,
    #[serde(borrow)]
    args: Vec<&'a RawValue>,
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

/// Reads a row. A row that is wrong anywhere gives nothing.
pub(crate) fn parse(kind: RowKind, line: &str, next: u64) -> Result<Run, Problem> {
    let row: Row<'_> = serde_json::from_str(line).map_err(|error| bad(reason(&error)))?;
    if row.seq0 != next {
        return Err(Problem::SeqGap { expected: next, found: Some(row.seq0) });
    }
    run(kind, row.seq0, row.time0, row.data.get())
}

/// As `parse`, for a row whose parts are stored apart.
pub(crate) fn run(kind: RowKind, seq0: u64, time0: i64, data: &str) -> Result<Run, Problem> {
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
            strings([id].into_iter().chain(name))?;
            let name = name.map_or_else(String::new, |name| format!(r#""name":{name},"#));
            let head = format!(
                r#"{{"turn":{turn},"step":{step},"chunk":{{"type":"tool-call-delta","index":{index},"id":{id},{name}"argumentsDelta":"#
            );
            (head, dt, args)
        }
    };
    strings(pieces.iter().copied())?;
    let count = pieces.len();
    if count == 0 || gaps_ms.len() != count - 1 {
        return Err(bad(format!("a packed row of {count} pieces has {} time gaps", gaps_ms.len())));
    }
    let end = seq0.checked_add(count as u64).ok_or_else(|| bad("`seq0` is beyond 2^53 - 1"))?;
    check_safe("seq0", Some(end)).map_err(bad)?;
    let times = times(time0, &gaps_ms)?;
    let run = Run::new(seq0, &times, head, pieces.iter().map(|piece| piece.get()));
    run.ok_or_else(|| bad("a packed row holds more than 4 GiB"))
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

fn strings<'a>(mut pieces: impl Iterator<Item = &'a RawValue>) -> Result<(), Problem> {
    match pieces.all(|piece| piece.get().starts_with('"')) {
        true => Ok(()),
        false => Err(bad("the pieces of a packed row must be texts")),
    }
}

fn read<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, Problem> {
    object(data).map_err(|error| bad(format!("`data` of a packed row: {}", reason(&error))))
}
