//! Writing: the lines of events, runs of streamed pieces on one line.

use std::fmt::Write as _;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::event::Event;
use crate::json::MAX_SAFE;
use crate::packed::{CHUNK, RowKind};

/// The fewest pieces that are worth a row.
const MIN_RUN: usize = 3;

/// What is written for a part of a log: one event, or a run of streamed pieces that fit into one row.
#[derive(Debug)]
pub enum Row<'e> {
    /// One event.
    Event(&'e Event),
    /// A run of them.
    Run(PackedRun<'e>),
}

/// A run of streamed pieces of one block: the same turn, step and index, without a gap.
#[derive(Debug)]
pub struct PackedRun<'e> {
    events: &'e [Arc<Event>],
    kind: RowKind,
    pieces: Vec<Piece<'e>>,
}

/// One streamed piece with exactly the fields that a row keeps.
#[derive(Debug)]
struct Piece<'e> {
    kind: RowKind,
    turn: &'e str,
    step: &'e str,
    index: &'e str,
    id: Option<&'e str>,
    name: Option<&'e str>,
    text: &'e str,
}

impl Event {
    /// The event's line in a log, without its newline.
    #[must_use]
    pub fn to_line(&self) -> String {
        let mut line = String::with_capacity(self.data().get().len() + 96);
        self.write_line(&mut line);
        line
    }

    fn write_line(&self, line: &mut String) {
        line.push_str(r#"{"type":"#);
        push_text(line, self.kind());
        // Writing to a `String` does not fail.
        let _ =
            write!(line, r#","seq":{},"time":{},"data":{}"#, self.seq(), self.time_ms(), self.data().get());
        if let Some(sources) = self.sources() {
            line.push_str(r#","sourceEventSeqs":["#);
            for (index, source) in sources.iter().enumerate() {
                let _ = write!(line, "{}{source}", if index > 0 { "," } else { "" });
            }
            line.push(']');
        }
        if let Some(op) = self.surface() {
            line.push_str(r#","surfaceOp":"#);
            line.push_str(&serde_json::to_string(&op).unwrap_or_default());
        }
        if self.is_ignorable() {
            line.push_str(r#","ignorable":true"#);
        }
        line.push('}');
    }
}

impl Row<'_> {
    /// Adds the row's line to `out`, with its newline.
    pub fn write_line(&self, out: &mut String) {
        match self {
            Row::Event(event) => event.write_line(out),
            Row::Run(run) => run.write_line(out),
        }
        out.push('\n');
    }
}

impl PackedRun<'_> {
    /// The row's type.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        self.kind.name()
    }

    /// The events of the run, never fewer than three.
    #[must_use]
    pub fn events(&self) -> &[Arc<Event>] {
        self.events
    }

    /// The row's data as JSON text.
    #[must_use]
    pub fn data(&self) -> String {
        let mut data = String::with_capacity(64 + self.pieces.len() * 12);
        self.write_data(&mut data);
        data
    }

    fn write_line(&self, out: &mut String) {
        let (seq0, time0) = self.events.first().map_or((0, 0), |first| (first.seq(), first.time_ms()));
        let _ = write!(out, r#"{{"type":"{}","seq0":{seq0},"time0":{time0},"data":"#, self.kind());
        self.write_data(out);
        out.push('}');
    }

    fn write_data(&self, out: &mut String) {
        let Some(first) = self.pieces.first() else { return };
        let _ =
            write!(out, r#"{{"turn":{},"step":{},"index":{},"dt":["#, first.turn, first.step, first.index);
        for (index, pair) in self.events.windows(2).enumerate() {
            let gap = pair[1].time_ms() - pair[0].time_ms();
            let _ = write!(out, "{}{gap}", if index > 0 { "," } else { "" });
        }
        out.push(']');
        if let Some(id) = first.id {
            let _ = write!(out, r#","id":{id}"#);
        }
        if let Some(name) = first.name {
            let _ = write!(out, r#","name":{name}"#);
        }
        out.push_str(if self.kind == RowKind::ToolCall { r#","args":["# } else { r#","texts":["# });
        for (index, piece) in self.pieces.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            out.push_str(piece.text);
        }
        out.push_str("]}");
    }
}

/// Splits a batch into rows: runs of at least three streamed pieces of one block become one row each, everything else
/// stays as it is. Nothing is joined and nothing is lost.
pub fn rows(events: &[Arc<Event>], pack: bool) -> impl Iterator<Item = Row<'_>> {
    let mut rest = events;
    std::iter::from_fn(move || {
        let first = rest.first()?;
        let pieces = if pack { run(rest) } else { Vec::new() };
        if let (true, Some(kind)) = (pieces.len() >= MIN_RUN, pieces.first().map(|piece| piece.kind)) {
            let (events, after) = rest.split_at(pieces.len());
            rest = after;
            return Some(Row::Run(PackedRun { events, kind, pieces }));
        }
        rest = &rest[1..];
        Some(Row::Event(first))
    })
}

/// The longest run at the start of a batch.
fn run(events: &[Arc<Event>]) -> Vec<Piece<'_>> {
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    for (at, event) in events.iter().enumerate() {
        let Some(piece) = piece(event) else { break };
        if let (Some(first), Some(before)) = (pieces.first(), at.checked_sub(1).map(|at| &events[at]))
            && !(first.continues_with(&piece) && follows(before, event))
        {
            break;
        }
        pieces.push(piece);
    }
    pieces
}

fn follows(before: &Event, event: &Event) -> bool {
    let gap = event.time_ms().checked_sub(before.time_ms());
    event.seq() == before.seq() + 1 && gap.is_some_and(|gap| gap.unsigned_abs() <= MAX_SAFE)
}

impl Piece<'_> {
    fn continues_with(&self, next: &Piece<'_>) -> bool {
        (self.kind, self.turn, self.step, self.index) == (next.kind, next.turn, next.step, next.index)
            && (self.id, self.name) == (next.id, next.name)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChunkData<'a> {
    #[serde(borrow)]
    turn: &'a RawValue,
    #[serde(borrow)]
    step: &'a RawValue,
    #[serde(borrow)]
    chunk: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow, rename = "type")]
    kind: &'a RawValue,
    #[serde(borrow)]
    index: &'a RawValue,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    arguments_delta: Option<&'a RawValue>,
}

/// What a row would keep of an event, if that is all there is to it.
fn piece(event: &Event) -> Option<Piece<'_>> {
    if event.kind() != CHUNK || event.is_ignorable() {
        return None;
    }
    let data: ChunkData<'_> = serde_json::from_str(event.data().get()).ok()?;
    let chunk: Chunk<'_> = serde_json::from_str(data.chunk.get()).ok()?;
    let number =
        |raw: &'_ RawValue| raw.get().starts_with(|first: char| first == '-' || first.is_ascii_digit());
    let text = |raw: &&'_ RawValue| raw.get().starts_with('"');
    if ![data.turn, data.step, chunk.index].into_iter().all(number) {
        return None;
    }
    let (kind, id, name, piece) =
        match (chunk.kind.get(), chunk.text, chunk.id, chunk.name, chunk.arguments_delta) {
            ("\"text-delta\"", Some(piece), None, None, None) => (RowKind::Text, None, None, piece),
            ("\"reasoning-delta\"", Some(piece), None, None, None) => (RowKind::Reasoning, None, None, piece),
            ("\"tool-call-delta\"", None, Some(id), name, Some(piece)) => {
                (RowKind::ToolCall, Some(id), name, piece)
            }
            _ => return None,
        };
    if ![Some(piece), id, name].iter().flatten().all(text) {
        return None;
    }
    Some(Piece {
        kind,
        turn: data.turn.get(),
        step: data.step.get(),
        index: chunk.index.get(),
        id: id.map(RawValue::get),
        name: name.map(RawValue::get),
        text: piece.get(),
    })
}

fn push_text(line: &mut String, text: &str) {
    line.push_str(&serde_json::to_string(text).unwrap_or_default());
}
