//! The answers in the log of a session.

use std::path::Path;

use dsh_llm::{ContentBlock, FinishReason, StreamChunk, TokenUsage};
use dsh_session::{AssistantChunk, Payload, unpack_row};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::entry::Entry;
use crate::error::LoadError;

/// A session that was recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Recording {
    pub(crate) id: String,
    pub(crate) created_at: u64,
    pub(crate) entries: Vec<Entry>,
}

/// What of the first line counts.
#[derive(Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Header {
    id: String,
    created_at: u64,
    seed_length: u64,
}

/// A line after the first one. Numbers and times that are left out are made up.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow)]
    data: &'a RawValue,
    #[serde(default)]
    seq0: Option<u64>,
    #[serde(default)]
    time0: Option<i64>,
}

/// What of a summary counts.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    #[serde(default)]
    llm_stream_call: bool,
    #[serde(default)]
    raw_output: Option<Vec<ContentBlock>>,
    #[serde(default)]
    usage: Option<TokenUsage>,
}

/// Reads a recording. Of one that took part in another, what it was given when it began is left out.
pub(crate) fn parse(text: &str, path: &Path, is_child: bool) -> Result<Recording, LoadError> {
    let mut lines =
        text.lines().enumerate().map(|(at, line)| (at + 1, line)).filter(|(_, line)| !line.trim().is_empty());
    let Some((line, first)) = lines.next() else { return Err(LoadError::Empty { path: path.to_owned() }) };
    let problem = |line, problem: String| LoadError::Line { path: path.to_owned(), line, problem };
    let header: Header = object(first).map_err(|error| problem(line, error))?;
    let skipped = if is_child { header.seed_length } else { 0 };
    let mut reading = Reading { path, group: None, entries: Vec::new() };
    let mut seq = 0;
    for (line, text) in lines {
        let read: Line<'_> = object(text).map_err(|error| problem(line, error))?;
        for event in events(&read, seq).map_err(|error| problem(line, error))? {
            if seq >= skipped {
                reading.take(line, &event)?;
            }
            seq += 1;
        }
    }
    reading.end()?;
    if seq == 0 && header == Header::default() {
        return Err(LoadError::Neither { path: path.to_owned() });
    }
    Ok(Recording { id: header.id, created_at: header.created_at, entries: reading.entries })
}

/// Reads a line; serde would take a list for an object.
fn object<'a, T: Deserialize<'a>>(line: &'a str) -> Result<T, String> {
    match line.trim_start().starts_with('{') {
        true => serde_json::from_str(line).map_err(|error| error.to_string()),
        false => Err("an object is expected".to_owned()),
    }
}

/// One event of a line: its type and its data.
struct Recorded {
    kind: String,
    data: String,
}

/// The events of a line; a packed row holds many.
fn events(line: &Line<'_>, seq: u64) -> Result<Vec<Recorded>, String> {
    if !matches!(line.kind.as_str(), "text-chunks" | "reasoning-chunks" | "tool-call-chunks") {
        return Ok(vec![Recorded { kind: line.kind.clone(), data: line.data.get().to_owned() }]);
    }
    let (seq0, time0) = (line.seq0.unwrap_or(seq), line.time0.unwrap_or(0));
    let events = unpack_row(&line.kind, seq0, time0, line.data.get()).map_err(|error| error.to_string())?;
    Ok(events
        .iter()
        .map(|event| Recorded { kind: event.kind().to_owned(), data: event.data().get().to_owned() })
        .collect())
}

/// The answers so far.
struct Reading<'p> {
    path: &'p Path,
    /// The answer that has no finish yet, with its turn and step.
    group: Option<(u64, u64, Vec<StreamChunk>)>,
    entries: Vec<Entry>,
}

impl Reading<'_> {
    fn take(&mut self, line: usize, event: &Recorded) -> Result<(), LoadError> {
        match event.kind.as_str() {
            AssistantChunk::TYPE => self.chunk(self.read(line, &event.data)?),
            "compaction/summary" => {
                self.end()?;
                self.summary(line, self.read(line, &event.data)?)
            }
            _ => Ok(()),
        }
    }

    fn read<T: serde::de::DeserializeOwned>(&self, line: usize, data: &str) -> Result<T, LoadError> {
        serde_json::from_str(data).map_err(|error| self.problem(line, error.to_string()))
    }

    fn problem(&self, line: usize, problem: String) -> LoadError {
        LoadError::Line { path: self.path.to_owned(), line, problem }
    }

    fn chunk(&mut self, AssistantChunk { turn, step, chunk }: AssistantChunk) -> Result<(), LoadError> {
        if self.group.as_ref().is_some_and(|(in_turn, in_step, _)| (*in_turn, *in_step) != (turn, step)) {
            self.end()?;
        }
        let is_finish = matches!(chunk, StreamChunk::Finish { .. });
        let (_, _, chunks) = self.group.get_or_insert_with(|| (turn, step, Vec::new()));
        chunks.push(chunk);
        if is_finish && let Some((_, _, chunks)) = self.group.take() {
            self.entries.push(Entry::Chunks { chunks });
        }
        Ok(())
    }

    /// An answer that was asked for to sum the conversation up, and was not logged piece by piece.
    fn summary(&mut self, line: usize, summary: Summary) -> Result<(), LoadError> {
        if !summary.llm_stream_call {
            return Ok(());
        }
        let Some(blocks) = summary.raw_output else {
            return Err(LoadError::NoRawOutput { path: self.path.to_owned(), line });
        };
        let mut chunks = Vec::new();
        for (index, block) in (0..).zip(blocks) {
            chunks.push(StreamChunk::BlockStart { index, block_type: type_of(&block) });
            chunks.push(StreamChunk::BlockEnd { index, block });
        }
        chunks.extend(summary.usage.map(|usage| StreamChunk::Usage { usage }));
        chunks.push(StreamChunk::Finish { reason: FinishReason::Stop {}, replay_state: None });
        self.entries.push(Entry::Chunks { chunks });
        Ok(())
    }

    fn end(&mut self) -> Result<(), LoadError> {
        match self.group.take() {
            None => Ok(()),
            Some((turn, step, _)) => Err(LoadError::Unfinished { path: self.path.to_owned(), turn, step }),
        }
    }
}

/// The type of a block, of one that this build does not know too.
fn type_of(block: &ContentBlock) -> String {
    let value = serde_json::to_value(block).unwrap_or_default();
    value.get("type").and_then(Value::as_str).unwrap_or_default().to_owned()
}
