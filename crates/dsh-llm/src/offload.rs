//! Pictures that a request has no room for.

use std::sync::Arc;

use serde_json::Value;

use crate::content::ContentBlock;
use crate::message::Message;

/// What stands for a picture that was left out.
const LEFT_OUT: &str = "[an older image was left out of this request]";

/// How many pictures a request may have.
///
/// Whatever is left out is left out in whole quanta, so that the next requests, which have a little more, leave out the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageBudget {
    /// The most pictures.
    pub max_images: u64,
    /// How many are left out at once; 0 counts as 1.
    pub image_quantum: u64,
    /// The most bytes of all pictures.
    pub max_bytes: u64,
    /// How many bytes are left out at once; 0 counts as 1.
    pub byte_quantum: u64,
    /// How bytes are counted.
    pub encoding: ImageEncoding,
}

/// How the bytes of a picture are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageEncoding {
    /// As they are.
    Raw,
    /// As text that can stand in JSON: four characters for three bytes.
    Base64,
}

/// The messages with a short text in the place of the oldest pictures, those in results of tools too, as many as there is no room
/// for. Messages that nothing is taken from are shared.
///
/// Source: the reference's offloading of images.
#[must_use]
pub fn offload_images(messages: Arc<[Arc<Message>]>, budget: &ImageBudget) -> Arc<[Arc<Message>]> {
    let mut sizes = Vec::new();
    messages.iter().for_each(|message| measure(&message.content, budget.encoding, &mut sizes));
    let mut left = budget.removed(&sizes);
    if left == 0 {
        return messages;
    }
    let without = |message: &Arc<Message>| {
        let before = left;
        if left == 0 {
            return message.clone();
        }
        let content = without_oldest(&message.content, &mut left);
        if left == before {
            return message.clone();
        }
        Arc::new(Message { content, ..Message::clone(message) })
    };
    messages.iter().map(without).collect()
}

impl ImageBudget {
    /// How many of the oldest pictures are left out.
    fn removed(&self, sizes: &[u64]) -> usize {
        let count = sizes.len() as u64;
        let by_count = rounded(count.saturating_sub(self.max_images), self.image_quantum).min(count);
        let total: u64 = sizes.iter().fold(0, |total, size| total.saturating_add(*size));
        let excess = total.saturating_sub(self.max_bytes);
        let target = rounded(excess, self.byte_quantum);
        let mut by_bytes = 0;
        let mut removed = 0_u64;
        // Of larger quanta a little more than one goes, so that what comes next does not move the border at once.
        let is_enough =
            |removed: u64| if self.byte_quantum <= 1 { removed >= excess } else { removed > target };
        while excess > 0 && by_bytes < sizes.len() && !is_enough(removed) {
            removed = removed.saturating_add(sizes[by_bytes]);
            by_bytes += 1;
        }
        by_bytes.max(usize::try_from(by_count).unwrap_or(usize::MAX))
    }
}

/// The next multiple.
fn rounded(excess: u64, quantum: u64) -> u64 {
    excess.checked_next_multiple_of(quantum.max(1)).unwrap_or(u64::MAX)
}

fn measure(blocks: &[ContentBlock], encoding: ImageEncoding, sizes: &mut Vec<u64>) {
    for block in blocks {
        match block {
            ContentBlock::Image { attachment } => {
                let bytes = attachment.get("bytes").and_then(Value::as_u64).unwrap_or(0);
                sizes.push(match encoding {
                    ImageEncoding::Raw => bytes,
                    ImageEncoding::Base64 => bytes.div_ceil(3).saturating_mul(4),
                });
            }
            ContentBlock::ToolResult { content, .. } => measure(content, encoding, sizes),
            _ => {}
        }
    }
}

/// The blocks without the pictures that are left to be left out.
fn without_oldest(blocks: &[ContentBlock], left: &mut usize) -> Vec<ContentBlock> {
    let mut replaced = |block: &ContentBlock| match block {
        ContentBlock::Image { .. } if *left > 0 => {
            *left -= 1;
            ContentBlock::text(LEFT_OUT)
        }
        ContentBlock::ToolResult { tool_call_id, content, is_error } => ContentBlock::ToolResult {
            tool_call_id: tool_call_id.clone(),
            content: without_oldest(content, left),
            is_error: *is_error,
        },
        block => block.clone(),
    };
    blocks.iter().map(&mut replaced).collect()
}
