//! How many tokens things take, about: a quarter of their UTF-16 length, and a little for what is around them.
//!
//! Source: the heuristic of the reference's token meter.

use std::io::{self, Write};

use dsh_llm::{ContentBlock, Message, ToolSchema};
use dsh_session::EpochHeader;
use serde::Serialize;

/// What is around a block, or around a message.
pub(crate) const AROUND: u64 = 4;

/// A text.
#[must_use]
pub fn estimate_text(text: &str) -> u64 {
    tokens(utf16_length(text))
}

/// A block of a message, with what is around it.
#[must_use]
pub fn estimate_block(block: &ContentBlock) -> u64 {
    let inside = match block {
        ContentBlock::Text { text } | ContentBlock::Reasoning { text } => estimate_text(text),
        ContentBlock::ToolCall { name, arguments, .. } => {
            estimate_text(name).saturating_add(estimate_text(arguments))
        }
        ContentBlock::ToolResult { content, .. } => sum(content.iter().map(estimate_block)),
        // Pictures, and what this build does not know.
        _ => estimate_json(block),
    };
    inside.saturating_add(AROUND)
}

/// A message, with what is around it.
#[must_use]
pub fn estimate_message(message: &Message) -> u64 {
    sum(message.content.iter().map(estimate_block)).saturating_add(AROUND)
}

/// The instructions of a request; those that are absent or empty take nothing.
#[must_use]
pub fn estimate_system(system: Option<&str>) -> u64 {
    system.filter(|text| !text.is_empty()).map_or(0, |text| estimate_text(text).saturating_add(AROUND))
}

/// The tools of a request; none take nothing.
#[must_use]
pub fn estimate_tools(tools: &[ToolSchema]) -> u64 {
    if tools.is_empty() { 0 } else { estimate_json(tools).saturating_add(AROUND) }
}

/// What a request has beside its messages.
#[must_use]
pub fn estimate_header(header: &EpochHeader) -> u64 {
    let tools = header.tools.as_deref().unwrap_or_default();
    estimate_system(header.system.as_deref()).saturating_add(estimate_tools(tools))
}

/// So many UTF-16 units of text.
pub(crate) fn tokens(units: u64) -> u64 {
    units.div_ceil(4)
}

pub(crate) fn utf16_length(text: &str) -> u64 {
    text.encode_utf16().count() as u64
}

fn sum(parts: impl Iterator<Item = u64>) -> u64 {
    parts.fold(0, u64::saturating_add)
}

fn estimate_json<T: Serialize + ?Sized>(value: &T) -> u64 {
    let mut units = Units(0);
    // What cannot be written as JSON has no length; nothing that a log holds is of that kind.
    drop(serde_json::to_writer(&mut units, value));
    tokens(units.0)
}

/// Counts the UTF-16 units of UTF-8 bytes: one per character, and another one for those of four bytes.
struct Units(u64);

impl Write for Units {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let units = |byte: u8| match byte {
            0x80..=0xbf => 0,
            0xf0..=0xff => 2,
            0x00..=0x7f | 0xc0..=0xef => 1,
        };
        self.0 += bytes.iter().map(|byte| units(*byte)).sum::<u64>();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
