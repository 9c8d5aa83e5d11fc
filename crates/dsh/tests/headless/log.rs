//! Logs as lines.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use dsh_session::rows;
use dsh_session_jsonl::{Compression, decode};
use serde_json::{Value, json};

use crate::masked::Masks;

/// The most bytes of text in a log here.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The events of a log, after its header, with streamed pieces one by one.
pub(crate) fn read(path: &Path) -> Vec<Value> {
    let bytes = fs::read(path).unwrap();
    let decoded = decode("", &path.display().to_string(), &bytes, Compression::Zstd, MAX_BYTES).unwrap();
    assert!(decoded.torn.is_none(), "{}: {:?}", path.display(), decoded.torn);
    let mut text = decoded.header.to_line().unwrap() + "\n";
    for row in rows(&decoded.events.to_vec(), false) {
        row.write_line(&mut text);
    }
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The logs below a folder.
pub(crate) fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(below(&path));
        } else if path.file_name().is_some_and(|name| name == "session.jsonl.zstd") {
            found.push(path);
        }
    }
    found
}

/// The events, and those that come beside a turn: a title is there sooner or later.
pub(crate) fn lines(log: &[Value], masks: &Masks) -> (Vec<String>, Vec<String>) {
    let names = Names::of(log);
    let (mut lines, mut beside) = (Vec::new(), Vec::new());
    let mut calls = Calls::default();
    for event in log {
        let kind = event["type"].as_str().unwrap();
        match kind {
            "session" => lines.push(header(event, masks)),
            "request/header" => lines.extend(request_header(&event["data"], masks)),
            "tool/call" => calls.begin(&mut lines, names.line(event, masks)),
            // What it asks is worded by the one who asks.
            "session/title-llm-request" => beside.push(format!("event beside the turn: {kind}")),
            "session/title" => {
                beside.push(names.line(event, masks).replacen("event", "event beside the turn:", 1))
            }
            _ => lines.push(names.line(event, masks)),
        }
        if kind == "tool/result" {
            calls.open = calls.open.saturating_sub(1);
        }
    }
    (lines, beside)
}

/// Calls that overlap. Whether one of them begins before or after an earlier one's result is a matter of time, so all of
/// their beginnings are told before their results.
#[derive(Default)]
struct Calls {
    open: usize,
    /// Where the next beginning is told.
    at: usize,
}

impl Calls {
    fn begin(&mut self, lines: &mut Vec<String>, line: String) {
        if self.open == 0 {
            self.at = lines.len();
        }
        lines.insert(self.at, line);
        self.at += 1;
        self.open += 1;
    }
}

fn header(header: &Value, masks: &Masks) -> String {
    let mut header = header.clone();
    header.as_object_mut().unwrap().remove("createdAt");
    format!("event {}", masks.line(&header))
}

fn request_header(data: &Value, masks: &Masks) -> Vec<String> {
    let header = &data["header"];
    let mut lines = vec![format!("reason {}", data["reason"])];
    for (name, value) in header.as_object().unwrap() {
        match name.as_str() {
            "tools" => {
                let tools = value.as_array().unwrap().iter();
                lines.extend(tools.map(|tool| format!("tool {}", tool["name"].as_str().unwrap())));
            }
            "system" => lines.push("system <system>".to_owned()),
            _ => lines.push(format!("{name} {}", masks.line(value))),
        }
    }
    lines.into_iter().map(|line| format!("event request/header {line}")).collect()
}

/// What the events of a log are called in others: by their type and how many of it came before.
struct Names {
    by_seq: HashMap<u64, (String, usize)>,
}

impl Names {
    fn of(log: &[Value]) -> Self {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let mut by_seq = HashMap::new();
        for event in log {
            let Some(seq) = event["seq"].as_u64() else { continue };
            let kind = event["type"].as_str().unwrap();
            let count = counts.entry(kind).or_default();
            *count += 1;
            by_seq.insert(seq, (kind.to_owned(), *count));
        }
        Self { by_seq }
    }

    fn line(&self, event: &Value, masks: &Masks) -> String {
        let mut data = event["data"].clone();
        if let Some(seqs) = data.get("messageSeqs") {
            data["messageSeqs"] = json!(self.named(seqs));
        }
        let mut line = format!("event {} {}", event["type"].as_str().unwrap(), masks.line(&data));
        if let Some(operation) = event.get("surfaceOp") {
            line.push_str(&format!(" surface {operation}"));
        }
        if let Some(sources) = event.get("sourceEventSeqs") {
            line.push_str(&format!(" of {}", self.named(sources)));
        }
        line
    }

    /// `assistant/chunk 3 to 8, tool/call 1`
    fn named(&self, seqs: &Value) -> String {
        let mut runs: Vec<(&str, usize, usize)> = Vec::new();
        for seq in seqs.as_array().unwrap() {
            let (kind, number) = &self.by_seq[&seq.as_u64().unwrap()];
            match runs.last_mut() {
                Some((last, _, end)) if last == kind && *end + 1 == *number => *end = *number,
                _ => runs.push((kind, *number, *number)),
            }
        }
        let run = |(kind, first, last): &(&str, usize, usize)| match last - first {
            0 => format!("{kind} {first}"),
            _ => format!("{kind} {first} to {last}"),
        };
        let runs: Vec<String> = runs.iter().map(run).collect();
        if runs.is_empty() { "nothing".to_owned() } else { runs.join(", ") }
    }
}
